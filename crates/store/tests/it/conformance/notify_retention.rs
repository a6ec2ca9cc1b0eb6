//! How long events and notifications are kept.

use std::time::Duration;

use malla_notify::{EndpointOptions, EventFilter, NewEndpoint, NotificationFilter};
use malla_queue::{Event, EventId, Outcome, Retention, Scope, Verdict};

use crate::harness::{House, act, done, on_both_stores, task};
use crate::harness_notify::new_endpoint;

on_both_stores!(
    an_old_event_is_forgotten_with_its_words,
    what_is_still_to_be_delivered_keeps_its_event,
    an_endpoint_may_keep_its_events_shorter_or_longer,
    kept_notifications_do_not_keep_others_from_being_forgotten,
    own_events_and_those_of_deleted_endpoints_are_forgotten_too,
);

const DAY: Duration = Duration::from_secs(24 * 3600);

async fn forget(house: &House, after_days: u32, step: usize) {
    let age = DAY * after_days;
    while house.queue.prune(Retention { tasks: age, events: age, audit: age, step }).await.unwrap() > 0 {}
}

async fn is_kept(house: &House, event: EventId) -> bool {
    house.notify.event(&Scope::All, event).await.is_ok()
}

async fn keeping(house: &House, name: &str, days: Option<u32>) {
    let options = EndpointOptions { retention_days: days, ..EndpointOptions::default() };
    let new = NewEndpoint { options, ..new_endpoint(name) };
    house.notify.create_endpoint(new, act("endpoint.create")).await.unwrap();
    house.subscription(name, name).await;
}

async fn deliver_all(house: &House) {
    loop {
        let leased = house.deliveries(10).await;
        if leased.is_empty() {
            return;
        }
        for leased in leased {
            house.finish(&leased, done()).await.unwrap();
        }
    }
}

async fn an_old_event_is_forgotten_with_its_words(house: House) {
    house.endpoint("a").await;
    let old = house.accept("a", "word").await;
    house.wait(DAY * 2);
    let new = house.accept("a", "word").await;
    house.wait(Duration::from_secs(11));
    while house.notify.index(10).await.unwrap() > 0 {}
    forget(&house, 1, 10).await;
    assert!(!is_kept(&house, old).await && is_kept(&house, new).await);
    let filter = EventFilter { scope: Scope::All, endpoint: None, content: Some("word".into()), from: None, to: None };
    let found = house.notify.events(&filter, None, 10).await.unwrap().events;
    assert_eq!(found.iter().map(|event| event.id).collect::<Vec<_>>(), [new]);
}

async fn what_is_still_to_be_delivered_keeps_its_event(house: House) {
    house.wired("a").await;
    let waiting = house.accept("a", "x").await;
    let delivered = house.accept("a", "x").await;
    for leased in house.deliveries(2).await {
        let event = house.notify.notification(&Scope::All, leased.token.task).await.unwrap().event;
        let verdict = if event == delivered { done() } else { Verdict::Released { note: "later".into() } };
        house.finish(&leased, verdict).await.unwrap();
    }
    house.wait(DAY * 2);
    forget(&house, 1, 10).await;
    assert!(is_kept(&house, waiting).await && !is_kept(&house, delivered).await);
    deliver_all(&house).await;
    forget(&house, 1, 10).await;
    assert!(!is_kept(&house, waiting).await);
    assert!(house.notifications(&NotificationFilter::all(Scope::All)).await.is_empty());
    house.verify().await;
}

async fn an_endpoint_may_keep_its_events_shorter_or_longer(house: House) {
    for (name, days) in [("short", Some(2)), ("house", None), ("long", Some(20))] {
        keeping(&house, name, days).await;
    }
    let short = house.accept("short", "x").await;
    let as_house = house.accept("house", "x").await;
    let long = house.accept("long", "x").await;
    deliver_all(&house).await;
    let kept = || async {
        let mut kept = Vec::new();
        for event in [short, as_house, long] {
            assert_eq!(is_kept(&house, event).await, house.notified_of(event).await.len() == 1);
            kept.push(is_kept(&house, event).await);
        }
        kept
    };
    for (days, expected) in [(1, [true, true, true]), (2, [false, true, true]), (8, [false, false, true])] {
        house.wait(DAY * days);
        forget(&house, 10, 10).await;
        assert_eq!(kept().await, expected);
    }
    house.wait(DAY * 10);
    forget(&house, 10, 10).await;
    assert_eq!(kept().await, [false, false, false]);
    house.verify().await;
}

async fn kept_notifications_do_not_keep_others_from_being_forgotten(house: House) {
    keeping(&house, "long", Some(20)).await;
    for _ in 0..15 {
        house.accept("long", "x").await;
    }
    deliver_all(&house).await;
    let other = house.submit(task("a")).await;
    let leased = house.lease_one().await;
    house.finish(&leased, done()).await.unwrap();
    house.wait(DAY * 11);
    forget(&house, 10, 3).await;
    assert!(house.queue.task(&Scope::All, other).await.is_err());
    assert_eq!(house.notifications(&NotificationFilter::all(Scope::All)).await.len(), 15);
    house.verify().await;
}

async fn own_events_and_those_of_deleted_endpoints_are_forgotten_too(house: House) {
    house.endpoint("a").await;
    let orphan = house.accept("a", "x").await;
    house.notify.delete_endpoint(&Scope::All, "a", act("endpoint.delete")).await.unwrap();
    house.submit(task("a")).await;
    let leased = house.lease_one().await;
    let event = Event { kind: "drill.done".into(), group: None, body: b"{}".to_vec() };
    house.finish(&leased, Verdict::Done(Outcome { events: vec![event], ..Outcome::default() })).await.unwrap();
    assert_eq!(house.notify.own_events(9).await.unwrap().len(), 1);
    assert!(is_kept(&house, orphan).await);
    house.wait(DAY * 2);
    forget(&house, 1, 10).await;
    assert!(house.notify.own_events(9).await.unwrap().is_empty());
    assert!(!is_kept(&house, orphan).await);
}
