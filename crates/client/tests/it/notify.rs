//! Endpoints, subscriptions, events and notifications: each method reaches its route.

use std::time::Duration;

use futures_util::StreamExt as _;
use malla_client::{SendEvent, Verb};
use malla_protocol::{
    Bulk, CloudEvents, EndpointChange, EventQuery, EventTailQuery, NewEndpoint, NewSubscription, NotificationQuery,
    NotificationTailQuery, PageQuery, SubscriptionChange, SubscriptionQuery, SubscriptionState, TaskState,
};

use crate::server::{Server, client, nobody};

fn endpoint(name: &str) -> NewEndpoint {
    NewEndpoint { name: name.into(), ..NewEndpoint::default() }
}

fn subscription(name: &str, endpoint: &str) -> NewSubscription {
    NewSubscription {
        name: name.into(),
        endpoint: endpoint.into(),
        target: "http://127.0.0.1:9/".into(),
        ..NewSubscription::default()
    }
}

fn event(body: &str) -> SendEvent {
    SendEvent { body: body.into(), ..SendEvent::default() }
}

#[tokio::test]
async fn endpoints_and_subscriptions() {
    let server = Server::start().await;
    let client = server.client();
    assert_eq!(client.create_endpoint(&endpoint("orders")).await.unwrap().path, "/in/orders");
    let change = EndpointChange { max_body: Some(Some(9)), description: Some(None), ..EndpointChange::default() };
    assert_eq!(client.change_endpoint("orders", &change).await.unwrap().max_body, 9);
    assert_eq!(client.endpoint("orders").await.unwrap().max_body, 9);
    let endpoints = client.endpoints(&PageQuery::default()).await.unwrap();
    assert!(endpoints.items.iter().any(|endpoint| endpoint.name == "orders"));

    let secret = Some("generate".to_owned());
    let new =
        NewSubscription { secret, cloudevents: Some(CloudEvents::Structured), ..subscription("billing", "orders") };
    let made = client.create_subscription(&new).await.unwrap();
    assert!(made.secret.is_some_and(|secret| secret.starts_with("whsec_")));
    assert_eq!(made.view.cloudevents, CloudEvents::Structured);
    let query = SubscriptionQuery { endpoint: Some("orders".into()) };
    assert!(client.subscriptions(&query, &PageQuery::default()).await.unwrap().items[0].signed);
    let change = SubscriptionChange {
        state: Some(SubscriptionState::Disabled),
        secret: Some(None),
        ..SubscriptionChange::default()
    };
    let changed = client.change_subscription("billing", &change).await.unwrap();
    assert_eq!((changed.view.state, changed.view.signed, changed.secret), (SubscriptionState::Disabled, false, None));
    assert_eq!(client.subscription("billing").await.unwrap(), changed.view);
    client.delete_subscription("billing").await.unwrap();
    client.delete_endpoint("orders").await.unwrap();
    let gone = client.endpoint("orders").await.unwrap_err();
    assert!(gone.problem().is_some_and(|problem| problem.status == 404), "{gone}");
}

#[tokio::test]
async fn events_and_notifications() {
    let server = Server::start().await;
    let client = server.client();
    let locked = NewEndpoint { token: Some("s3cret".into()), ..endpoint("orders") };
    client.create_endpoint(&locked).await.unwrap();
    client.create_subscription(&subscription("billing", "orders")).await.unwrap();
    let refused = client.send_event("orders", event("x")).await.unwrap_err();
    assert!(refused.to_string().contains("asks for a token"), "the client's own token stays out of it: {refused}");
    let sent = SendEvent {
        method: Some("PUT".into()),
        query: Some("a=%201".into()),
        content_type: Some("text/plain".into()),
        headers: vec![("x-tenant".into(), "acme".into())],
        token: Some("s3cret".into()),
        body: b"hello".to_vec(),
    };
    let id = client.send_event("orders", sent).await.unwrap().id;
    let shown = client.event(&id).await.unwrap();
    assert_eq!((shown.event.method.as_str(), shown.query.as_deref()), ("PUT", Some("a=%201")));
    assert_eq!((shown.headers["x-tenant"].as_str(), shown.body.as_deref()), ("acme", Some("hello")));
    assert!(!shown.headers.contains_key("idempotency-key"));
    assert_eq!(client.event_body(&id).await.unwrap(), b"hello");
    let query = EventQuery { content: Some("hello".into()), ..EventQuery::default() };
    assert_eq!(client.events(&query, &PageQuery::default()).await.unwrap().items[0].id, id);

    let query = NotificationQuery { event: Some(id.clone()), ..NotificationQuery::default() };
    let listed = client.notifications(&query, &PageQuery::default()).await.unwrap().items.remove(0);
    assert_eq!((listed.subscription.as_str(), listed.state, listed.attempts), ("billing", TaskState::Queued, 0));
    let discarded = client.act_on_notification(&listed.id, Verb::Discard).await.unwrap();
    assert_eq!(discarded.state, TaskState::Discarded);
    let whole = client.notification(&listed.id).await.unwrap();
    assert_eq!((whole.notification.event, whole.history[0].what.as_str()), (id, "discarded"));
    let resend = NotificationQuery { state: Some("discarded".into()), ..query.clone() };
    assert_eq!(client.act_on_notifications(&resend, Verb::Resend, None).await.unwrap().changed, 1);
    let everything = NotificationQuery::default();
    assert_eq!(client.act_on_notifications(&everything, Verb::Confirm, None).await.unwrap(), Bulk::default());
    assert_eq!(client.act_on_notifications(&everything, Verb::Discard, None).await.unwrap().changed, 1);
}

#[tokio::test]
async fn an_event_goes_to_the_next_server_if_the_first_is_away() {
    let (server, away) = (Server::start().await, nobody().await);
    let client = client(&[&away.to_string(), &server.url], Some("admin"));
    client.create_endpoint(&endpoint("orders")).await.unwrap();
    client.send_event("orders", event("x")).await.unwrap();
    let wrong = SendEvent { method: Some("TWO WORDS".into()), ..event("x") };
    let refused = client.send_event("orders", wrong).await.unwrap_err().to_string();
    assert!(refused.contains("is not a method"), "{refused}");
}

#[tokio::test]
async fn arrivals_and_deliveries_are_told() {
    let server = Server::start().await;
    let client = server.client();
    client.create_endpoint(&endpoint("orders")).await.unwrap();
    client.create_subscription(&subscription("billing", "orders")).await.unwrap();
    let mut arrivals = client.tail_events(&EventTailQuery::default()).await.unwrap();
    let query = NotificationTailQuery { subscription: Some("billing".into()), endpoint: None };
    let mut deliveries = client.tail_notifications(&query).await.unwrap();
    let id = client.send_event("orders", event("x")).await.unwrap().id;
    let patience = Duration::from_secs(20);
    let arrived = tokio::time::timeout(patience, arrivals.next()).await.expect("in time").unwrap().unwrap();
    assert_eq!((arrived.id.as_str(), arrived.bytes), (id.as_str(), 1));
    let made = tokio::time::timeout(patience, deliveries.next()).await.expect("in time").unwrap().unwrap();
    assert_eq!((made.event, made.state), (id, TaskState::Queued));
}
