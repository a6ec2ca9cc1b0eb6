//! A tour: something that Malla itself goes on asking pages for — a crawl, a watch, a comparison.
//!
//! A tour owns a job that stays open, so that its pages are asked for, cached, counted and told like anybody's. One task
//! stands for it in a lane of its own; who holds that task reads the answers that came, and what it makes of them is one
//! transaction with the mark up to which they are read ([`Tours::step`]). So whatever breaks, the next one goes on at the
//! mark, and nothing is read twice or passed over.

mod verbs;
mod work;

use malla_queue::{
    Error, Event, GroupId, Kind, LaneKey, LaneSettings, NewTask, Result, RetryDelays, Room, TaskId, UnixMs,
};
use serde::{Deserialize, Serialize};

use crate::{JobId, PageUrl, Site, UrlKey};

pub use verbs::{Hand, KeepTours, Step, Stepped, TourChange, Tours};
pub(crate) use work::Turn;
pub use work::{Guide, TourOptions};

/// The room whose lanes are tours.
pub const TOUR_ROOM: &str = "tour";
/// Bytes of what somebody wants of a tour, and of what it has come to.
pub const SPEC_BYTES_MAX: usize = 64 * 1_024;
/// Tours that are not over, of one kind.
pub const TOURS_MAX: u64 = 10_000;

/// What is asked for again after a failure.
const RETRY_DELAYS_S: [u64; 6] = [1, 5, 30, 60, 300, 900];

/// A tour's number: its job's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TourId(pub TaskId);

impl TourId {
    pub fn job(self) -> JobId {
        JobId(self.0)
    }
}

impl std::fmt::Display for TourId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::str::FromStr for TourId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        text.parse().map(Self)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TourKind {
    Crawl,
    Watch,
    Compare,
}

impl TourKind {
    pub const ALL: [TourKind; 3] = [TourKind::Crawl, TourKind::Watch, TourKind::Compare];

    pub fn name(self) -> &'static str {
        match self {
            TourKind::Crawl => "crawl",
            TourKind::Watch => "watch",
            TourKind::Compare => "compare",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// As people call one of them.
    pub fn noun(self) -> &'static str {
        match self {
            TourKind::Compare => "comparison",
            kind => kind.name(),
        }
    }

