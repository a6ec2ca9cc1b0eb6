//! A task: something to be done, in a lane, with a payload that only its room understands.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Entry, Error, GroupId, LaneKey, LaneSettings, Limits, RetryDelays, State, TaskId, UnixMs};

/// What sort of work a task is, named by its room: `notify.deliver`, `fetch.page`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Kind(String);

impl Kind {
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Which of a lane's due tasks goes first. Between lanes priorities mean nothing: each lane gets its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    High,
    #[default]
    Normal,
    Low,
}

impl Priority {
    pub const ALL: [Priority; 3] = [Priority::High, Priority::Normal, Priority::Low];

    pub fn name(self) -> &'static str {
        match self {
            Priority::High => "high",
            Priority::Normal => "normal",
            Priority::Low => "low",
        }
    }

    /// Its rank in the store: lower goes first.
    pub fn rank(self) -> i16 {
        self as i16
    }

    pub fn from_rank(rank: i16) -> Self {
        match rank {
            0 => Priority::High,
            2 => Priority::Low,
            _ => Priority::Normal,
        }
    }
}

impl FromStr for Priority {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Priority::ALL
            .into_iter()
            .find(|priority| priority.name() == text)
            .ok_or_else(|| Error::Invalid(format!("\"{text}\" is not a priority: high, normal or low")))
    }
}

/// A task on its way in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    pub lane: LaneKey,
    /// How to make the lane if it is not there yet.
    pub lane_settings: LaneSettings,
    /// Whose lane it is then.
    pub lane_group: Option<GroupId>,
    pub kind: Kind,
    pub group: Option<GroupId>,
    pub priority: Priority,
    /// Not before; `None` means at once.
    pub run_at: Option<UnixMs>,
    /// While a task with this key (in the same room) is not finished, submitting another one gives back the first.
    pub dedup: Option<String>,
    pub retry: RetryDelays,
    pub payload: Vec<u8>,
}

impl NewTask {
    /// A task of normal priority, to be run at once, with one attempt.
    pub fn new(lane: LaneKey, kind: Kind, payload: impl Into<Vec<u8>>) -> Self {
        Self {
            lane,
            lane_settings: LaneSettings::default(),
            lane_group: None,
            kind,
            group: None,
            priority: Priority::Normal,
            run_at: None,
            dedup: None,
            retry: RetryDelays::none(),
            payload: payload.into(),
        }
    }

    pub fn check(&self, limits: &Limits) -> Result<(), Error> {
        let names = [Some(self.kind.as_str()), self.dedup.as_deref()];
        if names.into_iter().flatten().any(|name| name.is_empty() || name.len() > Limits::NAME_BYTES_MAX) {
            let max = Limits::NAME_BYTES_MAX;
            return Err(Error::Invalid(format!("a kind or dedup key has from 1 to {max} bytes")));
        }
        if self.payload.len() > limits.payload_bytes_max {
            let (len, max) = (self.payload.len(), limits.payload_bytes_max);
            return Err(Error::Invalid(format!("a payload of {len} bytes is too large: at most {max}")));
        }
        self.lane_settings.check()?;
        self.retry.check()
    }
}

/// What became of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitted {
    pub id: TaskId,
    /// False if a waiting task with the same dedup key answered for it.
    pub new: bool,
}

/// A task as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSummary {
    pub id: TaskId,
    pub lane: LaneKey,
    pub kind: Kind,
    pub group: Option<GroupId>,
    pub state: State,
    pub priority: Priority,
    /// Attempts that ended in failure since it was last submitted or resent.
    pub failures: u32,
    /// When it runs next, if it waits; when its confirmation is due, if it is notified.
    pub run_at: Option<UnixMs>,
    pub finished_at: Option<UnixMs>,
    pub parent: Option<TaskId>,
    /// Who holds it, if it runs.
    pub holder: Option<String>,
}

/// A task whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub summary: TaskSummary,
    pub retry: RetryDelays,
    pub dedup: Option<String>,
    pub payload: Vec<u8>,
    pub result: Option<Vec<u8>>,
    pub history: Vec<Entry>,
}
