//! Devices of the fleet.

use std::time::Duration;

use malla_fetch::{About, DeviceId, Measures, NewDevice, OFFLINE_AFTER_MS, Tally};
use malla_queue::{Clock as _, Error, LaneSettings, Scope, State};

use crate::harness::{House, LEASE, act, on_both_stores};
use crate::harness_fetch::{new_device, new_job, url, urls_of};

on_both_stores!(
    a_device_joins_and_is_known_by_its_secret,
    a_device_that_joins_again_keeps_its_number_and_gets_a_new_secret,
    a_name_belongs_to_the_device_at_work_until_it_leaves_or_is_silent,
    who_has_the_secret_joins_again_at_any_time,
    a_secret_is_that_of_one_device,
    names_are_unique_for_each_owner,
    what_a_device_says_of_itself_is_checked,
    a_device_is_heard,
    what_a_device_holds_goes_back_when_it_leaves,
    what_was_taken_before_a_device_joined_again_does_not_go_back_when_it_leaves,
    devices_are_listed_for_their_group,
    a_blocked_device_stays_blocked_when_it_joins_again,
    what_a_blocked_device_holds_comes_back_with_its_lease,
    what_a_device_brought_adds_up,
    devices_that_are_not_there_are_not_found,
);

const A: &str = "https://a.example/1";
const B: &str = "https://b.example/2";

async fn a_device_joins_and_is_known_by_its_secret(house: House) {
    let device = house.join("ana", "pi").await;
    assert_eq!((device.name.as_str(), device.owner.as_str(), device.group), ("pi", "ana", None));
    assert_eq!((device.joined_at, device.seen_at), (house.clock.now(), house.clock.now()));
    assert!(!device.blocked && !device.left);
    assert_eq!((device.measures, device.tally), (Measures::default(), Tally::default()));
    assert_eq!(device.about, new_device("ana", "pi").about);
    assert_eq!(house.fetch.device_by_secret(b"ana pi").await.unwrap(), Some(device));
    assert_eq!(house.fetch.device_by_secret(b"another").await.unwrap(), None);
}

async fn a_device_that_joins_again_keeps_its_number_and_gets_a_new_secret(house: House) {
    let group = house.group("sales").await;
    let first = house.join("ana", "pi").await;
    house.commit_as(first.id, Vec::new(), Tally { pages: 3, ..Tally::default() }).await;
    house.fetch.device_left(first.id).await.unwrap();
    house.wait(Duration::from_secs(9));
    let about = About { version: "2".into(), ..About::default() };
    let again = NewDevice { secret_hash: b"new".to_vec(), about, group: Some(group), ..new_device("ana", "pi") };
    let again = house.fetch.join(again).await.unwrap();
    assert_eq!((again.id, again.about.version.as_str(), again.group), (first.id, "2", Some(group)));
    assert_eq!((again.joined_at, again.seen_at, again.left), (house.clock.now(), house.clock.now(), false));
    assert_eq!(house.fetch.device_by_secret(b"ana pi").await.unwrap(), None);
    assert_eq!(house.fetch.device_by_secret(b"new").await.unwrap().unwrap().id, first.id);
    assert_eq!(house.fetch.devices(&Scope::All).await.unwrap().len(), 1);
}

/// Another machine under the same name.
fn another(owner: &str, name: &str) -> NewDevice {
    NewDevice { secret_hash: b"another".to_vec(), ..new_device(owner, name) }
}

async fn a_name_belongs_to_the_device_at_work_until_it_leaves_or_is_silent(house: House) {
    let first = house.join("ana", "pi").await;
    house.wait(Duration::from_secs(30));
    let why = "a device named pi of ana is at work: choose another --name, or wait 61 s";
    assert_eq!(house.fetch.join(another("ana", "pi")).await, Err(Error::Taken(why.into())));
    assert_eq!(house.fetch.device_by_secret(b"ana pi").await.unwrap().unwrap(), first, "nothing has changed");
    house.fetch.device_seen(first.id, Measures::default()).await.unwrap();
    house.wait(Duration::from_millis(OFFLINE_AFTER_MS as u64));
    assert!(house.fetch.join(another("ana", "pi")).await.is_err(), "it was heard");
    house.wait(Duration::from_millis(1));
    assert_eq!(house.fetch.join(another("ana", "pi")).await.unwrap().id, first.id);
    assert!(house.fetch.join(new_device("ana", "pi")).await.is_err(), "the name is the other's now");
    house.fetch.device_left(first.id).await.unwrap();
    assert_eq!(house.join("ana", "pi").await.id, first.id);
}

