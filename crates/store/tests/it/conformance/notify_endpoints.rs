//! Endpoints.

use std::sync::Arc;
use std::time::Duration;

use malla_notify::{EndpointChange, EndpointOptions, NewEndpoint, Notify as _, SYSTEM};
use malla_queue::{Act, Error, ManualClock, Once, Scope};
use malla_store::postgres::Postgres;

use crate::harness::{House, START, act, fresh_database, on_both_stores, small_limits};
use crate::harness_notify::{new_endpoint, new_subscription};

on_both_stores!(
    an_endpoint_reads_back_as_made,
    a_name_is_unique,
    every_change_raises_the_version_and_is_told,
    another_groups_endpoint_does_not_exist,
    the_system_endpoint_is_everybodys_and_fixed,
    an_endpoint_with_subscriptions_is_not_deleted,
    endpoints_are_listed_by_name_in_pages,
    a_group_with_endpoints_is_not_deleted,
    a_repeated_creation_with_a_key_gets_the_first_answer,
);

fn described(text: &str) -> EndpointOptions {
    EndpointOptions { description: text.into(), max_body: 77, ..EndpointOptions::default() }
}

async fn an_endpoint_reads_back_as_made(house: House) {
    let new = NewEndpoint { options: described("orders"), ..new_endpoint("orders") };
    let made = house.notify.create_endpoint(new, act("endpoint.create")).await.unwrap();
    assert_eq!(made.options, described("orders"));
    assert_eq!(house.notify.endpoint(&Scope::All, "orders").await.unwrap(), made);
    let route = house.notify.route("orders").await.unwrap().unwrap();
    assert_eq!((route.endpoint, route.subscriptions.len()), (made, 0));
    assert!(house.notify.route("nowhere").await.unwrap().is_none());
    let line = house.access.audit(&Scope::All, &Default::default(), None, 1).await.unwrap().remove(0);
    assert_eq!(line.action, "endpoint.create");
}

async fn a_name_is_unique(house: House) {
    house.endpoint("orders").await;
    let refusal = house.notify.create_endpoint(new_endpoint("orders"), act("endpoint.create")).await.unwrap_err();
    assert_eq!(refusal, Error::Taken("an endpoint named orders exists already".into()));
}

async fn every_change_raises_the_version_and_is_told(house: House) {
    let mut changes = house.notify.changes();
    let mut before = house.endpoint("orders").await.version;
    for step in 0..3 {
        changes.mark_unchanged();
        let change = EndpointChange { options: Some(described(&step.to_string())) };
        let change = house.notify.change_endpoint(&Scope::All, "orders", change, act("endpoint.change")).await.unwrap();
        assert!(change.version > before);
        assert_eq!(change.options.description, step.to_string());
        assert!(changes.has_changed().unwrap());
        before = change.version;
    }
    changes.mark_unchanged();
    house.subscription("a", "orders").await;
    assert!(house.notify.endpoint(&Scope::All, "orders").await.unwrap().version > before);
    assert!(changes.has_changed().unwrap());
}

async fn another_groups_endpoint_does_not_exist(house: House) {
    let group = house.group("sales").await;
    let new = NewEndpoint { group: Some(group), ..new_endpoint("orders") };
    house.notify.create_endpoint(new, act("endpoint.create")).await.unwrap();
    let (mine, others) = (Scope::Groups(vec![group]), Scope::Groups(vec![]));
    assert_eq!(house.notify.endpoint(&mine, "orders").await.unwrap().group, Some(group));
    let gone = Error::NotFound("endpoint orders".into());
    assert_eq!(house.notify.endpoint(&others, "orders").await.unwrap_err(), gone);
    let change = house.notify.change_endpoint(&others, "orders", EndpointChange::default(), act("endpoint.change"));
    assert_eq!(change.await.unwrap_err(), gone);
    assert_eq!(house.notify.delete_endpoint(&others, "orders", act("endpoint.delete")).await.unwrap_err(), gone);
    let new = new_subscription("a", "orders");
    let refused = house.notify.create_subscription(&others, new, act("subscription.create")).await.unwrap_err();
    assert_eq!(refused, gone);
    house.notify.delete_endpoint(&mine, "orders", act("endpoint.delete")).await.unwrap();
    assert_eq!(house.notify.endpoint(&mine, "orders").await.unwrap_err(), gone);
}

