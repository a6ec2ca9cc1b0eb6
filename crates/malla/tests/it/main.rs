//! The real binary, run as its users run it: every test has its own data directory and port.

mod authority;
mod backup;
mod bikes;
mod broker;
mod cluster;
mod commands;
mod crash;
mod fetch;
mod first_run;
mod https;
mod mail;
mod mqtt;
mod notify;
mod origin;
mod receiver;
mod refusals;
mod server;
mod shutdown;
mod small_wiki;
mod trust;
mod watching;
mod wiki;
mod wiki_server;
