//! Endpoints, events, subscriptions and notifications as they travel. Secrets stay here.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use malla_notify::{Auth, CloudEvents, Condition, Endpoint, Event, EventSummary, Notification, Subscription};
use malla_protocol as wire;
use malla_queue::{State, Task};

use super::{GroupNames, entry, state, time};

pub(crate) fn endpoint(endpoint: &Endpoint, names: &GroupNames) -> wire::EndpointView {
    let options = &endpoint.options;
    wire::EndpointView {
        name: endpoint.name.clone(),
        group: names.name(endpoint.group),
        protocol: protocol(endpoint.protocol()),
        path: format!("/in/{}", endpoint.name),
        description: options.description.clone(),
        max_body: options.max_body,
        needs_token: options.token_sha256.is_some(),
        needs_signature: !options.signature_secrets.is_empty(),
        retention_days: options.retention_days,
        mqtt: options.mqtt.as_ref().map(|source| wire::MqttView {
            broker: source.broker.clone(),
            topic: source.topic.clone(),
            username: source.username.clone(),
        }),
        created_at: time(endpoint.created_at),
    }
}

pub(crate) fn protocol(protocol: malla_notify::Protocol) -> wire::Protocol {
    match protocol {
        malla_notify::Protocol::Http => wire::Protocol::Http,
        malla_notify::Protocol::Mqtt => wire::Protocol::Mqtt,
    }
}

pub(crate) fn subscription(subscription: &Subscription, names: &GroupNames) -> wire::SubscriptionView {
    let spec = &subscription.spec;
    wire::SubscriptionView {
        name: subscription.name.clone(),
        endpoint: subscription.endpoint_name.clone(),
        group: names.name(subscription.group),
        state: subscription_state(subscription.state),
        target: spec.target.masked(),
        retry_delays_s: spec.retry_delays_s.clone(),
        timeout_s: spec.timeout_s,
        parallel: spec.parallel,
        headers: spec.headers.clone(),
        forward_headers: spec.forward_headers,
        forward_query: spec.forward_query,
        filter: spec.filter.iter().flat_map(|filter| &filter.0).map(condition).collect(),
        signed: spec.secret.is_some(),
        cloudevents: match spec.cloudevents {
            CloudEvents::Off => wire::CloudEvents::Off,
            CloudEvents::Binary => wire::CloudEvents::Binary,
            CloudEvents::Structured => wire::CloudEvents::Structured,
        },
        auth: spec.auth.as_ref().map(|auth| match auth {
            Auth::Basic { .. } => wire::AuthKind::Basic,
            Auth::Bearer(_) => wire::AuthKind::Bearer,
        }),
        confirm_within_s: spec.confirm_within_s,
        created_at: time(subscription.created_at),
    }
}

fn subscription_state(state: malla_notify::SubscriptionState) -> wire::SubscriptionState {
    match state {
        malla_notify::SubscriptionState::Active => wire::SubscriptionState::Active,
        malla_notify::SubscriptionState::Suspended => wire::SubscriptionState::Suspended,
        malla_notify::SubscriptionState::Disabled => wire::SubscriptionState::Disabled,
    }
}

fn condition(condition: &Condition) -> wire::Condition {
    let Condition { header, field, topic, equals, any_of, prefix, contains, greater_than, less_than, exists, not } =
        condition.clone();
    wire::Condition { header, field, topic, equals, any_of, prefix, contains, greater_than, less_than, exists, not }
}

pub(crate) fn event_summary(event: &EventSummary) -> wire::EventView {
    wire::EventView {
        id: event.id.to_string(),
        endpoint: event.endpoint.clone(),
        kind: event.kind.clone(),
        method: event.method.clone(),
        content_type: event.content_type.clone(),
        topic: event.topic.clone(),
        bytes: event.bytes,
        received_at: time(event.id.received_at()),
    }
}

pub(crate) fn event(event: Event, names: &GroupNames) -> wire::EventDetail {
    let received_at = time(event.received_at());
    let content = event.content;
    let view = wire::EventView {
        id: event.id.to_string(),
        endpoint: event.endpoint_name,
        kind: event.kind,
        method: content.method,
        content_type: content.content_type,
        topic: content.topic,
        bytes: content.body.len() as u64,
        received_at,
    };
    let (body, body_base64) = match String::from_utf8(content.body) {
        Ok(text) => (Some(text), None),
        Err(other) => (None, Some(STANDARD.encode(other.as_bytes()))),
    };
    let (group, headers) = (names.name(event.group), joined(content.headers));
    wire::EventDetail { event: view, group, query: content.query, headers, body, body_base64 }
}

fn joined(headers: Vec<(String, String)>) -> BTreeMap<String, String> {
    let mut by_name: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in headers {
        by_name
            .entry(name.to_ascii_lowercase())
            .and_modify(|earlier| {
                earlier.push_str(", ");
                earlier.push_str(&value);
            })
            .or_insert(value);
    }
    by_name
}

pub(crate) fn notification(notification: &Notification, names: &GroupNames) -> wire::NotificationView {
    // The attempt that ended well is not among the failures.
    let arrived = matches!(notification.state, State::Succeeded | State::Notified);
    wire::NotificationView {
        id: notification.id.to_string(),
        event: notification.event.to_string(),
        subscription: notification.subscription.clone(),
        endpoint: notification.endpoint.clone(),
        group: names.name(notification.group),
        state: state(notification.state),
        attempts: notification.failures.saturating_add(u32::from(arrived)),
        created_at: time(notification.id.submitted_at()),
        run_at: notification.run_at.map(time),
        finished_at: notification.finished_at.map(time),
    }
}

pub(crate) fn notification_detail(whole: &Notification, task: Task, names: &GroupNames) -> wire::NotificationDetail {
    wire::NotificationDetail {
        notification: notification(whole, names),
        holder: task.summary.holder,
        history: task.history.into_iter().map(entry).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_came_twice_is_joined() {
        let headers = [("X-A", "1"), ("x-b", "2"), ("x-a", "3")].map(|(name, value)| (name.into(), value.into()));
        let expected = [("x-a", "1, 3"), ("x-b", "2")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(joined(headers.to_vec()), BTreeMap::from(expected));
    }
}
