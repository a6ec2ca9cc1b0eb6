//! The client against the real API on a real embedded store, over a real socket.

#![allow(clippy::unwrap_used)] // in a test it is the assertion

mod analyze;
mod cluster;
mod failing;
mod notify;
mod routes;
mod server;
mod wiki;
