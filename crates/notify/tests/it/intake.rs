//! Taking events in: who may, what is refused, and who gets them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use malla_notify::signing::Secret;
use malla_notify::{
    Admission, Credentials, EndpointOptions, Filter, Intake, IntakeError, MqttSource, NewEvent, RecentEvents, SYSTEM,
    SubscriptionSpec, SubscriptionState,
};
use malla_queue::{Error, Once, UnixMs};
use serde_json::json;

use crate::fake::Fake;
use crate::house::{content, spec};

const NOW: UnixMs = UnixMs(1_700_000_000_000);

struct Door {
    fake: Arc<Fake>,
    recent: Arc<RecentEvents>,
    intake: Intake,
}

fn door(options: EndpointOptions) -> Door {
    options.check().expect("good options");
    let (fake, recent) = (Arc::new(Fake::default()), Arc::new(RecentEvents::default()));
    fake.endpoint("orders", options);
    let intake = Intake::new(fake.clone(), recent.clone());
    Door { fake, recent, intake }
}

impl Door {
    async fn post(&self, event: NewEvent) -> Result<malla_queue::EventId, IntakeError> {
        self.intake.take("orders", Credentials::default(), event, None, NOW).await
    }

    async fn show(&self, credentials: Credentials, body: &str) -> Result<(), IntakeError> {
        self.intake.take("orders", credentials, content(body), None, NOW).await.map(|_| ())
    }
}

#[tokio::test]
async fn an_event_goes_to_whom_it_matters() {
    let door = door(EndpointOptions::default());
    let wanting = |filter| {
        let filter: Filter = serde_json::from_value(filter).expect("a filter");
        SubscriptionSpec { filter: Some(filter), ..spec("https://example.org/") }
    };
    let all = door.fake.subscribe("orders", "all", None, spec("https://example.org/"));
    let paid = door.fake.subscribe("orders", "paid", None, wanting(json!([{"field": "type", "equals": "paid"}])));
    door.fake.subscribe("orders", "sent", None, wanting(json!([{"field": "type", "equals": "sent"}])));
    let event = NewEvent {
        headers: vec![("Authorization".into(), "Bearer x".into()), ("x-a".into(), "1".into())],
        ..content("{\"type\":\"paid\"}")
    };
    let id = door.post(event).await.expect("taken");
    {
        let accepted = door.fake.accepted.lock().expect("no panic");
        assert_eq!(accepted[0].to, [all, paid]);
        assert_eq!(accepted[0].event.headers, [("x-a".to_owned(), "1".to_owned())], "no secret is stored");
    }
    let recent = door.recent.get(id).expect("kept for its delivery");
    assert_eq!((recent.endpoint_name.as_str(), &recent.content.body[..]), ("orders", &b"{\"type\":\"paid\"}"[..]));
}

#[tokio::test]
async fn an_event_that_nobody_wants_is_taken_all_the_same() {
    let door = door(EndpointOptions::default());
    let id = door.post(content("")).await.expect("taken");
    assert_eq!(door.fake.accepted.lock().expect("no panic").len(), 1);
    assert!(door.recent.get(id).is_none());
}

#[tokio::test]
async fn what_is_not_an_http_endpoint_is_unknown() {
    let door = door(EndpointOptions::default());
    door.fake.endpoint(SYSTEM, EndpointOptions::default());
    let mqtt = MqttSource { broker: "mqtt://b".into(), topic: "#".into(), username: None, password: None };
    door.fake.endpoint("sensors", EndpointOptions { mqtt: Some(mqtt), ..EndpointOptions::default() });
    for name in [SYSTEM, "sensors", "nobody"] {
        assert_eq!(door.intake.admits(name).await, Err(IntakeError::Unknown), "{name}");
        let taken = door.intake.take(name, Credentials::default(), content("{}"), None, NOW).await;
        assert_eq!(taken, Err(IntakeError::Unknown), "{name}");
    }
    assert!(door.fake.accepted.lock().expect("no panic").is_empty());
}

