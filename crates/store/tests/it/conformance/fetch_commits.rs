//! How leases of pages end: for those who wait, and for others.

use std::time::Duration;

use malla_fetch::{PageTask, Settled, Settlement, Tally, TroubleKind};
use malla_queue::{Error, Failure, Leased, Move, Scope, State, Verdict};

use crate::harness::{House, LEASE, act, on_both_stores_and_objects};
use crate::harness_fetch::{LANES, task_of, url, urls_of};

on_both_stores_and_objects!(
    a_lost_lease_is_refused_and_changes_nothing,
    the_same_commit_twice_counts_once,
    what_is_tried_again_tells_nobody,
    a_moved_page_takes_all_who_wait_along,
    a_page_may_move_to_one_that_waits_already,
    a_page_may_move_to_one_that_is_settled_with_it,
    a_page_may_move_to_itself,
    a_lost_lease_moves_nothing,
    a_robots_txt_that_moved_to_another_site_is_still_its_sites,
    commits_at_the_same_time_lose_no_answer,
    commits_that_move_pages_to_and_fro_do_not_hold_each_other_up,
    who_waits_for_a_discarded_task_is_told,
    who_waits_for_a_forgotten_task_is_told,
    a_task_that_was_taken_up_again_is_no_orphan,
    orphans_are_answered_in_bounded_steps,
    leased_tasks_are_found_by_their_token,
);

const A: &str = "https://a.example/1";
const B: &str = "https://b.example/2";
const C: &str = "https://c.example/3";

fn one_page() -> Tally {
    let mut tally = Tally::default();
    tally.count(200, 5, 20);
    tally
}

/// Lets the lease of these pages run out.
async fn lose(house: &House) {
    house.wait(LEASE);
    house.queue.reap(100).await.unwrap();
}

async fn a_lost_lease_is_refused_and_changes_nothing(house: House) {
    let device = house.join("ana", "pi").await;
    let (lost, kept) = (house.ask(&[A]).await, house.ask(&[B]).await);
    let stale = house.lease_pages().await;
    lose(&house).await;
    let fresh = house.lease_pages().await;
    let mut tally = one_page();
    tally.add(&one_page());
    let settled = vec![house.found(&stale[0], "hello"), house.found(&fresh[1], "hello")];
    let answers = house.commit_as(device.id, settled, tally).await;
    assert_eq!(answers, [Err(Error::LeaseLost(stale[0].token.task)), Ok(())]);
    assert!(house.answers(lost.id).await.is_empty());
    assert_eq!(house.texts(kept.id).await, [(B.into(), "hello".into())]);
    assert_eq!(house.fetch.cache_size().await.unwrap().entries, 1);
    let tally = house.device(device.id).await.tally;
    assert_eq!((tally.pages, tally.by_class[0], tally.bytes, tally.took_ms, tally.refused), (1, 1, 5, 20, 1));
    assert_eq!(house.state(stale[0].token.task).await, State::Running);
    house.verify().await;
}

async fn the_same_commit_twice_counts_once(house: House) {
    let device = house.join("ana", "pi").await;
    let job = house.ask(&[A]).await;
    let leased = house.lease_page().await;
    let settled = house.found(&leased, "hello");
    for _ in 0..3 {
        assert_eq!(house.commit_as(device.id, vec![settled.clone()], one_page()).await, [Ok(())]);
    }
    assert_eq!(house.answers(job.id).await.len(), 1);
    assert_eq!(house.device(device.id).await.tally, one_page());
    let job = house.ask_for(crate::harness_fetch::anew(&[A])).await;
    let leased = house.lease_page().await;
    let twice = vec![house.found(&leased, "hello"), house.found(&leased, "hello")];
    assert_eq!(house.commit(twice).await, [Ok(()), Ok(())]);
    assert_eq!(house.answers(job.id).await.len(), 1);
    house.verify().await;
}

async fn what_is_tried_again_tells_nobody(house: House) {
    let job = house.ask(&[A]).await;
    let leased = house.lease_page().await;
    let ending = house.ending(&leased, Verdict::Failed(Failure::new("no answer")));
    let wait = ending.run_at.unwrap();
    house.settle(Settled { ending, ..house.settled(&leased, Settlement::Open) }).await;
    assert!(house.answers(job.id).await.is_empty() && house.lease_pages().await.is_empty());
    house.wait(malla_queue::Clock::now(&*house.clock).until(wait));
    house.fetch_all("hello").await;
    assert_eq!(house.texts(job.id).await, [(A.into(), "hello".into())]);
}

fn moved(house: &House, leased: &Leased, to: &str) -> Settled {
    let to = PageTask { hops: task_of(leased).hops + 1, ..PageTask::new(url(to)) };
    house.settled(leased, Settlement::Moved { to })
}

