//! Sites: their robots.txt, their pace, and their place in the line.

use std::time::Duration;

use malla_fetch::{KnownRobots, PageTask, ROBOTS, Seen, Settlement, Site, SiteState};
use malla_queue::{Clock as _, Lane, LaneChange, LaneSettings, Priority, Scope, UnixMs};

use crate::harness::{House, act, on_both_stores};
use crate::harness_fetch::{LANES, task_of, url, urls_of};

on_both_stores!(
    a_robots_txt_goes_first_and_is_asked_for_once,
    a_robots_txt_is_kept_as_it_came,
    a_site_that_nobody_asked_is_unknown,
    the_lane_follows_the_gap_that_its_site_asks_for,
    the_gap_of_an_operator_is_never_made_shorter,
    a_site_that_pushes_back_is_asked_less_and_rests,
    a_site_that_recovers_is_asked_as_before,
    a_site_that_gives_no_answer_rests,
    a_lost_lease_teaches_nothing,
    what_many_pages_of_a_site_tell_adds_up,
    sites_stand_in_line_with_what_is_known_of_them,
    sites_whose_time_has_not_come_stand_last,
);

const A: &str = "https://a.example/1";
const B: &str = "https://b.example/2";
const SETTINGS: LaneSettings = LaneSettings { ceiling: 1, gap_ms: 500 };

fn site() -> Site {
    url(A).site()
}

async fn lane(house: &House) -> Lane {
    house.queue.lane(&Scope::All, &site().lane()).await.expect("the lane is there")
}

async fn a_robots_txt_goes_first_and_is_asked_for_once(house: House) {
    house.ask(&[A]).await;
    for _ in 0..2 {
        house.fetch.want_robots(vec![site(), site(), url(B).site()], LANES).await.unwrap();
    }
    let leased = house.lease_from("fetch", "worker", 1).await;
    assert_eq!(
        (task_of(&leased[0]), leased[0].kind.as_str()),
        (PageTask::robots(&task_of(&leased[0]).url.site()), ROBOTS)
    );
    assert_eq!(leased[0].priority, Priority::High);
    house.fetch.want_robots(vec![site(), url(B).site()], LANES).await.unwrap();
    let mut all = urls_of(&house.lease_pages().await);
    all.extend(urls_of(&leased));
    all.sort();
    // The other site's lane is full while its first task runs.
    let robots = all.iter().filter(|url| url.ends_with("/robots.txt")).count();
    assert_eq!(robots, 2, "{all:?}");
    house.verify().await;
}

fn robots(house: &House, text: &[u8]) -> KnownRobots {
    let now = house.clock.now();
    KnownRobots { status: 200, text: text.into(), fetched_at: now, until: now.plus(Duration::from_secs(86_400)) }
}

/// Has the robots.txt of the site fetched, with a gap that it asks for.
async fn open(house: &House, gap_ms: u64) -> KnownRobots {
    house.fetch.want_robots(vec![site()], SETTINGS).await.unwrap();
    house.wait(Duration::from_secs(60));
    let known = robots(house, b"User-agent: *\nDisallow: /\xff\0x");
    let outcome = Settlement::Robots { of: site(), robots: known.clone(), gap_ms };
    house.settle(house.settled(&house.lease_page().await, outcome)).await;
    known
}

async fn a_robots_txt_is_kept_as_it_came(house: House) {
    let known = open(&house, 1_000).await;
    assert_eq!(house.fetch.robots(&site()).await.unwrap(), Some(known.clone()));
    let found = house.fetch.site(&site()).await.unwrap().unwrap();
    assert_eq!((found.site, found.robots), (site(), Some(known)));
    assert_eq!(found.state.gap_ms, 1_000);
    house.fetch.want_robots(vec![site()], SETTINGS).await.unwrap();
    house.wait(Duration::from_secs(60));
    let empty = KnownRobots { status: 404, ..robots(&house, b"") };
    let outcome = Settlement::Robots { of: site(), robots: empty.clone(), gap_ms: 1_000 };
    house.settle(house.settled(&house.lease_page().await, outcome)).await;
    assert_eq!(house.fetch.robots(&site()).await.unwrap(), Some(empty));
    house.verify().await;
}