#[tokio::test]
async fn a_broker_brings_events_only_to_its_own_endpoints() {
    let door = door(EndpointOptions::default());
    let mqtt = MqttSource { broker: "mqtt://b".into(), topic: "#".into(), username: None, password: None };
    let options = EndpointOptions { mqtt: Some(mqtt), max_body: 10, ..EndpointOptions::default() };
    door.fake.endpoint("sensors", options);
    let shop = door.fake.subscribe("sensors", "shop", None, spec("https://example.org/"));
    let event = |body: &str| NewEvent { topic: Some("a/b".into()), ..content(body) };
    assert_eq!(door.intake.take_from_broker("orders", event("{}")).await, Err(IntakeError::Unknown));
    let large = door.intake.take_from_broker("sensors", event("0123456789a")).await;
    assert_eq!(large, Err(IntakeError::TooLarge { max: 10 }));
    let id = door.intake.take_from_broker("sensors", event("{}")).await.expect("taken");
    assert_eq!(door.fake.accepted.lock().expect("no panic")[0].to, [shop]);
    assert_eq!(door.recent.get(id).expect("kept").content.topic.as_deref(), Some("a/b"));
}

#[tokio::test]
async fn the_size_of_a_body_is_known_before_and_checked_after() {
    let door = door(EndpointOptions { max_body: 10, ..EndpointOptions::default() });
    assert_eq!(door.intake.admits("orders").await, Ok(Admission { max_body: 10 }));
    door.post(content("0123456789")).await.expect("just fits");
    let error = door.post(content("0123456789a")).await.expect_err("one too many");
    assert_eq!(error, IntakeError::TooLarge { max: 10 });
    assert_eq!(error.to_string(), "the body is too large: this endpoint takes at most 10 bytes");
}

#[tokio::test]
async fn odd_events_are_refused() {
    let door = door(EndpointOptions::default());
    let base = content("{}");
    for odd in [
        NewEvent { method: "GET".into(), ..base.clone() },
        NewEvent { headers: vec![("x".into(), "x".repeat(70_000))], ..base.clone() },
        NewEvent { query: Some("x".repeat(20_000)), ..base },
    ] {
        assert!(matches!(door.post(odd).await, Err(IntakeError::Invalid(_))));
    }
}

#[tokio::test]
async fn a_token_is_asked_for() {
    // SHA-256 of "open sesame".
    let hash = "41ef4bb0b23661e66301aac36066912dac037827b4ae63a7b1165a5aa93ed4eb";
    let door = door(EndpointOptions { token_sha256: Some(hash.into()), ..EndpointOptions::default() });
    let bearer = |token: &str| Credentials { bearer: Some(token.into()), ..Credentials::default() };
    for (credentials, says) in
        [(Credentials::default(), "asks for a token"), (bearer("open says me"), "not the endpoint's")]
    {
        let error = door.show(credentials, "{}").await.expect_err("refused");
        assert!(matches!(&error, IntakeError::Unauthorized(why) if why.contains(says)), "{error:?}");
    }
    door.show(bearer("open sesame"), "{}").await.expect("let in");
    assert_eq!(door.fake.accepted.lock().expect("no panic").len(), 1);
}

#[tokio::test]
async fn a_signature_is_asked_for() {
    let text = Secret::generate().expect("random");
    let door = door(EndpointOptions { signature_secrets: vec![text.clone()], ..EndpointOptions::default() });
    let at_s = NOW.0 / 1_000;
    let signature = Secret::parse(&text).expect("a secret").sign("m1", at_s, b"{}").expect("it signs");
    let shown = Credentials {
        bearer: None,
        webhook_id: Some("m1".into()),
        webhook_timestamp: Some(at_s.to_string()),
        webhook_signature: Some(signature),
    };
    door.show(shown.clone(), "{}").await.expect("let in");
    let old = Credentials { webhook_timestamp: Some((at_s - 400).to_string()), ..shown.clone() };
    for (credentials, body, says) in [
        (shown, "{\"forged\":1}", "not of a secret"),
        (old, "{}", "more than 5 minutes"),
        (Credentials::default(), "{}", "asks for a signature"),
    ] {
        let error = door.show(credentials, body).await.expect_err("refused");
        assert!(matches!(&error, IntakeError::Unauthorized(why) if why.contains(says)), "{error:?}");
    }
}

