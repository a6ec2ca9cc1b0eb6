//! A stream on loopback, and what is sent for.

use std::sync::Mutex;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::get;
use malla_queue::UnixMs;

use super::*;
use crate::dump::kept::{Kept, NOW, page, wiki};
use crate::page::{Mark, Page};
use crate::revisit::tests::Taken;

/// What each connection is told, and where each wanted to go on.
#[derive(Default)]
struct Station {
    programme: Mutex<Vec<String>>,
    asked: Mutex<Vec<(Option<String>, Option<String>)>>,
}

async fn tune_in(State(station): State<Arc<Station>>, headers: HeaderMap) -> Body {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    station.asked.lock().expect("nobody panicked").push((header("last-event-id"), header("user-agent")));
    let mut programme = station.programme.lock().expect("nobody panicked");
    if programme.is_empty() { Body::empty() } else { Body::from(programme.remove(0)) }
}

fn event(id: u32, kind: &str, server: &str, title: &str, new: i64) -> String {
    let data = json!({ "type": kind, "server_name": server, "title": title, "revision": { "old": 1, "new": new } });
    format!("event: message\nid: [{id}]\ndata: {data}\n\n")
}

async fn on_air(station: &Arc<Station>) -> Url {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let router = Router::new().route("/stream", get(tune_in)).with_state(station.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/stream").parse().expect("a URL")
}

#[tokio::test]
async fn changes_of_pages_that_are_kept_are_sent_for_and_a_break_loses_none() {
    let kept_page =
        |id: i64| Page { newest: Some(Mark { at: UnixMs(1), revid: RevId(50) }), complete_at: Some(NOW), ..page(id) };
    let kept = Arc::new(Kept::with(|inside| {
        inside.wikis = vec![wiki(1)];
        inside.pages = (1..=4).map(|id| (PageId(id), kept_page(id))).collect();
        inside.pages.get_mut(&PageId(4)).expect("a page").watched = false;
    }));
    let station = Arc::new(Station::default());
    let before = [
        ":ok\n\n".to_owned(),
        event(1, "edit", "w.test", "Page 1", 51),
        event(2, "edit", "other.test", "Page 2", 51),
        event(3, "categorize", "w.test", "Page 2", 51),
        event(4, "edit", "w.test", "Page 2", 50),
        event(5, "edit", "w.test", "Page 4", 51),
        "data: nonsense\n\ndata: half of".into(),
    ];
    let after = [event(6, "new", "w.test", "Page 3", 51), event(7, "edit", "w.test", "Page 1", 52)];
    *station.programme.lock().expect("nobody panicked") = vec![before.concat(), after.concat()];
    let taken = Arc::new(Taken::default());
    let options = ListenerOptions { url: on_air(&station).await, contact: "ops@example.org".into(), gap_ms: 1_000 };
    let listener = Listener::new(kept, taken.clone(), options).expect("a listener");

    let mut heard = Heard::default();
    listener.listen(&mut heard).await.expect("it ended");
    assert_eq!(heard.waiting[&WikiId(1)], BTreeSet::from([PageId(1)]));
    listener.listen(&mut heard).await.expect("it ended");
    listener.send(&mut heard).await.expect("sent");
    let pages =
        |task: &NewTask| serde_json::from_slice::<serde_json::Value>(&task.payload).expect("JSON")["pages"].clone();
    let mut sent: Vec<_> = taken.empty().iter().map(pages).collect();
    sent.dedup();
    assert_eq!(sent.last(), Some(&json!([1, 3])));
    let asked = station.asked.lock().expect("nobody panicked");
    let agent = Some(format!("Malla/{} (+ops@example.org)", env!("CARGO_PKG_VERSION")));
    assert_eq!(*asked, [(None, agent.clone()), (Some("[5]".to_owned()), agent)]);
}

#[tokio::test]
async fn nobody_listens_without_saying_who() {
    let options = ListenerOptions { url: "http://w.test/".parse().expect("a URL"), contact: " ".into(), gap_ms: 1 };
    let listener = Listener::new(Arc::new(Kept::default()), Arc::new(Taken::default()), options);
    assert!(listener.err().is_some_and(|error| error.to_string().contains("wiki.contact")));
}
