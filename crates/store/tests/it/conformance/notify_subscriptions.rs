//! Subscriptions, their lanes and their states.

use std::time::Duration;

use malla_notify::{
    NewEndpoint, NewSubscription, NotificationFilter, SYSTEM, SubscriptionChange, SubscriptionSpec, SubscriptionState,
    lane_of,
};
use malla_queue::{Error, LaneSettings, Move, Scope, State, What};

use crate::harness::{House, act, done, on_both_stores};
use crate::harness_notify::{new_endpoint, new_subscription, spec};

on_both_stores!(
    a_subscription_is_a_lane,
    a_subscription_name_is_unique,
    a_changed_spec_changes_the_lane_and_what_comes_after,
    a_suspended_one_holds_its_notifications_and_sends_them_oldest_first,
    a_disabled_one_gets_none_and_what_waits_is_discarded_in_steps,
    what_waited_when_it_was_disabled_never_goes_out,
    only_a_disabled_one_without_waiting_is_deleted,
    a_new_one_takes_over_the_lane_of_a_deleted_one,
    a_deleted_one_without_notifications_leaves_nothing,
    another_groups_subscription_does_not_exist,
    any_group_may_subscribe_to_the_system_endpoint,
    subscriptions_are_listed_by_name_in_pages,
    a_disabled_one_is_not_in_the_route,
);

async fn a_subscription_is_a_lane(house: House) {
    house.endpoint("orders").await;
    let made = house.subscription("billing", "orders").await;
    assert_eq!((made.endpoint_name.as_str(), made.state), ("orders", SubscriptionState::Active));
    assert_eq!(made.spec, spec());
    assert_eq!(house.notify.subscription(&Scope::All, "billing").await.unwrap(), made);
    let lane = house.queue.lane(&Scope::All, &lane_of("billing")).await.unwrap();
    assert_eq!(lane.settings, LaneSettings { ceiling: 3, gap_ms: 0 });
    assert!(!lane.paused);
    house.verify().await;
}

async fn a_subscription_name_is_unique(house: House) {
    house.wired("a").await;
    house.endpoint("b").await;
    let again = house.notify.create_subscription(&Scope::All, new_subscription("a", "b"), act("subscription.create"));
    assert_eq!(again.await.unwrap_err(), Error::Taken("a subscription named a exists already".into()));
    let nowhere = house.notify.create_subscription(&Scope::All, new_subscription("c", "x"), act("subscription.create"));
    assert_eq!(nowhere.await.unwrap_err(), Error::NotFound("endpoint x".into()));
    assert!(house.queue.lane(&Scope::All, &lane_of("c")).await.is_err(), "no lane is left of it");
}

async fn a_changed_spec_changes_the_lane_and_what_comes_after(house: House) {
    let made = house.wired("a").await;
    house.accept("a", "1").await;
    let spec = SubscriptionSpec { parallel: 7, retry_delays_s: vec![9], ..spec() };
    let change = SubscriptionChange { state: None, spec: Some(spec.clone()) };
    let changed = house.notify.change_subscription(&Scope::All, "a", change, act("subscription.change")).await.unwrap();
    assert_eq!((changed.id, changed.state, changed.spec), (made.id, SubscriptionState::Active, spec));
    assert_eq!(house.queue.lane(&Scope::All, &lane_of("a")).await.unwrap().settings.ceiling, 7);
    house.accept("a", "2").await;
    let retries: Vec<_> = house.deliveries(2).await.iter().map(|leased| leased.retry.as_millis().to_vec()).collect();
    assert_eq!(retries, [vec![5_000, 60_000], vec![9_000]]);
    house.verify().await;
}

async fn a_suspended_one_holds_its_notifications_and_sends_them_oldest_first(house: House) {
    house.wired("a").await;
    house.set_state("a", SubscriptionState::Suspended).await.unwrap();
    let mut made = Vec::new();
    for body in ["1", "2"] {
        let event = house.accept("a", body).await;
        made.push(house.only_notification_of(event).await);
        assert_eq!(house.notified_of(event).await[0].state, State::Paused);
        house.wait(Duration::from_secs(1));
    }
    assert!(house.deliveries(9).await.is_empty());
    house.set_state("a", SubscriptionState::Active).await.unwrap();
    let leased: Vec<_> = house.deliveries(9).await.iter().map(|leased| leased.token.task).collect();
    assert_eq!(leased, made);
    house.verify().await;
}

/// Sweeps until nothing is left, at most `limit` in a step, and returns the steps.
async fn swept(house: &House, limit: usize) -> Vec<u64> {
    let mut steps = Vec::new();
    loop {
        match house.notify.sweep(limit).await.unwrap() {
            0 => return steps,
            some => steps.push(some),
        }
    }
}

