//! Tours: found once, asked for in portions, read on from the mark, ended once.

use std::time::Duration;

use malla_fetch::tour::{
    Found, Hand, KeepTours, NewTour, NewVersion, Step, Stepped, TOUR_ROOM, Tour, TourChange, TourId, TourKind,
    TourState, lane_of,
};
use malla_fetch::{JobId, NOT_ASKED, Site, UrlKey, Wanted};
use malla_queue::{Clock as _, Error, Event, Leased, Outcome, Scope, State, UnixMs, Verdict};

use crate::harness::{House, act, on_both_stores};
use crate::harness_fetch::{LANES, new_device, task_of, url, urls_of};

on_both_stores!(
    a_tour_begins_with_its_task_and_what_it_starts_from,
    what_was_found_is_asked_for_once_in_portions,
    many_sites_are_asked_in_turn,
    no_more_than_half_of_what_may_wait_is_a_tours,
    too_many_of_one_shape_are_left_alone,
    a_step_of_a_lost_lease_changes_nothing,
    a_step_ends_the_lease_of_a_tour_that_is_paused_and_it_goes_on,
    a_tour_that_ends_closes_its_job_and_tells,
    a_cancelled_tour_wants_nothing_more,
    versions_are_kept_up_to_a_number_and_a_size,
    a_watchs_answers_are_forgotten_and_a_crawls_are_not,
    pages_wait_for_a_device_of_their_place,
    weights_add_up_and_old_tours_are_forgotten,
    a_tour_whose_task_was_discarded_fails,
);

fn found(text: &str, depth: u32) -> Found {
    Found { url: url(text), depth, sitemap: false, shape: None }
}

fn new_tour(kind: TourKind, seeds: &[&str]) -> NewTour {
    let found = seeds.iter().map(|seed| found(seed, 0)).collect();
    NewTour { kind, group: None, spec: "{}".into(), progress: "{}".into(), found, weight: 1.5 }
}

const HAND: Hand = Hand { outstanding_max: 100, per_site_max: 100, pages_max: 1_000, cached: false };

impl House {
    async fn begin_tour(&self, kind: TourKind, seeds: &[&str]) -> Tour {
        self.tours.begin(new_tour(kind, seeds), act("tour.begin")).await.expect("it begins")
    }

    async fn lease_tour(&self) -> Leased {
        let mut leased = self.lease_from(TOUR_ROOM, "guide", 1).await;
        leased.pop().expect("a tour waits")
    }

    fn a_step(&self, tour: &Tour, leased: &Leased) -> Step {
        Step {
            id: tour.id,
            token: leased.token,
            read: (tour.read, tour.read),
            answered: Vec::new(),
            progress: tour.progress.clone(),
            weight: tour.weight,
            found: Vec::new(),
            found_max: 1_000,
            hand: None,
            wanted: Vec::new(),
            pins: Vec::new(),
            pending_max: 10_000,
            lanes: LANES,
            versions: Vec::new(),
            versions_kept: 100,
            versions_bytes_max: 1_000_000,
            events: Vec::new(),
            end: None,
            ending: None,
            ending_if_over: self.ending(leased, Verdict::Done(Outcome::default())),
        }
    }

    async fn step(&self, step: Step) -> Stepped {
        self.tours.step(step).await.expect("it is taken")
    }

    async fn tour(&self, kind: TourKind, id: TourId) -> Tour {
        self.tours.tour(&Scope::All, kind, id).await.expect("it is there")
    }
}

const A: &str = "https://a.example/";
const B: &str = "https://b.example/";

async fn a_tour_begins_with_its_task_and_what_it_starts_from(house: House) {
    let tour = house.begin_tour(TourKind::Crawl, &[A, B, A]).await;
    assert_eq!((tour.state, tour.found, tour.waiting, tour.asked), (TourState::Running, 2, 2, 0));
    assert_eq!(house.tour(TourKind::Crawl, tour.id).await, tour);
    let other = house.tours.tour(&Scope::All, TourKind::Watch, tour.id).await;
    assert_eq!(other, Err(Error::NotFound(format!("watch {}", tour.id))));
    assert!(house.tours.tour(&Scope::Groups(vec![]), TourKind::Crawl, tour.id).await.is_err());
    let leased = house.lease_tour().await;
    assert_eq!((leased.lane, leased.kind), (lane_of(tour.id), TourKind::Crawl.task_kind()));
    assert!(!house.job(JobId(tour.id.0)).await.is_over(), "its job stays open");
    assert!(house.fetch.jobs(&Scope::All, None, 10).await.expect("lists").is_empty(), "and is nobody's");
    let listed = house.tours.tours(&Scope::All, TourKind::Crawl, None, 10).await.expect("lists");
    assert_eq!(listed.iter().map(|tour| tour.id).collect::<Vec<_>>(), [tour.id]);
    house.verify().await;
}

