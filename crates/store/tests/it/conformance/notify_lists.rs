//! Lists of events and notifications, and a person's verbs on all that match.

use std::time::Duration;

use malla_notify::{EventFilter, NewEndpoint, NotificationFilter, SYSTEM, SubscriptionState};
use malla_queue::{Act, Clock as _, Error, Event, EventId, Move, Once, Outcome, Scope, State, TaskId, Verdict};

use crate::harness::{House, act, done, on_both_stores, task};
use crate::harness_notify::new_endpoint;

on_both_stores!(
    events_are_listed_newest_first_in_pages,
    event_filters_combine,
    notifications_are_listed_newest_first_in_pages,
    notification_filters_combine,
    an_endpoint_with_many_subscriptions_is_listed_in_order,
    a_verb_on_all_that_match_is_written_down_once,
    a_verb_on_all_goes_on_where_it_ended,
);

fn events_of(scope: Scope) -> EventFilter {
    EventFilter { scope, endpoint: None, content: None, from: None, to: None }
}

fn all() -> NotificationFilter {
    NotificationFilter::all(Scope::All)
}

async fn events_are_listed_newest_first_in_pages(house: House) {
    house.endpoint("a").await;
    let mut made = Vec::new();
    for number in 0..7 {
        made.push(house.accept("a", number.to_string()).await);
    }
    made.reverse();
    let (mut seen, mut below) = (Vec::new(), None);
    loop {
        let page = house.notify.events(&events_of(Scope::All), below, 3).await.unwrap();
        seen.extend(page.events.iter().map(|event| event.id));
        below = page.next;
        if below.is_none() {
            break;
        }
    }
    assert_eq!(seen, made);
    let page = house.notify.events(&events_of(Scope::All), None, 1).await.unwrap();
    let first = &page.events[0];
    assert_eq!((first.endpoint.as_str(), first.method.as_str(), first.bytes), ("a", "POST", 1));
}

async fn check_events(house: &House, filter: EventFilter, expected: &[EventId]) {
    let page = house.notify.events(&filter, None, 100).await.unwrap();
    assert_eq!(page.events.iter().map(|event| event.id).collect::<Vec<_>>(), expected, "{filter:?}");
    assert!(page.next.is_none());
}

async fn event_filters_combine(house: House) {
    let group = house.group("sales").await;
    let own = NewEndpoint { group: Some(group), ..new_endpoint("own") };
    house.notify.create_endpoint(own, act("endpoint.create")).await.unwrap();
    house.endpoint("shared").await;
    let a = house.accept("own", "x").await;
    let noon = house.clock.now().plus(Duration::from_millis(500));
    house.wait(Duration::from_secs(1));
    let b = house.accept("shared", "x").await;
    let c = house.accept("own", "x").await;
    house.submit(task("a")).await;
    let leased = house.lease_one().await;
    let happened = Event { kind: "drill.done".into(), group: Some(group), body: b"{}".to_vec() };
    house.finish(&leased, Verdict::Done(Outcome { events: vec![happened], ..Outcome::default() })).await.unwrap();
    let d = house.notify.own_events(1).await.unwrap()[0].id;
    let every = || events_of(Scope::All);
    check_events(&house, every(), &[d, c, b, a]).await;
    check_events(&house, EventFilter { endpoint: Some("own".into()), ..every() }, &[c, a]).await;
    check_events(&house, EventFilter { endpoint: Some("none".into()), ..every() }, &[]).await;
    check_events(&house, EventFilter { endpoint: Some(SYSTEM.into()), ..every() }, &[d]).await;
    check_events(&house, EventFilter { to: Some(noon), ..every() }, &[a]).await;
    check_events(&house, EventFilter { from: Some(noon), endpoint: Some("own".into()), ..every() }, &[c]).await;
    check_events(&house, events_of(Scope::Groups(vec![group])), &[d, c, a]).await;
    check_events(&house, events_of(Scope::Groups(vec![])), &[]).await;
    let shared = EventFilter { endpoint: Some("shared".into()), ..events_of(Scope::Groups(vec![group])) };
    check_events(&house, shared, &[]).await;
    let version = house.notify.endpoint(&Scope::All, SYSTEM).await.unwrap().version;
    assert!(house.notify.dispatch(version, vec![(d, vec![])]).await.unwrap());
    check_events(&house, EventFilter { endpoint: Some(SYSTEM.into()), ..every() }, &[d]).await;
}

async fn notifications_are_listed_newest_first_in_pages(house: House) {
    house.wired("a").await;
    for _ in 0..7 {
        house.accept("a", "x").await;
        house.submit(task("a")).await;
    }
    let whole: Vec<_> = house.notifications(&all()).await.iter().map(|found| found.id).collect();
    assert_eq!(whole.len(), 7);
    assert!(whole.is_sorted_by(|newer, older| newer > older));
    let (mut seen, mut below) = (Vec::new(), None);
    loop {
        let page = house.notify.notifications(&all(), below, 3).await.unwrap();
        seen.extend(page.notifications.iter().map(|found| found.id));
        below = page.next;
        if below.is_none() {
            break;
        }
    }
    assert_eq!(seen, whole);
}

async fn check(house: &House, filter: NotificationFilter, expected: &[TaskId]) {
    let found: Vec<_> = house.notifications(&filter).await.iter().map(|found| found.id).collect();
    assert_eq!(found, expected, "{filter:?}");
}

