//! A page whose history is kept. People see it as *article*.

pub use malla_pulse::Pulse;
use malla_queue::UnixMs;
use serde::{Deserialize, Serialize};

use crate::revision::RevId;
use crate::site::WikiId;

/// A page's number in its wiki. A move keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PageId(pub i64);

/// A place in a history, which is ordered by time and then by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Mark {
    pub at: UnixMs,
    pub revid: RevId,
}

/// What a wiki says of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageFacts {
    pub title: String,
    pub ns: i64,
    /// The wiki no longer has it. What was kept stays.
    pub deleted: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    pub wiki: WikiId,
    pub pageid: PageId,
    pub facts: PageFacts,
    pub first_extraction: UnixMs,
    pub last_extraction: UnixMs,
    /// The newest revision kept, by time and number.
    pub newest: Option<Mark>,
    /// Everything up to here is kept, as the wiki listed it when it was walked.
    pub mark: Option<Mark>,
    /// When the walk first reached the end of the history. Revisions found after that are news.
    pub complete_at: Option<UnixMs>,
    /// When every revision was last compared with the wiki's list.
    pub reconciled_at: Option<UnixMs>,
    /// When the wiki was last asked whether the page has changed.
    pub visited_at: Option<UnixMs>,
    pub pulse: Option<Pulse>,
    /// Revisions kept.
    pub revisions: u64,
    /// Changes with everything that is written to its revisions and texts.
    pub version: u64,
    /// The block that takes the next texts; `None` if there is none yet.
    pub last_block: Option<u32>,
    /// Whether it is visited again without anybody asking.
    pub watched: bool,
}
