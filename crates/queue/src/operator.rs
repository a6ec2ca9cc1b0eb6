//! What people do to tasks, and the record of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{GroupId, TaskId, What};

/// A person's verb on one task or on all that match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Move {
    Pause,
    Resume,
    Discard,
    Resend,
    /// The far side's late word on a notified task.
    Confirm,
}

impl Move {
    pub const ALL: [Move; 5] = [Move::Pause, Move::Resume, Move::Discard, Move::Resend, Move::Confirm];

    pub fn name(self) -> &'static str {
        match self {
            Move::Pause => "pause",
            Move::Resume => "resume",
            Move::Discard => "discard",
            Move::Resend => "resend",
            Move::Confirm => "confirm",
        }
    }

    pub fn participle(self) -> &'static str {
        match self {
            Move::Pause => "paused",
            Move::Resume => "resumed",
            Move::Discard => "discarded",
            Move::Resend => "resent",
            Move::Confirm => "confirmed",
        }
    }

    pub fn what(self) -> What {
        match self {
            Move::Pause => What::Paused,
            Move::Resume => What::Resumed,
            Move::Discard => What::Discarded,
            Move::Resend => What::Resent,
            Move::Confirm => What::Confirmed,
        }
    }
}

/// Who changes something and how it is written down: the audit line, and the key that makes a repeat harmless.
/// Both are stored in the transaction of the change itself.
#[derive(Debug, Clone)]
pub struct Act {
    /// `user:ana`, `token:deploy`, `malla` for the program itself.
    pub actor: String,
    /// `task.discard`, `lane.change`, `user.create`.
    pub action: &'static str,
    /// What it was done to.
    pub object: String,
    pub group: Option<GroupId>,
    pub detail: serde_json::Value,
    pub once: Option<Once>,
}

impl Act {
    pub fn new(actor: impl Into<String>, action: &'static str, object: impl Into<String>) -> Self {
        Self {
            actor: actor.into(),
            action,
            object: object.into(),
            group: None,
            detail: serde_json::Value::Null,
            once: None,
        }
    }
}

/// An idempotency key with what it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    /// Whose key it is: two callers may use the same word.
    pub scope: String,
    pub key: String,
    /// A hash of the request: the same key with another request is refused.
    pub fingerprint: Vec<u8>,
    pub keep_for: Duration,
}

/// What one step of a bulk verb did, and where the next one begins; `None` when there is nothing left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Bulk {
    pub changed: u64,
    pub next: Option<TaskId>,
}
