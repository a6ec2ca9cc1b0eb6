//! Lanes as they travel.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::StateCounts;
use crate::page::from_text;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LaneView {
    /// `room/name`
    pub key: String,
    pub room: String,
    /// The name of the group that owns it; null if it is shared, which only admins see.
    pub group: Option<String>,
    /// Simultaneous tasks.
    pub ceiling: u32,
    /// Milliseconds between two starts.
    pub gap_ms: u64,
    pub paused: bool,
    /// When it may start something next; null if it has nothing to start, is full or paused.
    pub ready_at: Option<String>,
    pub counts: StateCounts,
}

/// What to change; what is not given stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LaneChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_ms: Option<u64>,
}

/// Which lanes. Every condition that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct LaneQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<String>,
    #[serde(default, deserialize_with = "from_text", skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Part of the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
}
