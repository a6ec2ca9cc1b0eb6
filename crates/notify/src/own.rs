//! Malla's own events: gives them their notifications, by the subscriptions to the system endpoint.

use std::sync::Arc;

use malla_queue::{Error, Result};
use serde::Deserialize;

use crate::{NewEvent, Notify, OwnEvent, Reading, Route, SYSTEM, SubscriptionId};

/// Events in one step.
const BATCH: usize = 64;
/// How often the subscriptions may change under one step.
const TRIES_MAX: usize = 5;

pub struct Dispatcher {
    notify: Arc<dyn Notify>,
}

impl Dispatcher {
    pub fn new(notify: Arc<dyn Notify>) -> Self {
        Self { notify }
    }

    /// One bounded step. Returns how many events it took; zero when none is left.
    pub async fn run_once(&self) -> Result<u64> {
        let events = self.notify.own_events(BATCH).await?;
        if events.is_empty() {
            return Ok(0);
        }
        for _ in 0..TRIES_MAX {
            let route = self.notify.route(SYSTEM).await?;
            let route = route.ok_or_else(|| Error::Internal("the system endpoint is not there".into()))?;
            let matched = events.iter().map(|event| (event.id, wanted_by(event, &route))).collect();
            if self.notify.dispatch(route.endpoint.version, matched).await? {
                return Ok(events.len() as u64);
            }
        }
        Err(Error::Unavailable("the subscriptions to Malla's own events are being changed just now".into()))
    }
}

fn wanted_by(own: &OwnEvent, route: &Route) -> Vec<SubscriptionId> {
    if is_of_own_delivery(own, route) {
        return Vec::new();
    }
    // A filter sees the kind as CloudEvents would show it.
    let event = NewEvent {
        method: "POST".into(),
        content_type: Some("application/json".into()),
        headers: vec![("ce-type".into(), own.kind.clone())],
        body: own.body.clone(),
        ..NewEvent::default()
    };
    let event = Reading::of(&event);
    let wanting = route.subscriptions.iter().filter(|one| one.wants(&event, Some((&own.kind, own.group))));
    wanting.map(|subscription| subscription.id).collect()
}

/// That one of Malla's own events could not be delivered is nobody's notification: it would fail, too, for ever.
fn is_of_own_delivery(own: &OwnEvent, route: &Route) -> bool {
    #[derive(Deserialize)]
    struct About {
        lane: String,
    }
    own.kind == "task.failed"
        && serde_json::from_slice::<About>(&own.body)
            .is_ok_and(|about| route.subscriptions.iter().any(|one| one.lane().as_str() == about.lane))
}
