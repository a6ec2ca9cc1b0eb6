//! Watches with the real binary: a page that changes, its versions, what differs, and a subscriber who learns of it.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::Value;

use crate::receiver::Receiver;
use crate::server::{DEADLINE, Place, poll_until, refused};

/// A page that says what it is told to.
struct Page {
    port: u16,
    text: Arc<Mutex<String>>,
}

impl Page {
    fn start(text: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let text = Arc::new(Mutex::new(text.to_owned()));
        let said = text.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let said = said.clone();
                std::thread::spawn(move || {
                    let mut head = [0; 4096];
                    while let Ok(read) = stream.read(&mut head) {
                        if read == 0 {
                            break;
                        }
                        let robots = head.starts_with(b"GET /robots.txt");
                        let body = if robots { String::new() } else { said.lock().expect("no panic").clone() };
                        let status = if robots { "404 Not Found" } else { "200 OK" };
                        let length = body.len();
                        let answer = format!(
                            "HTTP/1.1 {status}\r\ncontent-type: text/html\r\ncontent-length: {length}\r\n\r\n{body}"
                        );
                        if stream.write_all(answer.as_bytes()).is_err() {
                            break;
                        }
                    }
                });
            }
        });
        Self { port, text }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/page", self.port)
    }

    fn say(&self, text: &str) {
        text.clone_into(&mut self.text.lock().expect("no panic"));
    }
}

const VARIABLES: [(&str, &str); 3] =
    [("MALLA_ALLOW_PRIVATE", "true"), ("MALLA_FETCH_GAP_MS", "0"), ("MALLA_FETCH_WATCH_VISITS_PER_DAY", "100000000")];

#[test]
fn a_subscriber_learns_what_changed_on_a_page() {
    let page = Page::start("<html><script>x</script><div id=news><p>one</p><p>two</p></div><p>at 10:01</p></html>");
    let place = Place::new();
    let server = place.start_with(&[], &VARIABLES);
    let receiver = Receiver::start();
    let filter = r#"[{"header":"ce-type","equals":"fetch.changed"}]"#;
    server.ok(&["notify", "subscriptions", "create", "told", "system", &receiver.url(), "--filter", filter]);
    let watch = server.field(&["watches", "add", &page.url(), "--min", "1", "--ignore", r"\d+:\d+"], "id");
    let version = |wanted: u64| {
        poll_until(Instant::now() + DEADLINE, || {
            let shown = server.json(&["watches", "show", &watch]).remove(0);
            (shown["version"] == wanted).then_some(shown)
        })
    };
    let first = version(1).expect("it is visited at once");
    assert_eq!((&first["changes"], &first["status"], &first["trouble"]), (&0.into(), &200.into(), &Value::Null));
    // What is ignored is no change.
    page.say("<html><div id=news><p>one</p><p>two</p></div><p>at 10:02</p></html>");
    visited(&server, &watch);
    assert_eq!(server.json(&["watches", "show", &watch]).remove(0)["version"], 1);
    page.say("<html><div id=news><p>one</p><p>three</p></div><p>at 10:03</p></html>");
    version(2).expect("it has changed");
    let told = receiver.wait_until(|got| !got.is_empty());
    let body: Value = serde_json::from_slice(&told[0].body).expect("JSON");
    assert_eq!((&body["watch"], &body["version"]), (&watch.as_str().into(), &2.into()), "{body}");
    let diff = body["diff"].as_str().expect("a diff");
    assert!(diff.contains("-two\n") && diff.contains("+three\n"), "{diff}");
    assert_eq!(receiver.got().len(), 1, "one change is one event");
    assert_eq!(server.json(&["watches", "versions", &watch]).len(), 2);
    assert!(server.ok(&["watches", "diff", &watch]).contains("+three"));
    assert!(server.ok(&["watches", "text", &watch, "1"]).contains("two"));
    refused(&mut place.command(&["watches", "text"]), &[watch.as_str(), "9"], 1, &["version 9", "is not kept"]);
    refused(
        &mut place.command(&["watches", "add"]),
        &["http://a.example/", "--selector", "a["],
        1,
        &["not a selector"],
    );
    server.ok(&["watches", "delete", &watch]);
    refused(&mut place.command(&["watches", "show"]), &[watch.as_str()], 1, &["does not exist"]);
}

/// Waits until there were two more visits than now: one of them began after this.
fn visited(server: &crate::server::Server, watch: &str) {
    let visits = || server.json(&["watches", "show", watch]).remove(0)["visits"].as_u64().expect("a number");
    let wanted = visits() + 2;
    poll_until(Instant::now() + DEADLINE, || (visits() >= wanted).then_some(())).expect("it is visited");
}
