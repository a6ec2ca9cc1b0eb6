//! The console as a browser without JavaScript meets it, on a real store.

mod administration;
mod analyze;
mod cluster;
mod fetch;
mod forms;
mod house;
mod live;
mod login;
mod notify;
mod pages;
mod tour;
mod wiki;
