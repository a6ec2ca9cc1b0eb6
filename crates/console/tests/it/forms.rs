//! Who may send which form, and what it does.

use std::time::Duration;

use axum::http::{StatusCode, header};
use malla_queue::{LaneKey, Queue as _, Scope, State, TaskId};

use crate::house::{House, form};

async fn state(house: &House, id: TaskId) -> State {
    house.store.task(&Scope::All, id).await.expect("a task").summary.state
}

#[tokio::test]
async fn a_form_without_its_token_changes_nothing() {
    let house = House::new().await;
    let id = house.submit("drill/a", "{}", 1).await[0];
    let ana = house.sign_in("ana").await;
    let path = format!("/tasks/{id}/act");
    for fields in [vec![("verb", "discard")], vec![("verb", "discard"), ("csrf", "guessed")]] {
        let answer = ana.send(form(&path, &fields)).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN);
        answer.shows("go back, reload the page and send it again");
    }
    assert_eq!(state(&house, id).await, State::Queued);
}

#[tokio::test]
async fn a_form_from_another_site_is_refused_even_with_the_token() {
    let house = House::new().await;
    let id = house.submit("drill/a", "{}", 1).await[0];
    let ana = house.sign_in("ana").await;
    for (name, value) in [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")] {
        let mut request = form(&format!("/tasks/{id}/act"), &[("verb", "discard"), ("csrf", &ana.csrf)]);
        request.headers_mut().insert(name, value.parse().expect("a header"));
        assert_eq!(ana.send(request).await.status, StatusCode::FORBIDDEN, "{name}");
    }
    assert_eq!(state(&house, id).await, State::Queued);
}

#[tokio::test]
async fn somebody_readonly_sees_no_buttons_and_may_not_send_forms() {
    let house = House::new().await;
    let id = house.submit("drill/a", "{}", 1).await[0];
    let ben = house.sign_in("ben").await;
    for path in ["/tasks".to_owned(), format!("/tasks/{id}"), "/lanes".into(), "/lane?key=drill/a".into(), "/".into()] {
        let page = ben.get(&path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        page.hides("/tasks/act");
        assert_eq!(page.body.matches("method=\"post\"").count(), 3, "only colours, language and log out on {path}");
    }
    for (path, fields) in [
        (format!("/tasks/{id}/act"), vec![("verb", "discard")]),
        ("/tasks/act".to_owned(), vec![("verb", "discard")]),
        ("/lane/pause".to_owned(), vec![("key", "drill/a"), ("paused", "yes")]),
        ("/lane".to_owned(), vec![("key", "drill/a"), ("ceiling", "1"), ("gap_ms", "0")]),
        ("/users".to_owned(), vec![("name", "eve"), ("role", "admin")]),
    ] {
        let answer = ben.post(&path, &fields).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}");
        answer.shows("Not allowed");
    }
    assert_eq!(state(&house, id).await, State::Queued);
}

#[tokio::test]
async fn what_belongs_to_another_group_does_not_exist() {
    let house = House::new().await;
    let id = house.submit_as(house.payments, "drill/theirs", "{}", 1).await[0];
    let ana = house.sign_in("ana").await;
    for path in [format!("/tasks/{id}"), "/lane?key=drill/theirs".to_owned()] {
        let page = ana.get(&path).await;
        assert_eq!(page.status, StatusCode::NOT_FOUND, "{path}");
        page.shows("does not exist, or it belongs to a group you are not in.");
    }
    for page in [ana.get("/tasks").await, ana.get("/lanes").await, ana.get("/").await] {
        page.hides("theirs");
    }
    let answer = ana.post(&format!("/tasks/{id}/act"), &[("verb", "discard")]).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    let answer = ana.post("/lane/pause", &[("key", "drill/theirs"), ("paused", "yes")]).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    ana.post("/tasks/act", &[("verb", "discard")]).await;
    assert_eq!(state(&house, id).await, State::Queued, "all that match are all of one's own");
}

#[tokio::test]
async fn a_verb_on_one_task_comes_back_to_its_page_with_a_sentence_shown_once() {
    let house = House::new().await;
    let id = house.submit("drill/a", "{}", 1).await[0];
    let ana = house.sign_in("ana").await;
    ana.get("/tasks?lane=drill/a").await.shows("name=\"back\" value=\"/tasks?lane=drill/a\"");
    let answer = ana.post(&format!("/tasks/{id}/act"), &[("verb", "pause"), ("back", "/tasks?lane=drill/a")]).await;
    assert_eq!(answer.location(), "/tasks?lane=drill/a");
    let page = ana.follow(&answer).await;
    page.shows(&format!("Task {id} is paused: it is paused now."));
    assert_eq!(page.cookie("malla_notice").as_deref(), Some(""), "shown once");
    assert_eq!(state(&house, id).await, State::Paused);
    let answer = ana.post(&format!("/tasks/{id}/act"), &[("verb", "resend")]).await;
    assert_eq!(answer.location(), format!("/tasks/{id}"));
    ana.follow(&answer).await.shows("A task that is paused cannot be resent.");
}

