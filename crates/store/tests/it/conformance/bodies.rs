//! Bodies in an object store: what is there, what is removed when, and what happens while it is away.

use std::time::Duration;

use bytes::Bytes;
use malla_cluster::NewMember;
use malla_fetch::{Commit, Keep};
use malla_queue::Error;
use malla_store::bodies::{Collected, Options};

use crate::harness::{House, LEASE};
use crate::harness_bodies::{GRACE, Gate, Home, LONG, all, folder, large, names, noise, objects};
use crate::harness_fetch::LANES;

/// Runs each test on both stores.
macro_rules! in_both_homes {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name($crate::harness_bodies::Home::sqlite()).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name($crate::harness_bodies::Home::postgres().await).await;
            })*
        }
    };
}
pub(super) use in_both_homes;

in_both_homes!(
    large_bodies_go_outside_and_small_ones_stay,
    a_body_that_is_kept_already_is_not_put_again,
    an_upload_without_a_row_is_removed_after_the_grace_and_nothing_else,
    a_body_that_went_is_removed_after_the_grace_and_may_come_back_meanwhile,
    what_somebody_else_put_there_stays,
    a_damaged_object_is_not_given_out,
    a_missing_object_is_told,
    without_its_object_store_a_body_cannot_be_read,
    an_object_store_that_goes_away_is_waited_for,
    a_deposed_leader_removes_nothing_from_the_list,
    a_folder_does_as_well,
);

const A: &str = "https://a.example/1";
const B: &str = "https://b.example/2";
const DAY: Duration = Duration::from_secs(24 * 3_600);

fn keep() -> Keep {
    Keep { cache_entries_max: 0, cache_bytes_max: 0, jobs_for: DAY, devices_for: DAY * 365, step: 100 }
}

/// Forgets all pages and collects nothing.
async fn forget_all(house: &House) {
    house.wait(DAY * 8);
    while house.fetch.trim(keep()).await.expect("trims") > 0 {}
}

/// All that there is to collect now.
async fn collect(house: &House) -> Collected {
    let mut sum = Collected::default();
    loop {
        let step = house.bodies.collect().await.expect("collects");
        sum = Collected { dead: sum.dead + step.dead, orphans: sum.orphans + step.orphans, more: false };
        if !step.more {
            return sum;
        }
    }
}

/// Puts a body there whose row never comes: the lease is lost before the commit.
async fn cut_off(house: &House, url: &str, text: &str) {
    house.ask_for(crate::harness_fetch::anew(&[url])).await;
    let leased = house.lease_page().await;
    house.wait(LEASE * 2);
    house.queue.reap(100).await.expect("reaps");
    let lost = house.commit(vec![house.found(&leased, text)]).await;
    assert_eq!(lost, [Err(Error::LeaseLost(leased.token.task))]);
}

async fn large_bodies_go_outside_and_small_ones_stay(home: Home) {
    let options = large();
    let house = home.open(Some(&options)).await;
    let (long, job) = (noise(10_000, 1), house.ask(&[A, B]).await);
    let leased = house.lease_pages().await;
    house.commit(vec![house.found(&leased[0], &long), house.found(&leased[1], "short")]).await;
    assert_eq!(names(&options).await.len(), 1, "only the long one");
    let mut texts = house.texts(job.id).await;
    texts.sort_unstable();
    assert_eq!(texts, [(A.to_owned(), long), (B.to_owned(), "short".to_owned())]);
    house.verify().await;
}

async fn a_body_that_is_kept_already_is_not_put_again(home: Home) {
    let options = all();
    let house = home.open(Some(&options)).await;
    let job = house.ask(&[A, B]).await;
    house.fetch_all("the same").await;
    house.cache(A, "the same").await;
    assert_eq!(names(&options).await.len(), 1, "one object for three pages");
    assert_eq!(house.texts(job.id).await.len(), 2);
    house.verify().await;
}

async fn an_upload_without_a_row_is_removed_after_the_grace_and_nothing_else(home: Home) {
    let options = all();
    let house = home.open(Some(&options)).await;
    house.cache(A, "kept").await;
    let kept = names(&options).await;
    cut_off(&house, B, "never told").await;
    assert_eq!(names(&options).await.len(), 2);
    house.wait(GRACE / 2);
    assert_eq!(collect(&house).await, Collected::default(), "its row may still come");
    house.wait(LONG);
    assert_eq!(collect(&house).await, Collected { orphans: 1, ..Collected::default() });
    assert_eq!(names(&options).await, kept);
    assert_eq!(collect(&house).await, Collected::default());

    // The windows before are not looked at again; the ones after are.
    cut_off(&house, B, "never told").await;
    house.wait(LONG);
    assert_eq!(collect(&house).await.orphans, 1);
    assert_eq!(names(&options).await, kept);
    house.verify().await;
}

async fn a_body_that_went_is_removed_after_the_grace_and_may_come_back_meanwhile(home: Home) {
    let options = all();
    let house = home.open(Some(&options)).await;
    house.cache(A, "comes and goes").await;
    let first = names(&options).await;
    forget_all(&house).await;
    assert_eq!(collect(&house).await, Collected::default(), "it has only just gone");
    let job = house.ask_for(crate::harness_fetch::anew(&[B])).await;
    house.fetch_all("comes and goes").await;
    assert_eq!(names(&options).await.len(), 2, "the same text has another name");
    house.wait(LONG);
    assert_eq!(collect(&house).await, Collected { dead: 1, ..Collected::default() });
    let left = names(&options).await;
    assert!(left.len() == 1 && left != first, "the new one is left");
    assert_eq!(house.texts(job.id).await, [(B.to_owned(), "comes and goes".to_owned())]);
    house.verify().await;
}