async fn what_was_found_is_asked_for_once_in_portions(house: House) {
    let tour = house.begin_tour(TourKind::Crawl, &[A]).await;
    let leased = house.lease_tour().await;
    let first = house.step(Step { hand: Some(HAND), ..house.a_step(&tour, &leased) }).await;
    assert_eq!((first.handed, first.tour.asked, first.tour.waiting), (1, 1, 0));
    house.fetch_all("page").await;
    let answers = house.answers(JobId(tour.id.0)).await;
    assert_eq!(answers.iter().map(|answer| answer.url.as_str()).collect::<Vec<_>>(), [A]);
    let links: Vec<Found> = (0..5).map(|n| found(&format!("{A}{n}"), 1)).chain([found(A, 1)]).collect();
    let step = Step {
        read: (0, 1),
        answered: vec![(url(A).site(), 1)],
        found: links.clone(),
        hand: Some(Hand { outstanding_max: 3, ..HAND }),
        progress: r#"{"pages":1}"#.into(),
        ..house.a_step(&first.tour, &leased)
    };
    let second = house.step(step).await;
    assert_eq!((second.handed, second.tour.found, second.tour.waiting, second.tour.read), (3, 6, 2, 1));
    // Seen again, it is not found again.
    let again = house.step(Step { found: links, ..house.a_step(&second.tour, &leased) }).await;
    assert_eq!((again.tour.found, again.tour.waiting), (6, 2));
    house.fetch_all("page").await;
    let step = Step {
        read: (1, 4),
        answered: vec![(url(A).site(), 3)],
        hand: Some(Hand { pages_max: 5, ..HAND }),
        ..house.a_step(&again.tour, &leased)
    };
    let third = house.step(step).await;
    assert_eq!((third.handed, third.tour.asked, third.tour.waiting), (1, 5, 1), "no more pages than it may ask for");
    let keys: Vec<UrlKey> = [A, "https://a.example/3", "https://a.example/9"].map(|text| url(text).key()).into();
    let mut depths = house.tours.depths(tour.id, &keys).await.expect("reads");
    depths.sort_by_key(|(_, depth, _)| *depth);
    assert_eq!(depths, [(keys[0], 0, false), (keys[1], 1, false)]);
    house.fetch_all("page").await;
    assert_eq!(house.answers(JobId(tour.id.0)).await.len(), 5, "each URL is answered once");
    house.verify().await;
}

async fn many_sites_are_asked_in_turn(house: House) {
    let seeds: Vec<String> =
        (0..6).map(|n| format!("https://a.example/{n}")).chain(["https://b.example/1".into()]).collect();
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let tour = house.begin_tour(TourKind::Crawl, &seeds).await;
    let leased = house.lease_tour().await;
    let hand = Hand { per_site_max: 2, ..HAND };
    let stepped = house.step(Step { hand: Some(hand.clone()), ..house.a_step(&tour, &leased) }).await;
    assert_eq!(stepped.handed, 3);
    let pages = house.lease_pages().await;
    assert_eq!(urls_of(&pages), ["https://a.example/0", "https://a.example/1", "https://b.example/1"]);
    let more = house.step(Step { hand: Some(hand.clone()), ..house.a_step(&stepped.tour, &leased) }).await;
    assert_eq!(more.handed, 0, "two are under way there");
    let site: Site = url("https://a.example/").site();
    let step = Step { answered: vec![(site, 1)], hand: Some(hand), ..house.a_step(&more.tour, &leased) };
    assert_eq!(house.step(step).await.handed, 1);
}

