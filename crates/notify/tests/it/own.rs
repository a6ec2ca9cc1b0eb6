//! Malla's own events reach those who subscribed to them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use malla_notify::{Dispatcher, EndpointOptions, OwnEvent, SYSTEM, SubscriptionId, SubscriptionSpec};
use malla_queue::{Error, EventId, GroupId};
use serde_json::{Value, json};

use crate::fake::Fake;
use crate::house::spec;

fn fake() -> Arc<Fake> {
    let fake = Arc::new(Fake::default());
    fake.endpoint(SYSTEM, EndpointOptions::default());
    fake
}

fn happens(fake: &Fake, kind: &str, group: Option<i64>, body: Value) -> EventId {
    let id = EventId(fake.next_id());
    let (kind, group, body) = (kind.to_owned(), group.map(GroupId), body.to_string().into_bytes());
    fake.own.lock().expect("no panic").push(OwnEvent { id, kind, group, body });
    id
}

fn went_to(fake: &Fake, id: EventId) -> Vec<SubscriptionId> {
    let dispatched = fake.dispatched.lock().expect("no panic");
    dispatched.iter().find(|(one, _)| *one == id).expect("dispatched").1.clone()
}

#[tokio::test]
async fn each_group_gets_its_own_and_filters_hold() {
    let fake = fake();
    let anybody = fake.subscribe(SYSTEM, "all", None, spec("https://example.org/"));
    let ours = fake.subscribe(SYSTEM, "ours", Some(GroupId(1)), spec("https://example.org/"));
    let filter = serde_json::from_value(json!([{"header": "ce-type", "prefix": "wiki."}])).expect("a filter");
    let wiki =
        fake.subscribe(SYSTEM, "wiki", None, SubscriptionSpec { filter: Some(filter), ..spec("https://example.org/") });
    let failed = happens(&fake, "task.failed", Some(1), json!({"lane": "fetch/x"}));
    let revised = happens(&fake, "wiki.revision", Some(2), json!({}));
    let dispatcher = Dispatcher::new(fake.clone());
    assert_eq!(dispatcher.run_once().await, Ok(2));
    assert_eq!(dispatcher.run_once().await, Ok(0));
    assert_eq!(went_to(&fake, failed), [anybody, ours]);
    assert_eq!(went_to(&fake, revised), [anybody, wiki]);
}

#[tokio::test]
async fn the_failure_to_tell_of_a_failure_ends_there() {
    let fake = fake();
    fake.subscribe(SYSTEM, "pager", None, spec("https://example.org/"));
    fake.subscribe(SYSTEM, "mail", None, spec("https://example.org/"));
    let of_pager = happens(&fake, "task.failed", None, json!({"lane": "notify/pager"}));
    let of_shop = happens(&fake, "task.failed", None, json!({"lane": "notify/shop"}));
    assert_eq!(Dispatcher::new(fake.clone()).run_once().await, Ok(2));
    assert!(went_to(&fake, of_pager).is_empty());
    assert_eq!(went_to(&fake, of_shop).len(), 2);
}

#[tokio::test]
async fn a_change_meanwhile_is_looked_at_again() {
    let fake = fake();
    happens(&fake, "task.failed", None, json!({}));
    fake.stale.store(4, Ordering::SeqCst);
    assert_eq!(Dispatcher::new(fake.clone()).run_once().await, Ok(1));
    happens(&fake, "task.failed", None, json!({}));
    fake.stale.store(5, Ordering::SeqCst);
    assert!(matches!(Dispatcher::new(fake.clone()).run_once().await, Err(Error::Unavailable(_))));
}
