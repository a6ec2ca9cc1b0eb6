//! Taking events in.

use std::time::Duration;

use malla_notify::{Accept, Accepted, DELIVER, NewEndpoint, NewEvent, SubscriptionId, SubscriptionState};
use malla_queue::{Error, EventId, Room, Scope, State};

use crate::harness::{House, act, done, on_both_stores, task};
use crate::harness_notify::{new_endpoint, new_event, safe};

on_both_stores!(
    an_event_and_its_notifications_come_together,
    a_notification_is_a_task_that_names_its_event,
    an_event_reads_back_byte_for_byte,
    a_stale_route_writes_nothing,
    a_full_house_refuses_an_event_and_writes_nothing,
    an_event_without_subscribers_is_kept,
    an_event_belongs_to_the_group_of_its_endpoint,
    many_at_once_are_all_safe,
    an_arrival_rouses_whoever_delivers,
    a_body_over_the_limit_is_refused,
);

async fn an_event_and_its_notifications_come_together(house: House) {
    house.wired("a").await;
    house.subscription("b", "a").await;
    house.subscription("c", "a").await;
    house.set_state("c", SubscriptionState::Disabled).await.unwrap();
    let event = house.accept("a", "{}").await;
    let mut to: Vec<_> = house.notified_of(event).await.into_iter().map(|n| (n.subscription, n.endpoint)).collect();
    to.sort();
    assert_eq!(to, [("a".to_owned(), "a".to_owned()), ("b".into(), "a".into())]);
    house.verify().await;
}

async fn a_notification_is_a_task_that_names_its_event(house: House) {
    house.wired("a").await;
    let event = house.accept("a", "{}").await;
    let leased = house.deliveries(1).await.remove(0);
    assert_eq!(leased.kind.as_str(), DELIVER);
    assert_eq!(leased.lane.as_str(), "notify/a");
    assert_eq!(leased.payload, format!(r#"{{"event":"{event}"}}"#).into_bytes());
    assert_eq!(leased.retry.as_millis(), [5_000, 60_000]);
    assert_eq!(house.notify.notification(&Scope::All, leased.token.task).await.unwrap().state, State::Running);
    house.finish(&leased, done()).await.unwrap();
    let found = house.notify.notification(&Scope::All, leased.token.task).await.unwrap();
    assert_eq!((found.event, found.state), (event, State::Succeeded));
    assert!(found.finished_at.is_some());
    let other = house.submit(task("a")).await;
    assert!(house.notify.notification(&Scope::All, other).await.is_err(), "not every task is a notification");
    house.verify().await;
}

async fn an_event_reads_back_byte_for_byte(house: House) {
    house.endpoint("a").await;
    let mut noise = vec![0; 100_000];
    getrandom::fill(&mut noise).unwrap();
    let bodies = [Vec::new(), vec![0, 255, b'\'', 0], b"x".repeat(2_049), b"{\"a\":1}".repeat(100_000), noise];
    let mut ids = Vec::new();
    for body in &bodies {
        let event = NewEvent {
            method: "PUT".into(),
            query: Some("a=1&b=%20".into()),
            content_type: Some("text/plain; charset=utf-8".into()),
            headers: vec![("x-one".into(), "1".into()), ("x-one".into(), "\"2\"".into())],
            topic: Some("a/b".into()),
            body: body.clone(),
        };
        let id = safe(house.notify.accept(house.addressed("a", event.clone()).await).await);
        let read = house.notify.event(&Scope::All, id).await.unwrap();
        assert_eq!(read.content, event);
        assert_eq!((read.id, read.endpoint_name.as_str(), read.kind.as_deref()), (id, "a", None));
        ids.push(id);
    }
    ids.push(EventId(1));
    let mut many = house.notify.events_by_id(&ids).await.unwrap();
    many.sort_by_key(|event| event.id);
    assert_eq!(many.into_iter().map(|event| event.content.body).collect::<Vec<_>>(), bodies);
}

async fn a_stale_route_writes_nothing(house: House) {
    house.wired("a").await;
    let old = house.addressed("a", new_event("x")).await;
    house.subscription("b", "a").await;
    assert_eq!(house.notify.accept(old.clone()).await, Ok(Accepted::Stale));
    let nobody = Accept { to: vec![SubscriptionId(999)], ..house.addressed("a", new_event("x")).await };
    house.set_state("a", SubscriptionState::Suspended).await.unwrap();
    assert_eq!(house.notify.accept(nobody).await, Ok(Accepted::Stale));
    assert!(house.ids(&malla_queue::TaskFilter::all(Scope::All)).await.is_empty());
    house.accept("a", "x").await;
    house.verify().await;
}

async fn a_full_house_refuses_an_event_and_writes_nothing(house: House) {
    house.wired("a").await;
    for _ in 0..10 {
        house.queue.submit(vec![task("b"); 1_000], None).await.unwrap();
    }
    let accept = house.addressed("a", new_event("unseen")).await;
    assert_eq!(house.notify.accept(accept).await, Err(Error::Full { waiting: 10_000, limit: 10_000 }));
    let filter = malla_notify::EventFilter { scope: Scope::All, endpoint: None, content: None, from: None, to: None };
    assert!(house.notify.events(&filter, None, 9).await.unwrap().events.is_empty());
}

async fn an_event_without_subscribers_is_kept(house: House) {
    house.endpoint("a").await;
    let event = house.accept("a", "x").await;
    assert!(house.notified_of(event).await.is_empty());
    assert!(house.notify.event(&Scope::All, event).await.is_ok());
}

async fn an_event_belongs_to_the_group_of_its_endpoint(house: House) {
    let group = house.group("sales").await;
    let new = NewEndpoint { group: Some(group), ..new_endpoint("a") };
    house.notify.create_endpoint(new, act("endpoint.create")).await.unwrap();
    let event = house.accept("a", "x").await;
    assert_eq!(house.notify.event(&Scope::Groups(vec![group]), event).await.unwrap().group, Some(group));
    let gone = Error::NotFound(format!("event {event}"));
    assert_eq!(house.notify.event(&Scope::Groups(vec![]), event).await.unwrap_err(), gone);
}

async fn many_at_once_are_all_safe(house: House) {
    house.wired("a").await;
    let accept = house.addressed("a", new_event("x")).await;
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..100 {
        let (notify, accept) = (house.notify.clone(), accept.clone());
        let event = new_event(number.to_string());
        calls.spawn(async move { (number, safe(notify.accept(Accept { event, ..accept }).await)) });
    }
    while let Some(done) = calls.join_next().await {
        let (number, id) = done.unwrap();
        let event = house.notify.event(&Scope::All, id).await.unwrap();
        assert_eq!(event.content.body, number.to_string().into_bytes());
        house.only_notification_of(id).await;
    }
    house.verify().await;
}

async fn an_arrival_rouses_whoever_delivers(house: House) {
    house.wired("a").await;
    let mut arrivals = house.queue.arrivals(&Room::new("notify").unwrap());
    arrivals.mark_unchanged();
    house.accept("a", "x").await;
    tokio::time::timeout(Duration::from_secs(5), arrivals.changed()).await.expect("roused").unwrap();
}

async fn a_body_over_the_limit_is_refused(house: House) {
    house.endpoint("a").await;
    let accept = house.addressed("a", new_event(vec![b'a'; (16 << 20) + 1])).await;
    let refusal = house.notify.accept(accept).await.unwrap_err().to_string();
    assert_eq!(refusal, "a body of 16777217 bytes is too large: at most 16777216");
}
