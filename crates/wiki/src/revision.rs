//! A revision of a page.

use malla_queue::UnixMs;
use serde::{Deserialize, Serialize};

use crate::page::{Mark, PageId};
use crate::texts::TextHash;

/// A revision's number in its wiki.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RevId(pub i64);

/// What is kept of a revision beside its text. What the wiki hides is `None`, now or later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revision {
    pub revid: RevId,
    /// 0: it began the page.
    pub parentid: RevId,
    pub pageid: PageId,
    pub at: UnixMs,
    pub user: Option<String>,
    /// 0 for who was not logged in.
    pub userid: Option<i64>,
    /// Not logged in, which is not the same as having an address for a name.
    pub anon: bool,
    pub minor: bool,
    /// Bytes of its text.
    pub size: u64,
    /// Hexadecimal digits, as the wiki says.
    pub sha1: Option<String>,
    pub model: String,
    pub format: String,
    pub comment: Option<String>,
    /// The comment as HTML.
    pub parsed_comment: Option<String>,
    pub tags: Vec<String>,
    /// Where its text is; `None` if it is hidden or could not be had.
    pub text: Option<TextHash>,
    /// The wiki hides its text.
    pub text_hidden: bool,
}

impl Revision {
    pub fn mark(&self) -> Mark {
        Mark { at: self.at, revid: self.revid }
    }
}

/// What comparing with a wiki's list needs of a revision that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    pub revid: RevId,
    pub pageid: PageId,
    pub at: UnixMs,
    pub size: u64,
    pub user_hidden: bool,
    pub comment_hidden: bool,
    pub sha1: Option<String>,
    pub text: Option<TextHash>,
    pub text_hidden: bool,
}
