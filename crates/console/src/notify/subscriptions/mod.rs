//! Subscriptions: the list, a new one, one with its settings, and its states.

pub(crate) mod detail;
mod fields;
pub(crate) mod list;
pub(crate) mod new;
mod spec;
pub(crate) mod state;
mod written;
