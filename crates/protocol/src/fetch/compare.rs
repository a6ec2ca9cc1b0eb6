//! Comparisons: the same pages from several places.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Pages to be compared, either from `countries` or from so many `devices`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewComparison {
    pub urls: Vec<String>,
    /// Two capital letters each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub countries: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devices: Option<u32>,
    /// Again after so many seconds; once if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_s: Option<u64>,
    /// How long a page waits for a device of its place; 300 s if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_s: Option<u64>,
    /// Whether the answer waits for the report, as long as a request may take; it does if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<bool>,
    /// The group that owns the comparison; may be left out by who has one group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparisonView {
    pub id: String,
    pub group: Option<String>,
    /// `running`, `paused`, `done`, `cancelled` or `failed`.
    pub state: String,
    pub urls: Vec<String>,
    pub countries: Vec<String>,
    pub devices: Option<u32>,
    pub every_s: Option<u64>,
    pub rounds: u64,
    /// Rounds that were not as the one before.
    pub changes: u64,
    /// URLs that differ, in the last round.
    pub differing: u64,
    pub compared_at: Option<String>,
    pub next_at: Option<String>,
    pub note: Option<String>,
    pub created_at: String,
    /// Of the last round; left out in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ComparisonReport>,
}

/// What a round came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparisonReport {
    /// Counted from 1.
    pub round: u64,
    pub at: String,
    pub urls: Vec<ComparedUrl>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparedUrl {
    pub url: String,
    /// Whether a place got something else than most.
    pub differs: bool,
    pub places: Vec<ComparedPlace>,
}

/// What one place got, against what most got.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparedPlace {
    /// A country, or `device:` and a number.
    pub place: String,
    pub device: Option<String>,
    /// The site's; 580 if it gave no answer, 0 if it was not asked.
    pub status: u16,
    pub final_url: String,
    pub bytes: u64,
    /// From 0 (nothing in common) to 1 (the same).
    pub similarity: Option<f32>,
    /// Lines that are missing here, and lines that are only here.
    pub missing: Vec<String>,
    pub extra: Vec<String>,
    pub differs: bool,
    /// No device of the place was there in time, or what went wrong.
    pub note: Option<String>,
}