#[tokio::test]
async fn a_route_is_read_once_and_again_after_a_change() {
    let door = door(EndpointOptions::default());
    for _ in 0..3 {
        door.post(content("{}")).await.expect("taken");
    }
    assert_eq!(door.fake.reads.load(Ordering::SeqCst), 1);
    let id = door.fake.subscribe("orders", "shop", None, spec("https://example.org/"));
    door.post(content("{}")).await.expect("taken");
    assert_eq!(door.fake.reads.load(Ordering::SeqCst), 2);
    assert_eq!(door.fake.accepted.lock().expect("no panic").last().expect("the last").to, [id]);
    door.fake.change("shop", |shop| shop.state = SubscriptionState::Disabled);
    door.post(content("{}")).await.expect("taken");
    assert!(door.fake.accepted.lock().expect("no panic").last().expect("the last").to.is_empty());
}

#[tokio::test]
async fn an_old_route_is_read_again_but_not_for_ever() {
    let door = door(EndpointOptions::default());
    door.fake.stale.store(4, Ordering::SeqCst);
    door.post(content("{}")).await.expect("the fifth try");
    assert_eq!(door.fake.reads.load(Ordering::SeqCst), 5);
    door.fake.stale.store(5, Ordering::SeqCst);
    assert!(matches!(door.post(content("{}")).await, Err(IntakeError::Unavailable(_))));
}

#[tokio::test]
async fn what_cannot_be_made_safe_is_not_taken() {
    let door = door(EndpointOptions::default());
    door.post(content("{}")).await.expect("taken");
    for (trouble, full) in
        [(Error::Unavailable("the disk is full".into()), false), (Error::Full { waiting: 5, limit: 5 }, true)]
    {
        *door.fake.trouble.lock().expect("no panic") = Some(trouble);
        let error = door.post(content("{}")).await.expect_err("not safe");
        assert_eq!(matches!(error, IntakeError::Full(_)), full, "{error:?}");
        assert_eq!(matches!(error, IntakeError::Unavailable(_)), !full, "{error:?}");
    }
}

#[test]
fn an_endpoint_with_a_bad_secret_or_hash_is_refused() {
    let secrets = EndpointOptions { signature_secrets: vec!["hunter2".into()], ..EndpointOptions::default() };
    secrets.check().expect_err("no secret");
    let hash = EndpointOptions { token_sha256: Some("sesame".into()), ..EndpointOptions::default() };
    hash.check().expect_err("no hash");
}

#[tokio::test]
async fn a_key_is_the_endpoints_and_a_repeat_counts_nowhere() {
    let door = door(EndpointOptions::default());
    door.fake.subscribe("orders", "shop", None, spec("https://example.org/"));
    let once = Once { scope: String::new(), key: "k".into(), fingerprint: vec![1], keep_for: Duration::from_secs(60) };
    let take = async |once: Option<Once>| {
        door.intake.take("orders", Credentials::default(), content("{}"), once, NOW).await.expect("taken")
    };
    let first = take(Some(once.clone())).await;
    let endpoint = door.fake.accepted.lock().expect("no panic")[0].endpoint;
    let kept = door.fake.accepted.lock().expect("no panic")[0].once.clone().expect("the key goes to the store");
    assert_eq!(kept, Once { scope: format!("in/{}", endpoint.0), ..once.clone() });
    assert_eq!(take(Some(once)).await, first);
    assert!(take(None).await > first);
    assert_eq!(door.fake.accepted.lock().expect("no panic").len(), 2);
}