async fn a_disabled_one_gets_none_and_what_waits_is_discarded_in_steps(house: House) {
    house.wired("a").await;
    house.wired("b").await;
    let mut events = Vec::new();
    for _ in 0..5 {
        events.push(house.accept("a", "x").await);
    }
    let other = house.accept("b", "x").await;
    let running = house.deliveries(1).await.remove(0);
    let paused = house.only_notification_of(events[3]).await;
    house.queue.act_on(&Scope::All, paused, Move::Pause, act("task.pause")).await.unwrap();
    assert_eq!(swept(&house, 9).await, Vec::<u64>::new(), "nothing to sweep");
    house.set_state("a", SubscriptionState::Disabled).await.unwrap();
    assert_eq!(swept(&house, 2).await, [2, 2, 1]);
    for event in &events {
        assert_eq!(house.notified_of(*event).await[0].state, State::Discarded);
    }
    assert_eq!(house.notified_of(other).await[0].state, State::Queued);
    assert_eq!(house.finish(&running, done()).await, Err(Error::LeaseLost(running.token.task)));
    let last = house.queue.task(&Scope::All, paused).await.unwrap().history.pop().unwrap();
    assert_eq!((last.what, last.by.as_deref()), (What::Discarded, Some("malla")));
    let late = house.accept("a", "y").await;
    assert!(house.notified_of(late).await.is_empty());
    house.verify().await;
}

async fn what_waited_when_it_was_disabled_never_goes_out(house: House) {
    house.wired("a").await;
    let event = house.accept("a", "x").await;
    house.set_state("a", SubscriptionState::Disabled).await.unwrap();
    house.set_state("a", SubscriptionState::Active).await.unwrap();
    assert_eq!(house.notified_of(event).await[0].state, State::Discarded);
    assert!(house.deliveries(9).await.is_empty());
    for _ in 0..501 {
        house.accept("a", "x").await;
    }
    house.set_state("a", SubscriptionState::Disabled).await.unwrap();
    let refusal = house.set_state("a", SubscriptionState::Suspended).await.unwrap_err();
    assert_eq!(
        refusal,
        Error::Taken("what waited in subscription a is still being discarded: try again in a moment".into())
    );
    swept(&house, 1_000).await;
    house.set_state("a", SubscriptionState::Suspended).await.unwrap();
    house.verify().await;
}

async fn only_a_disabled_one_without_waiting_is_deleted(house: House) {
    house.wired("a").await;
    let event = house.accept("a", "x").await;
    let delete = || house.notify.delete_subscription(&Scope::All, "a", act("subscription.delete"));
    let refusal = delete().await.unwrap_err();
    assert_eq!(refusal, Error::Taken("subscription a is active: disable it before you delete it".into()));
    house.set_state("a", SubscriptionState::Disabled).await.unwrap();
    let refusal = delete().await.unwrap_err().to_string();
    assert!(refusal.starts_with("subscription a still has 1 notifications that are not finished"), "{refusal}");
    swept(&house, 10).await;
    delete().await.unwrap();
    assert_eq!(delete().await.unwrap_err(), Error::NotFound("subscription a".into()));
    let left = house.notified_of(event).await.remove(0);
    assert_eq!((left.subscription.as_str(), left.endpoint.as_str(), left.state), ("a", "a", State::Discarded));
    house.notify.delete_endpoint(&Scope::All, "a", act("endpoint.delete")).await.unwrap();
    assert_eq!(house.notified_of(event).await[0].endpoint, "(deleted)");
    assert_eq!(house.notify.event(&Scope::All, event).await.unwrap().endpoint_name, "(deleted)");
    house.verify().await;
}

async fn a_new_one_takes_over_the_lane_of_a_deleted_one(house: House) {
    house.wired("a").await;
    house.accept("a", "x").await;
    house.set_state("a", SubscriptionState::Disabled).await.unwrap();
    swept(&house, 10).await;
    house.notify.delete_subscription(&Scope::All, "a", act("subscription.delete")).await.unwrap();
    let group = house.group("sales").await;
    let new = NewSubscription {
        group: Some(group),
        spec: SubscriptionSpec { parallel: 9, ..spec() },
        ..new_subscription("a", "a")
    };
    house.notify.create_subscription(&Scope::All, new, act("subscription.create")).await.unwrap();
    let lane = house.queue.lane(&Scope::All, &lane_of("a")).await.unwrap();
    assert_eq!((lane.settings.ceiling, lane.paused, lane.group), (9, false, Some(group)));
    let event = house.accept("a", "y").await;
    assert_eq!(house.notified_of(event).await[0].group, Some(group));
    assert_eq!(house.deliveries(9).await.len(), 1);
    house.verify().await;
}

