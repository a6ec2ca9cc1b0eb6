//! Benchmarks. Each measures the real thing and prints figures.

pub(crate) mod queue;
pub(crate) mod report;
