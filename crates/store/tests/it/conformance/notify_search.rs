//! The search for words in bodies, before and after they are indexed.

use std::time::Duration;

use malla_notify::{EventFilter, NewEndpoint, NotificationFilter};
use malla_queue::{EventId, Scope, State};

use crate::harness::{House, act, done, on_both_stores};
use crate::harness_notify::new_endpoint;

on_both_stores!(
    a_word_is_found_before_and_after_it_is_indexed,
    words_ids_and_phrases_are_found,
    a_search_is_paged_newest_first,
    a_search_keeps_to_its_filter,
    a_packed_body_is_searched_too,
    indexing_goes_in_bounded_steps,
    a_page_of_a_search_has_whole_events,
);

fn with(content: &str) -> EventFilter {
    EventFilter { scope: Scope::All, endpoint: None, content: Some(content.into()), from: None, to: None }
}

async fn found(house: &House, filter: &EventFilter, limit: usize) -> Vec<EventId> {
    let (mut seen, mut below) = (Vec::new(), None);
    loop {
        let page = house.notify.events(filter, below, limit).await.unwrap();
        assert!(page.events.len() <= limit);
        seen.extend(page.events.iter().map(|event| event.id));
        below = page.next;
        if below.is_none() {
            return seen;
        }
    }
}

/// Indexes all that has arrived.
async fn index(house: &House) -> u64 {
    house.wait(Duration::from_secs(11));
    let mut indexed = 0;
    loop {
        match house.notify.index(50).await.unwrap() {
            0 => return indexed,
            some => indexed += some,
        }
    }
}

