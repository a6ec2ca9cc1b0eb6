//! Devices in the console.

use std::time::Duration;

use axum::http::StatusCode;
use malla_fetch::{Commit, Fetch as _, Measures, Tally};
use malla_queue::Scope;

use super::join;
use crate::house::House;

#[tokio::test]
async fn devices_are_listed_by_owner_with_what_they_are_and_brought() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let attic = join(&house, "zoe", "attic", "FR").await.id;
    join(&house, "ana", "barn", "DE").await;
    house.clock.advance(Duration::from_secs(120));
    let measures = Measures { parallel: 24, page_ms: 130, bytes_per_s: 1_500_000 };
    house.store.device_seen(attic, measures).await.expect("is seen");
    let mut tally = Tally::default();
    [200, 200, 301, 404, 500, 580].into_iter().for_each(|status| tally.count(status, 1_024, 10));
    let commit = Commit { device: Some(attic), tally, ..Commit::default() };
    house.store.commit(commit).await.expect("commits");
    let page = ana.get("/fetch/devices").await;
    for text in [
        "<h2>ana</h2>",
        "attic.local",
        "linux x86_64",
        "192.0.2.7",
        "24 at once",
        "130 ms a page, 1.4 MiB/s",
        "aria-label=\"2 2xx, 1 3xx, 1 4xx, 1 5xx, 1 without an answer (580)\"",
        "6.0 KiB",
        "<span class=\"badge s-succeeded\">online</span>",
        "<span class=\"badge s-discarded\">offline</span>",
        "2 min ago",
        "By country",
        "aria-label=\"1 not online\"",
        "aria-label=\"6 pages\"",
    ] {
        page.shows(text);
    }
    assert!(page.body.find("<h2>ana</h2>") < page.body.find("<h2>zoe</h2>"));
    page.hides("NaN");
}

#[tokio::test]
async fn devices_are_found_by_state_and_word() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    join(&house, "ana", "barn", "DE").await;
    house.clock.advance(Duration::from_secs(120));
    join(&house, "ana", "attic", "FR").await;
    for (query, shows, hides) in [
        ("state=online", "attic", "barn"),
        ("state=offline&search=ana", "barn", "attic"),
        ("search=fr", "attic", "barn"),
    ] {
        let page = ana.get(&format!("/fetch/devices?{query}")).await;
        page.shows(&format!("{shows}.local"));
        page.hides(&format!("{hides}.local"));
    }
    let page = ana.get("/fetch/devices?state=blocked&search=x").await;
    page.shows("No device matches these filters.");
    page.shows("href=\"/fetch/devices?search=x&amp;state=online\"");
    let page = ana.get("/fetch/devices?state=asleep&search=barn").await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST);
    page.shows("is not a state: online, offline or blocked");
    page.shows("value=\"barn\"");
}

#[tokio::test]
async fn a_device_is_blocked_after_a_question_and_let_in_again() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let id = join(&house, "ana", "attic", "DE").await.id.0;
    let path = format!("/fetch/devices/{id}/block");
    let page = ana.get("/fetch/devices").await;
    page.shows("Block…</summary>");
    page.shows("It gets no more work, and what it brings is refused.");
    let answer = ana.post(&path, &[("blocked", "yes"), ("back", "/fetch/devices?search=attic")]).await;
    assert_eq!(answer.location(), "/fetch/devices?search=attic");
    let page = ana.follow(&answer).await;
    page.shows("Device attic is blocked: it gets no more work.");
    page.shows("<span class=\"badge s-failed\">blocked</span>");
    ana.get("/audit?action=device").await.shows("device.block");
    let page = ana.follow(&ana.post(&path, &[("blocked", "no")]).await).await;
    page.shows("Device attic may work again.");
    page.shows("<span class=\"badge s-succeeded\">online</span>");
    assert_eq!(ana.post(&path, &[("blocked", "maybe")]).await.status, StatusCode::BAD_REQUEST);
    assert_eq!(ana.post("/fetch/devices/9999/block", &[("blocked", "yes")]).await.status, StatusCode::NOT_FOUND);
    assert_eq!(ana.post("/fetch/devices/x/block", &[("blocked", "yes")]).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_long_list_of_devices_goes_on() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    for n in 10..62 {
        join(&house, "ana", &format!("device{n}"), "DE").await;
    }
    let page = ana.get("/fetch/devices").await;
    page.shows("device59.local");
    page.hides("device60.local");
    let further = page.body.split("href=\"").find(|link| link.starts_with("/fetch/devices?cursor=")).expect("a link");
    let page = ana.get(further.split('"').next().expect("an end")).await;
    page.shows("device60.local");
    page.hides("device59.local");
    page.shows("<span class=\"n\">52</span>");
}