async fn a_site_that_nobody_asked_is_unknown(house: House) {
    house.ask(&[A]).await;
    assert_eq!(house.fetch.robots(&site()).await.unwrap(), None);
    assert_eq!(house.fetch.site(&site()).await.unwrap(), None);
    house.settle(house.seen(&house.lease_page().await, Seen::Good { took_ms: 30 }, Settlement::Open)).await;
    let known = house.fetch.site(&site()).await.unwrap().unwrap();
    assert_eq!((known.robots, known.state.page_ms), (None, Some(30)));
    assert_eq!(house.fetch.robots(&site()).await.unwrap(), None);
}

async fn the_lane_follows_the_gap_that_its_site_asks_for(house: House) {
    for gap_ms in [1_000, 5_000, 0, 700] {
        open(&house, gap_ms).await;
        assert_eq!(lane(&house).await.settings.gap_ms, gap_ms);
    }
    house.verify().await;
}

async fn set_gap(house: &House, gap_ms: u64) {
    let change = LaneChange { gap_ms: Some(gap_ms), ..LaneChange::default() };
    house.queue.change_lane(&Scope::All, &site().lane(), change, act("lane.change")).await.unwrap();
}

async fn the_gap_of_an_operator_is_never_made_shorter(house: House) {
    open(&house, 1_000).await;
    set_gap(&house, 5_000).await;
    for (asked, kept) in [(1_000, 5_000), (9_000, 9_000), (2_000, 5_000), (0, 5_000)] {
        open(&house, asked).await;
        assert_eq!(lane(&house).await.settings.gap_ms, kept, "{asked}");
    }
    set_gap(&house, 300).await;
    assert_eq!(lane(&house).await.settings.gap_ms, 300);
    let pause = LaneChange { paused: Some(true), ..LaneChange::default() };
    house.queue.change_lane(&Scope::All, &site().lane(), pause, act("lane.change")).await.unwrap();
    let resume = LaneChange { paused: Some(false), ..LaneChange::default() };
    house.queue.change_lane(&Scope::All, &site().lane(), resume, act("lane.change")).await.unwrap();
    open(&house, 400).await;
    assert_eq!(lane(&house).await.settings.gap_ms, 400);
    open(&house, 100).await;
    assert_eq!(lane(&house).await.settings.gap_ms, 300);
    house.verify().await;
}

/// Asks the site for one page, and sees this.
async fn see(house: &House, seen: Seen) -> UnixMs {
    house.wait(Duration::from_secs(3_600));
    house.ask_for(crate::harness_fetch::anew(&[A])).await;
    let leased = house.lease_page().await;
    let outcome = house.given(&leased, 200, "hello").outcome;
    house.settle(house.seen(&leased, seen, outcome)).await;
    house.clock.now()
}

async fn a_site_that_pushes_back_is_asked_less_and_rests(house: House) {
    open(&house, 1_000).await;
    see(&house, Seen::PushedBack { retry_after: None }).await;
    assert_eq!(lane(&house).await.settings.gap_ms, 2_000);
    let now = see(&house, Seen::PushedBack { retry_after: Some(Duration::from_secs(120)) }).await;
    assert_eq!(lane(&house).await.settings.gap_ms, 3_000);
    let until = now.plus(Duration::from_secs(120));
    let state = house.fetch.site(&site()).await.unwrap().unwrap().state;
    assert_eq!((state.slowed_ms, state.rest_until), (2_000, Some(until)));
    house.ask_for(crate::harness_fetch::anew(&[A])).await;
    assert_eq!(lane(&house).await.ready_at, Some(until));
    house.wait(Duration::from_secs(119));
    assert!(house.lease_pages().await.is_empty());
    house.wait(Duration::from_secs(1));
    assert_eq!(house.lease_pages().await.len(), 1);
    house.verify().await;
}

