//! The promises of the verbs, kept by both stores.

mod access;
mod audit;
mod lanes;
mod leases;
mod lists;
mod operator;
mod outcomes;
mod submission;
