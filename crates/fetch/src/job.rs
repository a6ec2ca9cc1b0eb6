//! What a client asked for, and what it gets: one answer for each URL, as they come.

use malla_queue::{Error, GroupId, LaneSettings, Result, TaskId, UnixMs};
use serde::{Deserialize, Serialize};

use crate::ledger::Prices;
use crate::{NOT_ASKED, NewPage, Page, PageUrl, Trouble, TroubleKind, WrongUrl};

/// URLs in one job at most.
pub const JOB_URLS_MAX: usize = 10_000;

/// A job's number, from the same sequence as the tasks'.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub TaskId);

impl std::fmt::Display for JobId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::str::FromStr for JobId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        text.parse().map(Self)
    }
}

/// URLs that somebody wants.
#[derive(Debug, Clone)]
pub struct NewJob {
    pub group: Option<GroupId>,
    pub wanted: Vec<Wanted>,
    /// Pages that may wait in the house at most.
    pub pending_max: u64,
    /// For the lanes of sites that are met for the first time.
    pub lanes: LaneSettings,
    pub terms: Terms,
}

/// What a client and the house have agreed on for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Terms {
    /// A result is told only once a second device has brought the same.
    pub verified: bool,
    pub prices: Prices,
}

impl NewJob {
    /// Pages it asks for.
    pub fn pages(&self) -> u64 {
        self.wanted.iter().filter(|wanted| matches!(wanted, Wanted::Page { .. })).count() as u64
    }

    pub fn check(&self) -> Result<()> {
        if self.wanted.is_empty() {
            return Err(Error::Invalid("there is nothing to fetch: give at least one URL".into()));
        }
        if self.wanted.len() > JOB_URLS_MAX {
            return Err(Error::Invalid(format!("a job has at most {JOB_URLS_MAX} URLs: make several")));
        }
        Ok(())
    }
}

/// One URL of a job, as it was written.
#[derive(Debug, Clone)]
pub enum Wanted {
    Page {
        /// As the client wrote it: so it is told the result.
        text: String,
        url: PageUrl,
        /// Whether a fresh page in the cache will do.
        cached: bool,
    },
    /// Answered at once, without asking anybody.
    Refused { url: String, why: Trouble },
}

impl Wanted {
    /// What a client wrote; what cannot be fetched is refused with the reason.
    pub fn read(text: &str, cached: bool) -> Self {
        match PageUrl::parse(text) {
            Ok(url) => match crate::suspicious(&url) {
                // A store of text cannot hold a NUL.
                None => Self::Page { text: text.replace('\0', "\u{fffd}"), url, cached },
                Some(what) => Self::refused(text, format!("this URL looks like an attack ({what})")),
            },
            Err(why) => Self::refused(text, why.to_string()),
        }
    }

    fn refused(text: &str, note: String) -> Self {
        let cut = text.char_indices().map(|(at, _)| at).find(|at| *at >= crate::address::URL_BYTES_MAX);
        let url = text[..cut.unwrap_or(text.len())].to_owned();
        Self::Refused { url, why: Trouble { what: TroubleKind::Refused, note } }
    }
}

impl From<WrongUrl> for Trouble {
    fn from(why: WrongUrl) -> Self {
        Trouble { what: TroubleKind::Refused, note: why.to_string() }
    }
}

impl NewPage {
    /// The answer for a URL that nobody was asked for.
    pub fn not_asked(url: String, why: Trouble, now: UnixMs) -> Self {
        NewPage {
            url,
            status: NOT_ASKED,
            headers: Vec::new(),
            body: None,
            trouble: Some(why),
            fetched_at: now,
            took_ms: 0,
            device: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub id: JobId,
    pub group: Option<GroupId>,
    pub total: u64,
    pub done: u64,
    /// Of those done, the ones with a status of 200 to 299.
    pub good: u64,
    /// From the cache.
    pub cached: u64,
    /// Nothing more is fetched for it.
    pub cancelled: bool,
    pub finished_at: Option<UnixMs>,
}

impl Job {
    pub fn is_over(&self) -> bool {
        self.cancelled || self.done >= self.total
    }
}

/// One answer of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// Counted from 1, in the order in which they came.
    pub n: u64,
    /// As the client wrote it.
    pub url: String,
    pub from_cache: bool,
    pub page: Page,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_fetched_is_refused_with_the_reason() {
        assert!(matches!(Wanted::read("https://example.org/a", true), Wanted::Page { .. }));
        for (text, reason) in [
            ("ftp://example.org/", "only http and https are fetched, not ftp"),
            ("nonsense", "this is not a URL: relative URL without a base"),
        ] {
            let Wanted::Refused { url, why } = Wanted::read(text, true) else { panic!("{text} was taken") };
            assert_eq!((url.as_str(), why.note.as_str()), (text, reason));
        }
        let long = "ü".repeat(9_000);
        let Wanted::Refused { url, .. } = Wanted::read(&long, true) else { panic!("it was taken") };
        assert!(url.len() <= 8_194);
    }
}
