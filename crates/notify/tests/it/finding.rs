//! Where a deliverer finds the subscription and the event, and what it does if it finds none.

use std::sync::atomic::Ordering;

use malla_notify::{Event, SubscriptionState, Target};
use malla_queue::worker::Work as _;
use malla_queue::{Error, EventId, NextTry, Verdict};

use crate::house::{House, content, done, failed, spec, task};
use crate::receiver::Receiver;

#[tokio::test]
async fn what_is_gone_fails_for_good() {
    let target = Receiver::new().await;
    let house = House::new().with(spec(&target.url()));
    let no_event = failed(house.deliverer.work(&task("shop", EventId(1))).await);
    assert!(no_event.note.contains("is no longer kept"), "{}", no_event.note);

    house.fake.change("shop", |shop| shop.state = SubscriptionState::Disabled);
    let disabled = failed(house.deliver(content("{}")).await);
    assert_eq!(disabled.note, "the subscription shop is disabled");

    house.fake.unsubscribe("shop");
    let deleted = failed(house.deliver(content("{}")).await);
    assert_eq!(deleted.note, "the subscription shop was deleted");

    let event = house.event(content("{}"));
    let nonsense = malla_queue::Leased { payload: b"{}".to_vec(), ..task("shop", event) };
    let nonsense = failed(house.deliverer.work(&nonsense).await);
    for failure in [no_event, disabled, deleted, nonsense] {
        assert_eq!(failure.next, NextTry::Never);
    }
    assert!(target.got().is_empty());
}

#[tokio::test]
async fn a_change_is_seen_at_once() {
    let (before, after) = (Receiver::new().await, Receiver::new().await);
    let house = House::new().with(spec(&before.url()));
    done(house.deliver(content("{}")).await);
    house.fake.change("shop", |shop| shop.spec.target = Target(after.url()));
    done(house.deliver(content("{}")).await);
    before.only();
    after.only();
}

#[tokio::test]
async fn a_store_that_is_away_costs_no_attempt() {
    let target = Receiver::new().await;
    let house = House::new().with(spec(&target.url()));
    *house.fake.trouble.lock().expect("no panic") = Some(Error::Unavailable("gone fishing".into()));
    let verdict = house.deliver(content("{}")).await;
    assert!(matches!(&verdict, Some(Verdict::Released { note }) if note.contains("gone fishing")), "{verdict:?}");
    *house.fake.trouble.lock().expect("no panic") = None;
    done(house.deliver(content("{}")).await);
}

#[tokio::test]
async fn a_recent_event_is_not_read_again() {
    let target = Receiver::new().await;
    let house = House::new().with(spec(&target.url()));
    let id = house.event(content("{}"));
    let event: Event = house.fake.events.lock().expect("no panic").remove(&id).expect("the event");
    house.recent.put(event);
    done(house.deliverer.work(&task("shop", id)).await);
    assert_eq!(house.fake.reads.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn events_that_are_missed_together_are_read_together() {
    let target = Receiver::new().await;
    let house = House::new().with(spec(&target.url()));
    house.fake.gate.forget_permits(1_000);
    let tasks: Vec<_> = (0..20).map(|n| task("shop", house.event(content(n.to_string())))).collect();
    let mut works: Vec<_> = tasks.iter().map(|task| house.deliverer.work(task)).collect();
    // The first goes to read and stands at the gate; the others gather behind it.
    for work in &mut works {
        assert!(poll_once(work).await.is_none());
    }
    house.fake.gate.add_permits(1_000);
    for work in works {
        done(work.await);
    }
    assert_eq!(house.fake.reads.load(Ordering::SeqCst), 2);
    let mut bodies: Vec<u32> =
        target.got().iter().map(|got| std::str::from_utf8(&got.body).expect("text").parse().expect("n")).collect();
    bodies.sort_unstable();
    assert_eq!(bodies, (0..20).collect::<Vec<_>>());
}

#[tokio::test]
async fn who_reads_for_others_may_be_stopped() {
    let target = Receiver::new().await;
    let house = House::new().with(spec(&target.url()));
    house.fake.gate.forget_permits(1_000);
    let (first, second) = (task("shop", house.event(content("1"))), task("shop", house.event(content("2"))));
    let mut stopped = house.deliverer.work(&first);
    assert!(poll_once(&mut stopped).await.is_none());
    let mut other = house.deliverer.work(&second);
    assert!(poll_once(&mut other).await.is_none());
    drop(stopped);
    house.fake.gate.add_permits(1_000);
    done(other.await);
    assert_eq!(&target.only().body[..], b"2");
}

/// Lets a future go as far as it can just now.
async fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(match std::pin::Pin::new(&mut *future).poll(context) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        })
    })
    .await
}