async fn the_system_endpoint_is_everybodys_and_fixed(house: House) {
    let nobody = Scope::Groups(vec![]);
    let system = house.notify.endpoint(&nobody, SYSTEM).await.unwrap();
    assert!(system.is_system() && system.group.is_none());
    for scope in [nobody, Scope::All] {
        let change = house.notify.change_endpoint(&scope, SYSTEM, EndpointChange::default(), act("endpoint.change"));
        let refusal = change.await.unwrap_err().to_string();
        assert_eq!(refusal, "\"system\" is the endpoint of Malla's own events: it cannot be changed");
        let refusal = house.notify.delete_endpoint(&scope, SYSTEM, act("endpoint.delete")).await.unwrap_err();
        assert!(matches!(refusal, Error::Invalid(_)), "{refusal}");
    }
}

async fn an_endpoint_with_subscriptions_is_not_deleted(house: House) {
    house.wired("orders").await;
    let refusal = house.notify.delete_endpoint(&Scope::All, "orders", act("endpoint.delete")).await.unwrap_err();
    assert_eq!(refusal, Error::Taken("endpoint orders still has subscriptions: delete these first".into()));
}

async fn endpoints_are_listed_by_name_in_pages(house: House) {
    let group = house.group("sales").await;
    for name in ["c", "a", "b"] {
        house.endpoint(name).await;
    }
    let own = NewEndpoint { group: Some(group), ..new_endpoint("own") };
    house.notify.create_endpoint(own, act("endpoint.create")).await.unwrap();
    let names = |scope: Scope, after: Option<&'static str>| {
        let house = &house;
        async move {
            let page = house.notify.endpoints(&scope, after, 3).await.unwrap();
            page.into_iter().map(|endpoint| endpoint.name).collect::<Vec<_>>()
        }
    };
    assert_eq!(names(Scope::All, None).await, ["a", "b", "c"]);
    assert_eq!(names(Scope::All, Some("c")).await, ["own", "system"]);
    assert_eq!(names(Scope::Groups(vec![group]), None).await, ["own", "system"]);
    assert_eq!(names(Scope::Groups(vec![]), None).await, ["system"]);
}

async fn a_group_with_endpoints_is_not_deleted(house: House) {
    let group = house.group("sales").await;
    let new = NewEndpoint { group: Some(group), ..new_endpoint("orders") };
    house.notify.create_endpoint(new, act("endpoint.create")).await.unwrap();
    let refusal = house.access.delete_group("sales", act("group.delete")).await.unwrap_err();
    assert_eq!(refusal, Error::Taken("group sales still has endpoints: delete these first".into()));
    house.notify.delete_endpoint(&Scope::All, "orders", act("endpoint.delete")).await.unwrap();
    house.access.delete_group("sales", act("group.delete")).await.unwrap();
}

async fn a_repeated_creation_with_a_key_gets_the_first_answer(house: House) {
    let once =
        Once { scope: "user:ana".into(), key: "k".into(), fingerprint: vec![1], keep_for: Duration::from_secs(60) };
    let keyed = || Act { once: Some(once.clone()), ..act("endpoint.create") };
    let first = house.notify.create_endpoint(new_endpoint("orders"), keyed()).await.unwrap();
    assert_eq!(house.notify.create_endpoint(new_endpoint("orders"), keyed()).await, Ok(first));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_node_learns_of_a_change() {
    let url = fresh_database().await;
    let clock = Arc::new(ManualClock::at(START));
    let here = Postgres::open(&url, clock.clone(), small_limits()).await.unwrap();
    let there = Postgres::open(&url, clock, small_limits()).await.unwrap();
    let mut changes = there.changes();
    // Its listener may not listen yet; it says so itself when it does, which counts as a change too.
    let learned = async {
        for number in 0.. {
            changes.mark_unchanged();
            here.create_endpoint(new_endpoint(&number.to_string()), act("endpoint.create")).await.unwrap();
            if tokio::time::timeout(Duration::from_millis(500), changes.changed()).await.is_ok() && number > 0 {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), learned).await.expect("the other node was told");
}
