//! What a target gets: the event as it came, with proof of who sent it.

use std::collections::BTreeMap;

use malla_notify::signing::{Secret, Signed, verify};
use malla_notify::{Auth, NewEvent, SubscriptionSpec};
use malla_queue::worker::Work as _;
use malla_queue::{Clock as _, SystemClock, UnixMs};

use crate::house::{House, content, done, spec, task};
use crate::receiver::{Got, Receiver};

/// What the target gets of this event.
async fn sent(make: impl FnOnce(SubscriptionSpec) -> SubscriptionSpec, event: NewEvent) -> Got {
    let target = Receiver::new().await;
    let spec = make(spec(&format!("{}?own=1", target.url())));
    done(House::new().with(spec).deliver(event).await);
    target.only()
}

#[tokio::test]
async fn method_body_and_content_type_are_repeated() {
    let huge = vec![b'x'; 16 * 1024 * 1024];
    for (method, kind, body) in [
        ("POST", Some("application/json"), &b"{\"a\": 1}"[..]),
        ("PUT", Some("text/plain; charset=latin1"), b"gr\xfc\xdf"),
        ("PATCH", None, b""),
        ("POST", Some("application/octet-stream"), &huge),
    ] {
        let event = NewEvent {
            method: method.into(),
            content_type: kind.map(str::to_owned),
            body: body.to_vec(),
            ..NewEvent::default()
        };
        let got = sent(|spec| spec, event).await;
        assert_eq!((got.method.as_str(), got.header("content-type")), (method, kind));
        assert!(got.body == body, "{} bytes of {}", got.body.len(), body.len());
        assert_eq!(got.header("content-length"), Some(body.len().to_string().as_str()));
        assert_eq!(got.header("user-agent"), Some(concat!("Malla/", env!("CARGO_PKG_VERSION"))));
        assert_eq!(got.header("accept-encoding"), None);
    }
}

fn with_headers() -> NewEvent {
    let headers = [
        ("X-Tenant", "acme"),
        ("x-many", "1"),
        ("x-many", "2"),
        ("Authorization", "Bearer theirs"),
        ("Cookie", "a=b"),
        ("Host", "malla.example"),
        ("Content-Length", "999"),
        ("Connection", "x-hop"),
        ("X-Hop", "1"),
        ("Webhook-Id", "theirs"),
        ("webhook-signature", "v1,theirs"),
        ("User-Agent", "curl/8"),
        ("Content-Encoding", "identity"),
    ];
    let headers = headers.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    NewEvent { headers, query: Some("a=1&b=%20".into()), ..content("{}") }
}

#[tokio::test]
async fn headers_and_query_are_repeated_only_if_asked_for() {
    let plain = sent(|spec| spec, with_headers()).await;
    assert_eq!(plain.uri, "/hook?own=1");
    assert_eq!((plain.header("x-tenant"), plain.header("content-encoding")), (None, Some("identity")));

    let asked = |spec| SubscriptionSpec { forward_headers: true, forward_query: true, ..spec };
    let got = sent(asked, with_headers()).await;
    assert_eq!(got.uri, "/hook?own=1&a=1&b=%20");
    assert_eq!(got.header("x-tenant"), Some("acme"));
    assert_eq!(got.headers.get_all("x-many").iter().collect::<Vec<_>>(), ["1", "2"]);
    for never in ["authorization", "cookie", "connection", "x-hop", "webhook-signature"] {
        assert_eq!(got.header(never), None, "{never}");
    }
    assert_ne!(got.header("webhook-id"), Some("theirs"));
    assert_eq!(got.header("content-length"), Some("2"));
    assert!(got.header("user-agent").is_some_and(|agent| agent.starts_with("Malla/")));
    assert!(got.header("host").is_some_and(|host| host.starts_with("127.0.0.1:")));
}