async fn no_more_than_half_of_what_may_wait_is_a_tours(house: House) {
    let seeds: Vec<String> = (0..20).map(|n| format!("https://a{n}.example/")).collect();
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let tour = house.begin_tour(TourKind::Crawl, &seeds).await;
    let leased = house.lease_tour().await;
    house.ask(&["https://c.example/1", "https://c.example/2"]).await;
    let stepped = house.step(Step { hand: Some(HAND), pending_max: 20, ..house.a_step(&tour, &leased) }).await;
    assert_eq!((stepped.handed, stepped.tour.waiting), (8, 12));
    house.ask(&["https://c.example/3"]).await;
}

async fn too_many_of_one_shape_are_left_alone(house: House) {
    let tour = house.begin_tour(TourKind::Crawl, &[A]).await;
    let leased = house.lease_tour().await;
    let shape = url("https://shape.example/").key();
    let of = |range: std::ops::Range<u32>| -> Vec<Found> {
        range.map(|n| Found { shape: Some((shape, 4)), ..found(&format!("{A}{n}"), 1) }).collect()
    };
    let stepped = house.step(Step { found: of(0..3), ..house.a_step(&tour, &leased) }).await;
    let stepped = house.step(Step { found: of(0..9), found_max: 6, ..house.a_step(&stepped.tour, &leased) }).await;
    assert_eq!((stepped.tour.found, stepped.tour.trapped, stepped.tour.left_out), (5, 5, 0));
    let plain: Vec<Found> = (0..4).map(|n| found(&format!("{B}{n}"), 1)).collect();
    let stepped = house.step(Step { found: plain, found_max: 6, ..house.a_step(&stepped.tour, &leased) }).await;
    assert_eq!((stepped.tour.found, stepped.tour.left_out), (6, 3));
}

async fn a_step_of_a_lost_lease_changes_nothing(house: House) {
    let tour = house.begin_tour(TourKind::Crawl, &[A]).await;
    let late = house.lease_tour().await;
    house.wait(Duration::from_secs(60));
    house.queue.reap(10).await.expect("reaps");
    let leased = house.lease_tour().await;
    let lost = house.tours.step(Step { hand: Some(HAND), ..house.a_step(&tour, &late) }).await;
    assert_eq!(lost, Err(Error::LeaseLost(late.token.task)));
    assert_eq!(house.tour(TourKind::Crawl, tour.id).await, tour);
    let ending = Some(house.ending(&leased, Verdict::Released { note: "later".into() }));
    let stepped = house.step(Step { hand: Some(HAND), ending: ending.clone(), ..house.a_step(&tour, &leased) }).await;
    assert!(stepped.ended && stepped.handed == 1);
    // The same word again, because its answer was lost.
    let again = house.step(Step { hand: Some(HAND), ending, ..house.a_step(&tour, &leased) }).await;
    assert_eq!((again.ended, again.handed, again.tour.asked), (true, 0, 1));
    house.verify().await;
}

async fn a_step_ends_the_lease_of_a_tour_that_is_paused_and_it_goes_on(house: House) {
    let tour = house.begin_tour(TourKind::Crawl, &[A]).await;
    let leased = house.lease_tour().await;
    let change = |state| TourChange { state: Some(state), spec: None };
    let to = |state| house.tours.change(&Scope::All, TourKind::Crawl, tour.id, change(state), act("tour.change"));
    assert_eq!(to(TourState::Paused).await.expect("it is paused").state, TourState::Paused);
    let stepped = house.step(Step { hand: Some(HAND), ..house.a_step(&tour, &leased) }).await;
    assert_eq!((stepped.ended, stepped.handed), (true, 0));
    assert_eq!(house.state(leased.token.task).await, State::Succeeded);
    assert!(house.lease_from(TOUR_ROOM, "guide", 1).await.is_empty());
    to(TourState::Running).await.expect("it goes on");
    to(TourState::Running).await.expect("it goes on already");
    let leased = house.lease_tour().await;
    assert_eq!(house.step(Step { hand: Some(HAND), ..house.a_step(&tour, &leased) }).await.handed, 1);
    house.verify().await;
}

