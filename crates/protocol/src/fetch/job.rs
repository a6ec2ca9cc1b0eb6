//! Jobs: URLs that a client wants, and the result of each.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::page::from_text;

/// URLs to be fetched, or to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FetchPages {
    pub urls: Vec<String>,
    /// Whether a fresh page in the cache will do; it will if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<bool>,
    /// The group that owns the job; may be left out by who has one group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Wait until a second device has brought the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FetchQuery {
    /// The page's address.
    #[serde(default)]
    #[param(required = true)]
    pub url: String,
    /// Whether a fresh page in the cache will do; it will if not said.
    #[serde(default, deserialize_with = "from_text", skip_serializing_if = "Option::is_none")]
    pub cached: Option<bool>,
    /// The group that owns the job; may be left out by who has one group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Wait until a second device has brought the same.
    #[serde(default, deserialize_with = "from_text", skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
}

/// What came of one URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FetchResult {
    /// Names this result, to report it if it is bad.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// As it was asked for.
    pub url: String,
    /// The site's; 580 if it gave no answer (no such name, no connection, no word in time), 0 if it was not asked.
    pub status: u16,
    /// Its content encoding undone. Text, or what `body_encoding` says.
    pub body: String,
    /// `base64` if the body is not text in UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_encoding: Option<String>,
    /// Names in lower case; the values of one that came several times are joined with a comma.
    pub headers: BTreeMap<String, String>,
    /// Where redirects led.
    pub final_url: String,
    pub fetched_at: String,
    pub from_cache: bool,
    /// The name of the device that fetched it.
    pub device: Option<String>,
    /// A second device has brought the same, or it was fetched by the server itself for somebody who waits for that.
    #[serde(default)]
    pub verified: bool,
    /// What went wrong, for programs: `no_address`, `refused`, `no_connection`, `tls`, `timed_out`, `garbled`,
    /// `broke_off`, `too_large`, `too_many_redirects`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// What went wrong, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum JobState {
    Running,
    Done,
    Cancelled,
}

impl JobState {
    pub fn name(self) -> &'static str {
        match self {
            JobState::Running => "running",
            JobState::Done => "done",
            JobState::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobView {
    pub id: String,
    pub group: Option<String>,
    pub state: JobState,
    /// URLs asked for.
    pub total: u64,
    /// URLs answered.
    pub done: u64,
    /// Of these, with a status from 200 to 299.
    pub good: u64,
    /// Of these, from the cache.
    pub from_cache: u64,
    pub created_at: String,
    pub finished_at: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Forgotten {
    /// Cached pages that are gone.
    pub forgotten: u64,
}
