//! Events: what came in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The answer to an event taken in: it survives a crash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Accepted {
    /// The event's id.
    pub id: String,
}

/// An event as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventView {
    pub id: String,
    pub endpoint: String,
    /// For Malla's own events: `task.failed`, `wiki.revision`, …
    pub kind: Option<String>,
    pub method: String,
    pub content_type: Option<String>,
    /// For an event from MQTT.
    pub topic: Option<String>,
    /// The length of the body.
    pub bytes: u64,
    pub received_at: String,
}

/// An event whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventDetail {
    #[serde(flatten)]
    pub event: EventView,
    /// The name of the group that owns it.
    pub group: Option<String>,
    /// Without the question mark.
    pub query: Option<String>,
    /// By their names in small letters; one that came several times has its values joined with commas.
    pub headers: BTreeMap<String, String>,
    /// The body, if it is UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The body, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_base64: Option<String>,
}

/// Which events. Every condition that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct EventQuery {
    /// The endpoint's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// A word or id inside the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Received at this time or later: RFC 3339, or YYYY-MM-DD in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Received before this time: RFC 3339, or YYYY-MM-DD in UTC, which takes in the whole day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// Which events to watch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct EventTailQuery {
    /// The endpoint's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
}