#[tokio::test]
async fn headers_are_added_and_win_over_repeated_ones() {
    let added = BTreeMap::from([("X-Tenant".to_owned(), "ours".to_owned()), ("x-key".to_owned(), "k".to_owned())]);
    let got = sent(|spec| SubscriptionSpec { headers: added, forward_headers: true, ..spec }, with_headers()).await;
    assert_eq!(got.headers.get_all("x-tenant").iter().collect::<Vec<_>>(), ["ours"]);
    assert_eq!(got.header("x-key"), Some("k"));
}

#[tokio::test]
async fn malla_shows_itself_as_told() {
    let auth = Auth::Basic { username: "ana".into(), password: "se:cret".into() };
    let got = sent(|spec| SubscriptionSpec { auth: Some(auth), ..spec }, content("{}")).await;
    assert_eq!(got.header("authorization"), Some("Basic YW5hOnNlOmNyZXQ="));
    let got = sent(|spec| SubscriptionSpec { auth: Some(Auth::Bearer("t0ken".into())), ..spec }, with_headers()).await;
    assert_eq!(got.header("authorization"), Some("Bearer t0ken"));
}

fn verified_by(got: &Got, secret: &str) -> bool {
    let signed = Signed {
        id: got.header("webhook-id").expect("an id"),
        timestamp: got.header("webhook-timestamp").expect("a timestamp"),
        signature: got.header("webhook-signature").expect("a signature"),
    };
    let secrets = [Secret::parse(secret).expect("a secret")];
    verify(&secrets, signed, &got.body, SystemClock::default().now()).is_ok()
}

#[tokio::test]
async fn the_receiver_can_verify_the_signature() {
    let private = "whsk_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=".to_owned();
    for secret in [Secret::generate().expect("random"), private] {
        let signing = secret.clone();
        let got = sent(|spec| SubscriptionSpec { secret: Some(signing), ..spec }, content(vec![0, 0xff])).await;
        assert!(verified_by(&got, &secret));
        let forged = Got { body: "other".into(), ..got };
        assert!(!verified_by(&forged, &secret));
    }
    let unsigned = sent(|spec| spec, content("{}")).await;
    assert_eq!(unsigned.header("webhook-signature"), None);
    assert!(unsigned.header("webhook-id").is_some_and(|id| id.starts_with("ntf_")));
}

#[tokio::test]
async fn a_replaced_secret_signs_until_its_time_is_over() {
    let (new, old) = (Secret::generate().expect("random"), Secret::generate().expect("random"));
    let now = SystemClock::default().now();
    for (until, live) in [(UnixMs(now.0 + 60_000), true), (UnixMs(now.0 - 1), false)] {
        let (secret, previous) = (Some(new.clone()), Some((old.clone(), until)));
        let rotated = |spec| SubscriptionSpec { secret, previous_secret: previous, ..spec };
        let got = sent(rotated, content("{}")).await;
        assert!(verified_by(&got, &new));
        assert_eq!(verified_by(&got, &old), live);
    }
}

#[tokio::test]
async fn the_id_is_the_same_over_all_attempts() {
    let target = Receiver::answering(500, &[], "").await;
    let house = House::new().with(spec(&target.url()));
    let event = house.event(content("{}"));
    let task = task("shop", event);
    for _ in 0..2 {
        house.deliverer.work(&task).await;
    }
    let ids: Vec<_> = target.got().iter().map(|got| got.header("webhook-id").map(str::to_owned)).collect();
    assert_eq!(ids, vec![Some(format!("ntf_{}", task.token.task)); 2]);
}

#[test]
fn a_subscription_with_a_bad_secret_or_header_is_refused() {
    let good = spec("https://example.org/");
    good.check().expect("good");
    let secret = |secret: &str| SubscriptionSpec { secret: Some(secret.into()), ..good.clone() };
    secret("hunter2").check().expect_err("no secret");
    secret("whpk_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=").check().expect_err("it cannot sign");
    let header = |name: &str| SubscriptionSpec { headers: [(name.to_owned(), "x".to_owned())].into(), ..good.clone() };
    header("x-fine").check().expect("a header");
    header("Host").check().expect_err("not that one");
    let auth = SubscriptionSpec { auth: Some(Auth::Bearer("a\r\nb: c".into())), ..good.clone() };
    auth.check().expect_err("a line break");
}
