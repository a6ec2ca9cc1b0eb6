//! Benchmarks. Each measures the real thing and prints figures.

pub(crate) mod analyze;
pub(crate) mod cluster;
pub(crate) mod console;
pub(crate) mod crawl;
mod direct;
pub(crate) mod fetch;
mod histories;
pub(crate) mod maze;
pub(crate) mod notify;
pub(crate) mod origin;
pub(crate) mod queue;
pub(crate) mod report;
mod server;
pub(crate) mod small_wiki;
pub(crate) mod stream;
pub(crate) mod trust;
pub(crate) mod wiki;
mod wire;