async fn notification_filters_combine(house: House) {
    house.wired("a").await;
    house.wired("b").await;
    house.subscription("a2", "a").await;
    house.set_state("a2", SubscriptionState::Suspended).await.unwrap();
    let first = house.accept("a", "x").await;
    let noon = house.clock.now().plus(Duration::from_millis(500));
    house.wait(Duration::from_secs(1));
    let second = house.accept("b", "x").await;
    let to_b = house.only_notification_of(second).await;
    let of_first = house.notified_of(first).await;
    let to = |name: &str| of_first.iter().find(|found| found.subscription == name).unwrap().id;
    let (to_a, to_a2) = (to("a"), to("a2"));
    let leased = house.deliveries(1).await.remove(0);
    assert_eq!(leased.token.task, to_a);
    house.finish(&leased, done()).await.unwrap();
    let newest_first = |mut ids: Vec<TaskId>| {
        ids.sort_by(|a, b| b.cmp(a));
        ids
    };
    let some = |name: &str| Some(name.to_owned());
    check(&house, all(), &newest_first(vec![to_a, to_a2, to_b])).await;
    check(&house, NotificationFilter { subscription: some("a"), ..all() }, &[to_a]).await;
    check(&house, NotificationFilter { subscription: some("none"), ..all() }, &[]).await;
    check(&house, NotificationFilter { endpoint: some("a"), ..all() }, &newest_first(vec![to_a, to_a2])).await;
    check(&house, NotificationFilter { endpoint: some("none"), ..all() }, &[]).await;
    check(&house, NotificationFilter { endpoint: some("a"), subscription: some("b"), ..all() }, &[]).await;
    check(&house, NotificationFilter { states: vec![State::Succeeded], ..all() }, &[to_a]).await;
    check(&house, NotificationFilter { states: vec![State::Paused], ..all() }, &[to_a2]).await;
    check(&house, NotificationFilter { states: vec![State::Paused], endpoint: some("b"), ..all() }, &[]).await;
    check(&house, NotificationFilter { event: Some(second), ..all() }, &[to_b]).await;
    check(&house, NotificationFilter { event: Some(second), subscription: some("a"), ..all() }, &[]).await;
    check(&house, NotificationFilter { from: Some(noon), ..all() }, &[to_b]).await;
    check(&house, NotificationFilter { to: Some(noon), states: vec![State::Succeeded], ..all() }, &[to_a]).await;
}

async fn an_endpoint_with_many_subscriptions_is_listed_in_order(house: House) {
    house.endpoint("a").await;
    for number in 0..12 {
        house.subscription(&format!("s{number}"), "a").await;
    }
    house.accept("a", "x").await;
    house.accept("a", "y").await;
    let filter = NotificationFilter { endpoint: Some("a".into()), ..all() };
    let (mut seen, mut below) = (Vec::new(), None);
    loop {
        let page = house.notify.notifications(&filter, below, 5).await.unwrap();
        seen.extend(page.notifications.iter().map(|found| found.id));
        below = page.next;
        if below.is_none() {
            break;
        }
    }
    assert_eq!(seen.len(), 24);
    assert!(seen.is_sorted_by(|newer, older| newer > older));
}

async fn a_verb_on_all_that_match_is_written_down_once(house: House) {
    house.wired("a").await;
    house.wired("b").await;
    for _ in 0..3 {
        house.accept("a", "x").await;
    }
    let other = house.accept("b", "x").await;
    let once =
        Once { scope: "user:ana".into(), key: "k".into(), fingerprint: vec![1], keep_for: Duration::from_secs(60) };
    let keyed = || Act { once: Some(once.clone()), ..act("notification.discard") };
    let filter = NotificationFilter { endpoint: Some("a".into()), ..all() };
    for _ in 0..2 {
        let discarded = house.notify.act_on_notifications(&filter, None, Move::Discard, keyed()).await.unwrap();
        assert_eq!((discarded.0.changed, discarded.1), (3, None));
    }
    let found = house.notifications(&filter).await;
    assert!(found.iter().all(|found| found.state == State::Discarded));
    assert_eq!(house.notified_of(other).await[0].state, State::Queued);
    let lines = house.access.audit(&Scope::All, &Default::default(), None, 100).await.unwrap();
    assert_eq!(lines.iter().filter(|line| line.action == "notification.discard").count(), 1);
    let refused = NotificationFilter { states: vec![State::Queued], ..filter };
    let confirmed = house.notify.act_on_notifications(&refused, None, Move::Confirm, act("notification.confirm")).await;
    assert_eq!(confirmed.unwrap().0.changed, 0);
    house.verify().await;
}

async fn a_verb_on_all_goes_on_where_it_ended(house: House) {
    house.wired("a").await;
    for number in 0..502 {
        house.accept("a", format!("number {number}")).await;
    }
    for content in [None, Some("number".to_owned())] {
        let filter = NotificationFilter { content, ..all() };
        let verb = if filter.content.is_some() { Move::Resend } else { Move::Discard };
        let (mut changed, mut below) = (0, None);
        loop {
            let (step, next) =
                house.notify.act_on_notifications(&filter, below, verb, act("notification.verb")).await.unwrap();
            changed += step.changed;
            below = next;
            if below.is_none() {
                break;
            }
        }
        assert_eq!(changed, 502);
    }
    let nothing = NotificationFilter { content: Some("--".into()), ..all() };
    let refusal = house.notify.notifications(&nothing, None, 9).await.unwrap_err();
    assert!(matches!(refusal, Error::Invalid(_)), "{refusal}");
    house.verify().await;
}
