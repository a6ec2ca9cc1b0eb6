//! Subscriptions: the list, a new one, one with its settings, its states, and those of all that match.

pub(crate) mod bulk;
pub(crate) mod detail;
mod fields;
mod filter;
pub(crate) mod list;
pub(crate) mod new;
mod spec;
pub(crate) mod state;
mod written;
