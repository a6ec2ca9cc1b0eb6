//! Tasks as they travel. Times are RFC 3339 texts in UTC.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::page::from_text;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TaskState {
    Queued,
    Running,
    Paused,
    Notified,
    Succeeded,
    Failed,
    Discarded,
}

impl TaskState {
    pub fn name(self) -> &'static str {
        match self {
            TaskState::Queued => "queued",
            TaskState::Running => "running",
            TaskState::Paused => "paused",
            TaskState::Notified => "notified",
            TaskState::Succeeded => "succeeded",
            TaskState::Failed => "failed",
            TaskState::Discarded => "discarded",
        }
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Which of a lane's due tasks goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    High,
    #[default]
    Normal,
    Low,
}

impl Priority {
    pub fn name(self) -> &'static str {
        match self {
            Priority::High => "high",
            Priority::Normal => "normal",
            Priority::Low => "low",
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A task as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskView {
    pub id: String,
    /// `room/name`
    pub lane: String,
    pub kind: String,
    /// The name of the group that owns it; null if it belongs to the house.
    pub group: Option<String>,
    pub state: TaskState,
    pub priority: Priority,
    /// Attempts that failed since it was submitted or last sent again.
    pub failures: u32,
    pub submitted_at: String,
    /// When it runs next, if it waits; when its confirmation is due, if it is notified.
    pub run_at: Option<String>,
    pub finished_at: Option<String>,
    /// The task that it follows.
    pub parent: Option<String>,
    /// Who works on it, if it runs.
    pub holder: Option<String>,
}

/// A task whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskDetail {
    #[serde(flatten)]
    pub task: TaskView,
    /// JSON as it is; other bytes as `{"base64": …}`.
    pub payload: Value,
    /// Like `payload`; null without a result.
    pub result: Option<Value>,
    /// The wait before each further attempt.
    pub retry_delays_ms: Vec<u64>,
    pub dedup: Option<String>,
    /// Oldest first.
    pub history: Vec<HistoryEntry>,
}

/// One attempt, or one verb of a person's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HistoryEntry {
    /// succeeded, notified, retried, failed, released, lapsed, unconfirmed (attempts); paused, resumed, discarded,
    /// resent, confirmed (a person's verbs).
    pub what: String,
    pub at: String,
    /// When the attempt began.
    pub started_at: Option<String>,
    /// Who worked on it, or the person.
    pub by: Option<String>,
    /// One sentence for people.
    pub note: Option<String>,
    /// What came back from the far side.
    pub answer: Option<Value>,
}

/// Tasks on their way in, all or none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmitTasks {
    pub tasks: Vec<NewTask>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewTask {
    /// `room/name`. It is made if it is not there.
    pub lane: String,
    pub kind: String,
    /// What the kind understands; `{}` if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    #[serde(default)]
    pub priority: Priority,
    /// Not before this time (RFC 3339); at once if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_at: Option<String>,
    /// While a task of the same room with this key is not finished, it answers for the new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedup: Option<String>,
    /// Seconds before each further attempt; none means a single attempt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retry_delays_s: Vec<u64>,
    /// The group that owns it; may be left out by who has one group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Simultaneous tasks of the lane, if this task makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<u32>,
    /// Milliseconds between two starts in the lane, if this task makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_ms: Option<u64>,
}

/// The answer to a submission, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Submitted {
    pub tasks: Vec<SubmittedTask>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SubmittedTask {
    pub id: String,
    /// False if a task with the same dedup key answers for it.
    pub new: bool,
}

/// What a verb on all that match did. `more` says that some are left: ask again with `cursor` set to `next_cursor`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct Bulk {
    pub changed: u64,
    pub more: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// How many tasks are in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct StateCounts {
    pub queued: u64,
    pub running: u64,
    pub paused: u64,
    pub notified: u64,
    pub succeeded: u64,
    pub failed: u64,
    pub discarded: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Counts {
    pub total: StateCounts,
    pub kinds: Vec<KindCounts>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KindCounts {
    pub kind: String,
    #[serde(flatten)]
    pub counts: StateCounts,
}

/// Which tasks. Every condition that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TaskQuery {
    /// One state or several: a comma list, or the parameter repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The first part of the lane's key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The lane's whole key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<String>,
    /// The name of the group that owns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The id of the task that they follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Submitted at this time or later: RFC 3339, or YYYY-MM-DD in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Submitted before this time: RFC 3339, or YYYY-MM-DD in UTC, which takes in the whole day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// What a verb on every task that matches asks for besides the filter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AllQuery {
    /// Must be `true` if no filter is given.
    #[serde(default, deserialize_with = "from_text", skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
    /// The `next_cursor` of the answer before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}
