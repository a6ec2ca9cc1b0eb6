//! What is asked about articles and revisions. Everything that is left out does not matter.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Which articles.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ArticleFilters {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A day, as `2018-03-09`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_extraction_date: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_extraction_date: Option<String>,
    /// The number of the newest revision that is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_revision_extracted: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// The wiki's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wiki: Option<i64>,
}

/// Which revisions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RevisionFilters {
    /// The title of their page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pageid: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub userid: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Bytes of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
    /// Positive: larger than `size`; negative: smaller; 0 or none: equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizematch: Option<i64>,
    /// A day, as `2018-03-09`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// From this day on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datestart: Option<String>,
    /// Up to this day, which is taken in whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dateend: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revid: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parentid: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha1: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contentmodel: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minor: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anon: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// The wiki's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wiki: Option<i64>,
}

/// Which part of an answer, in which order, with which fields.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct Shown {
    /// From 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u64>,
    /// 20 if not said, at most 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_size: Option<u64>,
    /// `asc` or `desc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort: Option<String>,
    /// The fields that are wanted, with commas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// How many, as a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CountView {
    pub count: String,
}

/// Revisions a day, as a text with six decimals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AvgView {
    pub avg: String,
}

/// What a pipeline works on, and how it writes dates.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PipelineQuery {
    /// `revisions` (if not said) or `articles`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// How dates in the pipeline are written, as `%Y-%m-%d`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date_format: Option<String>,
}
