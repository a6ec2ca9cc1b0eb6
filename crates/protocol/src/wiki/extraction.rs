//! An extraction: asked for, and looked at. Its words are those that existing clients know.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// What shall be extracted: a page by its title or by its URL.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub struct Extract {
    /// The page's title in the wiki that `locale` picks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The page's address, in any MediaWiki.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// `en` if not said, or what the address says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// The group that owns the history; may be left out by who has one group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// Where to look for how far an extraction is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExtractionPlace {
    /// `…/api/v1/status/<id>?name=extract_article`
    #[serde(rename = "Location")]
    pub location: String,
}

impl ExtractionPlace {
    /// The extraction's id, from its address.
    pub fn id(&self) -> Option<&str> {
        let path = self.location.split('?').next()?;
        path.rsplit('/').next().filter(|id| !id.is_empty())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum ExtractionState {
    #[serde(rename = "PENDING")]
    Pending,
    #[serde(rename = "IN PROGRESS")]
    InProgress,
    #[serde(rename = "SUCCESS")]
    Success,
    #[serde(rename = "FAILURE")]
    Failure,
}

impl ExtractionState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::InProgress => "IN PROGRESS",
            Self::Success => "SUCCESS",
            Self::Failure => "FAILURE",
        }
    }

    pub fn is_over(self) -> bool {
        matches!(self, Self::Success | Self::Failure)
    }
}

impl fmt::Display for ExtractionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExtractionView {
    pub id: String,
    pub group: Option<String>,
    /// The title or URL, as it was asked for.
    pub asked: String,
    pub state: ExtractionState,
    /// The wiki's number, once it is known.
    pub wiki: Option<i64>,
    pub pageid: Option<i64>,
    pub title: Option<String>,
    /// Requests made of the wiki.
    pub requests: u64,
    /// Revisions walked over.
    pub done: u64,
    /// How many there are, if the wiki tells.
    pub total: Option<u64>,
    /// Of those walked over, the ones that were not kept before.
    pub new: u64,
    /// Texts and names erased because the wiki hides them now.
    pub erased: u64,
    /// What it is at, or why it failed.
    pub note: Option<String>,
    pub asked_at: String,
    pub started_at: Option<String>,
    pub changed_at: String,
    pub finished_at: Option<String>,
    /// Seconds until its end, at the pace so far.
    pub left_s: Option<u64>,
}

/// How far an extraction is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExtractionStatus {
    /// `state` in one sentence.
    pub status: String,
    /// The page that was extracted; null until then.
    #[schema(value_type = Option<Object>)]
    pub result: Option<Value>,
    #[serde(flatten)]
    pub extraction: ExtractionView,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_in_the_address() {
        let id = |location: &str| ExtractionPlace { location: location.into() }.id().map(str::to_owned);
        assert_eq!(id("http://a/api/v1/status/06a2vb2dr0000?name=extract_article").as_deref(), Some("06a2vb2dr0000"));
        assert_eq!(id("/api/v1/status/x").as_deref(), Some("x"));
        assert_eq!(id("http://a/api/v1/status/"), None);
    }

    #[test]
    fn states_are_named_as_they_travel() {
        for state in
            [ExtractionState::Pending, ExtractionState::InProgress, ExtractionState::Success, ExtractionState::Failure]
        {
            assert_eq!(serde_json::to_value(state).expect("a state"), state.name());
        }
    }
}