#[tokio::test]
async fn all_devices_that_match_are_blocked_after_a_question_and_let_in_again() {
    let house = House::new().await;
    let (ana, ben, cleo) = (house.sign_in("ana").await, house.sign_in("ben").await, house.sign_in("cleo").await);
    let mut ids = Vec::new();
    for (owner, name, country) in [("ana", "attic", "DE"), ("ana", "barn", "FR"), ("zoe", "cellar", "DE")] {
        ids.push(join(&house, owner, name, country).await.id.0.to_string());
    }
    let blocked = async || {
        let devices = house.store.devices(&Scope::All).await.expect("devices");
        let mut names: Vec<String> = devices.into_iter().filter(|one| one.blocked).map(|one| one.name).collect();
        names.sort();
        names
    };
    ana.get("/fetch/devices?search=de").await.shows("href=\"/fetch/devices/act?search=de&amp;verb=block\"");
    let question = ana.get("/fetch/devices/act?verb=block&search=de").await;
    for text in ["<strong>2 devices</strong> match.", "They get no more work", "attic", "cellar"] {
        question.shows(text);
    }
    question.hides("barn");
    let until = question.field("until");
    let fields = [("verb", "block"), ("search", "de"), ("until", until.as_str())];
    assert_eq!(ben.get("/fetch/devices/act?verb=block").await.status, StatusCode::FORBIDDEN);
    assert_eq!(ben.post("/fetch/devices/act", &fields).await.status, StatusCode::FORBIDDEN);
    assert_eq!(ana.send(crate::house::form("/fetch/devices/act", &fields)).await.status, StatusCode::FORBIDDEN);
    cleo.get("/fetch/devices/act?verb=block").await.shows("There is nothing to do");
    cleo.follow(&cleo.post("/fetch/devices/act", &fields).await).await.shows("Done: 0 devices.");
    assert!(blocked().await.is_empty());
    house.clock.advance(Duration::from_secs(1));
    join(&house, "ana", "den", "DE").await;
    let page = ana.follow(&ana.post("/fetch/devices/act", &fields).await).await;
    page.shows("Done: 2 devices.");
    assert_eq!(blocked().await, ["attic", "cellar"], "not one that came after the question");
    let audit = ana.get("/audit.csv?action=device.block").await;
    assert_eq!(audit.body.lines().count(), 3, "{}", audit.body);
    // Only one keeps its tick.
    let some = [("verb", "unblock"), ("state", "blocked"), ("choosing", "yes"), ("chosen", ids[2].as_str())];
    let page = ana.follow(&ana.post("/fetch/devices/act", &some).await).await;
    page.shows("Done: 1 device.");
    assert_eq!(blocked().await, ["attic"]);
    assert_eq!(ana.get("/fetch/devices/act?verb=eat").await.status, StatusCode::BAD_REQUEST);
    assert_eq!(
        ana.post("/fetch/devices/act", &[("verb", "block"), ("cursor", "x")]).await.status,
        StatusCode::BAD_REQUEST
    );
}

#[tokio::test]
async fn a_whole_fleet_is_blocked_in_steps() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    for n in 0..130 {
        join(&house, "ana", &format!("device{n}"), "DE").await;
    }
    let question = ana.get("/fetch/devices/act?verb=block").await;
    question.shows("130 devices");
    question.hides("name=\"choosing\"");
    ana.follow(&ana.post("/fetch/devices/act", &[("verb", "block")]).await).await.shows("Done: 130 devices.");
}
