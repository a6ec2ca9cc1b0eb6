//! Malla's own events and their notifications.

use malla_notify::{NewSubscription, SYSTEM, SubscriptionId};
use malla_queue::{Event, EventId, Outcome, Scope, Verdict};

use crate::harness::{House, act, done, on_both_stores, task};
use crate::harness_notify::new_subscription;

on_both_stores!(
    own_events_wait_for_their_notifications_oldest_first,
    a_dispatched_event_is_off_the_list_and_counts_once,
    a_stale_dispatch_changes_nothing,
    an_own_event_reads_as_if_it_had_been_posted,
);

/// Makes one of Malla's own events for each body.
async fn happen(house: &House, bodies: &[&str]) {
    for body in bodies {
        house.submit(task("a")).await;
        let leased = house.lease_one().await;
        let event = Event { kind: "drill.done".into(), group: None, body: (*body).into() };
        house.finish(&leased, Verdict::Done(Outcome { events: vec![event], ..Outcome::default() })).await.unwrap();
    }
}

async fn own_events_wait_for_their_notifications_oldest_first(house: House) {
    happen(&house, &["1", "2", "3"]).await;
    let own = house.notify.own_events(2).await.unwrap();
    let told: Vec<_> = own.iter().map(|event| (event.kind.as_str(), event.body.as_slice())).collect();
    assert_eq!(told, [("drill.done", b"1".as_slice()), ("drill.done", b"2")]);
    assert!(own[0].id < own[1].id);
}

async fn system_version(house: &House) -> i64 {
    house.notify.endpoint(&Scope::All, SYSTEM).await.unwrap().version
}

async fn dispatch_all(house: &House, to: &[SubscriptionId]) -> Vec<EventId> {
    let own = house.notify.own_events(100).await.unwrap();
    let ids: Vec<_> = own.iter().map(|event| event.id).collect();
    let events = ids.iter().map(|id| (*id, to.to_vec())).collect();
    assert!(house.notify.dispatch(system_version(house).await, events).await.unwrap());
    ids
}

async fn a_dispatched_event_is_off_the_list_and_counts_once(house: House) {
    let all = house.subscription("all", SYSTEM).await;
    let group = house.group("sales").await;
    let new = NewSubscription { group: Some(group), ..new_subscription("some", SYSTEM) };
    let some = house.notify.create_subscription(&Scope::All, new, act("subscription.create")).await.unwrap();
    happen(&house, &["1", "2"]).await;
    let ids = dispatch_all(&house, &[all.id, some.id]).await;
    assert!(house.notify.own_events(9).await.unwrap().is_empty());
    let again = ids.iter().map(|id| (*id, vec![all.id])).collect();
    assert!(house.notify.dispatch(system_version(&house).await, again).await.unwrap());
    for id in &ids {
        let made = house.notified_of(*id).await;
        assert_eq!(made.len(), 2);
        assert!(made.iter().all(|made| made.endpoint == SYSTEM));
    }
    let deliveries = house.deliveries(9).await;
    assert_eq!(deliveries.len(), 4);
    assert_eq!(deliveries.iter().filter(|leased| leased.group == Some(group)).count(), 2);
    house.verify().await;
    for leased in deliveries {
        house.finish(&leased, done()).await.unwrap();
    }
    happen(&house, &["3"]).await;
    let nobody = dispatch_all(&house, &[]).await;
    assert!(house.notified_of(nobody[0]).await.is_empty());
    assert!(house.notify.own_events(9).await.unwrap().is_empty());
    house.verify().await;
}

async fn a_stale_dispatch_changes_nothing(house: House) {
    let all = house.subscription("all", SYSTEM).await;
    happen(&house, &["1"]).await;
    let old = system_version(&house).await;
    house.subscription("later", SYSTEM).await;
    let events: Vec<_> = house.notify.own_events(9).await.unwrap().iter().map(|own| (own.id, vec![all.id])).collect();
    assert_eq!(house.notify.dispatch(old, events.clone()).await, Ok(false));
    assert_eq!(house.notify.own_events(9).await.unwrap().len(), 1);
    assert!(house.notified_of(events[0].0).await.is_empty());
}

async fn an_own_event_reads_as_if_it_had_been_posted(house: House) {
    happen(&house, &["{}"]).await;
    let id = house.notify.own_events(1).await.unwrap()[0].id;
    for _ in 0..2 {
        let event = house.notify.event(&Scope::All, id).await.unwrap();
        assert_eq!((event.endpoint_name.as_str(), event.kind.as_deref()), (SYSTEM, Some("drill.done")));
        assert_eq!(event.content.method, "POST");
        assert_eq!(event.content.content_type.as_deref(), Some("application/json"));
        assert_eq!(event.content.body, b"{}");
        dispatch_all(&house, &[]).await;
    }
}
