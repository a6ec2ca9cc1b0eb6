//! MQTT, both ways, with a real broker: plain and over TLS, and a broker that cannot be trusted or does not trust us.

use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::authority::Authority;
use crate::broker::Broker;
use crate::notify::{Desk, NEAR};
use crate::receiver::{Delivery, Receiver};
use crate::server::{DEADLINE, Place, Server, poll_until};

fn open() -> (Place, Server, Desk) {
    let place = Place::new();
    let server = place.start_with(&[], NEAR);
    let desk = Desk::at(&server, &place);
    (place, server, desk)
}

/// A server that trusts this authority and no other.
fn open_trusting(authority: &Authority) -> (Place, Server, Desk) {
    let place = Place::new();
    let trusted = authority.write_to(place.root());
    let trust = ("SSL_CERT_FILE", trusted.to_str().expect("a path in ASCII"));
    let server = place.start_with(&[], &[NEAR[0], trust]);
    let desk = Desk::at(&server, &place);
    (place, server, desk)
}

/// An endpoint that listens to this broker, whose events reach the receiver.
fn listening(desk: &Desk, scheme: &str, broker: &Broker, receiver: &Receiver) {
    let source = json!({ "broker": format!("{scheme}://localhost:{}", broker.port), "topic": "plant/+/heat",
        "username": "ana", "password": "secret" });
    desk.ok("POST", "/api/v1/endpoints", Some(json!({ "name": "plant", "protocol": "mqtt", "mqtt": source })));
    desk.subscribe("watch", "plant", &receiver.url(), json!({}));
    // Until the broker knows the session, what is published is lost: it is the publisher's to wait.
    let deadline = Instant::now() + DEADLINE;
    poll_until(deadline, || {
        broker.publish("plant/probe/heat", "probe");
        (!receiver.got().is_empty()).then_some(())
    })
    .expect("the endpoint listens");
}

/// Whether all that was kept for us has come.
fn all_kept(got: &[Delivery]) -> bool {
    (0..20).all(|n| got.iter().any(|delivery| delivery.body == format!("kept {n}").as_bytes()))
}

fn publish_to_keep(broker: &Broker) {
    (0..20).for_each(|n| broker.publish("plant/a/heat", &format!("kept {n}")));
}

/// What a session that the broker keeps has heard; it is made first, so that it does not matter when one listens.
struct Ear;

impl Ear {
    const SESSION: [&str; 5] = ["-t", "orders/#", "-i", "ear", "-c"];

    fn at(broker: &Broker) -> Self {
        let made = broker.client("mosquitto_sub", &[&Self::SESSION[..], &["-E"]].concat()).status();
        assert!(made.expect("mosquitto_sub runs").success());
        Self
    }

    fn hear(&self, broker: &Broker) -> String {
        let mut ear: Command = broker.client("mosquitto_sub", &[&Self::SESSION[..], &["-C", "1", "-W", "30"]].concat());
        let heard = ear.stdin(Stdio::null()).output().expect("mosquitto_sub runs");
        String::from_utf8(heard.stdout).expect("text")
    }
}

#[test]
fn what_comes_by_mqtt_leaves_by_http() {
    let (_place, _server, desk) = open();
    let (broker, receiver) = (Broker::start(), Receiver::start());
    listening(&desk, "mqtt", &broker, &receiver);
    broker.publish("plant/seven/heat", "80");
    broker.publish("plant/seven/cold", "2");
    let got = receiver.wait_until(|got| got.iter().any(|delivery| delivery.body == b"80"));
    assert!(!got.iter().any(|delivery| delivery.body == b"2"), "another topic");
}

#[test]
fn nothing_is_lost_between_a_broker_and_a_killed_malla() {
    let place = Place::new();
    let server = place.start_with(&[], NEAR);
    let desk = Desk::at(&server, &place);
    let (mut broker, receiver) = (Broker::start(), Receiver::start());
    listening(&desk, "mqtt", &broker, &receiver);
    server.kill();
    // Published while nobody listens, and kept over a restart of the broker.
    publish_to_keep(&broker);
    broker.stop();
    broker.resume();
    let _server = place.start_with(&[], NEAR);
    receiver.wait_until(all_kept);
}

#[test]
fn what_comes_by_http_leaves_by_mqtt_also_after_the_broker_was_away() {
    let (_place, _server, desk) = open();
    let mut broker = Broker::start();
    let target = format!("mqtt://ana:secret@127.0.0.1:{}/orders/new", broker.port);
    desk.ok("POST", "/api/v1/endpoints", Some(json!({ "name": "orders" })));
    desk.subscribe("shop", "orders", &target, json!({ "timeout_s": 2, "retry_delays_s": [0, 1, 1, 1, 1, 1, 1, 1] }));
    let ear = Ear::at(&broker);
    desk.post("orders", "first");
    desk.wait_for("state=succeeded", 1);
    assert_eq!(ear.hear(&broker), "first\n");
    broker.stop();
    desk.post("orders", "second");
    broker.resume();
    desk.wait_for("state=succeeded", 2);
    assert_eq!(ear.hear(&broker), "second\n");
}

