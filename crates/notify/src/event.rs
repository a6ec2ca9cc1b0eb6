//! An event: what came in, kept byte for byte.

use malla_queue::{EventId, GroupId, Scope, UnixMs};
use serde::{Deserialize, Serialize};

use crate::EndpointId;

/// An event on its way in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewEvent {
    /// `POST`, `PUT` or `PATCH`; delivery repeats it.
    pub method: String,
    /// Without the question mark.
    pub query: Option<String>,
    pub content_type: Option<String>,
    /// As they came, but for those that concern only the connection or hold the publisher's secrets.
    pub headers: Vec<(String, String)>,
    /// For an event from MQTT: its topic.
    pub topic: Option<String>,
    pub body: Vec<u8>,
}

/// An event whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub id: EventId,
    pub endpoint: EndpointId,
    /// The endpoint's name.
    pub endpoint_name: String,
    pub group: Option<GroupId>,
    /// For Malla's own: `task.failed`, `wiki.revision`, …
    pub kind: Option<String>,
    pub content: NewEvent,
}

impl Event {
    /// To the millisecond: the id tells it.
    pub fn received_at(&self) -> UnixMs {
        self.id.received_at()
    }
}

/// An event as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventSummary {
    pub id: EventId,
    pub endpoint: String,
    pub kind: Option<String>,
    pub method: String,
    pub content_type: Option<String>,
    pub topic: Option<String>,
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFilter {
    pub scope: Scope,
    pub endpoint: Option<String>,
    /// A word or id inside the body.
    pub content: Option<String>,
    /// Received at or after.
    pub from: Option<UnixMs>,
    /// Received before.
    pub to: Option<UnixMs>,
}

#[derive(Debug, Clone)]
pub struct EventPage {
    /// Newest first.
    pub events: Vec<EventSummary>,
    /// Go on below this id; `None` at the end. A page may be short and still go on.
    pub next: Option<EventId>,
}
