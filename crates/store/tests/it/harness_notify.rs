//! Endpoints, subscriptions and events for tests.

use std::time::Duration;

use malla_notify::{
    Accept, Accepted, Endpoint, EndpointId, EndpointOptions, NewEndpoint, NewEvent, NewSubscription, Notification,
    NotificationFilter, ROOM, Subscription, SubscriptionChange, SubscriptionSpec, SubscriptionState, Target,
};
use malla_queue::{EventId, GroupId, Leased, Once, Result, Scope, TaskId};

use crate::harness::{House, act};

pub(crate) fn new_endpoint(name: &str) -> NewEndpoint {
    NewEndpoint { name: name.into(), group: None, options: EndpointOptions::default() }
}

pub(crate) fn spec() -> SubscriptionSpec {
    SubscriptionSpec {
        target: Target("https://example.org/hook".into()),
        parallel: 3,
        retry_delays_s: vec![5, 60],
        ..SubscriptionSpec::default()
    }
}

pub(crate) fn new_subscription(name: &str, endpoint: &str) -> NewSubscription {
    NewSubscription {
        name: name.into(),
        endpoint: endpoint.into(),
        group: None,
        state: SubscriptionState::Active,
        spec: spec(),
    }
}

pub(crate) fn new_event(body: impl Into<Vec<u8>>) -> NewEvent {
    NewEvent { method: "POST".into(), body: body.into(), ..NewEvent::default() }
}

/// A key for an event with this body.
pub(crate) fn once(endpoint: EndpointId, key: &str, body: &[u8]) -> Once {
    Once {
        scope: format!("in/{}", endpoint.0),
        key: key.into(),
        fingerprint: body.to_vec(),
        keep_for: Duration::from_secs(3600),
    }
}

/// The same under a key.
pub(crate) fn keyed(accept: Accept, key: &str) -> Accept {
    Accept { once: Some(once(accept.endpoint, key, &accept.event.body)), ..accept }
}

impl House {
    pub(crate) async fn endpoint(&self, name: &str) -> Endpoint {
        self.notify.create_endpoint(new_endpoint(name), act("endpoint.create")).await.expect("makes an endpoint")
    }

    pub(crate) async fn subscription(&self, name: &str, endpoint: &str) -> Subscription {
        let new = new_subscription(name, endpoint);
        self.notify
            .create_subscription(&Scope::All, new, act("subscription.create"))
            .await
            .expect("makes a subscription")
    }

    /// An endpoint with a subscription of the same name.
    pub(crate) async fn wired(&self, name: &str) -> Subscription {
        self.endpoint(name).await;
        self.subscription(name, name).await
    }

    pub(crate) async fn group(&self, name: &str) -> GroupId {
        self.access.create_group(name, act("group.create")).await.expect("makes a group").id
    }

    /// To all that the route names.
    pub(crate) async fn addressed(&self, endpoint: &str, event: NewEvent) -> Accept {
        let route = self.notify.route(endpoint).await.expect("the store answers").expect("the endpoint is there");
        let to = route.subscriptions.iter().map(|sub| sub.id).collect();
        Accept { endpoint: route.endpoint.id, version: route.endpoint.version, event, to, once: None }
    }

    pub(crate) async fn accept(&self, endpoint: &str, body: impl Into<Vec<u8>>) -> EventId {
        let accept = self.addressed(endpoint, new_event(body)).await;
        safe(self.notify.accept(accept).await)
    }

    pub(crate) async fn set_state(&self, name: &str, state: SubscriptionState) -> Result<Subscription> {
        let change = SubscriptionChange { state: Some(state), spec: None };
        self.notify.change_subscription(&Scope::All, name, change, act("subscription.change")).await
    }

    pub(crate) async fn notifications(&self, filter: &NotificationFilter) -> Vec<Notification> {
        self.notify.notifications(filter, None, 200).await.expect("lists").notifications
    }

    pub(crate) async fn notified_of(&self, event: EventId) -> Vec<Notification> {
        self.notifications(&NotificationFilter { event: Some(event), ..NotificationFilter::all(Scope::All) }).await
    }

    pub(crate) async fn only_notification_of(&self, event: EventId) -> TaskId {
        let found = self.notified_of(event).await;
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].id
    }

    pub(crate) async fn deliveries(&self, limit: usize) -> Vec<Leased> {
        self.lease_from(ROOM, "worker", limit).await
    }
}

pub(crate) fn safe(accepted: Result<Accepted>) -> EventId {
    match accepted.expect("the store answers") {
        Accepted::Safe(id) => id,
        Accepted::Again(id) => panic!("the event {id} was taken in under this key"),
        Accepted::Stale => panic!("the route is stale"),
    }
}
