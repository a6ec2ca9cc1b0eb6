//! How long anybody was without service: what is done in each room, and who leads, looked at all the time.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::tower::get;

const LOOK: Duration = Duration::from_millis(100);
const A_WHILE: Duration = Duration::from_secs(8);
/// What is done in each room.
const KINDS: [&str; 5] = ["notify.deliver", "fetch.page", "wiki.extract", "analyze.map", "drill"];

/// Looks until it is stopped.
pub(super) struct Watcher {
    seen: Arc<Mutex<Seen>>,
    stop: Arc<AtomicBool>,
    looking: JoinHandle<()>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub(super) rooms: BTreeMap<&'static str, Idle>,
    /// The newest term in which somebody was seen to lead, and since when.
    pub(super) term: i64,
    pub(super) led_since: Option<Instant>,
}

/// A room, by how many of its tasks have succeeded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Idle {
    done: u64,
    since: Instant,
    pub(super) longest: Duration,
    /// Since somebody asked last.
    lately: Duration,
}

impl Idle {
    fn new(now: Instant) -> Self {
        Self { done: 0, since: now, longest: Duration::ZERO, lately: Duration::ZERO }
    }

    fn look(&mut self, done: u64, now: Instant) {
        self.lately = self.lately.max(now - self.since);
        self.longest = self.longest.max(self.lately);
        if done > self.done {
            (self.done, self.since) = (done, now);
        }
    }
}

impl Watcher {
    /// Through the server at `url`.
    pub(super) fn start(url: &str, token: &str) -> Self {
        let now = Instant::now();
        let rooms = KINDS.map(|kind| (kind, Idle::new(now))).into();
        let seen = Arc::new(Mutex::new(Seen { rooms, ..Seen::default() }));
        let stop = Arc::new(AtomicBool::new(false));
        let looking = {
            let (seen, stop, url, token) = (seen.clone(), stop.clone(), url.to_owned(), token.to_owned());
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    look(&seen, &url, &token);
                    std::thread::sleep(LOOK);
                }
            })
        };
        Self { seen, stop, looking }
    }

    pub(super) fn seen(&self) -> Seen {
        self.seen.lock().expect("no panic while it is held").clone()
    }

    /// Who was idle for longer than a while since this was asked last.
    pub(super) fn lately(&self) -> String {
        let mut seen = self.seen.lock().expect("no panic while it is held");
        let mut idle = String::new();
        for (kind, room) in &mut seen.rooms {
            let lately = std::mem::take(&mut room.lately);
            if lately >= A_WHILE {
                idle.push_str(&format!("; {kind} idle for {:.1} s", lately.as_secs_f64()));
            }
        }
        idle
    }

    pub(super) fn stop(self) -> Seen {
        self.stop.store(true, Ordering::Relaxed);
        self.looking.join().expect("it looks to the end");
        Arc::into_inner(self.seen).expect("nobody else looks").into_inner().expect("no panic while it is held")
    }
}

/// Who does not answer has shown nothing: the time goes on.
fn look(seen: &Mutex<Seen>, url: &str, token: &str) {
    let ask = |path| get(url, path, token).filter(|(status, _)| *status == 200);
    let (counts, cluster) = (ask("/api/v1/tasks/counts"), ask("/api/v1/cluster"));
    let now = Instant::now();
    let mut seen = seen.lock().expect("no panic while it is held");
    if let Some((_, body)) = counts {
        let counts: Value = serde_json::from_str(&body).expect("JSON");
        for kind in counts["kinds"].as_array().expect("kinds") {
            let name = kind["kind"].as_str().unwrap_or_default();
            if let Some(idle) = seen.rooms.get_mut(name) {
                idle.look(kind["succeeded"].as_u64().expect("a number"), now);
            }
        }
    }
    if let Some((_, body)) = cluster {
        let cluster: Value = serde_json::from_str(&body).expect("JSON");
        let term = cluster["term"].as_i64().filter(|_| !cluster["leader"].is_null());
        if let Some(term) = term.filter(|term| *term > seen.term) {
            (seen.term, seen.led_since) = (term, Some(now));
        }
    }
}

impl Seen {
    /// The longest time in which any room was idle.
    pub(super) fn longest(&self) -> Duration {
        self.rooms.values().map(|idle| idle.longest).max().unwrap_or_default()
    }

    /// What each room has done.
    pub(super) fn done(&self) -> impl Iterator<Item = u64> {
        self.rooms.values().map(|idle| idle.done)
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (kind, idle)) in self.rooms.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{kind} {:.1} s ({} done)", idle.longest.as_secs_f64(), idle.done)?;
        }
        Ok(())
    }
}