async fn a_deleted_one_without_notifications_leaves_nothing(house: House) {
    let group = house.group("sales").await;
    let new = NewEndpoint { group: Some(group), ..new_endpoint("a") };
    house.notify.create_endpoint(new, act("endpoint.create")).await.unwrap();
    let new = NewSubscription { group: Some(group), ..new_subscription("a", "a") };
    house.notify.create_subscription(&Scope::All, new, act("subscription.create")).await.unwrap();
    let refusal = house.access.delete_group("sales", act("group.delete")).await.unwrap_err();
    assert_eq!(refusal, Error::Taken("group sales still has subscriptions: delete these first".into()));
    house.set_state("a", SubscriptionState::Disabled).await.unwrap();
    house.notify.delete_subscription(&Scope::All, "a", act("subscription.delete")).await.unwrap();
    house.notify.delete_endpoint(&Scope::All, "a", act("endpoint.delete")).await.unwrap();
    house.access.delete_group("sales", act("group.delete")).await.unwrap();
    house.wired("a").await;
    house.accept("a", "x").await;
    assert_eq!(house.deliveries(9).await.len(), 1);
    house.verify().await;
}

async fn another_groups_subscription_does_not_exist(house: House) {
    let group = house.group("sales").await;
    house.endpoint("a").await;
    let new = NewSubscription { group: Some(group), ..new_subscription("a", "a") };
    house.notify.create_subscription(&Scope::All, new, act("subscription.create")).await.unwrap();
    let event = house.accept("a", "x").await;
    let id = house.only_notification_of(event).await;
    let (mine, others) = (Scope::Groups(vec![group]), Scope::Groups(vec![]));
    assert!(house.notify.subscription(&mine, "a").await.is_ok());
    assert_eq!(house.notify.notification(&mine, id).await.unwrap().event, event);
    let gone = Error::NotFound("subscription a".into());
    assert_eq!(house.notify.subscription(&others, "a").await.unwrap_err(), gone);
    let change = SubscriptionChange::default();
    let changed = house.notify.change_subscription(&others, "a", change, act("subscription.change")).await;
    assert_eq!(changed.unwrap_err(), gone);
    let deleted = house.notify.delete_subscription(&others, "a", act("subscription.delete")).await;
    assert_eq!(deleted.unwrap_err(), gone);
    assert!(house.notify.subscriptions(&others, None, None, 9).await.unwrap().is_empty());
    assert!(house.notify.notification(&others, id).await.is_err());
    assert!(house.notifications(&NotificationFilter::all(others)).await.is_empty());
    assert_eq!(house.notifications(&NotificationFilter::all(mine)).await.len(), 1);
}

async fn any_group_may_subscribe_to_the_system_endpoint(house: House) {
    let group = house.group("sales").await;
    let scope = Scope::Groups(vec![group]);
    let new = NewSubscription { group: Some(group), ..new_subscription("mine", SYSTEM) };
    let made = house.notify.create_subscription(&scope, new, act("subscription.create")).await.unwrap();
    assert_eq!(made.endpoint_name, SYSTEM);
}

async fn subscriptions_are_listed_by_name_in_pages(house: House) {
    house.endpoint("one").await;
    house.endpoint("two").await;
    for (name, endpoint) in [("c", "one"), ("a", "two"), ("b", "one")] {
        house.subscription(name, endpoint).await;
    }
    let names = |endpoint: Option<&'static str>, after: Option<&'static str>| {
        let house = &house;
        async move {
            let page = house.notify.subscriptions(&Scope::All, endpoint, after, 2).await.unwrap();
            page.into_iter().map(|subscription| subscription.name).collect::<Vec<_>>()
        }
    };
    assert_eq!(names(None, None).await, ["a", "b"]);
    assert_eq!(names(None, Some("b")).await, ["c"]);
    assert_eq!(names(Some("one"), None).await, ["b", "c"]);
    assert_eq!(names(Some("three"), None).await, Vec::<String>::new());
}

async fn a_disabled_one_is_not_in_the_route(house: House) {
    house.wired("a").await;
    house.subscription("b", "a").await;
    let routed = || async {
        let route = house.notify.route("a").await.unwrap().unwrap();
        route.subscriptions.into_iter().map(|subscription| subscription.name).collect::<Vec<_>>()
    };
    house.set_state("a", SubscriptionState::Suspended).await.unwrap();
    assert_eq!(routed().await, ["a", "b"]);
    house.set_state("a", SubscriptionState::Disabled).await.unwrap();
    assert_eq!(routed().await, ["b"]);
}
