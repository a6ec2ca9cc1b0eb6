//! Where an extraction or a visit is: what travels from task to task.

use malla_queue::{Error, Result};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::extraction::{Counts, ExtractionId};
use crate::mediawiki::{Cursor, Line, Subject, WITH_TEXT_MAX};
use crate::page::{Mark, PageId};
use crate::revision::RevId;
use crate::site::WikiId;

/// What somebody wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Aim {
    /// The page itself, or the wiki of the title.
    pub(crate) url: Url,
    pub(crate) title: Option<String>,
    pub(crate) locale: Option<String>,
}

/// What a task of this room holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Payload {
    /// `None`: a visit, which nobody asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) extraction: Option<ExtractionId>,
    #[serde(default)]
    pub(crate) counts: Counts,
    /// Revisions whose texts the wiki does not give because they are too large for its answers.
    #[serde(default)]
    pub(crate) skipped: u64,
    /// Of a visit: what the wiki said is the newest revision, which must be kept in the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) newest: Option<RevId>,
    /// Of a visit: the whole list shall be compared.
    #[serde(default)]
    pub(crate) reconcile: bool,
    pub(crate) stage: Stage,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stage {
    /// It is looked up whether the wiki is known; no request.
    Start(Aim),
    /// A page is read for where its API is.
    Find {
        aim: Aim,
        at: Url,
        hops: u32,
    },
    /// The first of these places is asked what it is.
    About {
        aim: Aim,
        places: Vec<Url>,
        shows: Option<Subject>,
        script: Option<Url>,
        hops: u32,
    },
    /// Which page it is.
    Resolve {
        wiki: WikiId,
        subject: Subject,
    },
    /// How many revisions there are.
    Count {
        wiki: WikiId,
        pageid: PageId,
        title: String,
    },
    Walk(Walk),
    /// The whole list is compared with what is kept.
    List {
        wiki: WikiId,
        pageid: PageId,
        cursor: Option<Cursor>,
        restarts: u32,
    },
    Fetch(Fetch),
    /// A wiki without an API: its history page is read for revisions.
    ScrapeList {
        wiki: WikiId,
        subject: Subject,
        offset: Option<String>,
    },
    ScrapeText(Scraped),
}

/// A walk from the oldest revision to the newest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Walk {
    pub(crate) wiki: WikiId,
    pub(crate) pageid: PageId,
    /// Everything up to here was kept when it began.
    pub(crate) from: Option<Mark>,
    pub(crate) cursor: Option<Cursor>,
    /// Revisions in one answer.
    pub(crate) limit: usize,
    /// The next one is asked for without its text, which is too large for an answer.
    pub(crate) bare: bool,
    /// Answers came in the order of the history so far.
    pub(crate) ascends: bool,
    pub(crate) last: Option<Mark>,
    /// The newest that was walked over.
    pub(crate) top: Option<Mark>,
    /// Times that the wiki had forgotten the cursor.
    pub(crate) restarts: u32,
}

impl Walk {
    pub(crate) fn new(wiki: WikiId, pageid: PageId, from: Option<Mark>) -> Self {
        Self {
            wiki,
            pageid,
            from,
            cursor: None,
            limit: WITH_TEXT_MAX,
            bare: false,
            ascends: true,
            last: None,
            top: None,
            restarts: 0,
        }
    }
}

/// Revisions that are missing or say something else than what is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fetch {
    pub(crate) wiki: WikiId,
    pub(crate) pageid: PageId,
    pub(crate) revids: Vec<RevId>,
    /// Revisions in one answer.
    pub(crate) limit: usize,
    pub(crate) bare: bool,
    /// Where the list goes on afterwards; `None`: it was at its end.
    pub(crate) then: Option<Cursor>,
}

/// Lines of a history page whose texts are still to be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scraped {
    pub(crate) wiki: WikiId,
    pub(crate) pageid: PageId,
    pub(crate) title: String,
    pub(crate) ns: i64,
    /// The next is the last of them.
    pub(crate) lines: Vec<Line>,
    /// Where the history page goes on.
    pub(crate) offset: Option<String>,
}

impl Payload {
    pub(crate) fn first(aim: Aim) -> Self {
        Self::at(None, Stage::Start(aim))
    }

    pub(crate) fn at(extraction: Option<ExtractionId>, stage: Stage) -> Self {
        Self { extraction, counts: Counts::default(), skipped: 0, newest: None, reconcile: false, stage }
    }

    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| Error::Internal(format!("a step cannot be written: {error}")))
    }
}

/// What a task of the kind `wiki.probe` holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Probe {
    pub(crate) wiki: WikiId,
    pub(crate) pages: Vec<PageId>,
    /// Those of them whose whole list shall be compared, changed or not.
    #[serde(default)]
    pub(crate) reconcile: Vec<PageId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_reads_back_with_the_number_that_the_store_puts_in() {
        let aim = Aim { url: Url::parse("https://w.test/").expect("a URL"), title: Some("A".into()), locale: None };
        let mut json: serde_json::Value =
            serde_json::from_slice(&Payload::first(aim).to_bytes().expect("written")).expect("JSON");
        assert!(json.is_object() && json.get("extraction").is_none());
        let id = ExtractionId(malla_queue::TaskId(7));
        json["extraction"] = serde_json::json!(id);
        let read: Payload = serde_json::from_value(json).expect("read");
        assert_eq!(read.extraction, Some(id));
    }
}
