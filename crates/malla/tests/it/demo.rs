//! `malla demo`: every room is alive within seconds, it ends in order, and a second start goes on where it was.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Instant;

use serde_json::Value;

use crate::server::{DEADLINE, Place, poll_until, refused, text};

/// It is killed when the test is over.
struct Demo {
    child: Child,
    welcome: Value,
    token: String,
}

impl Demo {
    /// Started, and ready to be looked at.
    fn start(place: &Place) -> Self {
        let mut command = place.command(&["demo", "--listen", "127.0.0.1:0", "--json"]);
        let errors = std::fs::File::create(place.root().join("errors.txt")).expect("a file");
        let mut child = command.stdout(Stdio::piped()).stderr(errors).spawn().expect("malla starts");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let (send, lines) = mpsc::channel();
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        let line = lines.recv_timeout(DEADLINE).unwrap_or_else(|error| panic!("{error}: {}", said(place)));
        let welcome = serde_json::from_str(&line).expect("JSON");
        let token = std::fs::read_to_string(place.data().join("admin.token")).expect("a token").trim().to_owned();
        Self { child, welcome, token }
    }

    fn get(&self, path: &str) -> Value {
        let console = self.welcome["console"].as_str().expect("an address");
        let address = console.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = TcpStream::connect(address).expect("connects");
        stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
            self.token
        );
        stream.write_all(head.as_bytes()).expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let answer = text(&answer);
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"))
    }

    /// Of a list that fits on a page, what `wanted` wants.
    fn count(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> usize {
        let answer = self.get(path);
        let items = answer.get("items").unwrap_or(&answer).as_array().expect("a list");
        items.iter().filter(|item| wanted(item)).count()
    }

    /// What is missing until every room has something to show.
    fn missing(&self) -> Vec<&'static str> {
        let any = |_: &Value| true;
        let notified = |query: &str| self.count(&format!("/api/v1/notifications?limit=1&{query}"), any) > 0;
        let state = |wanted: &'static str| move |item: &Value| item["state"] == wanted;
        let parts = [
            ("a delivery", notified("state=succeeded")),
            ("a delivery that failed for good", notified("state=failed")),
            ("something held", notified("state=paused&subscription=auditors")),
            ("a parcel to be confirmed, or confirmed", notified("subscription=courier")),
            ("news of the house itself", notified("state=succeeded&subscription=newsroom")),
            ("a job with a page", self.count("/api/v1/fetch/jobs", |job| job["good"].as_u64() > Some(0)) > 0),
            ("an article with its history", self.count("/api/v1/articles?page_size=200", any) > 0),
            ("an extraction", self.count("/api/v1/wiki/extractions", state("SUCCESS")) > 0),
            ("answers", self.count("/api/v1/analyses", state("succeeded")) > 0),
            (
                "two devices",
                self.count("/api/v1/devices", |device| device["state"] == "online" && !device["country"].is_null())
                    >= 2,
            ),
            ("a crawl with a page", self.count("/api/v1/crawls", |crawl| crawl["good"].as_u64() > Some(0)) > 0),
            ("a page that is watched", self.count("/api/v1/watches", |watch| watch["visits"].as_u64() > Some(0)) > 0),
            ("a lane that is held", self.count("/api/v1/lanes?paused=true", any) > 0),
        ];
        parts.into_iter().filter(|(_, there)| !there).map(|(what, _)| what).collect()
    }

    #[track_caller]
    fn wait_until_alive(&self, place: &Place) {
        // A quarter of it, on a machine that has nothing else to do.
        let deadline = Instant::now() + DEADLINE * 2;
        let mut missing = Vec::new();
        let alive = poll_until(deadline, || {
            missing = self.missing();
            missing.is_empty().then_some(())
        });
        assert!(alive.is_some(), "there is not yet {missing:?}\n{}", said(place));
    }

    #[track_caller]
    fn end(mut self, signal: &str, place: &Place) {
        let kill = format!("kill -{signal} {}", self.child.id());
        assert!(std::process::Command::new("sh").args(["-c", &kill]).status().expect("sh runs").success());
        let began = Instant::now();
        let status = poll_until(began + DEADLINE, || self.child.try_wait().expect("a child"));
        assert_eq!(status.and_then(|status| status.code()), Some(0), "{}", said(place));
        assert!(began.elapsed().as_secs() < 11, "{:?}", began.elapsed());
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn said(place: &Place) -> String {
    std::fs::read_to_string(place.root().join("errors.txt")).unwrap_or_default()
}

#[test]
fn every_room_is_alive_and_a_second_start_goes_on() {
    let place = Place::new();
    let demo = Demo::start(&place);
    assert_eq!(demo.welcome["user"], "admin");
    refused(&mut place.command(&["demo", "--listen", "127.0.0.1:0"]), &[""; 0], 1, &["is in use by another malla"]);
    demo.wait_until_alive(&place);
    let any = |_: &Value| true;
    let made = |demo: &Demo| {
        [
            "/api/v1/endpoints",
            "/api/v1/subscriptions",
            "/api/v1/alerts",
            "/api/v1/users",
            "/api/v1/groups",
            "/api/v1/tokens",
            "/api/v1/watches",
            "/api/v1/comparisons",
        ]
        .map(|path| demo.count(path, any))
    };
    let (welcome, before) = (demo.welcome.clone(), made(&demo));
    let newest = demo.get("/api/v1/events?endpoint=orders&limit=1")["items"][0]["id"].clone();
    demo.end("TERM", &place);

    let demo = Demo::start(&place);
    for same in ["user", "password", "data", "world"] {
        assert_eq!(demo.welcome[same], welcome[same], "{same}");
    }
    assert_eq!(made(&demo), before);
    let all = poll_until(Instant::now() + DEADLINE, || {
        Some(demo.count("/api/v1/articles?page_size=200", any)).filter(|articles| *articles >= 12)
    });
    assert_eq!(all, Some(12), "each article once");
    let next = poll_until(Instant::now() + DEADLINE, || {
        let id = demo.get("/api/v1/events?endpoint=orders&limit=1")["items"][0]["id"].clone();
        (id != newest).then_some(())
    });
    assert!(next.is_some(), "no order came after the second start");
    demo.end("INT", &place);
    assert_eq!(said(&place), "", "a demo has nothing to complain about");
}

#[test]
fn an_installation_that_is_no_demo_is_left_alone() {
    let place = Place::new();
    assert_eq!(place.start().terminate().status.code(), Some(0));
    refused(&mut place.command(&["demo"]), &[""; 0], 2, &["is no demo", "--data"]);
    refused(&mut Place::new().command(&["demo", "--listen", "nonsense"]), &[""; 0], 1, &["as in 127.0.0.1:7070"]);
}
