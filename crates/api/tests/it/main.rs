//! The API whole: routes, layers and permissions on a real embedded store.

#![allow(clippy::unwrap_used)] // in a test it is the assertion

mod access;
mod documents;
mod house;
mod idempotency;
mod lanes;
mod permissions;
mod problems;
mod sessions;
mod tail;
mod tasks;
mod transport;
