//! Jobs in the console.

use std::time::Duration;

use axum::http::StatusCode;
use malla_fetch::{Fetch as _, Job};
use malla_queue::Scope;

use super::{bring, start};
use crate::house::{House, PENDING_MAX};

async fn stored(house: &House, page: &str) -> Job {
    let id = page.rsplit('/').next().and_then(|id| id.parse().ok()).expect("a job's page");
    house.store.job(&Scope::All, id).await.expect("a job")
}

#[tokio::test]
async fn a_job_is_started_in_ones_group_and_goes_on_to_its_end() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let urls = "https://example.org/a\r\n\r\n https://example.net/b \r\nnonsense\r\nhttps://example.org/c";
    let answer = ana.post("/fetch/new-job", &[("urls", urls)]).await;
    let page = ana.follow(&answer).await;
    let job = answer.location();
    for text in ["The job has 4 URLs.", "1 of 4", "running", " for ops", "nonsense", "this is not a URL"] {
        page.shows(text);
    }
    assert_eq!(stored(&house, job).await.group, Some(house.ops));
    house.clock.advance(Duration::from_secs(2));
    bring(&house, 200, "text/html", b"hello").await;
    let page = ana.get(job).await;
    for text in ["4 of 4", "took 2 s", "https://example.net/b", "5 B", ">pi<", "20 ms", "badge s-succeeded\">200<"] {
        page.shows(text);
    }
    page.hides("Cancel…");
    let list = ana.get("/fetch/jobs").await;
    list.shows(&format!("href=\"{job}\""));
    list.shows("aria-label=\"3 good, 1 not good\"");
    list.shows("<span class=\"badge s-succeeded\">done</span>");
    ana.get("/").await.shows(&format!("href=\"{job}\""));
    house.sign_in("ben").await.get("/audit?action=fetch").await.shows("fetch.ask");
}

#[tokio::test]
async fn a_running_job_tells_its_pace_and_the_time_left() {
    let house = House::new().await;
    let (ana, root) = (house.sign_in("ana").await, house.sign_in("root").await);
    let urls: Vec<String> = (0..20).map(|n| format!("https://site{}.example/{n}", n % 2)).collect();
    let job = start(&ana, &urls.join("\n")).await;
    ana.get(&job).await.shows("nothing fetched yet");
    root.post("/lane/pause", &[("key", "fetch/https://site1.example"), ("paused", "yes")]).await;
    house.clock.advance(Duration::from_secs(10));
    bring(&house, 200, "text/html", b"hello").await;
    let page = ana.get(&job).await;
    page.shows("10 of 20");
    page.shows("1.0 pages a second, about 10 s left");
    let cached = ana.get(&start(&ana, &urls.join("\n")).await).await;
    cached.shows("10 of 20");
    cached.shows("nothing fetched yet");
}

#[tokio::test]
async fn a_form_that_cannot_be_taken_keeps_what_was_typed() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let many: Vec<String> = (0..=PENDING_MAX).map(|n| format!("https://site{n}.example/")).collect();
    for (urls, sentence) in [
        (" \r\n".to_owned(), "There is nothing to fetch: give at least one URL."),
        ("ftp://a.example/\nnonsense".into(), "&quot;ftp://a.example/&quot; cannot be fetched: only http and https"),
        (many.join("\n"), "waiting, and the limit is 60: try again later"),
    ] {
        let page = ana.post("/fetch/new-job", &[("urls", &urls), ("anew", "yes")]).await;
        assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{sentence}");
        page.shows(sentence);
        page.shows("name=\"anew\" value=\"yes\" checked");
        page.shows(&format!("{}</textarea>", urls.trim()));
    }
    ana.get("/fetch/jobs").await.shows("Nothing has been asked for yet.");
}

#[tokio::test]
async fn a_form_holds_many_urls() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let urls: Vec<String> = (0..200).map(|n| format!("ftp://site{n}.example/{}", "x".repeat(1_000))).collect();
    let job = start(&ana, &format!("https://example.org/\n{}", urls.join("\n"))).await;
    assert_eq!(stored(&house, &job).await.total, 201);
    let answer = ana.post("/fetch/new-job", &[("urls", &"x".repeat(1 << 20))]).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    answer.shows("The form is too large");
}