async fn a_moved_page_takes_all_who_wait_along(house: House) {
    let jobs = [house.ask(&[A, A]).await, house.ask(&[A]).await];
    house.settle(moved(&house, &house.lease_page().await, B)).await;
    assert!(house.answers(jobs[0].id).await.is_empty());
    let leased = house.lease_page().await;
    assert_eq!((task_of(&leased).url, task_of(&leased).hops), (url(B), 1));
    assert_eq!(house.fetch.wanted(&[leased.token]).await.unwrap(), [leased.token]);
    house.settle(house.found(&leased, "hello")).await;
    assert_eq!(house.texts(jobs[0].id).await, [(A.into(), "hello".into()), (A.into(), "hello".into())]);
    let answers = house.answers(jobs[1].id).await;
    assert_eq!((answers[0].url.as_str(), answers[0].page.url.as_str()), (A, B));
    house.verify().await;
}

async fn a_page_may_move_to_one_that_waits_already(house: House) {
    let both = house.ask(&[A, B]).await;
    let leased = house.lease_pages().await;
    house.settle(moved(&house, &leased[0], B)).await;
    assert!(house.lease_pages().await.is_empty(), "it is being fetched already");
    house.settle(house.found(&leased[1], "hello")).await;
    assert_eq!(house.texts(both.id).await, [(A.into(), "hello".into()), (B.into(), "hello".into())]);
    assert!(house.job(both.id).await.is_over());
    house.verify().await;
}

async fn a_page_may_move_to_one_that_is_settled_with_it(house: House) {
    let (one, other) = (house.ask(&[A]).await, house.ask(&[B]).await);
    let leased = house.lease_pages().await;
    let settled = vec![house.found(&leased[1], "hello"), moved(&house, &leased[0], B)];
    assert_eq!(house.commit(settled).await, [Ok(()), Ok(())]);
    assert_eq!(house.texts(other.id).await.len(), 1);
    house.fetch_all("again").await;
    assert_eq!(house.texts(one.id).await, [(A.into(), "again".into())]);
    house.verify().await;
}

async fn a_page_may_move_to_itself(house: House) {
    let job = house.ask(&[A]).await;
    house.settle(moved(&house, &house.lease_page().await, A)).await;
    let leased = house.lease_page().await;
    assert_eq!(task_of(&leased).hops, 1);
    house.settle(house.given(&leased, 302, "")).await;
    assert_eq!(house.answers(job.id).await[0].page.status, 302);
    house.verify().await;
}

async fn a_lost_lease_moves_nothing(house: House) {
    house.ask(&[A]).await;
    let stale = house.lease_page().await;
    lose(&house).await;
    let answers = house.commit(vec![moved(&house, &stale, B)]).await;
    assert_eq!(answers, [Err(Error::LeaseLost(stale.token.task))]);
    assert_eq!(urls_of(&house.lease_pages().await), [A]);
    assert!(house.queue.lane(&Scope::All, &url(B).site().lane()).await.is_err(), "not even a lane");
    house.verify().await;
}

async fn a_robots_txt_that_moved_to_another_site_is_still_its_sites(house: House) {
    let (site, other) = (url(A).site(), url(B).site());
    house.fetch.want_robots(vec![site.clone()], LANES).await.unwrap();
    let to = PageTask { url: url("https://b.example/robots.txt"), hops: 1, ..PageTask::robots(&site) };
    house.settle(house.settled(&house.lease_page().await, Settlement::Moved { to })).await;
    house.fetch.want_robots(vec![site.clone(), other.clone()], LANES).await.unwrap();
    let leased = house.lease_pages().await;
    let of = |robots_of: &str| leased.iter().filter(|l| task_of(l).robots_of.as_deref() == Some(robots_of)).count();
    assert_eq!((of(site.as_str()), of(other.as_str())), (1, 1));
    assert!(leased.iter().all(|leased| leased.lane == other.lane()));
    house.verify().await;
}

async fn commits_at_the_same_time_lose_no_answer(house: House) {
    let urls: Vec<String> = (0..64).map(|n| format!("https://s{}.example/{n}", n % 8)).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let jobs = [house.ask(&urls).await, house.ask(&urls).await, house.ask(&urls).await];
    let leased = house.lease_pages().await;
    assert_eq!(leased.len(), 64);
    // Each takes every eighth, so that all have pages of each site.
    let part = |n: usize| {
        let settled = leased.iter().skip(n).step_by(8).map(|leased| house.found(leased, "the same body"));
        house.commit(settled.collect())
    };
    let all = tokio::join!(part(0), part(1), part(2), part(3), part(4), part(5), part(6), part(7));
    let all = [all.0, all.1, all.2, all.3, all.4, all.5, all.6, all.7];
    assert!(all.iter().flatten().all(Result::is_ok));
    for job in jobs {
        let answers = house.answers(job.id).await;
        assert_eq!(answers.iter().map(|answer| answer.n).collect::<Vec<_>>(), (1..=64).collect::<Vec<_>>());
        let job = house.job(job.id).await;
        assert_eq!((job.done, job.good, job.is_over()), (64, 64, true));
    }
    assert_eq!(house.fetch.cache_size().await.unwrap().entries, 64);
    house.verify().await;
}