async fn what_somebody_else_put_there_stays(home: Home) {
    let options = all();
    let house = home.open(Some(&options)).await;
    house.cache(A, "ours").await;
    let ours = names(&options).await.remove(0);
    let (folder, _) = ours.rsplit_once('/').unwrap();
    let foreign =
        ["readme.txt".to_owned(), format!("{folder}/notes.txt"), ours.replace(&ours[..16], "0123456789abcdef")];
    for name in &foreign {
        objects(&options).put(name, Bytes::from_static(b"theirs")).await.unwrap();
    }
    house.wait(LONG);
    assert_eq!(collect(&house).await, Collected::default());
    assert_eq!(names(&options).await.len(), 4);
}

async fn a_damaged_object_is_not_given_out(home: Home) {
    let options = all();
    let house = home.open(Some(&options)).await;
    let job = house.ask(&[A]).await;
    house.fetch_all("what was stored").await;
    let name = names(&options).await.remove(0);
    objects(&options).put(&name, Bytes::from_static(b"something else")).await.unwrap();
    let why = house.fetch.answers(job.id, 0, 10).await.unwrap_err().to_string();
    assert!(why.contains(&name) && why.contains("is damaged: restore it"), "{why}");
}

async fn a_missing_object_is_told(home: Home) {
    let options = all();
    let house = home.open(Some(&options)).await;
    let job = house.ask(&[A]).await;
    house.fetch_all("what was stored").await;
    objects(&options).remove(names(&options).await).await.unwrap();
    let why = house.fetch.answers(job.id, 0, 10).await.unwrap_err().to_string();
    assert!(why.contains("is missing: restore it"), "{why}");
    assert_eq!(house.bodies.away(), None, "the object store is there all the same");
}

async fn without_its_object_store_a_body_cannot_be_read(home: Home) {
    let house = home.open(Some(&all())).await;
    let job = house.ask(&[A]).await;
    house.fetch_all("outside").await;
    let house = home.open(None).await;
    let why = house.fetch.answers(job.id, 0, 10).await.unwrap_err();
    assert!(matches!(&why, Error::Unavailable(why) if why.contains("bodies.url names none")), "{why}");
}

async fn an_object_store_that_goes_away_is_waited_for(home: Home) {
    let options = large();
    let gate = Gate::before(&options.endpoint).await;
    let through = Options { endpoint: gate.url.clone(), retries: 0, ..options.clone() };
    let house = home.open(Some(&through)).await;
    let (long, job) = (noise(10_000, 1), house.ask(&[A, B]).await);
    let leased = house.lease_pages().await;
    gate.close();
    let commit = Commit { settled: vec![house.found(&leased[0], &long)], lanes: LANES, ..Commit::default() };
    let refused = house.fetch.commit(commit.clone()).await.unwrap_err();
    assert!(matches!(&refused, Error::Unavailable(why) if why.contains("the object store")), "{refused}");
    let away = house.bodies.away().expect("it is noticed");
    assert_eq!(away.since, malla_queue::Clock::now(&*house.clock));
    assert!(house.bodies.look().await.is_err());
    house.settle(house.found(&leased[1], "small ones go on")).await;

    gate.open();
    let back = async {
        while house.bodies.look().await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), back).await.expect("it is noticed that it is back");
    assert_eq!(house.bodies.away(), None);
    assert_eq!(house.fetch.commit(commit).await, Ok(vec![Ok(())]), "the task was still held");
    assert_eq!(house.texts(job.id).await.len(), 2);
    assert_eq!(names(&options).await.len(), 1);
    house.verify().await;
}

async fn a_deposed_leader_removes_nothing_from_the_list(home: Home) {
    let options = all();
    let house = home.open(Some(&options)).await;
    let member = |name: &str| NewMember {
        name: name.into(),
        machine: "here".into(),
        address: None,
        roles: vec!["medic".into()],
        version: "1".into(),
        medic: None,
        supervises: false,
    };
    let one = house.cluster.join(member("one")).await.unwrap();
    let first = house.cluster.campaign(one, LEASE).await.unwrap();
    house.cache(A, "goes").await;
    forget_all(&house).await;
    let two = house.cluster.join(member("two")).await.unwrap();
    let second = house.cluster.campaign(two, DAY * 30).await.unwrap();
    assert_eq!((house.under)(first.term).bodies.collect().await, Err(Error::Deposed));
    let leader = (house.under)(second.term);
    assert_eq!(collect(&leader).await.dead, 0, "noted only now");
    house.wait(LONG);
    assert_eq!(collect(&leader).await.dead, 1);
    assert!(names(&options).await.is_empty());
}

async fn a_folder_does_as_well(home: Home) {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { inline_bytes_max: 0, ..folder(directory.path()) };
    let house = home.open(Some(&options)).await;
    let job = house.ask(&[A]).await;
    house.fetch_all("in a file").await;
    assert_eq!(house.texts(job.id).await, [(A.to_owned(), "in a file".to_owned())]);
    cut_off(&house, B, "never told").await;
    assert_eq!(names(&options).await.len(), 2);
    house.wait(LONG);
    assert_eq!(collect(&house).await.orphans, 1);
    forget_all(&house).await;
    collect(&house).await;
    house.wait(LONG);
    assert_eq!(collect(&house).await.dead, 1);
    assert!(names(&options).await.is_empty());
}
