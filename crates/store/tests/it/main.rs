//! Both stores against the promises of their verbs (`conformance`) and against a small model (`model`),
//! and what only one of them has (`embedded`, `shared`).
//!
//! PostgreSQL is the one that `MALLA_TEST_POSTGRES` names; `scripts/test` starts a throw-away one.

#![allow(clippy::unwrap_used)] // a test that cannot go on says so by panicking

mod conformance;
mod embedded;
mod harness;
mod harness_analyze;
mod harness_bodies;
mod harness_fetch;
mod harness_notify;
mod harness_wiki;
mod model;
mod proxy;
mod shared;
mod shared_cluster;
mod shared_doubts;
mod shared_wiki;
