//! The real binary, run as its users run it: every test has its own data directory and port.

mod commands;
mod crash;
mod fetch;
mod first_run;
mod https;
mod notify;
mod origin;
mod receiver;
mod refusals;
mod server;
mod shutdown;
mod watching;
