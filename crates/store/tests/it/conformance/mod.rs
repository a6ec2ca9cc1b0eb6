//! The promises of the verbs, kept by both stores.

mod access;
mod alerts;
mod audit;
mod fetch_cache;
mod fetch_commits;
mod fetch_devices;
mod fetch_jobs;
mod fetch_sites;
mod fetch_together;
mod fetch_trim;
mod lanes;
mod leases;
mod lists;
mod notify_accept;
mod notify_endpoints;
mod notify_lists;
mod notify_once;
mod notify_own;
mod notify_retention;
mod notify_search;
mod notify_subscriptions;
mod operator;
mod outcomes;
mod statistics;
mod submission;
