//! The console as people meet it: in a real browser, in front of the real binary.

mod analyses;
mod axe;
mod driver;
mod events;
mod fetching;
mod furniture;
mod house;
mod language;
mod live;
mod login;
mod page;
mod pages;
mod people;
mod plain;
mod tour;
mod touring;
mod wiki;