async fn a_tour_that_ends_closes_its_job_and_tells(house: House) {
    let tour = house.begin_tour(TourKind::Crawl, &[A]).await;
    let leased = house.lease_tour().await;
    let stepped = house.step(Step { hand: Some(HAND), ..house.a_step(&tour, &leased) }).await;
    house.fetch_all("page").await;
    let ending = Some(house.ending(&leased, Verdict::Done(Outcome::default())));
    let (read, end) = ((0, 1), Some((TourState::Done, None)));
    let over = house.step(Step { read, end, ending, ..house.a_step(&stepped.tour, &leased) }).await.tour;
    assert_eq!((over.state, over.finished_at), (TourState::Done, Some(house.clock.now())));
    let job = house.job(JobId(tour.id.0)).await;
    assert!(job.is_over() && (job.total, job.done) == (1, 1));
    assert_eq!(house.answers(job.id).await.len(), 1, "its pages stay readable");
    let change = TourChange { state: Some(TourState::Running), spec: None };
    let again = house.tours.change(&Scope::All, TourKind::Crawl, tour.id, change, act("tour.change")).await;
    assert!(matches!(again, Err(Error::Conflict(why)) if why.contains("is over")));
    let events = house.notify.own_events(10).await;
    let kinds: Vec<String> = events.expect("reads").into_iter().map(|event| event.kind).collect();
    assert!(kinds.contains(&"crawl.finished".to_owned()), "{kinds:?}");
    house.verify().await;
}

async fn a_cancelled_tour_wants_nothing_more(house: House) {
    let tour = house.begin_tour(TourKind::Crawl, &[A, B]).await;
    let leased = house.lease_tour().await;
    house.step(Step { hand: Some(HAND), ..house.a_step(&tour, &leased) }).await;
    let change = TourChange { state: Some(TourState::Cancelled), spec: None };
    let cancelled = house.tours.change(&Scope::All, TourKind::Crawl, tour.id, change, act("tour.change")).await;
    assert_eq!(cancelled.expect("it is cancelled").state, TourState::Cancelled);
    let pages = house.lease_pages().await;
    let tokens: Vec<_> = pages.iter().map(|page| page.token).collect();
    assert!(house.fetch.wanted(&tokens).await.expect("reads").is_empty());
    assert!(house.step(Step { hand: Some(HAND), ..house.a_step(&tour, &leased) }).await.ended);
}

async fn versions_are_kept_up_to_a_number_and_a_size(house: House) {
    let tour = house.begin_tour(TourKind::Watch, &[]).await;
    let leased = house.lease_tour().await;
    let version = |n: usize| NewVersion { at: UnixMs(n as i64), facts: format!("{{\"n\":{n}}}"), text: "x".repeat(n) };
    let step = Step {
        versions: (1..=5).map(version).collect(),
        versions_kept: 3,
        events: vec![Event { kind: "fetch.changed".into(), group: None, body: b"{}".to_vec() }],
        ..house.a_step(&tour, &leased)
    };
    let stepped = house.step(step).await;
    assert_eq!(stepped.tour.versions, 5);
    let numbers = async |below| {
        let versions = house.tours.versions(tour.id, below, 10).await.expect("reads");
        versions.into_iter().map(|version| version.n).collect::<Vec<_>>()
    };
    assert_eq!((numbers(None).await, numbers(Some(5)).await), (vec![5, 4, 3], vec![4, 3]));
    let kept = house.tours.version(tour.id, 4).await.expect("reads").expect("it is kept");
    assert_eq!((kept.text.as_str(), kept.at, kept.facts.as_str()), ("xxxx", UnixMs(4), "{\"n\":4}"));
    assert_eq!(house.tours.version(tour.id, 1).await, Ok(None));
    let step = Step { versions: vec![version(90)], versions_bytes_max: 94, ..house.a_step(&stepped.tour, &leased) };
    house.step(step).await;
    assert_eq!(numbers(None).await, [6], "the newest is kept whatever its size");
}

async fn a_watchs_answers_are_forgotten_and_a_crawls_are_not(house: House) {
    let tour = house.begin_tour(TourKind::Watch, &[]).await;
    let leased = house.lease_tour().await;
    let wanted = vec![Wanted::read(A, false)];
    let asked = house.step(Step { wanted, ..house.a_step(&tour, &leased) }).await;
    assert_eq!(asked.handed, 1);
    house.fetch_all("page").await;
    assert_eq!(house.answers(JobId(tour.id.0)).await.len(), 1);
    let read = house.step(Step { read: (0, 1), ..house.a_step(&asked.tour, &leased) }).await;
    assert!(house.answers(JobId(tour.id.0)).await.is_empty());
    let again = house.step(Step { wanted: vec![Wanted::read(A, false)], ..house.a_step(&read.tour, &leased) }).await;
    assert_eq!((again.handed, again.tour.outstanding()), (1, 1));
    house.fetch_all("other page").await;
    assert_eq!(house.answers(JobId(tour.id.0)).await[0].n, 2, "they are counted on");
    house.verify().await;
}