async fn a_site_that_recovers_is_asked_as_before(house: House) {
    open(&house, 1_000).await;
    set_gap(&house, 1_500).await;
    see(&house, Seen::PushedBack { retry_after: None }).await;
    assert_eq!(lane(&house).await.settings.gap_ms, 2_000);
    for _ in 0..10 {
        see(&house, Seen::Good { took_ms: 20 }).await;
    }
    assert_eq!(lane(&house).await.settings.gap_ms, 1_500, "as the operator wants it");
    assert_eq!(house.fetch.site(&site()).await.unwrap().unwrap().state.effective_gap_ms(), 1_000);
    house.verify().await;
}

async fn a_site_that_gives_no_answer_rests(house: House) {
    open(&house, 1_000).await;
    see(&house, Seen::Failed).await;
    assert_eq!(house.fetch.site(&site()).await.unwrap().unwrap().state.rest_until, None);
    see(&house, Seen::Failed).await;
    let now = see(&house, Seen::Failed).await;
    house.ask_for(crate::harness_fetch::anew(&[A])).await;
    assert_eq!(lane(&house).await.ready_at, Some(now.plus(Duration::from_secs(4))));
    assert_eq!(lane(&house).await.settings.gap_ms, 1_000);
    house.verify().await;
}

async fn a_lost_lease_teaches_nothing(house: House) {
    open(&house, 1_000).await;
    house.ask(&[A]).await;
    house.wait(Duration::from_secs(60));
    let stale = house.lease_page().await;
    house.wait(crate::harness::LEASE);
    house.queue.reap(10).await.unwrap();
    let pushed = Seen::PushedBack { retry_after: Some(Duration::from_secs(60)) };
    assert!(house.commit(vec![house.seen(&stale, pushed, Settlement::Open)]).await[0].is_err());
    assert_eq!(lane(&house).await.settings.gap_ms, 1_000);
    assert_eq!(house.fetch.site(&site()).await.unwrap().unwrap().state, SiteState::new(1_000));
}

async fn what_many_pages_of_a_site_tell_adds_up(house: House) {
    open(&house, 1_000).await;
    house.wait(Duration::from_secs(60));
    house.ask(&[A, "https://a.example/2", "https://a.example/3"]).await;
    let leased = house.lease_pages().await;
    let pushed = Seen::PushedBack { retry_after: None };
    let settled = leased.iter().map(|leased| house.seen(leased, pushed, house.given(leased, 429, "").outcome));
    house.commit(settled.collect()).await;
    assert_eq!(lane(&house).await.settings.gap_ms, 5_000);
    assert_eq!(house.fetch.site(&site()).await.unwrap().unwrap().state.slowed_ms, 4_000);
    house.verify().await;
}

async fn sites_stand_in_line_with_what_is_known_of_them(house: House) {
    let known = open(&house, 700).await;
    see(&house, Seen::Good { took_ms: 40 }).await;
    house.ask(&[B]).await;
    let asked = house.clock.now();
    house.wait(Duration::from_secs(60));
    house.ask_for(crate::harness_fetch::anew(&[A])).await;
    let line = house.fetch.ready(10).await.unwrap();
    assert_eq!(line.iter().map(|ready| ready.site.clone()).collect::<Vec<_>>(), [url(B).site(), site()]);
    assert_eq!((line[0].since, line[0].gap_ms, line[0].ceiling), (asked, 0, 1));
    assert_eq!((line[0].state, line[0].robots_until), (SiteState::default(), None));
    assert_eq!((line[1].since, line[1].gap_ms), (house.clock.now(), 700));
    assert_eq!((line[1].state.gap_ms, line[1].state.page_ms), (700, Some(40)));
    assert_eq!(line[1].robots_until, Some(known.until));
    assert_eq!(house.fetch.ready(1).await.unwrap(), line[..1]);
    house.lease_pages().await;
    assert!(house.fetch.ready(10).await.unwrap().is_empty());
}

async fn sites_whose_time_has_not_come_stand_last(house: House) {
    open(&house, 5_000).await;
    let opened = house.clock.now();
    house.ask(&[A]).await;
    house.ask(&[B]).await;
    let line = house.fetch.ready(10).await.unwrap();
    let since: Vec<_> = line.iter().map(|ready| (ready.site.clone(), ready.since)).collect();
    assert_eq!(since, [(url(B).site(), opened), (site(), opened.plus(Duration::from_secs(5)))]);
}
