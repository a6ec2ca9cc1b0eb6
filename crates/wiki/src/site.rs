//! A wiki: where its API is, and what it said about itself.

use std::fmt;

use malla_queue::{Error, GroupId, LaneKey, LaneSettings, Result, UnixMs};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use crate::extraction::ROOM;

/// A wiki's number inside its store. The same wiki of two groups is two, in one lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WikiId(pub i64);

impl fmt::Display for WikiId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A wiki that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct NewWiki {
    pub group: Option<GroupId>,
    /// Its `api.php`; of a wiki whose API is off, its `index.php`.
    pub api: Url,
    /// The language, or what stood for `{locale}` in the operator's template.
    pub locale: String,
    /// What it is called, as in `Wikipedia`.
    pub name: String,
    /// What it said about itself: `general` and `namespaces` of its siteinfo, and its bots' names.
    pub about: Value,
    /// Its API is off: histories are read from its pages.
    pub scraped: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Wiki {
    pub id: WikiId,
    pub group: Option<GroupId>,
    pub api: Url,
    pub locale: String,
    pub name: String,
    pub about: Value,
    pub scraped: bool,
    pub found_at: UnixMs,
    /// Pages kept, and revisions.
    pub pages: u64,
    pub revisions: u64,
    /// Visits made on the day `visits_day` (days since 1970) without anybody asking.
    pub visits_day: i64,
    pub visits: u64,
}

/// The lane of everything that is asked of the host of this URL: one request at a time, whoever asks.
pub fn lane_of(url: &Url) -> Result<LaneKey> {
    let host = url.host_str().ok_or_else(|| Error::Invalid(format!("\"{url}\" names no host")))?;
    let port = url.port_or_known_default().unwrap_or(0);
    format!("{ROOM}/{}://{host}:{port}", url.scheme()).parse()
}

/// What such a lane allows.
pub fn lane_settings(gap_ms: u64) -> LaneSettings {
    LaneSettings { ceiling: 1, gap_ms }
}
