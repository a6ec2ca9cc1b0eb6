//! A notification: one event on its way to one subscription. It is a task of the queue, shown in this room's words.

use malla_queue::{EventId, GroupId, Scope, State, TaskId, UnixMs};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notification {
    pub id: TaskId,
    pub event: EventId,
    pub subscription: String,
    pub endpoint: String,
    pub group: Option<GroupId>,
    pub state: State,
    /// Attempts that failed since it was made or last resent.
    pub failures: u32,
    /// When it is tried next, or when its confirmation is due.
    pub run_at: Option<UnixMs>,
    pub finished_at: Option<UnixMs>,
}

/// Which notifications. Every condition that is given must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotificationFilter {
    pub scope: Scope,
    pub states: Vec<State>,
    pub subscription: Option<String>,
    pub endpoint: Option<String>,
    pub event: Option<EventId>,
    /// A word or id inside the event's body.
    pub content: Option<String>,
    /// Made at or after.
    pub from: Option<UnixMs>,
    /// Made before.
    pub to: Option<UnixMs>,
}

impl NotificationFilter {
    pub fn all(scope: Scope) -> Self {
        Self {
            scope,
            states: Vec::new(),
            subscription: None,
            endpoint: None,
            event: None,
            content: None,
            from: None,
            to: None,
        }
    }
}

/// Where the next page begins: below this number, of a notification, or of an event if the filter has `content`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageMark(pub i64);

#[derive(Debug, Clone)]
pub struct NotificationPage {
    /// Newest first.
    pub notifications: Vec<Notification>,
    /// `None` at the end. A page may be short, even empty, and still go on.
    pub next: Option<PageMark>,
}
