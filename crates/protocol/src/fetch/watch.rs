//! Watches: pages that are fetched again and again, and their versions.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::page::from_text;

/// A page to be watched.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewWatch {
    pub url: String,
    /// Only the parts of the page that this CSS selector picks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// What makes no difference, as regular expressions: dates, tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore: Option<Vec<String>>,
    /// Seconds between two visits at least; 300 if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_min_s: Option<u64>,
    /// Seconds between two visits at most; a week if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_max_s: Option<u64>,
    /// Versions that are kept; 50 if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<u64>,
    /// Bytes of their texts together; 10,000,000 if not said. The newest is kept whatever its size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The group that owns the watch; may be left out by who has one group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// What is changed about a watch; what is left out stays.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WatchChange {
    /// `paused` or `running`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// An empty one watches the whole page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignore: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_min_s: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_max_s: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WatchView {
    pub id: String,
    pub group: Option<String>,
    /// `running`, `paused`, `cancelled` or `failed`.
    pub state: String,
    pub url: String,
    pub selector: Option<String>,
    pub ignore: Vec<String>,
    pub interval_min_s: u64,
    pub interval_max_s: u64,
    pub visits: u64,
    pub changes: u64,
    /// The number of the newest version; 0 if there is none yet.
    pub version: u64,
    /// Changes expected in a day.
    pub changes_per_day: f64,
    /// Of the last visit.
    pub status: Option<u16>,
    pub trouble: Option<String>,
    pub visited_at: Option<String>,
    pub changed_at: Option<String>,
    pub next_at: Option<String>,
    pub note: Option<String>,
    pub created_at: String,
}

/// The text of a page as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PageVersion {
    /// Counted from 1.
    pub version: u64,
    pub at: String,
    pub status: u16,
    /// Where redirects led.
    pub final_url: String,
    pub bytes: u64,
    /// Left out in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageDiffQuery {
    /// The older version; the one before the newer one if not said.
    #[serde(default, deserialize_with = "from_text", skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// The newer version; the newest if not said.
    #[serde(default, deserialize_with = "from_text", skip_serializing_if = "Option::is_none")]
    pub to: Option<u64>,
}

/// What differs between two versions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PageDiff {
    pub from: u64,
    pub to: u64,
    /// From 0 (nothing in common) to 1 (the same).
    pub similarity: f32,
    /// The lines that differ, as `diff -u` writes it; cut if it is long.
    pub diff: String,
}
