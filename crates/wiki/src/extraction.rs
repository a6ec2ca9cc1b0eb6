//! An extraction: somebody asked for the history of a page. Its tasks are one request each, in the lane of the wiki's host.

use std::fmt;
use std::str::FromStr;

use malla_queue::{Error, GroupId, Result, TaskId, UnixMs};
use serde::{Deserialize, Serialize};

use crate::page::PageId;
use crate::site::WikiId;

/// The room whose lanes are the hosts of wikis.
pub const ROOM: &str = "wiki";
/// The kind of a task that is a step of an extraction.
pub const EXTRACT: &str = "wiki.extract";
/// The kind of a task that asks which of some pages have changed.
pub const PROBE: &str = "wiki.probe";
/// The kind of a task that is a step of reading what has changed on a page, without anybody having asked.
pub const VISIT: &str = "wiki.visit";

/// An extraction's number, from the same sequence as the tasks'.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExtractionId(pub TaskId);

impl fmt::Display for ExtractionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ExtractionId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        text.parse().map(Self)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtractionState {
    Pending,
    InProgress,
    Succeeded,
    Failed,
}

impl ExtractionState {
    pub const ALL: [Self; 4] = [Self::Pending, Self::InProgress, Self::Succeeded, Self::Failed];

    /// As existing clients know it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::InProgress => "IN PROGRESS",
            Self::Succeeded => "SUCCESS",
            Self::Failed => "FAILURE",
        }
    }

    pub fn is_over(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// An extraction on its way in, checked. The store gives it its number and submits `first` with it.
#[derive(Debug, Clone)]
pub struct NewExtraction {
    pub group: Option<GroupId>,
    /// A title, or the URL of a page, as it was asked for.
    pub asked: String,
    /// The same for all that ask for the same: while one of them is under way it answers for the others.
    pub key: String,
    /// The first step: everything but the number of the extraction, which the store puts into the payload
    /// (a JSON object) as `extraction`.
    pub first: malla_queue::NewTask,
    /// Extractions of the house that may be under way at once.
    pub extractions_max: u64,
}

/// How far an extraction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    pub requests: u64,
    /// Revisions walked over, and how many there are, if the wiki tells.
    pub done: u64,
    pub total: Option<u64>,
    /// Of those, how many were not kept before.
    pub new: u64,
    /// Texts and names erased because the wiki hides them now.
    pub erased: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Extraction {
    pub id: ExtractionId,
    pub group: Option<GroupId>,
    pub asked: String,
    pub state: ExtractionState,
    pub wiki: Option<WikiId>,
    pub pageid: Option<PageId>,
    /// The page's title, once it is known.
    pub title: Option<String>,
    pub counts: Counts,
    /// What it is at, or why it failed, in one sentence.
    pub note: Option<String>,
    pub asked_at: UnixMs,
    /// When the first and the latest step ended.
    pub started_at: Option<UnixMs>,
    pub changed_at: UnixMs,
    pub finished_at: Option<UnixMs>,
}