async fn who_has_the_secret_joins_again_at_any_time(house: House) {
    let first = house.join("ana", "pi").await;
    house.wait(Duration::from_secs(1));
    let again = house.join("ana", "pi").await;
    assert_eq!((again.id, again.joined_at), (first.id, house.clock.now()));
    assert_eq!(house.fetch.device_by_secret(b"ana pi").await.unwrap(), Some(again));
}

async fn a_secret_is_that_of_one_device(house: House) {
    house.join("ana", "pi").await;
    for (owner, name) in [("ana", "mac"), ("ben", "pi")] {
        let copied = NewDevice { secret_hash: b"ana pi".to_vec(), ..new_device(owner, name) };
        let why = "another device has this secret: make a new one";
        assert_eq!(house.fetch.join(copied).await, Err(Error::Taken(why.into())));
    }
    assert_eq!(house.fetch.devices(&Scope::All).await.unwrap().len(), 1);
}

async fn names_are_unique_for_each_owner(house: House) {
    let (one, other) = (house.join("ana", "pi").await, house.join("ben", "pi").await);
    assert_ne!(one.id, other.id);
    assert_eq!(house.fetch.device_by_secret(b"ana pi").await.unwrap().unwrap().id, one.id);
}

async fn what_a_device_says_of_itself_is_checked(house: House) {
    let wrong = house.fetch.join(new_device("ana", "")).await;
    assert_eq!(wrong, Err(Error::Invalid("a device needs a name".into())));
}

async fn a_device_is_heard(house: House) {
    let device = house.join("ana", "pi").await;
    house.fetch.device_left(device.id).await.unwrap();
    assert!(house.device(device.id).await.left);
    house.wait(Duration::from_secs(5));
    let measures = Measures { parallel: 16, page_ms: 120, bytes_per_s: 1_000_000 };
    house.fetch.device_seen(device.id, measures).await.unwrap();
    let heard = house.device(device.id).await;
    assert_eq!((heard.seen_at, heard.left, heard.measures), (house.clock.now(), false, measures));
    assert_eq!(heard.joined_at, device.joined_at);
}

async fn what_a_device_holds_goes_back_when_it_leaves(house: House) {
    let (one, other) = (house.join("ana", "pi").await, house.join("ben", "pi").await);
    let lanes = LaneSettings { ceiling: 1, gap_ms: 2_000 };
    house.ask_for(malla_fetch::NewJob { lanes, ..new_job(&[A]) }).await;
    let mine = house.lease_pages_as(one.id).await;
    house.ask(&[B]).await;
    let theirs = house.lease_pages_as(other.id).await;
    house.wait(Duration::from_secs(5));
    house.fetch.device_left(one.id).await.unwrap();
    assert_eq!(house.state(mine[0].token.task).await, State::Queued);
    assert_eq!(house.state(theirs[0].token.task).await, State::Running);
    assert!(house.commit(vec![house.found(&mine[0], "late")]).await[0].is_err());
    assert_eq!(house.fetch.cache_size().await.unwrap().entries, 0);
    assert!(house.lease_pages().await.is_empty(), "it may have asked a moment ago");
    let lane = house.queue.lane(&Scope::All, &url(A).site().lane()).await.unwrap();
    assert_eq!(lane.ready_at, Some(house.clock.now().plus(Duration::from_secs(2))));
    house.wait(Duration::from_secs(2));
    assert_eq!(urls_of(&house.lease_pages().await), [A]);
    house.verify().await;
}

async fn what_was_taken_before_a_device_joined_again_does_not_go_back_when_it_leaves(house: House) {
    let device = house.join("ana", "pi").await;
    house.ask(&[A]).await;
    let before = house.lease_pages_as(device.id).await;
    house.wait(Duration::from_millis(1));
    house.join("ana", "pi").await;
    house.ask(&[B]).await;
    let since = house.lease_pages_as(device.id).await;
    house.fetch.device_left(device.id).await.unwrap();
    assert_eq!(house.state(before[0].token.task).await, State::Running, "it may still be in work");
    assert_eq!(house.state(since[0].token.task).await, State::Queued);
    assert_eq!(house.commit(vec![house.found(&before[0], "in time")]).await, [Ok(())]);
    house.verify().await;
}

