//! Notices of alerts, sent in real conversations with a mail server and a web server.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use malla_notify::signing::{self, Secret, Signed};
use malla_notify::{
    ALERT_ROOM, Alert, AlertId, AlertSender, AlertSpec, Alerts, Channel, Mail, NewAlert, Rule, test_notices,
};
use malla_queue::worker::Work as _;
use malla_queue::{
    Act, Clock as _, Error, LeaseToken, Leased, NewTask, NextTry, Result, Scope, SystemClock, TaskId, UnixMs, Verdict,
};
use malla_reach::Guard;
use serde_json::Value;

use crate::house::{done, failed};
use crate::mail_server::MailServer;
use crate::receiver::Receiver;

const AT: UnixMs = UnixMs(1_800_000_000_000);

/// A store with one alert, or none.
struct One(Mutex<Option<Alert>>);

#[async_trait]
impl Alerts for One {
    async fn create_alert(&self, _: NewAlert, _: Act) -> Result<Alert> {
        unreachable!("a sender makes no alert")
    }

    async fn change_alert(&self, _: &Scope, _: &str, _: AlertSpec, _: Act) -> Result<Alert> {
        unreachable!("a sender changes no alert")
    }

    async fn delete_alert(&self, _: &Scope, _: &str, _: Act) -> Result<()> {
        unreachable!("a sender deletes no alert")
    }

    async fn alert(&self, _: &Scope, name: &str) -> Result<Alert> {
        let found = self.0.lock().expect("no panic").clone().filter(|alert| alert.name == name);
        found.ok_or_else(|| Error::NotFound(format!("alert {name}")))
    }

    async fn alerts(&self, _: &Scope, _: Option<&str>, _: usize) -> Result<Vec<Alert>> {
        unreachable!("a sender lists no alerts")
    }

    async fn fire(&self, _: &Alert, _: UnixMs, _: Vec<String>, _: Vec<NewTask>) -> Result<bool> {
        unreachable!("a sender fires no alert")
    }
}

fn alert(to: Channel) -> Alert {
    let rule = Rule::Failures { subscription: None, count: 5, window_s: 300 };
    let spec = AlertSpec { rule, to: vec![to], quiet_s: 3_600, enabled: true };
    spec.check().expect("a good spec");
    let (firing, created_at) = (Vec::new(), UnixMs(0));
    Alert { id: AlertId(1), name: "failing".into(), group: None, spec, firing, last_fired_at: None, created_at }
}

/// The test notice of an alert with this one address, in the hands of a worker.
fn leased(alert: &Alert) -> Leased {
    let new = test_notices(alert, AT).expect("a notice").pop().expect("one address");
    assert_eq!(new.lane.as_str(), format!("{ALERT_ROOM}/failing"));
    assert_eq!(new.retry.as_millis(), [10_000, 60_000, 300_000, 1_800_000]);
    Leased {
        token: LeaseToken { task: TaskId::first_at(AT), nonce: 1 },
        lane: new.lane,
        kind: new.kind,
        group: new.group,
        priority: new.priority,
        payload: new.payload,
        retry: new.retry,
        failures: 0,
        started_at: AT,
        expires_at: AT,
        holder: "member:test".into(),
        awaited: true,
    }
}

fn sender(alert: Option<&Alert>, mail: Option<Mail>, guard: Guard) -> AlertSender {
    let store = Arc::new(One(Mutex::new(alert.cloned())));
    AlertSender::new(store, guard, mail, Arc::new(SystemClock::default())).expect("a sender")
}

async fn send(alert: &Alert, mail: Option<Mail>) -> Option<Verdict> {
    sender(Some(alert), mail, Guard::new(true, Vec::new())).work(&leased(alert)).await
}

fn by_mail() -> Alert {
    alert(Channel::Email { to: "Ana <ana@example.org>".into() })
}