async fn commits_that_move_pages_to_and_fro_do_not_hold_each_other_up(house: House) {
    let urls: Vec<String> = (0..32).map(|n| format!("https://s{n:02}.example/")).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let job = house.ask(&urls).await;
    let leased = house.lease_pages().await;
    // Each moves its pages to the sites of another, which does the same the other way round.
    let part = |n: usize| {
        let own = leased.iter().skip(n * 8).take(8).rev();
        let settled =
            own.zip(0..).map(|(leased, at)| moved(&house, leased, &format!("{}new", urls[(n * 8 + 8 + at) % 32])));
        house.commit(settled.collect())
    };
    let (a, b, c, d) = tokio::join!(part(0), part(1), part(2), part(3));
    assert!([a, b, c, d].iter().flatten().all(Result::is_ok));
    house.fetch_all("hello").await;
    assert!(house.job(job.id).await.is_over());
    house.verify().await;
}

async fn discard(house: &House, leased: &Leased) {
    house.queue.act_on(&Scope::All, leased.token.task, Move::Discard, act("task.discard")).await.unwrap();
}

async fn who_waits_for_a_discarded_task_is_told(house: House) {
    let job = house.ask(&[A, B]).await;
    let leased = house.lease_pages().await;
    assert_eq!(house.fetch.answer_orphans(10).await.unwrap(), 0);
    discard(&house, &leased[0]).await;
    assert_eq!(house.fetch.answer_orphans(10).await.unwrap(), 1);
    let answers = house.answers(job.id).await;
    let trouble = answers[0].page.trouble.as_ref().unwrap();
    assert_eq!((answers[0].url.as_str(), answers[0].page.url.as_str(), answers[0].page.status), (A, A, 0));
    assert_eq!(trouble.what, TroubleKind::Refused);
    assert!(trouble.note.contains("discarded"), "{}", trouble.note);
    assert_eq!(house.fetch.answer_orphans(10).await.unwrap(), 0);
    house.settle(house.found(&leased[1], "hello")).await;
    assert!(house.job(job.id).await.is_over());
    house.verify().await;
}

async fn who_waits_for_a_forgotten_task_is_told(house: House) {
    let job = house.ask(&[A]).await;
    discard(&house, &house.lease_page().await).await;
    house.wait(Duration::from_secs(10));
    let age = Duration::from_secs(1);
    let retention = malla_queue::Retention { tasks: age, events: age, audit: age, step: 100 };
    while house.queue.prune(retention).await.unwrap() > 0 {}
    assert_eq!(house.fetch.answer_orphans(10).await.unwrap(), 1);
    assert!(house.job(job.id).await.is_over());
}

async fn a_task_that_was_taken_up_again_is_no_orphan(house: House) {
    let job = house.ask(&[A]).await;
    let leased = house.lease_page().await;
    discard(&house, &leased).await;
    house.queue.act_on(&Scope::All, leased.token.task, Move::Resend, act("task.resend")).await.unwrap();
    assert_eq!(house.fetch.answer_orphans(10).await.unwrap(), 0);
    house.fetch_all("hello").await;
    assert_eq!(house.texts(job.id).await, [(A.into(), "hello".into())]);
}

async fn orphans_are_answered_in_bounded_steps(house: House) {
    let jobs = [house.ask(&[A, B, C]).await, house.ask(&[C, C]).await];
    for leased in house.lease_pages().await {
        discard(&house, &leased).await;
    }
    assert_eq!(house.fetch.answer_orphans(2).await.unwrap(), 2);
    assert_eq!(house.fetch.answer_orphans(2).await.unwrap(), 1);
    assert!(house.job(jobs[0].id).await.is_over() && house.job(jobs[1].id).await.is_over());
    house.verify().await;
}

async fn leased_tasks_are_found_by_their_token(house: House) {
    house.ask(&[A, B]).await;
    let stale = house.lease_pages().await;
    lose(&house).await;
    let fresh = house.lease_pages().await;
    let tokens = [stale[0].token, fresh[1].token, stale[1].token];
    assert_eq!(house.fetch.leased(&tokens).await.unwrap(), [fresh[1].clone()]);
    assert!(house.fetch.leased(&[]).await.unwrap().is_empty());
}
