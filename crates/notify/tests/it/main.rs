//! Taking in and delivering against real sockets, with a store in memory.

mod alerts;
mod bad_targets;
mod cloud;
mod counting;
mod fake;
mod finding;
mod house;
mod intake;
mod judging;
mod mail_server;
mod own;
mod receiver;
mod repeating;
