//! Publishers who post events without pause, some under keys and some without, and note what they were told.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use malla_protocol::{EventView, Page};
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::receiver::Receiver;
use crate::server::DEADLINE;

use super::caller::{Caller, Servers};
use super::clients::{self, Clients};
use super::dice::Dice;
use super::told::Told;

const ENDPOINT: &str = "orders";
const PUBLISHERS: usize = 6;
/// No store is away for as long as this.
const PATIENCE: Duration = Duration::from_secs(120);
/// Enough to see what is wrong.
const WRONG_MAX: usize = 10;
/// Before the next post after one that was not taken.
const AGAIN: Duration = Duration::from_millis(100);

/// What becomes of the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// They live all the time: nobody is left without an answer.
    Live,
    /// They are killed, and posts break off.
    Killed,
}

pub(super) type Publishers = Clients<Shared>;
type Hand = clients::Hand<Shared>;

pub(super) struct Shared {
    fate: Fate,
    number: AtomicU64,
    told: Mutex<Told>,
}

impl Shared {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Publishers {
    /// Makes the endpoint and its subscription, and begins to post. `timeout` is how long one post may take.
    pub(super) fn start(way: Servers, receiver: &Receiver, fate: Fate, timeout: Duration, mut dice: Dice) -> Self {
        let shared = Shared { fate, number: AtomicU64::new(0), told: Mutex::default() };
        let mut publishers = Clients::new(shared, timeout, &mut dice);
        publishers.go_to(way);
        publishers.runtime.block_on(subscribe(publishers.caller.clone(), receiver));
        for _ in 0..PUBLISHERS {
            publishers.add(&mut dice, Hand::publish);
        }
        publishers
    }

    pub(super) fn so_far(&self) -> Told {
        self.shared.told().clone()
    }

    /// From now on, [`Publishers::recovered`] waits for each server's next acknowledgement.
    pub(super) fn watch(&self) {
        let mut told = self.shared.told();
        told.since = Some(Instant::now());
        told.recovered = vec![None; self.known().urls.len()];
    }

    /// How long it took each server to acknowledge something again, once all have.
    pub(super) fn recovered(&self) -> Option<Vec<Duration>> {
        self.shared.told().recovered.iter().copied().collect()
    }

    /// Ends when every event under a key is acknowledged.
    pub(super) fn stop(mut self) -> Told {
        self.end();
        self.so_far()
    }
}

async fn subscribe(mut caller: Caller, receiver: &Receiver) {
    let subscription = json!({ "name": "subscriber", "endpoint": ENDPOINT, "target": receiver.url(),
        "retry_delays_s": vec![0; 40], "cloudevents": true });
    for (path, body) in [("/api/v1/endpoints", json!({ "name": ENDPOINT })), ("/api/v1/subscriptions", subscription)] {
        let answer = caller.write(&Method::POST, path, Some(&body), path).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{path}: {answer:?}");
    }
}

impl Hand {
    async fn publish(mut self) {
        while self.goes_on() {
            let body = format!("event-{}", self.shared.number.fetch_add(1, Ordering::Relaxed));
            match self.dice.one_in(2) {
                true => self.post_under_key(body).await,
                false => self.post_once(body).await,
            }
            self.breathe(30).await;
        }
    }

    /// Whoever gets no acknowledgement leaves it at that.
    async fn post_once(&mut self, body: String) {
        if let Some(id) = self.post(&body, None).await {
            self.shared.told().taken.insert(body, id);
        } else {
            self.shared.told().doubtful.insert(body);
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Again and again under the same key, here and there, until it is acknowledged; sometimes once more.
    async fn post_under_key(&mut self, body: String) {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let Some(id) = self.post(&body, Some(&body)).await else {
                tokio::time::sleep(AGAIN).await;
                continue;
            };
            if self.dice.one_in(5)
                && let Some(again) = self.post(&body, Some(&body)).await
                && again != id
            {
                self.shared.told().wrong.push(format!("{body} was acknowledged as {id} and as {again}"));
            }
            self.shared.told().taken.insert(body, id);
            return;
        }
        self.shared.told().wrong.push(format!("{body} was not taken within {PATIENCE:?}"));
    }

    /// One post to any server; the event's id if it was acknowledged.
    async fn post(&mut self, body: &str, key: Option<&str>) -> Option<String> {
        let urls = self.caller.known().urls;
        let server = usize::try_from(self.dice.roll(urls.len() as u64)).expect("small");
        let request = self.caller.http.post(format!("{}/in/{ENDPOINT}", urls.get(server)?)).body(body.to_owned());
        let request = key.into_iter().fold(request, |request, key| request.header("Idempotency-Key", key));
        let began = Instant::now();
        let answer = answered(request).await;
        let mut told = self.shared.told();
        told.longest = told.longest.max(began.elapsed());
        match answer {
            Ok(Answer::Taken(id)) => {
                if let Some(since) = told.since.filter(|since| *since <= began)
                    && let Some(recovered) = told.recovered.get_mut(server)
                {
                    recovered.get_or_insert_with(|| since.elapsed());
                }
                return Some(id);
            }
            Ok(Answer::Later) => told.refused += 1,
            Err(Failed::Broken(_)) if self.shared.fate == Fate::Killed => told.broken += 1,
            Err(Failed::Broken(what) | Failed::Wrong(what)) if told.wrong.len() < WRONG_MAX => {
                told.wrong.push(format!("{body} at {server} after {:?}: {what}", began.elapsed()));
            }
            Err(_) => {}
        }
        None
    }
}

enum Answer {
    Taken(String),
    Later,
}

enum Failed {
    /// No answer came.
    Broken(String),
    /// It is one that nobody should get.
    Wrong(String),
}

/// An acknowledgement or a plea to come back later; an error if it is neither.
async fn answered(request: reqwest::RequestBuilder) -> Result<Answer, Failed> {
    let broken = |error: reqwest::Error| Failed::Broken(format!("{error:?}"));
    let response = request.send().await.map_err(broken)?;
    let (status, headers) = (response.status(), response.headers().clone());
    let body: Value = response.json().await.map_err(broken)?;
    let kind = headers.get(CONTENT_TYPE).map_or(&b""[..], |kind| kind.as_bytes());
    let is_problem = kind.starts_with(b"application/problem+json");
    match (status, body["id"].as_str()) {
        (StatusCode::OK, Some(id)) => Ok(Answer::Taken(id.to_owned())),
        (StatusCode::SERVICE_UNAVAILABLE, _) if is_problem && headers.contains_key(RETRY_AFTER) => Ok(Answer::Later),
        _ => Err(Failed::Wrong(format!("answered with {status}, {headers:?}, {body}"))),
    }
}

/// The ids of all events of the publishers, when nothing is on its way any more.
pub(super) async fn events_at_rest(mut caller: Caller) -> BTreeSet<String> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let moving = caller.read("/api/v1/notifications?state=queued,running&limit=1").await.expect("an answer");
        if moving["items"] == json!([]) {
            break;
        }
        assert!(Instant::now() < deadline, "it does not come to rest: {moving}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let (mut ids, mut cursor) = (BTreeSet::new(), String::new());
    loop {
        let path = format!("/api/v1/events?endpoint={ENDPOINT}&limit=200{cursor}");
        let page: Page<EventView> = serde_json::from_value(caller.read(&path).await.expect("a page")).expect("events");
        ids.extend(page.items.into_iter().map(|event| event.id));
        match page.next_cursor {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return ids,
        }
    }
}