async fn devices_are_listed_for_their_group(house: House) {
    let group = house.group("sales").await;
    let in_group = NewDevice { group: Some(group), ..new_device("ben", "mac") };
    let mine = house.fetch.join(in_group).await.unwrap();
    let other = house.join("ana", "pi").await;
    let list = async |scope: Scope| {
        let devices = house.fetch.devices(&scope).await.unwrap();
        devices.iter().map(|device| device.id).collect::<Vec<_>>()
    };
    assert_eq!(list(Scope::All).await, [other.id, mine.id], "by owner");
    assert_eq!(list(Scope::Groups(vec![group])).await, [mine.id]);
    assert!(list(Scope::Groups(Vec::new())).await.is_empty());
}

async fn a_blocked_device_stays_blocked_when_it_joins_again(house: House) {
    let device = house.join("ana", "pi").await;
    let blocked = house.fetch.block_device(&Scope::All, device.id, true, act("device.block")).await.unwrap();
    assert!(blocked.blocked);
    assert!(house.join("ana", "pi").await.blocked);
    assert!(house.fetch.device_by_secret(b"ana pi").await.unwrap().unwrap().blocked);
    let free = house.fetch.block_device(&Scope::All, device.id, false, act("device.unblock")).await.unwrap();
    assert!(!free.blocked);
}

async fn what_a_blocked_device_holds_comes_back_with_its_lease(house: House) {
    let device = house.join("ana", "pi").await;
    let lanes = LaneSettings { ceiling: 1, gap_ms: 2_000 };
    house.ask_for(malla_fetch::NewJob { lanes, ..new_job(&[A]) }).await;
    let held = house.lease_pages_as(device.id).await;
    house.wait(Duration::from_secs(5));
    house.join("ana", "pi").await;
    let mut changed = house.fetch.devices_changed();
    assert!(!house.fetch.device_seen(device.id, Measures::default()).await.unwrap());
    house.fetch.block_device(&Scope::All, device.id, true, act("device.block")).await.unwrap();
    changed.changed().await.unwrap();
    assert!(house.fetch.device_seen(device.id, Measures::default()).await.unwrap());
    assert_eq!(house.state(held[0].token.task).await, State::Running, "it may be asking the site at this moment");
    house.wait(LEASE);
    house.queue.reap(100).await.unwrap();
    assert_eq!(house.state(held[0].token.task).await, State::Queued);
    assert!(house.commit(vec![house.found(&held[0], "late")]).await[0].is_err());
    house.wait(Duration::from_secs(2));
    assert_eq!(urls_of(&house.lease_pages().await), [A]);
    house.fetch.block_device(&Scope::All, device.id, false, act("device.unblock")).await.unwrap();
    changed.changed().await.unwrap();
    assert!(!house.fetch.device_seen(device.id, Measures::default()).await.unwrap());
    house.verify().await;
}

async fn what_a_device_brought_adds_up(house: House) {
    let device = house.join("ana", "pi").await;
    let job = house.ask(&[A, B]).await;
    for (leased, status) in house.lease_pages().await.iter().zip([200, 404]) {
        let mut tally = Tally::default();
        tally.count(status, 5, 20);
        house.wait(Duration::from_secs(1));
        house.commit_as(device.id, vec![house.given(leased, status, "hello")], tally).await;
    }
    let refused = Tally { refused: 2, ..Tally::default() };
    house.commit_as(device.id, Vec::new(), refused).await;
    let found = house.device(device.id).await;
    let Tally { pages, by_class, bytes, took_ms, refused } = found.tally;
    assert_eq!((pages, by_class, bytes, took_ms, refused), (2, [1, 0, 1, 0, 0], 10, 40, 2));
    assert_eq!(found.seen_at, house.clock.now());
    assert_eq!(house.answers(job.id).await.len(), 2);
    house.commit_as(DeviceId(99), Vec::new(), Tally { pages: 1, ..Tally::default() }).await;
}

async fn devices_that_are_not_there_are_not_found(house: House) {
    let device = house.join("ana", "pi").await;
    let group = house.group("sales").await;
    for (scope, id) in [(Scope::All, DeviceId(99)), (Scope::Groups(vec![group]), device.id)] {
        let missing = house.fetch.block_device(&scope, id, true, act("device.block")).await;
        assert_eq!(missing, Err(Error::NotFound(format!("device {}", id.0))));
    }
    house.fetch.device_seen(DeviceId(99), Measures::default()).await.unwrap();
    house.fetch.device_left(DeviceId(99)).await.unwrap();
}