#[tokio::test]
async fn what_the_cache_has_is_asked_anew_only_on_request() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    start(&ana, "https://example.org/").await;
    bring(&house, 200, "text/html", b"hello").await;
    let page = ana.get(&start(&ana, "https://example.org/").await).await;
    page.shows("1 of 1");
    page.shows("data-label=\"From\">the cache</td>");
    let answer = ana.post("/fetch/new-job", &[("urls", "https://example.org/"), ("anew", "yes")]).await;
    ana.follow(&answer).await.shows("0 of 1");
}

#[tokio::test]
async fn a_job_is_cancelled_after_a_question() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let job = start(&ana, "https://example.org/a\nnonsense").await;
    let page = ana.get(&job).await;
    page.shows("<summary class=\"button danger\">Cancel…</summary>");
    page.shows("Nothing more is fetched for it.");
    house.clock.advance(Duration::from_secs(5));
    let page = ana.follow(&ana.post(&format!("{job}/cancel"), &[]).await).await;
    for text in ["The job is cancelled", "badge s-discarded\">cancelled<", "cancelled after 5 s", "Not fetched"] {
        page.shows(text);
    }
    page.hides("Cancel…");
    assert!(stored(&house, &job).await.cancelled);
    ana.get("/audit?action=fetch.cancel").await.shows("user:ana");
    let done = start(&ana, "https://example.net/a").await;
    bring(&house, 200, "text/html", b"hello").await;
    let page = ana.follow(&ana.post(&format!("{done}/cancel"), &[]).await).await;
    page.shows("The job was done already");
    assert_eq!(ana.post("/fetch/jobs/nonsense/cancel", &[]).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_long_list_goes_on_and_rests() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let mut jobs = Vec::new();
    for n in 0..51 {
        jobs.push(start(&ana, &format!("https://example.org/{}", n % 2)).await);
    }
    let page = ana.get("/fetch/jobs").await;
    page.shows(&jobs[50]);
    page.hides(&jobs[0]);
    page.shows("data-live=\"jobs\"");
    let id = jobs[1].rsplit('/').next().expect("an id");
    let page = ana.get(&format!("/fetch/jobs?cursor={id}")).await;
    page.shows(&jobs[0]);
    page.hides(&jobs[1]);
    page.hides("data-live");
    page.shows("href=\"/fetch/jobs\">← Newest");
    assert_eq!(ana.get("/fetch/jobs?cursor=here").await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn jobs_are_found_by_state_group_and_time() {
    let house = House::new().await;
    let (root, ana, cleo) = (house.sign_in("root").await, house.sign_in("ana").await, house.sign_in("cleo").await);
    let done = start(&ana, "https://example.org/a").await;
    bring(&house, 200, "text/html", b"hello").await;
    house.clock.advance(Duration::from_secs(3_600));
    let (running, theirs) = (start(&ana, "https://example.org/b").await, start(&cleo, "https://example.org/c").await);
    let ended = start(&ana, "https://example.org/d").await;
    ana.post(&format!("{ended}/cancel"), &[]).await;
    let all = [&done, &running, &theirs, &ended];
    for (query, shown) in [
        ("", vec![&done, &running, &theirs, &ended]),
        ("state=running", vec![&running, &theirs]),
        ("state=done", vec![&done]),
        ("state=cancelled", vec![&ended]),
        ("group=ops", vec![&done, &running, &ended]),
        ("group=payments&state=running", vec![&theirs]),
        ("to=2027-01-15T08:30", vec![&done]),
        ("from=2027-01-15T08:30", vec![&running, &theirs, &ended]),
    ] {
        let page = root.get(&format!("/fetch/jobs?{query}")).await;
        let file = root.get(&format!("/fetch/jobs.csv?{query}")).await;
        for job in all {
            let expected = shown.contains(&job);
            assert_eq!(page.body.contains(&format!("href=\"{job}\"")), expected, "{job} with {query}");
            let id = job.rsplit('/').next().expect("an id");
            assert_eq!(file.body.contains(id), expected, "{id} with {query}: {}", file.body);
        }
    }
    ana.get("/fetch/jobs?state=done&to=2020-01-01T00:00").await.shows("No job matches these filters.");
    for wrong in ["state=asleep", "group=payments", "from=soon"] {
        assert_eq!(ana.get(&format!("/fetch/jobs?{wrong}")).await.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
}

#[tokio::test]
async fn all_jobs_that_match_are_cancelled_after_a_question() {
    let house = House::new().await;
    let (ana, ben, cleo) = (house.sign_in("ana").await, house.sign_in("ben").await, house.sign_in("cleo").await);
    let mut ours = Vec::new();
    for n in 0..3 {
        ours.push(start(&ana, &format!("https://example.org/{n}")).await);
    }
    let theirs = start(&cleo, "https://example.org/theirs").await;
    ana.get("/fetch/jobs").await.shows("href=\"/fetch/jobs/act?verb=cancel\"");
    ana.get("/fetch/jobs?state=done").await.hides("/fetch/jobs/act?");
    let question = ana.get("/fetch/jobs/act?verb=cancel").await;
    for text in ["<strong>3 jobs</strong> match.", "Nothing more is fetched for them.", "Cancel them", "0 of 1"] {
        question.shows(text);
    }
    question.hides(theirs.rsplit('/').next().expect("an id"));
    // One loses its tick; one comes while the question is read.
    let until = question.field("until");
    house.clock.advance(Duration::from_secs(1));
    let late = start(&ana, "https://example.org/late").await;
    let ids: Vec<&str> = ours.iter().map(|job| job.rsplit('/').next().expect("an id")).collect();
    let theirs_id = theirs.rsplit('/').next().expect("an id");
    let fields = [("verb", "cancel"), ("until", &until), ("choosing", "yes"), ("chosen", ids[0])];
    let mut fields = fields.to_vec();
    fields.extend([("chosen", ids[2]), ("chosen", theirs_id)]);
    assert_eq!(ben.get("/fetch/jobs/act?verb=cancel").await.status, StatusCode::FORBIDDEN);
    assert_eq!(ben.post("/fetch/jobs/act", &fields).await.status, StatusCode::FORBIDDEN);
    let forged = ana.send(crate::house::form("/fetch/jobs/act", &fields)).await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN, "without its secret");
    assert!(!stored(&house, &ours[0]).await.cancelled);
    let page = ana.follow(&ana.post("/fetch/jobs/act", &fields).await).await;
    page.shows("Done: 2 jobs.");
    for (job, cancelled) in [(&ours[0], true), (&ours[1], false), (&ours[2], true), (&late, false), (&theirs, false)] {
        assert_eq!(stored(&house, job).await.cancelled, cancelled, "{job}");
    }
    let audit = ana.get("/audit.csv?action=fetch.cancel").await;
    assert_eq!(audit.body.lines().count(), 3, "each is in the audit log: {}", audit.body);
    let nothing = [("verb", "cancel"), ("choosing", "yes")];
    let page = ana.follow(&ana.post("/fetch/jobs/act", &nothing).await).await;
    page.shows("Nothing was ticked, so nothing was changed.");
    // Without ticks all that match are meant.
    let page = ana.follow(&ana.post("/fetch/jobs/act", &[("verb", "cancel"), ("state", "running")]).await).await;
    page.shows("Done: 2 jobs.");
    assert!(stored(&house, &late).await.cancelled && !stored(&house, &theirs).await.cancelled);
    ana.get("/fetch/jobs/act?verb=cancel").await.shows("There is nothing to do");
    ana.get("/fetch/jobs/act?verb=cancel&state=done").await.shows("There is nothing to do");
    assert_eq!(ana.get("/fetch/jobs/act?verb=explode").await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn more_jobs_than_can_be_chosen_from_are_cancelled_all() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    for n in 0..55 {
        start(&ana, &format!("https://example.org/{}", n % 2)).await;
    }
    let question = ana.get("/fetch/jobs/act?verb=cancel").await;
    question.shows("55 jobs");
    question.hides("name=\"choosing\"");
    let page = ana.follow(&ana.post("/fetch/jobs/act", &[("verb", "cancel")]).await).await;
    page.shows("Done: 55 jobs.");
}
