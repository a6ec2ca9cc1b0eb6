//! Revisions, what differs between two of them, and whole histories.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::page::from_text;

/// What is kept of a revision beside its text. What the wiki hides is not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RevisionView {
    /// The wiki's number.
    pub wiki: i64,
    pub revid: i64,
    /// 0: it began the page.
    pub parentid: i64,
    pub pageid: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub timestamp: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub userid: Option<i64>,
    /// There only if true: not logged in.
    #[serde(default, skip_serializing_if = "is_false")]
    pub anon: bool,
    /// There only if true.
    #[serde(default, skip_serializing_if = "is_false")]
    pub minor: bool,
    /// Bytes of its text.
    pub size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha1: Option<String>,
    pub contentmodel: String,
    pub contentformat: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The comment as HTML, as the wiki made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parsedcomment: Option<String>,
    pub tags: Vec<String>,
    /// There only if true: the wiki hides its text.
    #[serde(default, skip_serializing_if = "is_false")]
    pub texthidden: bool,
    /// Whether its text is kept.
    pub has_text: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DiffQuery {
    /// The wiki's number.
    #[serde(default, deserialize_with = "from_text", skip_serializing_if = "Option::is_none")]
    #[param(required = true)]
    pub wiki: Option<i64>,
    /// The number of the older revision.
    #[serde(default, deserialize_with = "from_text", skip_serializing_if = "Option::is_none")]
    #[param(required = true)]
    pub from: Option<i64>,
    /// The number of the newer one.
    #[serde(default, deserialize_with = "from_text", skip_serializing_if = "Option::is_none")]
    #[param(required = true)]
    pub to: Option<i64>,
}

/// What differs between the texts of two revisions. The pieces that are not `added` make up the one, those that are not
/// `removed` the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiffView {
    pub from: RevisionView,
    pub to: RevisionView,
    pub pieces: Vec<DiffPiece>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiffPiece {
    pub kind: DiffKind,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DiffKind {
    Same,
    Added,
    Removed,
}

/// In which form figures and histories come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExportFormat {
    /// Of a history: one revision a line.
    Json,
    Csv,
}

impl FromStr for ExportFormat {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "json" | "ndjson" => Ok(Self::Json),
            "csv" => Ok(Self::Csv),
            _ => Err("it comes as json or csv"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ExportQuery {
    /// `json` (one revision a line) or `csv`, for who cannot set `Accept`.
    #[serde(default, deserialize_with = "from_text", skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub format: Option<ExportFormat>,
    /// With each revision's text, as `*`. Only as JSON.
    #[serde(default, deserialize_with = "from_text", skip_serializing_if = "Option::is_none")]
    pub text: Option<bool>,
}