#[tokio::test]
async fn a_verb_on_all_that_match_asks_first_and_says_what_it_did() {
    let house = House::new().await;
    house.submit("drill/a", "{}", 7).await;
    let other = house.submit("drill/b", "{}", 1).await[0];
    house.clock.advance(Duration::from_secs(5));
    let ana = house.sign_in("ana").await;
    ana.get("/tasks?lane=drill/a").await.shows("/tasks/act?lane=drill%2Fa&amp;verb=discard");
    let page = ana.get("/tasks/act?lane=drill%2Fa&verb=discard").await;
    page.shows("<strong>7 tasks</strong> that match will be discarded.");
    page.shows("name=\"lane\" value=\"drill/a\"");
    house.clock.advance(Duration::from_secs(5));
    let late = house.submit("drill/a", "{}", 1).await[0];
    let (_, until) = page.body.split_once("name=\"until\" value=\"").expect("until when");
    let until = until.split('"').next().expect("a value");
    let answer = ana.post("/tasks/act", &[("verb", "discard"), ("lane", "drill/a"), ("until", until)]).await;
    assert_eq!(answer.location(), "/tasks?lane=drill%2Fa");
    ana.follow(&answer).await.shows("Discarded: 7 tasks.");
    let lane: LaneKey = "drill/a".parse().expect("a key");
    let counts = house.store.lane(&Scope::All, &lane).await.expect("a lane").counts;
    assert_eq!((counts.discarded, counts.queued), (7, 1), "{counts:?}");
    assert_eq!((state(&house, late).await, state(&house, other).await), (State::Queued, State::Queued));
}

#[tokio::test]
async fn a_lane_keeps_what_was_typed_next_to_what_is_wrong() {
    let house = House::new().await;
    house.submit("drill/a", "{}", 1).await;
    let ana = house.sign_in("ana").await;
    let page = ana.post("/lane", &[("key", "drill/a"), ("ceiling", "0"), ("gap_ms", "2 s")]).await;
    assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
    page.shows("a lane's ceiling is from 1 to 10000; to stop a lane, pause it");
    page.shows("&quot;2 s&quot; is not a number: write it in digits");
    page.shows("name=\"gap_ms\" inputmode=\"numeric\" value=\"2 s\"");
    let answer = ana.post("/lane", &[("key", "drill/a"), ("ceiling", "3"), ("gap_ms", "250")]).await;
    ana.follow(&answer).await.shows("The lane's settings are saved.");
    let lane = house.store.lane(&Scope::All, &"drill/a".parse().expect("a key")).await.expect("a lane");
    assert_eq!((lane.settings.ceiling, lane.settings.gap_ms), (3, 250));
}

#[tokio::test]
async fn a_lane_is_paused_and_resumed_from_the_list() {
    let house = House::new().await;
    house.submit("drill/a", "{}", 1).await;
    let ana = house.sign_in("ana").await;
    let answer = ana.post("/lane/pause", &[("key", "drill/a"), ("paused", "yes"), ("back", "/lanes")]).await;
    let page = ana.follow(&answer).await;
    page.shows("Lane drill/a is paused: it starts nothing new.");
    page.shows(">Resume<");
    let answer = ana.post("/lane/pause", &[("key", "drill/a"), ("paused", "no"), ("back", "//evil.example")]).await;
    assert_eq!(answer.location(), "/lane?key=drill%2Fa");
    ana.follow(&answer).await.shows("Lane drill/a goes on.");
}

#[tokio::test]
async fn a_store_that_is_away_is_a_page_with_one_sentence() {
    let house = House::new().await;
    let id = house.submit("drill/a", "{}", 1).await[0];
    let ana = house.sign_in("ana").await;
    house.store.close().await;
    let answer = ana.post(&format!("/tasks/{id}/act"), &[("verb", "discard")]).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    answer.shows("The store is not available");
    assert_eq!(answer.headers[header::CONTENT_TYPE], "text/html; charset=utf-8");
}

#[tokio::test]
async fn all_lanes_that_match_are_paused_after_a_question_and_go_on() {
    let house = House::new().await;
    for lane in ["drill/a", "drill/b", "other/c"] {
        house.submit(lane, "{}", 1).await;
    }
    let ana = house.sign_in("ana").await;
    ana.get("/lanes/act?verb=pause&search=drill").await.shows("2 lanes");
    let answer = ana.post("/lanes/act", &[("verb", "pause"), ("search", "drill")]).await;
    assert_eq!(answer.location(), "/lanes?search=drill", "{}", answer.body);
    ana.get("/lanes?paused=yes").await.shows("drill%2Fb");
    ana.get("/lanes?paused=yes").await.hides("other%2Fc");
    ana.get("/lanes/act?verb=pause&search=drill").await.shows("There is nothing to do");
    ana.post("/lanes/act", &[("verb", "resume")]).await;
    ana.get("/lanes?paused=yes").await.shows("No lane matches these filters.");
    assert_eq!(house.sign_in("ben").await.get("/lanes/act?verb=pause").await.status, StatusCode::FORBIDDEN);
    assert_eq!(ana.get("/lanes/act?verb=explode").await.status, StatusCode::BAD_REQUEST);
}
