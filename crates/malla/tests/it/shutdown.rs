//! SIGTERM and SIGINT with work in hand, and `kill -9`.

use std::io::{BufRead as _, BufReader};
use std::time::{Duration, Instant};

use crate::server::{DEADLINE, Place, poll_until, text};

const LONG: &str = "{\"work_ms\": 600000}";

fn whats(server: &crate::server::Server, id: &str) -> Vec<String> {
    let task = server.json(&["tasks", "show", id]).remove(0);
    let history = task["history"].as_array().expect("a history").clone();
    history.iter().map(|entry| entry["what"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn what_cannot_finish_in_time_is_given_back_and_the_exit_is_clean() {
    let place = Place::new();
    let server = place.start_with(&[], &[("MALLA_SHUTDOWN_GRACE_S", "2")]);
    let id = server.field(&["tasks", "submit", "drill/long", LONG], "id");
    server.wait_for_state(&id, &["running"]);
    let began = Instant::now();
    let ended = server.terminate();
    assert_eq!(ended.status.code(), Some(0), "{:?}", ended.said);
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());

    let server = place.start();
    server.wait_for_state(&id, &["running"]);
    assert_eq!(whats(&server, &id), ["released"]);
    let task = server.json(&["tasks", "show", &id]).remove(0);
    assert_eq!(task["failures"], 0, "being given back costs no attempt");
}

#[test]
fn what_can_finish_in_time_does() {
    let place = Place::new();
    let server = place.start();
    let id = server.field(&["tasks", "submit", "drill/short", "{\"work_ms\": 1500}"], "id");
    server.wait_for_state(&id, &["running"]);
    assert_eq!(server.terminate().status.code(), Some(0));
    let server = place.start_with(&["--roles", "api"], &[]);
    assert_eq!(server.field(&["tasks", "show", &id], "state"), "succeeded");
}

#[test]
fn while_it_ends_it_says_that_it_is_not_ready_and_a_second_signal_ends_it_at_once() {
    let place = Place::new();
    let mut server = place.start();
    assert!(server.get("/readyz").starts_with("HTTP/1.1 200"));
    let id = server.field(&["tasks", "submit", "drill/long", LONG], "id");
    server.wait_for_state(&id, &["running"]);
    server.signal("INT");
    server.wait_for_line("SIGINT: coming to an end");
    assert!(server.get("/readyz").starts_with("HTTP/1.1 503"));
    server.signal("TERM");
    assert_eq!(server.wait().status.code(), Some(143));
}

#[test]
fn after_a_power_cut_the_work_goes_on() {
    let place = Place::new();
    let server = place.start();
    let id = server.field(&["tasks", "submit", "drill/cut", "{\"work_ms\": 1000}"], "id");
    server.wait_for_state(&id, &["running"]);
    server.kill();
    let server = place.start();
    server.wait_for_state(&id, &["succeeded"]);
    server.ok(&["tasks", "verify"]);
}

#[test]
fn a_live_view_does_not_hold_up_the_end() {
    let place = Place::new();
    let server = place.start();
    let mut tail = place.command(&["tasks", "tail", "--json"]);
    let mut tail =
        tail.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().expect("runs");
    let lines = BufReader::new(tail.stdout.take().expect("piped")).lines();
    // Watching begins a moment after the command does: submit until it sees one.
    let (seen, first) = std::sync::mpsc::channel();
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| drop(seen.send(line))));
    let line = poll_until(Instant::now() + DEADLINE, || {
        server.ok(&["tasks", "submit", "drill/live"]);
        first.try_recv().ok()
    });
    let line = line.expect("the view shows a task");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&line).expect("JSON")["lane"], "drill/live");
    assert_eq!(server.terminate().status.code(), Some(0));
    let ended = tail.wait_with_output().expect("ends");
    assert_eq!(ended.status.code(), Some(1), "{}", text(&ended.stderr));
}

#[test]
fn a_process_without_the_api_works_alone_and_ends_in_order() {
    let place = Place::new();
    let server = place.start_with(&["--roles", "api"], &[]);
    let id = server.field(&["tasks", "submit", "drill/alone"], "id");
    assert_eq!(server.field(&["tasks", "show", &id], "state"), "queued");
    server.terminate();
    // It has nobody to ask, so it is stopped and its work looked at, until it had the time to do it.
    let state = poll_until(Instant::now() + DEADLINE, || {
        let worker = place.start_with(&["--roles", "analyst,medic"], &[]);
        assert!(worker.url.is_empty() && !place.data().join("server.json").exists());
        assert_eq!(worker.terminate().status.code(), Some(0));
        let server = place.start_with(&["--roles", "api"], &[]);
        Some(server.field(&["tasks", "show", &id], "state")).filter(|state| state == "succeeded")
    });
    assert!(state.is_some(), "nobody did the work");
}
