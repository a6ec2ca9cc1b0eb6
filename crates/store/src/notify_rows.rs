//! How endpoints, subscriptions and events lie in the store, and how they are read back.

use malla_notify::{
    Endpoint, EndpointId, Event, EventSummary, NewEvent, Subscription, SubscriptionId, SubscriptionSpec,
    SubscriptionState,
};
use malla_queue::{Error, EventId, GroupId, LaneChange, Result, Scope, UnixMs};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::packing::unpack;

/// The endpoint of Malla's own events, as the migrations make it.
pub(crate) const SYSTEM_ID: i64 = 1;

/// The signal that endpoints or subscriptions changed. No room has a name like this.
pub(crate) const ROUTES: &str = "notify/routes";

/// Who discards what waits in a disabled subscription.
pub(crate) const SWEEPER: &str = "malla";

/// The system endpoint is everybody's.
pub(crate) fn sees(scope: &Scope, endpoint: &Endpoint) -> bool {
    endpoint.id.0 == SYSTEM_ID || scope.sees(endpoint.group)
}

pub(crate) fn not_system(endpoint: &Endpoint, done: &str) -> Result<()> {
    if endpoint.id.0 == SYSTEM_ID {
        let name = &endpoint.name;
        return Err(Error::Invalid(format!("\"{name}\" is the endpoint of Malla's own events: it cannot be {done}")));
    }
    Ok(())
}

/// What a subscription wants of its lane.
pub(crate) fn lane_settings(state: SubscriptionState, spec: &SubscriptionSpec) -> LaneChange {
    LaneChange { paused: Some(state != SubscriptionState::Active), ceiling: Some(spec.parallel), gap_ms: None }
}

/// What waited when a subscription was disabled must not go out when it is opened again.
pub(crate) fn still_swept(found: &Subscription) -> Error {
    let name = &found.name;
    Error::Taken(format!("what waited in subscription {name} is still being discarded: try again in a moment"))
}

pub(crate) fn disable_first(found: &Subscription) -> Result<()> {
    let (name, state) = (&found.name, found.state.name());
    match found.state {
        SubscriptionState::Disabled => Ok(()),
        _ => Err(Error::Taken(format!("subscription {name} is {state}: disable it before you delete it"))),
    }
}

pub(crate) fn still_waiting(found: &Subscription, waiting: i64) -> Result<()> {
    if waiting == 0 {
        return Ok(());
    }
    let name = &found.name;
    Err(Error::Taken(format!(
        "subscription {name} still has {waiting} notifications that are not finished: discard or confirm them first"
    )))
}

pub(crate) fn to_json(what: &impl Serialize) -> String {
    serde_json::to_string(what).expect("it has only text keys")
}

pub(crate) fn from_json<T: DeserializeOwned>(what: &str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| Error::Internal(format!("{what} in the store: {error}")))
}

pub(crate) fn state_code(state: SubscriptionState) -> i16 {
    match state {
        SubscriptionState::Active => 0,
        SubscriptionState::Suspended => 1,
        SubscriptionState::Disabled => 2,
    }
}

fn read_state(code: i64) -> SubscriptionState {
    match code {
        0 => SubscriptionState::Active,
        1 => SubscriptionState::Suspended,
        _ => SubscriptionState::Disabled,
    }
}

/// The columns of `both/notify/endpoint.sql`.
pub(crate) struct EndpointRow {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) group: Option<i64>,
    pub(crate) options: String,
    pub(crate) version: i64,
    pub(crate) created_at: i64,
}

impl EndpointRow {
    pub(crate) fn read(self) -> Result<Endpoint> {
        Ok(Endpoint {
            id: EndpointId(self.id),
            options: from_json("an endpoint", &self.options)?,
            name: self.name,
            group: self.group.map(GroupId),
            created_at: UnixMs(self.created_at),
            version: self.version,
        })
    }
}

/// The columns of `both/notify/subscription.sql`.
pub(crate) struct SubscriptionRow {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) endpoint: i64,
    pub(crate) endpoint_name: String,
    pub(crate) group: Option<i64>,
    pub(crate) state: i64,
    pub(crate) spec: String,
    pub(crate) created_at: i64,
    pub(crate) lane: i64,
}

impl SubscriptionRow {
    pub(crate) fn read(self) -> Result<Subscription> {
        Ok(Subscription {
            id: SubscriptionId(self.id),
            spec: from_json("a subscription", &self.spec)?,
            name: self.name,
            endpoint: EndpointId(self.endpoint),
            endpoint_name: self.endpoint_name,
            group: self.group.map(GroupId),
            state: read_state(self.state),
            created_at: UnixMs(self.created_at),
        })
    }
}

/// The columns of `both/notify/event.sql`.
pub(crate) struct EventRow {
    pub(crate) id: i64,
    pub(crate) endpoint: i64,
    pub(crate) endpoint_name: String,
    pub(crate) group: Option<i64>,
    pub(crate) kind: Option<String>,
    pub(crate) method: Option<String>,
    pub(crate) query: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) topic: Option<String>,
    pub(crate) headers: Option<String>,
    pub(crate) packed: i64,
    pub(crate) body: Vec<u8>,
}

impl EventRow {
    pub(crate) fn read(self) -> Result<Event> {
        let (method, content_type) = as_posted(self.kind.as_deref(), self.method, self.content_type);
        Ok(Event {
            id: EventId(self.id),
            endpoint: EndpointId(self.endpoint),
            endpoint_name: self.endpoint_name,
            group: self.group.map(GroupId),
            kind: self.kind,
            content: NewEvent {
                method,
                query: self.query,
                content_type,
                headers: self.headers.map_or(Ok(Vec::new()), |text| from_json("headers", &text))?,
                topic: self.topic,
                body: unpack(self.packed, self.body)?,
            },
        })
    }
}

/// The columns of `both/notify/event_summary.sql`.
pub(crate) struct EventSummaryRow {
    pub(crate) id: i64,
    pub(crate) endpoint: String,
    pub(crate) kind: Option<String>,
    pub(crate) method: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) topic: Option<String>,
    pub(crate) bytes: i64,
}

impl EventSummaryRow {
    pub(crate) fn read(self) -> EventSummary {
        let (method, content_type) = as_posted(self.kind.as_deref(), self.method, self.content_type);
        EventSummary {
            id: EventId(self.id),
            endpoint: self.endpoint,
            kind: self.kind,
            method,
            content_type,
            topic: self.topic,
            bytes: u64::try_from(self.bytes).unwrap_or(0),
        }
    }
}

/// Malla's own events are stored without what they all have in common.
fn as_posted(kind: Option<&str>, method: Option<String>, content_type: Option<String>) -> (String, Option<String>) {
    let own = kind.map(|_| "application/json".to_owned());
    (method.unwrap_or_else(|| "POST".into()), content_type.or(own))
}
