//! A deliverer with its store and one endpoint, `orders`, and the tasks it works on.

use std::sync::Arc;

use malla_notify::{
    DELIVER, Deliverer, EndpointId, EndpointOptions, Event, NewEvent, RecentEvents, SubscriptionSpec, Target, lane_of,
};
use malla_queue::worker::Work as _;
use malla_queue::{
    Clock as _, EventId, Failure, Kind, LeaseToken, Leased, Outcome, Priority, RetryDelays, SystemClock, TaskId,
    UnixMs, Verdict,
};
use malla_reach::Guard;
use serde_json::{Value, json};

use crate::fake::Fake;

pub(crate) struct House {
    pub(crate) fake: Arc<Fake>,
    pub(crate) recent: Arc<RecentEvents>,
    pub(crate) deliverer: Deliverer,
}

/// A spec with that target.
pub(crate) fn spec(target: &str) -> SubscriptionSpec {
    SubscriptionSpec { target: Target(target.into()), ..SubscriptionSpec::default() }
}

/// A spec with that target and a timeout of one second.
pub(crate) fn impatient(target: &str) -> SubscriptionSpec {
    SubscriptionSpec { timeout_s: 1, ..spec(target) }
}

pub(crate) fn content(body: impl Into<Vec<u8>>) -> NewEvent {
    NewEvent {
        method: "POST".into(),
        content_type: Some("application/json".into()),
        body: body.into(),
        ..NewEvent::default()
    }
}

impl House {
    pub(crate) fn new() -> Self {
        Self::guarded(Guard::new(true, Vec::new()))
    }

    pub(crate) fn guarded(guard: Guard) -> Self {
        let fake = Arc::new(Fake::default());
        fake.endpoint("orders", EndpointOptions::default());
        let recent = Arc::new(RecentEvents::default());
        let clock = Arc::new(SystemClock::default());
        let deliverer = Deliverer::new(fake.clone(), clock, guard, recent.clone()).expect("a deliverer");
        Self { fake, recent, deliverer }
    }

    /// With a subscription called `shop`.
    pub(crate) fn with(self, spec: SubscriptionSpec) -> Self {
        spec.check().expect("a good spec");
        self.fake.subscribe("orders", "shop", None, spec);
        self
    }

    /// An event in the store.
    pub(crate) fn event(&self, content: NewEvent) -> EventId {
        let id = EventId(self.fake.next_id());
        let event =
            Event { id, endpoint: EndpointId(1), endpoint_name: "orders".into(), group: None, kind: None, content };
        self.fake.events.lock().expect("no panic").insert(id, event);
        id
    }

    /// One attempt to deliver an event with this content to `shop`.
    pub(crate) async fn deliver(&self, content: NewEvent) -> Option<Verdict> {
        let event = self.event(content);
        self.deliverer.work(&task("shop", event)).await
    }
}

/// One attempt against a target.
pub(crate) async fn attempt(target: &str) -> Option<Verdict> {
    House::new().with(spec(target)).deliver(content("{}")).await
}

pub(crate) fn task(subscription: &str, event: EventId) -> Leased {
    let now = SystemClock::default().now();
    Leased {
        token: LeaseToken { task: TaskId(TaskId::first_at(now).0 + 1), nonce: 1 },
        lane: lane_of(subscription),
        kind: Kind::new(DELIVER),
        group: None,
        priority: Priority::Normal,
        payload: json!({ "event": event }).to_string().into_bytes(),
        retry: RetryDelays::seconds([5]),
        failures: 0,
        started_at: now,
        expires_at: UnixMs(now.0 + 30_000),
        holder: "member:test".into(),
        awaited: true,
    }
}

#[track_caller]
pub(crate) fn done(verdict: Option<Verdict>) -> Outcome {
    match verdict {
        Some(Verdict::Done(outcome)) => outcome,
        other => panic!("not done: {other:?}"),
    }
}

#[track_caller]
pub(crate) fn failed(verdict: Option<Verdict>) -> Failure {
    match verdict {
        Some(Verdict::Failed(failure)) => failure,
        other => panic!("not failed: {other:?}"),
    }
}

#[track_caller]
pub(crate) fn answer(outcome: &Outcome) -> &Value {
    outcome.answer.as_ref().expect("an answer")
}
