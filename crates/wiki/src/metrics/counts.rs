//! What a store keeps for metrics: how far a history was counted, and counts of a whole wiki.

use super::{ArticleCount, Month};
use crate::page::Mark;

/// A history counted up to a place. A store only keeps the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptTally {
    /// Everything up to here was counted, and has not changed since.
    pub mark: Mark,
    pub packed: Vec<u8>,
}

/// What a store counts of a wiki as it writes revisions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WikiCounts {
    pub pages: u64,
    pub revisions: u64,
    /// Names, also of those who were not logged in.
    pub editors: u64,
    /// Those with edits, in order.
    pub months: Vec<MonthEdits>,
    /// Who has the most edits, and how many; of those who tie at the end of the list, any.
    pub top_editors: Vec<(String, u64)>,
    /// The pages with the most edits, and of those who tie with the lowest number.
    pub top_pages: Vec<ArticleCount>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MonthEdits {
    pub month: Month,
    pub edits: u64,
    pub minor: u64,
    pub anonymous: u64,
}
