//! Crawls: where they start, how far they go, and what they have come to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A crawl to be started.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewCrawl {
    /// Where it starts.
    pub seeds: Vec<String>,
    /// `host` (the seeds' hosts, if not said), `domain` (their registrable domains), `prefix` (what begins as they do).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Steps from a seed; 10 if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Pages, sitemaps apart; 10,000 if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Bytes of all pages together; 0 or not said: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Whether sitemaps are read; they are if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sitemaps: Option<bool>,
    /// Whether a copy leads to the page that it names as its original; it does if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical: Option<bool>,
    /// Whether parameters in another order are the same page; they are not if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort_query: Option<bool>,
    /// Whether links to pictures, films, archives and the like are followed; they are not if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<bool>,
    /// Whether fresh pages in the cache will do; they will if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<bool>,
    /// Pages of one making, as `/thread/17`, on a site; 10,000 if not said, 0: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages_per_shape: Option<u64>,
    /// The same for those with a date; 400 if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages_per_calendar: Option<u64>,
    /// The group that owns the crawl; may be left out by who has one group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// What is changed about a crawl, a watch or a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CrawlChange {
    /// `paused` or `running`.
    pub state: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CrawlView {
    pub id: String,
    pub group: Option<String>,
    /// `running`, `paused`, `done`, `cancelled` or `failed`.
    pub state: String,
    pub seeds: Vec<String>,
    pub scope: String,
    pub depth: u32,
    pub limit: u64,
    pub bytes_limit: Option<u64>,
    /// Pages that came, with any status.
    pub pages: u64,
    /// Of these, with a status from 200 to 299.
    pub good: u64,
    /// Of these, without an answer or not asked for.
    pub unanswered: u64,
    pub from_cache: u64,
    pub bytes: u64,
    pub sitemaps: u64,
    /// URLs known, those that are asked for and not answered, and those that wait to be asked for.
    pub found: u64,
    pub under_way: u64,
    pub waiting: u64,
    pub left_alone: LeftAlone,
    pub by_status: BTreeMap<String, u64>,
    /// The limit that ended it: `pages` or `bytes`.
    pub limited_by: Option<String>,
    pub note: Option<String>,
    pub created_at: String,
    pub finished_at: Option<String>,
}

/// Links that were not followed, each time they were seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct LeftAlone {
    pub outside: u64,
    pub too_deep: u64,
    /// By the page's or the link's own wish.
    pub nofollow: u64,
    pub files: u64,
    /// Paths that repeat themselves, too many pages of one making.
    pub trapped: u64,
    /// The crawl knows too many already.
    pub left_out: u64,
    /// Followed without the name of a session.
    pub sessions: u64,
    /// Pages that are copies of another.
    pub copies: u64,
}
