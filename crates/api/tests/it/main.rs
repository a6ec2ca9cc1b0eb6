//! The API whole: routes, layers and permissions on a real embedded store.

#![allow(clippy::unwrap_used)] // in a test it is the assertion

mod access;
mod alerts;
mod analyze;
mod batches;
mod cluster;
mod documents;
mod endpoints;
mod events;
mod fetch;
mod gone;
mod histories;
mod house;
mod idempotency;
mod intake;
mod kept;
mod lanes;
mod notifications;
mod permissions;
mod problems;
mod sessions;
mod subscriptions;
mod tail;
mod target;
mod tasks;
mod tours;
mod transport;
mod trust;
mod wiki;
