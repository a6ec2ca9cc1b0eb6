//! How devices stand, what was paid, and sites that are never fetched.

pub(crate) mod blocked;
pub(crate) mod checks;
pub(crate) mod ledger;
pub(crate) mod standing;
