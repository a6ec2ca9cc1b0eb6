//! CloudEvents at the receiver, in both modes.

use malla_notify::{CloudEvents, Event, NewEvent, SubscriptionSpec};
use malla_queue::worker::Work as _;
use serde_json::{Value, json};

use crate::house::{House, content, done, spec, task};
use crate::receiver::{Got, Receiver};

async fn sent(mode: CloudEvents, kind: Option<&str>, content: NewEvent) -> (Event, Got) {
    let target = Receiver::new().await;
    let spec = SubscriptionSpec { cloudevents: mode, forward_headers: true, ..spec(&target.url()) };
    let house = House::new().with(spec);
    let id = house.event(content);
    let event = {
        let mut events = house.fake.events.lock().expect("no panic");
        let event = events.get_mut(&id).expect("the event");
        event.kind = kind.map(str::to_owned);
        event.clone()
    };
    done(house.deliverer.work(&task("shop", id)).await);
    (event, target.only())
}

fn came_as_cloud_event() -> NewEvent {
    let headers = [
        ("ce-specversion", "1.0"),
        ("ce-id", "theirs"),
        ("ce-source", "/shop"),
        ("ce-type", "order.paid"),
        ("ce-subject", "caf%C3%A9"),
    ];
    let headers = headers.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    NewEvent { headers, ..content("{\"n\":1}") }
}

#[tokio::test]
async fn binary_mode_is_headers_beside_the_body() {
    let (event, got) = sent(CloudEvents::Binary, None, content("{\"n\":1}")).await;
    assert_eq!(got.header("ce-specversion"), Some("1.0"));
    assert_eq!(got.header("ce-id"), Some(event.id.to_string().as_str()));
    assert_eq!(got.header("ce-source"), Some("/in/orders"));
    assert_eq!(got.header("ce-type"), Some("malla.event"));
    assert!(got.header("ce-time").is_some_and(|time| time.starts_with("2023-11-14T22:13:20")));
    assert_eq!((&got.body[..], got.header("content-type")), (&b"{\"n\":1}"[..], Some("application/json")));

    let (_, own) = sent(CloudEvents::Binary, Some("task.failed"), content("{}")).await;
    assert_eq!(own.header("ce-type"), Some("task.failed"));

    let (event, kept) = sent(CloudEvents::Binary, None, came_as_cloud_event()).await;
    assert_eq!(kept.headers.get_all("ce-id").iter().collect::<Vec<_>>(), [event.id.to_string().as_str()]);
    assert_eq!((kept.header("ce-source"), kept.header("ce-type")), (Some("/shop"), Some("order.paid")));
    assert_eq!(kept.header("ce-subject"), Some("caf%C3%A9"));
}

#[tokio::test]
async fn structured_mode_is_an_envelope() {
    let (event, got) = sent(CloudEvents::Structured, None, came_as_cloud_event()).await;
    assert_eq!(got.header("content-type"), Some("application/cloudevents+json; charset=utf-8"));
    assert_eq!(got.header("ce-id"), None);
    let envelope: Value = serde_json::from_slice(&got.body).expect("JSON");
    assert!(envelope["time"].is_string());
    assert_eq!(envelope["id"], json!(event.id));
    for (name, value) in [
        ("specversion", json!("1.0")),
        ("source", json!("/shop")),
        ("type", json!("order.paid")),
        ("subject", json!("café")),
        ("datacontenttype", json!("application/json")),
        ("data", json!({"n": 1})),
    ] {
        assert_eq!(envelope[name], value, "{name}");
    }
    let binary = NewEvent { content_type: Some("image/png".into()), ..content(vec![0xff, 0]) };
    let (_, got) = sent(CloudEvents::Structured, None, binary).await;
    let envelope: Value = serde_json::from_slice(&got.body).expect("JSON");
    assert_eq!((&envelope["data_base64"], envelope.get("data")), (&json!("/wA="), None));
}
