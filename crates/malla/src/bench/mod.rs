//! Benchmarks. Each measures the real thing and prints figures.

pub(crate) mod notify;
pub(crate) mod queue;
pub(crate) mod report;
mod server;
mod wire;