async fn a_word_is_found_before_and_after_it_is_indexed(house: House) {
    house.endpoint("a").await;
    let old = house.accept("a", r#"{"order":"first"}"#).await;
    house.accept("a", r#"{"order":"second"}"#).await;
    assert_eq!(found(&house, &with("first"), 10).await, [old]);
    assert_eq!(index(&house).await, 2);
    assert_eq!(found(&house, &with("FIRST"), 10).await, [old]);
    let new = house.accept("a", r#"{"order":"first again"}"#).await;
    assert_eq!(found(&house, &with("first"), 10).await, [new, old]);
    assert_eq!(found(&house, &with("first"), 1).await, [new, old]);
    assert_eq!(found(&house, &with("third"), 10).await, []);
}

async fn words_ids_and_phrases_are_found(house: House) {
    house.endpoint("a").await;
    let a =
        house.accept("a", r#"{"mail":"ana@example.org","id":"7f9c24e8-3b12-4d6f-9a7e-1c2b3d4e5f60","n":4711}"#).await;
    let b = house.accept("a", "the id 4d6f-9a7e-7f9c24e8 of example Ana, 4711").await;
    house.accept("a", vec![0xff, 0xfe, b' ', b'4', b'7', b'1', b'1']).await;
    for _ in 0..2 {
        assert_eq!(found(&house, &with("4711"), 10).await, [b, a]);
        assert_eq!(found(&house, &with("ana@example.org"), 10).await, [a]);
        assert_eq!(found(&house, &with("7f9c24e8-3b12-4d6f-9a7e-1c2b3d4e5f60"), 10).await, [a]);
        assert_eq!(found(&house, &with("7f9c24e8"), 10).await, [b, a]);
        assert_eq!(found(&house, &with("example ana"), 10).await, [b, a]);
        assert_eq!(found(&house, &with("\"quoted' OR #1"), 10).await, []);
        index(&house).await;
    }
}

async fn a_search_is_paged_newest_first(house: House) {
    house.endpoint("a").await;
    let mut made = Vec::new();
    for number in 0..30 {
        let word = if number % 3 == 0 { "fizz" } else { "plain" };
        let id = house.accept("a", format!("{word} {number}")).await;
        if number % 3 == 0 {
            made.push(id);
        }
        if number == 20 {
            index(&house).await;
        }
    }
    made.reverse();
    for limit in [1, 3, 10, 100] {
        assert_eq!(found(&house, &with("fizz"), limit).await, made, "pages of {limit}");
    }
}

async fn a_search_keeps_to_its_filter(house: House) {
    let group = house.group("sales").await;
    let own = NewEndpoint { group: Some(group), ..new_endpoint("own") };
    house.notify.create_endpoint(own, act("endpoint.create")).await.unwrap();
    house.wired("a").await;
    let a = house.accept("a", "word").await;
    house.wait(Duration::from_secs(1));
    let noon = malla_queue::Clock::now(&*house.clock);
    house.wait(Duration::from_secs(1));
    let b = house.accept("own", "word").await;
    let c = house.accept("a", "word").await;
    let leased = house.deliveries(1).await.remove(0);
    house.finish(&leased, done()).await.unwrap();
    for _ in 0..2 {
        let of = |endpoint: &str| EventFilter { endpoint: Some(endpoint.into()), ..with("word") };
        assert_eq!(found(&house, &of("a"), 10).await, [c, a]);
        assert_eq!(found(&house, &of("own"), 10).await, [b]);
        assert_eq!(found(&house, &EventFilter { scope: Scope::Groups(vec![group]), ..with("word") }, 10).await, [b]);
        assert_eq!(found(&house, &EventFilter { from: Some(noon), ..with("word") }, 10).await, [c, b]);
        assert_eq!(found(&house, &EventFilter { to: Some(noon), ..with("word") }, 10).await, [a]);
        let notified = |states: Vec<State>| NotificationFilter {
            states,
            content: Some("word".into()),
            ..NotificationFilter::all(Scope::All)
        };
        let events_of = |filter: NotificationFilter| {
            let house = &house;
            async move { house.notifications(&filter).await.iter().map(|found| found.event).collect::<Vec<_>>() }
        };
        assert_eq!(events_of(notified(vec![])).await, [c, a]);
        assert_eq!(events_of(notified(vec![State::Succeeded])).await, [a]);
        assert_eq!(events_of(NotificationFilter { endpoint: Some("own".into()), ..notified(vec![]) }).await, []);
        assert_eq!(events_of(NotificationFilter { subscription: Some("a".into()), ..notified(vec![]) }).await, [c, a]);
        assert_eq!(events_of(NotificationFilter { from: Some(noon), ..notified(vec![]) }).await, [c]);
        index(&house).await;
    }
}

async fn a_packed_body_is_searched_too(house: House) {
    house.endpoint("a").await;
    let near = format!("{} needle", "hay ".repeat(10_000));
    let far = format!("{} needle", "hay ".repeat(100_000));
    let found_in = house.accept("a", near).await;
    house.accept("a", far).await;
    for _ in 0..2 {
        assert_eq!(found(&house, &with("needle"), 10).await, [found_in], "the first 64 KiB are searched");
        index(&house).await;
    }
}

async fn indexing_goes_in_bounded_steps(house: House) {
    house.endpoint("a").await;
    for number in 0..7 {
        house.accept("a", number.to_string()).await;
    }
    house.wait(Duration::from_secs(11));
    assert_eq!(house.notify.index(3).await, Ok(3));
    assert_eq!(house.notify.index(3).await, Ok(3));
    assert_eq!(house.notify.index(3).await, Ok(1));
    assert_eq!(house.notify.index(3).await, Ok(0));
}

async fn a_page_of_a_search_has_whole_events(house: House) {
    house.endpoint("a").await;
    for name in ["a", "b", "c"] {
        house.subscription(name, "a").await;
    }
    for number in 0..4 {
        house.accept("a", format!("word {number}")).await;
    }
    let filter = NotificationFilter { content: Some("word".into()), ..NotificationFilter::all(Scope::All) };
    for limit in [1, 3, 4, 7, 50] {
        let (mut seen, mut below) = (Vec::new(), None);
        loop {
            let page = house.notify.notifications(&filter, below, limit).await.unwrap();
            seen.extend(page.notifications.iter().map(|found| (found.event, found.id)));
            below = page.next;
            if below.is_none() {
                break;
            }
        }
        assert_eq!(seen.len(), 12, "pages of {limit}");
        assert!(seen.is_sorted_by(|newer, older| newer > older), "pages of {limit}: {seen:?}");
    }
}