#[test]
fn an_event_comes_and_leaves_over_tls() {
    let authority = Authority::named("ours");
    let (_place, _server, desk) = open_trusting(&authority);
    let (broker, receiver) = (Broker::secure(&authority), Receiver::start());
    listening(&desk, "mqtts", &broker, &receiver);
    broker.publish("plant/seven/heat", "80");
    receiver.wait_until(|got| got.iter().any(|delivery| delivery.body == b"80"));
    let ear = Ear::at(&broker);
    desk.ok("POST", "/api/v1/endpoints", Some(json!({ "name": "orders" })));
    desk.subscribe("shop", "orders", &format!("mqtts://ana:secret@localhost:{}/orders/new", broker.port), json!({}));
    desk.post("orders", "first");
    desk.wait_for("subscription=shop&state=succeeded", 1);
    assert_eq!(ear.hear(&broker), "first\n");
}

/// Waits until an attempt of the only notification says this; the attempts.
#[track_caller]
fn wait_for_attempt(desk: &Desk, words: &str) {
    let shown = desk.wait_for("subscription=shop", 1).remove(0);
    let path = format!("/api/v1/notifications/{}", shown["id"].as_str().expect("an id"));
    let told = || -> Value { desk.ok("GET", &path, None) };
    poll_until(Instant::now() + DEADLINE, || told().to_string().contains(words).then_some(()))
        .unwrap_or_else(|| panic!("\"{words}\" is not in {}", told()));
}

const UNTRUSTED: &str = "the certificate of localhost is not valid: no authority known here has signed it";
const WRONG_LOGIN: &str = "the broker localhost does not let us in: the user name or the password is wrong";

#[test]
fn nothing_goes_out_to_a_broker_that_cannot_be_trusted_until_it_can() {
    let (authority, stranger) = (Authority::named("ours"), Authority::named("theirs"));
    let (_place, _server, desk) = open_trusting(&authority);
    let mut broker = Broker::secure(&stranger);
    let ear = Ear::at(&broker);
    desk.ok("POST", "/api/v1/endpoints", Some(json!({ "name": "orders" })));
    let patient = json!({ "timeout_s": 2, "retry_delays_s": vec![0; 20] });
    desk.subscribe("shop", "orders", &format!("mqtts://ana:secret@localhost:{}/orders/new", broker.port), patient);
    desk.post("orders", "held");
    wait_for_attempt(&desk, UNTRUSTED);
    broker.stop();
    broker.show(&authority);
    broker.resume();
    desk.wait_for("subscription=shop&state=succeeded", 1);
    assert_eq!(ear.hear(&broker), "held\n");
}

#[test]
fn a_wrong_password_is_told_and_the_right_one_sends_what_waited() {
    let authority = Authority::named("ours");
    let (_place, _server, desk) = open_trusting(&authority);
    let broker = Broker::secure(&authority);
    let ear = Ear::at(&broker);
    desk.ok("POST", "/api/v1/endpoints", Some(json!({ "name": "orders" })));
    let target = |password: &str| format!("mqtts://ana:{password}@localhost:{}/orders/new", broker.port);
    desk.subscribe("shop", "orders", &target("guess"), json!({ "timeout_s": 2, "retry_delays_s": vec![0; 20] }));
    desk.post("orders", "held");
    wait_for_attempt(&desk, WRONG_LOGIN);
    desk.ok("PATCH", "/api/v1/subscriptions/shop", Some(json!({ "target": target("secret") })));
    desk.wait_for("subscription=shop&state=succeeded", 1);
    assert_eq!(ear.hear(&broker), "held\n");
}

#[test]
fn what_a_broker_keeps_is_taken_when_it_can_be_trusted_again() {
    let (authority, stranger) = (Authority::named("ours"), Authority::named("theirs"));
    let (_place, mut server, desk) = open_trusting(&authority);
    let (mut broker, receiver) = (Broker::secure(&authority), Receiver::start());
    listening(&desk, "mqtts", &broker, &receiver);
    broker.stop();
    broker.show(&stranger);
    broker.resume();
    let line = server.wait_for_line(UNTRUSTED);
    assert!(line.contains("not listening") && line.contains("plant"), "{line}");
    publish_to_keep(&broker);
    broker.stop();
    broker.show(&authority);
    broker.set_password("ana", "changed");
    broker.resume();
    let line = server.wait_for_line(WRONG_LOGIN);
    assert!(line.contains("not listening") && !line.contains("secret"), "{line}");
    broker.stop();
    broker.set_password("ana", "secret");
    broker.resume();
    receiver.wait_until(all_kept);
}
