//! Events and who gets them, from the first form to the last delivery.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::house::House;
use crate::receiver::Receiver;

#[test]
fn an_event_that_fails_is_seen_resent_and_delivered() {
    let house = House::open();
    let mended = Arc::new(AtomicBool::new(false));
    let is_mended = mended.clone();
    let shop =
        Receiver::answering(
            move |_, _| {
                if is_mended.load(Ordering::SeqCst) { "200 OK".into() } else { "500 Closed today".into() }
            },
        );
    let browser = house.admin();
    // Everything is made by hand, as a newcomer does it.
    browser.open("/notify/endpoints");
    browser.press("New endpoint");
    browser.fill("Name", "orders");
    browser.press("Create endpoint");
    browser.sees_heading("orders");
    browser.open("/notify/new-subscription?endpoint=orders");
    browser.fill("Name", "shop");
    browser.fill("Target", &shop.url());
    browser.press("Attempts and times");
    browser.fill("Retry delays", "");
    browser.press("Create subscription");
    browser.sees("Subscription shop is created.");

    browser.open("/notify/endpoints/orders");
    browser.fill("Body", r#"{"order":"A-17"}"#);
    browser.press("Send event");
    browser.sees("The event is safe.");
    browser.sees("failed");
    shop.wait_for(1);
    browser.open("/notify/notifications?state=failed");
    browser.sees("shop");
    browser.fill("Content", "A-17");
    browser.press("Filter");
    browser.sees("shop");
    let failed = house.desk.notifications("state=failed").remove(0);
    browser.press(failed["id"].as_str().expect("an id"));
    browser.sees_all(&["not delivered, no attempt left", "the target answered 500"]);

    mended.store(true, Ordering::SeqCst);
    browser.press("Resend");
    browser.sees("is resent");
    browser.sees_all(&["delivered", "succeeded"]);
    let got = shop.wait_for(2);
    assert_eq!(got[1].body, br#"{"order":"A-17"}"#);
    assert_eq!(got[0].header("webhook-id"), got[1].header("webhook-id"));
    browser.open("/audit");
    browser.sees("notification.resend");
}

#[test]
fn what_a_form_cannot_take_is_said_beside_its_field_and_what_was_typed_stays() {
    let house = House::open();
    let browser = house.admin();
    house.make("endpoints", json!({ "name": "orders" }));
    browser.open("/notify/new-subscription");
    browser.fill("Name", "shop");
    browser.fill("Endpoint", "nowhere");
    browser.fill("Target", "https://example.org/hook");
    browser.press("Create subscription");
    browser.sees("There is no endpoint \"nowhere\" for you.");
    browser.fill("Endpoint", "orders");
    browser.press("Create subscription");
    browser.sees("Subscription shop is created.");
    browser.sees("https://example.org/hook");
}

#[test]
fn a_subscription_that_is_suspended_holds_its_events_until_it_is_active_again() {
    let house = House::open();
    let shop = Receiver::start();
    house.make("endpoints", json!({ "name": "orders" }));
    house.desk.subscribe("shop", "orders", &shop.url(), json!({ "parallel": 1 }));
    let browser = house.admin();
    browser.open("/notify/subscriptions");
    browser.press("shop");
    browser.press("Suspend…");
    browser.sees("they are held until you activate it");
    browser.press("Suspend shop");
    browser.sees("Subscription shop is suspended now.");
    for order in ["A-1", "A-2", "A-3"] {
        house.desk.post("orders", order);
    }
    house.desk.wait_for("subscription=shop&state=paused", 3);
    browser.open("/notify/subscriptions/shop");
    browser.sees("held");
    assert!(shop.got().is_empty(), "nothing leaves while it is suspended");
    browser.press("Activate…");
    browser.sees("oldest first: 3 waiting notifications");
    browser.press("Activate shop");
    browser.sees("Subscription shop is active now.");
    let got = shop.wait_for(3);
    let bodies: Vec<_> = got.iter().map(|delivery| String::from_utf8_lossy(&delivery.body).into_owned()).collect();
    assert_eq!(bodies, ["A-1", "A-2", "A-3"]);
    house.desk.wait_for("subscription=shop&state=succeeded", 3);
    browser.sees("succeeded");
    browser.sees_no_more("held");
}

#[test]
fn many_that_failed_are_resent_at_once_after_a_page_that_says_how_many() {
    let house = House::open();
    let shop = Receiver::answering(|n, _| if n < 4 { "500 Oops".into() } else { "200 OK".into() });
    house.make("endpoints", json!({ "name": "orders" }));
    house.desk.subscribe("shop", "orders", &shop.url(), json!({ "retry_delays_s": [], "parallel": 1 }));
    for n in 0..4 {
        house.desk.post("orders", &format!("order {n}"));
    }
    house.desk.wait_for("state=failed", 4);
    let browser = house.admin();
    browser.open("/notify/notifications?state=failed&subscription=shop");
    browser.press("Resend…");
    browser.sees("4 notifications");
    browser.press("Resend them");
    browser.sees("Resent: 4 notifications.");
    shop.wait_for(8);
    house.desk.wait_for("state=succeeded", 4);
}
