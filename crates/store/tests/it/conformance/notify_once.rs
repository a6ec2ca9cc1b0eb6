//! Taking events in under their publishers' keys.

use std::collections::HashSet;
use std::time::Duration;

use malla_notify::{Accept, Accepted, EventFilter, SubscriptionState};
use malla_queue::{Error, EventId, Scope};

use crate::harness::{House, on_both_stores, task};
use crate::harness_notify::{keyed, new_event, once, safe};

on_both_stores!(
    a_repeat_under_the_same_key_is_the_first_event,
    another_request_under_the_same_key_is_refused,
    a_key_belongs_to_its_scope,
    a_key_is_free_again_after_its_time,
    a_stale_route_does_not_use_the_key_up,
    a_full_house_does_not_use_the_key_up,
    a_repeat_is_answered_whatever_has_changed_since,
    a_crowd_with_one_key_makes_one_event,
    a_crowd_with_many_keys_is_told_apart,
);

const HOUR: Duration = Duration::from_secs(3600);

impl House {
    /// To all that the route names, under a key.
    async fn under(&self, endpoint: &str, key: &str, body: &str) -> Accept {
        keyed(self.addressed(endpoint, new_event(body)).await, key)
    }

    async fn stored(&self) -> Vec<EventId> {
        let filter = EventFilter { scope: Scope::All, endpoint: None, content: None, from: None, to: None };
        self.notify.events(&filter, None, 200).await.unwrap().events.into_iter().map(|event| event.id).collect()
    }
}

async fn a_repeat_under_the_same_key_is_the_first_event(house: House) {
    house.wired("a").await;
    let accept = house.under("a", "k", "x").await;
    let id = safe(house.notify.accept(accept.clone()).await);
    for _ in 0..3 {
        assert_eq!(house.notify.accept(accept.clone()).await, Ok(Accepted::Again(id)));
    }
    let other = safe(house.notify.accept(keyed(accept.clone(), "l")).await);
    let bare = safe(house.notify.accept(Accept { once: None, ..accept }).await);
    assert_eq!(house.stored().await, [bare, other, id]);
    house.only_notification_of(id).await;
    house.verify().await;
}

async fn another_request_under_the_same_key_is_refused(house: House) {
    house.wired("a").await;
    let id = safe(house.notify.accept(house.under("a", "k", "one").await).await);
    assert_eq!(house.notify.accept(house.under("a", "k", "two").await).await, Err(Error::KeyReused));
    assert_eq!(house.stored().await, [id]);
    house.verify().await;
}

async fn a_key_belongs_to_its_scope(house: House) {
    house.wired("a").await;
    house.wired("b").await;
    let one = safe(house.notify.accept(house.under("a", "k", "one").await).await);
    let two = safe(house.notify.accept(house.under("b", "k", "two").await).await);
    assert_eq!(house.stored().await, [two, one]);
}

async fn a_key_is_free_again_after_its_time(house: House) {
    house.wired("a").await;
    let one = safe(house.notify.accept(house.under("a", "k", "one").await).await);
    house.wait(HOUR - Duration::from_secs(1));
    assert_eq!(house.notify.accept(house.under("a", "k", "one").await).await, Ok(Accepted::Again(one)));
    house.wait(Duration::from_secs(1));
    let two = safe(house.notify.accept(house.under("a", "k", "two").await).await);
    assert_eq!(house.notify.accept(house.under("a", "k", "two").await).await, Ok(Accepted::Again(two)));
    assert_eq!(house.stored().await, [two, one]);
}

async fn a_stale_route_does_not_use_the_key_up(house: House) {
    house.wired("a").await;
    let old = house.under("a", "k", "x").await;
    house.subscription("b", "a").await;
    assert_eq!(house.notify.accept(old).await, Ok(Accepted::Stale));
    let id = safe(house.notify.accept(house.under("a", "k", "another").await).await);
    assert_eq!(house.notified_of(id).await.len(), 2);
    assert_eq!(house.stored().await, [id]);
}

async fn a_full_house_does_not_use_the_key_up(house: House) {
    house.wired("a").await;
    let early = house.under("a", "early", "x").await;
    let id = safe(house.notify.accept(early.clone()).await);
    for _ in 0..9 {
        house.queue.submit(vec![task("b"); 1_000], None).await.unwrap();
    }
    house.queue.submit(vec![task("b"); 999], None).await.unwrap();
    let late = house.under("a", "late", "x").await;
    let refused = house.notify.accept(late.clone()).await;
    assert_eq!(refused, Err(Error::Full { waiting: 10_000, limit: 10_000 }));
    assert_eq!(house.notify.accept(early).await, Ok(Accepted::Again(id)), "it needs no room");
    let leased = house.lease_one().await;
    house.finish(&leased, crate::harness::done()).await.unwrap();
    safe(house.notify.accept(late).await);
    house.verify().await;
}

async fn a_repeat_is_answered_whatever_has_changed_since(house: House) {
    house.wired("a").await;
    let accept = house.under("a", "k", "x").await;
    let id = safe(house.notify.accept(accept.clone()).await);
    house.set_state("a", SubscriptionState::Disabled).await.unwrap();
    assert_eq!(house.notify.accept(accept).await, Ok(Accepted::Again(id)));
    assert_eq!(house.notify.accept(house.under("a", "k", "x").await).await, Ok(Accepted::Again(id)));
}

async fn a_crowd_with_one_key_makes_one_event(house: House) {
    house.wired("a").await;
    let (mine, theirs) = (house.under("a", "k", "mine").await, house.under("a", "k", "theirs").await);
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..100 {
        let (notify, accept) = (house.notify.clone(), if number % 2 == 0 { &mine } else { &theirs }.clone());
        calls.spawn(async move { notify.accept(accept).await });
    }
    let answers = calls.join_all().await;
    let stored = house.stored().await;
    let [id] = stored[..] else { panic!("{stored:?}") };
    let count = |answer: malla_queue::Result<Accepted>| answers.iter().filter(|one| **one == answer).count();
    let told = (count(Ok(Accepted::Safe(id))), count(Ok(Accepted::Again(id))), count(Err(Error::KeyReused)));
    assert_eq!(told, (1, 49, 50), "{answers:?}");
    house.only_notification_of(id).await;
    house.verify().await;
}

async fn a_crowd_with_many_keys_is_told_apart(house: House) {
    house.wired("a").await;
    let old = house.under("a", "any", "stale").await;
    house.subscription("b", "a").await;
    let used = house.under("a", "used", "x").await;
    let first = safe(house.notify.accept(used.clone()).await);
    let fresh = house.under("a", "any", "x").await;
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..120 {
        let accept = match number % 3 {
            0 => Accept { once: Some(once(fresh.endpoint, &format!("fresh {number}"), b"x")), ..fresh.clone() },
            1 => used.clone(),
            _ => Accept { once: Some(once(old.endpoint, &format!("stale {}", number % 4), b"x")), ..old.clone() },
        };
        let notify = house.notify.clone();
        calls.spawn(async move { (number, notify.accept(accept).await) });
    }
    let mut ids = HashSet::from([first]);
    for (number, answer) in calls.join_all().await {
        match number % 3 {
            0 => assert!(ids.insert(safe(answer)), "{number}"),
            1 => assert_eq!(answer, Ok(Accepted::Again(first)), "{number}"),
            _ => assert_eq!(answer, Ok(Accepted::Stale), "{number}"),
        }
    }
    assert_eq!(house.stored().await.into_iter().collect::<HashSet<_>>(), ids);
    for id in ids {
        assert_eq!(house.notified_of(id).await.len(), 2);
    }
    house.verify().await;
}