#[tokio::test]
async fn a_notice_goes_out_as_a_mail() {
    let server = MailServer::start("250 OK").await;
    let url = format!("smtp://{}?tls=none", server.address);
    let mail = Mail::new(&url, "Malla <malla@example.org>").expect("a server");
    done(send(&by_mail(), Some(mail)).await);
    let got = server.got().await;
    assert_eq!(got.from, "malla@example.org");
    assert_eq!(got.to, "ana@example.org");
    for line in [
        "From: Malla <malla@example.org>",
        "To: Ana <ana@example.org>",
        "Subject: [Malla] failing: test",
        "Auto-Submitted: auto-generated",
        "Date: Fri, 15 Jan 2027 08:00:00 +0000",
    ] {
        assert!(got.mail.contains(line), "{line} is missing in\n{}", got.mail);
    }
    let unfolded = got.mail.replace("=\r\n", "");
    assert!(unfolded.contains("5 or more attempts failed in 5 minutes"), "{}", got.mail);
}

#[tokio::test]
async fn a_mail_that_is_refused_says_by_whom_and_why() {
    let server = MailServer::start("550 no such person").await;
    let mail = Mail::new(&format!("smtp://{}?tls=none", server.address), "malla@example.org").expect("a server");
    let note = failed(send(&by_mail(), Some(mail)).await).note;
    assert!(note.contains(&server.address.to_string()) && note.contains("no such person"), "{note}");
}

#[tokio::test]
async fn a_server_without_starttls_gets_no_mail_unless_that_was_asked_for() {
    let server = MailServer::start("250 OK").await;
    let mail = Mail::new(&format!("smtp://ana:secret@{}", server.address), "malla@example.org").expect("a server");
    let note = failed(send(&by_mail(), Some(mail)).await).note;
    assert!(note.contains("STARTTLS") && !note.contains("secret"), "{note}");
}

#[tokio::test]
async fn without_a_mail_server_the_missing_setting_is_named() {
    let note = failed(send(&by_mail(), None).await).note;
    assert!(note.contains("smtp.url"), "{note}");
}

#[tokio::test]
async fn a_notice_goes_out_as_a_signed_request() {
    let receiver = Receiver::new().await;
    let secret = Secret::generate().expect("random");
    let alert = alert(Channel::Webhook { url: receiver.url(), secret: Some(secret.clone()) });
    let task = leased(&alert);
    assert!(!String::from_utf8_lossy(&task.payload).contains(&secret), "the task shows the secret");
    done(send(&alert, None).await);
    let got = receiver.only();
    let told: Value = serde_json::from_slice(&got.body).expect("JSON");
    assert_eq!(told["alert"], "failing");
    assert_eq!(told["state"], "test");
    assert_eq!(told["at"], "2027-01-15T08:00:00Z");
    assert_eq!(told["rule"]["kind"], "failures");
    assert!(told["subjects"].is_array() && told["text"].is_string(), "{told}");
    let header = |name| got.header(name).expect(name);
    let signed = Signed {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signature: header("webhook-signature"),
    };
    let now = SystemClock::default().now();
    signing::verify(&[Secret::parse(&secret).expect("a secret")], signed, &got.body, now).expect("signed by it");
}

#[tokio::test]
async fn a_webhook_is_tried_again_unless_it_is_gone() {
    for (status, next) in [(500, NextTry::ByDelays), (302, NextTry::ByDelays), (410, NextTry::Never)] {
        let receiver = Receiver::answering(status, &[], "no").await;
        let failure = failed(send(&alert(Channel::Webhook { url: receiver.url(), secret: None }), None).await);
        assert_eq!(failure.next, next, "{status}");
        assert!(failure.note.contains(&status.to_string()), "{}", failure.note);
    }
}

#[tokio::test]
async fn a_private_address_is_refused_here_too() {
    let receiver = Receiver::new().await;
    let alert = alert(Channel::Webhook { url: receiver.url(), secret: None });
    let note = failed(sender(Some(&alert), None, Guard::default()).work(&leased(&alert)).await).note;
    assert!(note.contains("it is loopback"), "{note}");
    assert!(receiver.got().is_empty());
}

#[tokio::test]
async fn a_notice_of_a_deleted_alert_still_arrives() {
    let receiver = Receiver::new().await;
    let alert = alert(Channel::Webhook { url: receiver.url(), secret: Some(Secret::generate().expect("random")) });
    done(sender(None, None, Guard::new(true, Vec::new())).work(&leased(&alert)).await);
    assert_eq!(receiver.only().header("webhook-signature"), None);
}
