//! Who may see and who may change what.

use serde_json::json;

use super::driver::Kind;
use super::house::{House, PASSWORD, sign_in};
use crate::receiver::Receiver;

/// Something of ops in every room that needs no far side.
fn furnished() -> (House, Receiver) {
    let house = House::open();
    let shop = Receiver::answering(|_, _| "500 Oops".into());
    house.person("ana", "user", "ops");
    house.person("ben", "readonly", "ops");
    house.person("cleo", "user", "payments");
    house.make("endpoints", json!({ "name": "orders", "group": "ops" }));
    house.desk.subscribe("shop", "orders", &shop.url(), json!({ "group": "ops", "retry_delays_s": [] }));
    house.desk.post("orders", "order A-17");
    house.desk.wait_for("state=failed", 1);
    house.task(json!({ "lane": "drill/ours", "kind": "drill", "group": "ops" }));
    house.make("fetch", json!({ "urls": ["http://127.0.0.1:9/ours"], "group": "ops" }));
    (house, shop)
}

#[test]
fn somebody_readonly_sees_everything_of_the_group_and_can_change_nothing() {
    let (house, shop) = furnished();
    let browser = house.browser(Kind::USUAL);
    sign_in(&browser, "ben", PASSWORD);
    browser.sees_heading("Overview");
    let failed = house.desk.notifications("state=failed").remove(0)["id"].as_str().expect("an id").to_owned();
    for (path, words) in [
        ("/notify/notifications", "shop"),
        ("/notify/subscriptions/shop", "orders"),
        ("/notify/endpoints/orders", "shop"),
        (format!("/notify/notifications/{failed}").as_str(), "the target answered 500"),
        ("/lanes", "drill"),
        ("/fetch/jobs", "1 of 1"),
    ] {
        browser.open(path);
        browser.sees(words);
        let forms =
            browser.ask("return [...document.querySelectorAll('main form[method=post]')].map((one) => one.action)");
        assert_eq!(forms, json!([]), "nothing to press at {path}");
        for verb in ["Resend", "Discard", "Pause", "Suspend…", "New job", "New endpoint", "New subscription"] {
            // Live pages have a button to hold them, which changes nothing.
            assert!(verb == "Pause" || !browser.has_button(verb), "{verb} at {path}");
        }
    }
    for path in ["/notify/new-endpoint", "/fetch/new-job", "/users"] {
        browser.open(path);
        browser.sees("Not allowed");
    }
    // A form that somebody makes up is refused, even with the token of the page.
    browser.open("/");
    for (path, fields) in [
        (format!("/notify/notifications/{failed}/act"), "verb=resend"),
        ("/notify/subscriptions/shop/state".into(), "state=disabled"),
        ("/notify/subscriptions/shop/delete".into(), ""),
        ("/notify/new-endpoint".into(), "name=mine"),
        ("/fetch/new-job".into(), "urls=http://127.0.0.1:9/"),
        ("/lane/pause".into(), "key=drill/ours&paused=yes"),
        ("/users".into(), "name=eve&role=admin&password=correct+horse+battery"),
    ] {
        assert_eq!(browser.forge(&path, fields, true), 403, "{path}");
    }
    assert_eq!(shop.got().len(), 1, "nothing was resent");
    assert_eq!(house.desk.ok("GET", "/api/v1/subscriptions/shop", None)["state"], "active");
}

#[test]
fn somebody_of_another_group_sees_nothing_of_ours() {
    let (house, _shop) = furnished();
    let event = house.desk.notifications("state=failed").remove(0);
    let job = house.desk.ok("GET", "/api/v1/fetch/jobs", None)["items"][0]["id"].as_str().expect("an id").to_owned();
    let browser = house.browser(Kind::USUAL);
    sign_in(&browser, "cleo", PASSWORD);
    browser.sees_heading("Overview");
    for path in [
        "/",
        "/tasks",
        "/lanes",
        "/notify/notifications",
        "/notify/events",
        "/notify/subscriptions",
        "/notify/endpoints",
        "/notify/statistics",
        "/fetch/jobs",
        "/audit",
        "/wiki",
        "/analyses",
    ] {
        browser.open(path);
        for ours in ["orders", "shop", "A-17", "drill/ours", "ops", &job] {
            let seen = browser.text();
            // Examples of commands are for everybody.
            let told = seen
                .lines()
                .filter(|line| !line.contains("curl") && !line.contains("malla "))
                .any(|line| line.split_whitespace().any(|word| word == ours));
            assert!(!told, "{ours} is seen at {path}: {seen}");
        }
    }
    for path in [
        "/notify/endpoints/orders".to_owned(),
        "/notify/subscriptions/shop".into(),
        format!("/notify/notifications/{}", event["id"].as_str().expect("an id")),
        format!("/notify/events/{}", event["event"].as_str().expect("an id")),
        format!("/tasks/{}", event["id"].as_str().expect("an id")),
        "/lane?key=drill/ours".into(),
        format!("/fetch/jobs/{job}"),
    ] {
        browser.open(&path);
        browser.sees("does not exist, or it belongs to a group you are not in.");
    }
    browser.open("/");
    assert_eq!(browser.forge("/notify/subscriptions/shop/state", "state=disabled", true), 404);
}