async fn pages_wait_for_a_device_of_their_place(house: House) {
    let tour = house.begin_tour(TourKind::Compare, &[]).await;
    let leased = house.lease_tour().await;
    let deadline = house.clock.now().plus(Duration::from_secs(60));
    let pin = |place: &str| malla_fetch::compare::NewPin { place: place.into(), url: url(A), deadline };
    let stepped = house.step(Step { pins: vec![pin("AR"), pin("DE")], ..house.a_step(&tour, &leased) }).await;
    assert_eq!((stepped.handed, stepped.tour.asked), (2, 2));
    assert!(house.lease_pages().await.is_empty(), "nobody is there yet");
    let mut places = house.fetch.pinned_places().await.expect("reads");
    places.sort();
    assert_eq!(places, ["AR", "DE"]);
    let taken = house.fetch.take_pins(vec!["DE".into(), "FR".into()], LANES, 10).await.expect("takes");
    assert_eq!(taken, [url(A).site()]);
    let page = house.lease_page().await;
    let task = task_of(&page);
    assert_eq!(task.pin.as_ref().map(|pin| (pin.place.as_str(), pin.deadline)), Some(("DE", deadline)));
    house.settle(house.given(&page, 200, "page")).await;
    assert_eq!(house.fetch.expire_pins(JobId(tour.id.0)).await, Ok(1));
    assert_eq!(house.fetch.expire_pins(JobId(tour.id.0)).await, Ok(0));
    let answers = house.answers(JobId(tour.id.0)).await;
    let told: Vec<(&str, u16)> = answers.iter().map(|answer| (answer.url.as_str(), answer.page.status)).collect();
    assert_eq!(told, [("DE https://a.example/", 200), ("AR https://a.example/", NOT_ASKED)]);
    assert!(answers[1].page.trouble.as_ref().is_some_and(|why| why.note.contains("no device of AR")));
    assert!(!house.job(JobId(tour.id.0)).await.is_over());
    house.fetch.join(new_device("ana", "pi")).await.expect("joins");
    house.verify().await;
}

async fn weights_add_up_and_old_tours_are_forgotten(house: House) {
    let first = house.begin_tour(TourKind::Watch, &[]).await;
    let second = house.begin_tour(TourKind::Watch, &[A]).await;
    house.begin_tour(TourKind::Crawl, &[A]).await;
    assert_eq!(house.tours.weight(TourKind::Watch).await, Ok(3.0));
    let gone = house.tours.forget_tour(&Scope::All, TourKind::Watch, second.id, act("watch.delete")).await;
    assert_eq!(gone.expect("it is forgotten").state, TourState::Cancelled);
    assert_eq!(house.tours.weight(TourKind::Watch).await, Ok(1.5));
    assert!(house.tours.tour(&Scope::All, TourKind::Watch, second.id).await.is_err());
    let keep = KeepTours { tours_for: Duration::from_secs(3_600), step: 100 };
    while house.tours.sweep_tours(keep).await.expect("sweeps") > 0 {}
    let left = house.tours.tours(&Scope::All, TourKind::Watch, None, 10).await.expect("lists");
    assert_eq!(left.iter().map(|tour| tour.id).collect::<Vec<_>>(), [first.id]);
    house.verify().await;
}

async fn a_tour_whose_task_was_discarded_fails(house: House) {
    let tour = house.begin_tour(TourKind::Crawl, &[A]).await;
    let leased = house.lease_tour().await;
    let never = malla_queue::Failure { next: malla_queue::NextTry::Never, ..malla_queue::Failure::new("no") };
    house.finish(&leased, Verdict::Failed(never)).await.expect("it fails");
    let keep = KeepTours { tours_for: Duration::from_secs(3_600), step: 100 };
    assert_eq!(house.tours.sweep_tours(keep).await, Ok(1));
    let failed = house.tour(TourKind::Crawl, tour.id).await;
    assert_eq!(failed.state, TourState::Failed);
    assert!(failed.note.is_some_and(|note| note.contains("begin again")));
    assert!(house.job(JobId(tour.id.0)).await.cancelled);
}
