//! Wikis and their pages, as they are kept.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::ExportFormat;
use crate::page::from_text;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WikiView {
    pub id: i64,
    pub group: Option<String>,
    /// What it is called, as in `Wikipedia`.
    pub name: String,
    pub locale: String,
    /// Its `api.php`; of a wiki whose API is off, its `index.php`.
    pub api: String,
    /// Its API is off: histories are read from its pages.
    pub scraped: bool,
    pub found_at: String,
    /// Pages kept.
    pub pages: u64,
    /// Revisions kept.
    pub revisions: u64,
}

/// A wiki with what it said about itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WikiDetail {
    #[serde(flatten)]
    pub wiki: WikiView,
    #[schema(value_type = Object)]
    pub about: Value,
}

/// A page whose history is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WikiPage {
    /// The wiki's number.
    pub wiki: i64,
    pub pageid: i64,
    pub title: String,
    pub ns: i64,
    /// The wiki no longer has it.
    pub deleted: bool,
    /// Revisions kept.
    pub revisions: u64,
    /// The newest revision kept.
    pub newest_revid: Option<i64>,
    pub newest_at: Option<String>,
    pub first_extraction_at: String,
    pub last_extraction_at: String,
    /// When the end of the history was first reached.
    pub complete_at: Option<String>,
    /// When every revision was last compared with the wiki's list.
    pub reconciled_at: Option<String>,
    /// When the wiki was last asked whether the page has changed.
    pub visited_at: Option<String>,
    /// Lately; null until its history is complete.
    pub edits_per_day: Option<f64>,
    /// Whether it is visited again without anybody asking.
    pub watched: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WikiPageChange {
    /// Whether it shall be visited again without anybody asking.
    pub watched: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct WikiPageQuery {
    /// Of this wiki alone, by its number.
    #[serde(default, deserialize_with = "from_text", skip_serializing_if = "Option::is_none")]
    pub wiki: Option<i64>,
    /// With exactly this title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// With this number.
    #[serde(default, deserialize_with = "from_text", skip_serializing_if = "Option::is_none")]
    pub pageid: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MetricsQuery {
    /// `json` or `csv`.
    #[serde(default, deserialize_with = "from_text", skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub format: Option<ExportFormat>,
}
