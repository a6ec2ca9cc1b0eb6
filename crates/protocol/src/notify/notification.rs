//! Notifications: one event on its way to one subscription.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{HistoryEntry, TaskState};

/// A notification as a list shows it. It is a task, and its id is the task's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotificationView {
    pub id: String,
    /// The event's id.
    pub event: String,
    pub subscription: String,
    pub endpoint: String,
    /// The name of the group that owns it; null if it belongs to the house.
    pub group: Option<String>,
    pub state: TaskState,
    /// Attempts that have ended since it was made or last resent.
    pub attempts: u32,
    pub created_at: String,
    /// When it is tried next, or when its confirmation is due.
    pub run_at: Option<String>,
    pub finished_at: Option<String>,
}

/// A notification with all that happened to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NotificationDetail {
    #[serde(flatten)]
    pub notification: NotificationView,
    /// Who delivers it right now.
    pub holder: Option<String>,
    /// Every attempt with its times and what came back, and every verb of a person's; oldest first.
    pub history: Vec<HistoryEntry>,
}

/// Which notifications. Every condition that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct NotificationQuery {
    /// The subscription's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription: Option<String>,
    /// The endpoint's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The event's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    /// One state or several: a comma list, or the parameter repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// A word or id inside the event's body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Made at this time or later: RFC 3339, or YYYY-MM-DD in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Made before this time: RFC 3339, or YYYY-MM-DD in UTC, which takes in the whole day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// Which notifications to watch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct NotificationTailQuery {
    /// The subscription's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription: Option<String>,
    /// The endpoint's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
}