    /// The kind of its task.
    pub fn task_kind(self) -> Kind {
        Kind::new(format!("fetch.{}", self.name()))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TourState {
    Running,
    /// Nothing more is asked for until it goes on; what is under way comes to its end.
    Paused,
    Done,
    Cancelled,
    Failed,
}

impl TourState {
    pub const ALL: [TourState; 5] =
        [TourState::Running, TourState::Paused, TourState::Done, TourState::Cancelled, TourState::Failed];

    pub fn name(self) -> &'static str {
        match self {
            TourState::Running => "running",
            TourState::Paused => "paused",
            TourState::Done => "done",
            TourState::Cancelled => "cancelled",
            TourState::Failed => "failed",
        }
    }

    pub fn is_over(self) -> bool {
        !matches!(self, TourState::Running | TourState::Paused)
    }

    /// Its number in the store.
    pub fn rank(self) -> i16 {
        self as i16
    }

    pub fn from_rank(rank: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.rank() == rank)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tour {
    pub id: TourId,
    pub kind: TourKind,
    pub group: Option<GroupId>,
    pub state: TourState,
    /// What somebody wants, as JSON that only its kind understands.
    pub spec: String,
    /// What it has come to, likewise.
    pub progress: String,
    /// Answers of its job that are read.
    pub read: u64,
    /// URLs that were asked for, and how many of them are sitemaps.
    pub asked: u64,
    pub sitemaps: u64,
    /// URLs that were found, and how many of them are not asked for yet.
    pub found: u64,
    pub waiting: u64,
    /// URLs that were not taken because there are too many of their making, or too many at all.
    pub trapped: u64,
    pub left_out: u64,
    /// Versions that were made, counted from 1.
    pub versions: u64,
    /// How much it weighs among others that share a budget.
    pub weight: f64,
    /// Why it is over, for people.
    pub note: Option<String>,
    pub finished_at: Option<UnixMs>,
}

impl Tour {
    /// Asked for and not read yet.
    pub fn outstanding(&self) -> u64 {
        self.asked.saturating_sub(self.read)
    }

    /// Tells subscribers that it is over, if its kind comes to an end.
    pub fn finished_event(&self) -> Option<Event> {
        let body = match self.kind {
            TourKind::Crawl => {
                let progress: crate::crawl::Progress = self.progress().unwrap_or_default();
                serde_json::json!({
                    "crawl": self.id.to_string(), "state": self.state.name(), "note": self.note,
                    "pages": progress.pages, "good": progress.good, "bytes": progress.bytes,
                    "found": self.found, "limited_by": progress.limited_by,
                })
            }
            TourKind::Watch | TourKind::Compare => return None,
        };
        let kind = format!("{}.finished", self.kind.name());
        Some(Event { kind, group: self.group, body: body.to_string().into_bytes() })
    }

    pub fn spec<T: serde::de::DeserializeOwned>(&self) -> Result<T> {
        read(&self.spec)
    }

    pub fn progress<T: serde::de::DeserializeOwned>(&self) -> Result<T> {
        read(&self.progress)
    }
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| Error::Internal(format!("a stored tour is damaged: {error}")))
}

/// Plain data as the store keeps it.
pub(crate) fn write(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain data is JSON")
}

/// A tour on its way in.
#[derive(Debug, Clone)]
pub struct NewTour {
    pub kind: TourKind,
    pub group: Option<GroupId>,
    pub spec: String,
    pub progress: String,
    /// Where it starts, if it finds its own way.
    pub found: Vec<Found>,
    pub weight: f64,
}

impl NewTour {
    pub fn check(&self) -> Result<()> {
        if self.spec.len() > SPEC_BYTES_MAX {
            let noun = self.kind.noun();
            return Err(Error::Invalid(format!("a {noun} is described in at most {SPEC_BYTES_MAX} bytes")));
        }
        Ok(())
    }
}

/// A URL that a tour has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub url: PageUrl,
    /// Steps from where it started.
    pub depth: u32,
    pub sitemap: bool,
    /// Pages that are made alike have the same; see [`crate::crawl::shape`]. With how many of them are asked for.
    pub shape: Option<(UrlKey, u64)>,
}

impl Found {
    pub fn key(&self) -> UrlKey {
        self.url.key()
    }

    pub fn site(&self) -> Site {
        self.url.site()
    }
}

/// Something a tour keeps: a page as it was, or what a comparison came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Counted from 1.
    pub n: u64,
    pub at: UnixMs,
    /// As JSON.
    pub facts: String,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewVersion {
    pub at: UnixMs,
    pub facts: String,
    pub text: String,
}

fn room() -> Room {
    Room::new(TOUR_ROOM).expect("it is a room")
}

/// The lane in which a tour has its one task.
pub fn lane_of(id: TourId) -> LaneKey {
    LaneKey::new(&room(), &id.to_string()).expect("a number is short")
}

/// The task that stands for a tour. While it waits or runs, there is no second.
pub fn task_of(id: TourId, kind: TourKind, group: Option<GroupId>, run_at: Option<UnixMs>) -> NewTask {
    NewTask {
        lane_settings: LaneSettings { ceiling: 1, gap_ms: 0 },
        lane_group: group,
        group,
        run_at,
        dedup: Some(id.to_string()),
        retry: RetryDelays::seconds(RETRY_DELAYS_S),
        ..NewTask::new(lane_of(id), kind.task_kind(), id.to_string().into_bytes())
    }
}

/// The tour that a task stands for.
pub fn tour_of(payload: &[u8]) -> Result<TourId> {
    let damaged = || Error::Internal("a tour's task is damaged".into());
    std::str::from_utf8(payload).ok().and_then(|text| text.parse().ok()).ok_or_else(damaged)
}
