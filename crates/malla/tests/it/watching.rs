//! Statistics and alerts of the real binary: what is counted survives a restart, and who asked is told.

use std::time::Instant;

use serde_json::{Value, json};

use crate::notify::{Desk, NEAR};
use crate::receiver::Receiver;
use crate::server::{DEADLINE, Place, Server, poll_until};

fn total(server: &Server, field: &str) -> u64 {
    let told = server.json(&["notify", "stats", "--endpoint", "orders", "--step", "day"]).remove(0);
    told["summary"][field].as_u64().expect("a number")
}

#[test]
fn figures_are_written_at_the_end_and_added_up_over_restarts() {
    let place = Place::new();
    let receiver = Receiver::start();
    for round in 1..=2 {
        let server = place.start_with(&[], NEAR);
        let desk = Desk::at(&server, &place);
        if round == 1 {
            desk.ok("POST", "/api/v1/endpoints", Some(json!({ "name": "orders" })));
            desk.subscribe("shop", "orders", &receiver.url(), json!({}));
        }
        (0..3).for_each(|n| drop(desk.post("orders", &n.to_string())));
        desk.wait_for("state=succeeded&subscription=shop", 3 * round);
        assert_eq!(server.terminate().status.code(), Some(0));
    }
    let server = place.start_with(&[], NEAR);
    assert_eq!((total(&server, "events"), total(&server, "delivered")), (6, 6));
    let text = server.ok(&["notify", "stats", "--subscription", "shop", "--step", "day"]);
    assert!(text.contains("DELIVERED") && text.contains("delivered a day"), "{text}");
}

#[test]
fn an_alert_reaches_its_receiver_and_a_test_does_too() {
    let place = Place::new();
    let server = place.start_with(&[], NEAR);
    let desk = Desk::at(&server, &place);
    let failing = Receiver::answering(|_, _| "500 Internal Server Error".into());
    let told = Receiver::start();
    desk.ok("POST", "/api/v1/endpoints", Some(json!({ "name": "orders" })));
    desk.subscribe("shop", "orders", &failing.url(), json!({ "retry_delays_s": [] }));
    let (rule, to) = (["--failures", "2", "--window-s", "60"], ["--webhook", &told.url()]);
    let create = [["notify", "alerts", "create", "failing"].as_slice(), &rule, &to].concat();
    server.ok(&create);
    server.ok(&["notify", "alerts", "test", "failing"]);
    let notice: Value = serde_json::from_slice(&told.wait_for(1)[0].body).expect("JSON");
    assert_eq!(notice["state"], "test");
    (0..2).for_each(|n| drop(desk.post("orders", &n.to_string())));
    let notice: Value = serde_json::from_slice(&told.wait_for(2)[1].body).expect("JSON");
    assert_eq!((&notice["state"], &notice["alert"]), (&json!("firing"), &json!("failing")), "{notice}");
    assert_eq!(notice["subjects"], json!(["shop"]));
    let shown = server.json(&["notify", "alerts", "show", "failing"]).remove(0);
    assert_eq!(shown["firing"], json!(["shop"]));
}

#[test]
fn a_mail_without_a_server_fails_and_says_which_setting_is_missing() {
    let place = Place::new();
    let server = place.start();
    server.ok(&["notify", "alerts", "create", "late", "--older-than-s", "60", "--email", "ana@example.org"]);
    let tested = server.json(&["notify", "alerts", "test", "late"]).remove(0);
    let task = tested["tasks"][0].as_str().expect("a task").to_owned();
    let history = poll_until(Instant::now() + DEADLINE, || {
        let shown = server.json(&["tasks", "show", &task]).remove(0);
        Some(shown["history"].to_string()).filter(|history| history.contains("retried"))
    });
    let history = history.expect("an attempt");
    assert!(history.contains("smtp.url"), "{history}");
}
