//! Publishers who post events without pause, some under keys and some without, and note what they were told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::receiver::Delivery;

use super::dice::Dice;

const PUBLISHERS: usize = 6;
/// No store is away for as long as this.
const PATIENCE: Duration = Duration::from_secs(120);
/// Longer than a server lets anybody wait.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Enough to see what is wrong.
const WRONG_MAX: usize = 10;
/// Before the next post after one that was not taken.
const AGAIN: Duration = Duration::from_millis(100);

/// What the publishers were told.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    /// The bodies that were acknowledged, and the ids of their events.
    pub(super) taken: BTreeMap<String, String>,
    /// Posted once, without a key, and not acknowledged: such an event may be there or not, but not twice.
    pub(super) doubtful: BTreeSet<String>,
    /// Answers that asked to come back later.
    pub(super) refused: u64,
    pub(super) longest: Duration,
    pub(super) wrong: Vec<String>,
    /// Since when, and after how long each server acknowledged a post that was begun then or later.
    since: Option<Instant>,
    recovered: Vec<Option<Duration>>,
}

pub(super) struct Publishers {
    runtime: Runtime,
    shared: Arc<Shared>,
    hands: JoinSet<()>,
}

struct Shared {
    /// Where each server takes events.
    urls: Vec<String>,
    http: reqwest::Client,
    number: AtomicU64,
    stop: AtomicBool,
    told: Mutex<Told>,
}

impl Shared {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Publishers {
    /// `urls`: where each server takes events.
    pub(super) fn start(urls: Vec<String>, mut dice: Dice) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().timeout(TIMEOUT).build().expect("an HTTP client");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let (number, stop, told) = (AtomicU64::new(0), AtomicBool::new(false), Mutex::default());
        let shared = Arc::new(Shared { urls, http, number, stop, told });
        let mut hands = JoinSet::new();
        for _ in 0..PUBLISHERS {
            let hand = Hand { shared: shared.clone(), dice: dice.split() };
            hands.spawn_on(hand.publish(), runtime.handle());
        }
        Self { runtime, shared, hands }
    }

    pub(super) fn so_far(&self) -> Told {
        self.shared.told().clone()
    }

    /// From now on, [`Publishers::recovered`] waits for each server's next acknowledgement.
    pub(super) fn watch(&self) {
        let mut told = self.shared.told();
        told.since = Some(Instant::now());
        told.recovered = vec![None; self.shared.urls.len()];
    }

    /// How long it took each server to acknowledge something again, once all have.
    pub(super) fn recovered(&self) -> Option<Vec<Duration>> {
        self.shared.told().recovered.iter().copied().collect()
    }

    /// Ends when every event under a key is acknowledged.
    pub(super) fn stop(mut self) -> Told {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.runtime.block_on(async {
            while let Some(ended) = self.hands.join_next().await {
                ended.expect("a publisher comes to its end");
            }
        });
        self.so_far()
    }
}

struct Hand {
    shared: Arc<Shared>,
    dice: Dice,
}

impl Hand {
    async fn publish(mut self) {
        while !self.shared.stop.load(Ordering::Relaxed) {
            let body = format!("event-{}", self.shared.number.fetch_add(1, Ordering::Relaxed));
            match self.dice.one_in(2) {
                true => self.post_under_key(body).await,
                false => self.post_once(body).await,
            }
            tokio::time::sleep(Duration::from_millis(self.dice.roll(30))).await;
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
        let server = usize::try_from(self.dice.roll(self.shared.urls.len() as u64)).expect("small");
        let request = self.shared.http.post(&self.shared.urls[server]).body(body.to_owned());
        let request = key.into_iter().fold(request, |request, key| request.header("Idempotency-Key", key));
        let began = Instant::now();
        let answer = answered(request).await;
        let mut told = self.shared.told();
        told.longest = told.longest.max(began.elapsed());
        match answer {
            Ok(Answer::Taken(id)) => {
                if let Some(since) = told.since.filter(|since| *since <= began) {
                    told.recovered[server].get_or_insert_with(|| since.elapsed());
                }
                return Some(id);
            }
            Ok(Answer::Later) => told.refused += 1,
            // The servers live all the time: nobody is left without an answer.
            Err(what) if told.wrong.len() < WRONG_MAX => {
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

/// An acknowledgement or a plea to come back later; an error if it is neither.
async fn answered(request: reqwest::RequestBuilder) -> Result<Answer, String> {
    let response = request.send().await.map_err(|error| format!("{error:?}"))?;
    let (status, headers) = (response.status(), response.headers().clone());
    let body: Value = response.json().await.map_err(|error| format!("{error:?}"))?;
    let kind = headers.get(CONTENT_TYPE).map_or(&b""[..], |kind| kind.as_bytes());
    let is_problem = kind.starts_with(b"application/problem+json");
    match (status, body["id"].as_str()) {
        (StatusCode::OK, Some(id)) => Ok(Answer::Taken(id.to_owned())),
        (StatusCode::SERVICE_UNAVAILABLE, _) if is_problem && headers.contains_key(RETRY_AFTER) => Ok(Answer::Later),
        _ => Err(format!("answered with {status}, {headers:?}, {body}")),
    }
}

impl Told {
    /// Whether every event that was acknowledged has arrived.
    pub(super) fn all_arrived(&self, deliveries: &[Delivery]) -> bool {
        let arrived: BTreeSet<_> = deliveries.iter().map(|delivery| String::from_utf8_lossy(&delivery.body)).collect();
        self.taken.keys().all(|body| arrived.contains(body.as_str()))
    }

    /// Compares what was told with the events that are there and with what the subscriber got when all has come to
    /// rest: nothing is lost and nothing is there twice.
    pub(super) fn audit(&self, there: &BTreeSet<String>, deliveries: &[Delivery]) {
        assert_eq!(self.wrong, [""; 0], "answers that nobody should get");
        let mut arrived: BTreeMap<String, (BTreeSet<&str>, BTreeSet<&str>)> = BTreeMap::new();
        for delivery in deliveries {
            let body = String::from_utf8_lossy(&delivery.body).into_owned();
            let (events, notifications) = arrived.entry(body).or_default();
            events.insert(delivery.header("ce-id"));
            notifications.insert(delivery.header("webhook-id"));
        }
        for (body, id) in &self.taken {
            assert!(there.contains(id), "acknowledged and gone: {body} with the id {id}");
            let Some((events, _)) = arrived.get(body) else { panic!("acknowledged and never delivered: {body}") };
            assert!(events.contains(id.as_str()), "{body} was acknowledged as {id} and arrived as {events:?}");
        }
        for (body, (events, notifications)) in &arrived {
            assert!(self.taken.contains_key(body) || self.doubtful.contains(body), "nobody posted \"{body}\"");
            assert_eq!((events.len(), notifications.len()), (1, 1), "{body} is there as {events:?}: {notifications:?}");
        }
        let arrived: BTreeSet<&str> = arrived.values().flat_map(|(events, _)| events.iter().copied()).collect();
        let missing: Vec<&String> = there.iter().filter(|id| !arrived.contains(id.as_str())).collect();
        assert!(missing.is_empty(), "events that nobody was told of and that did not arrive: {missing:?}");
    }
}

mod tests {
    use std::panic::catch_unwind;

    use super::*;

    fn delivery(body: &str, event: &str, notification: &str) -> Delivery {
        let headers =
            [("ce-id", event), ("webhook-id", notification)].map(|(name, id)| (name.to_owned(), id.to_owned()));
        Delivery { method: "POST".into(), path: "/".into(), headers: headers.into(), body: body.into() }
    }

    /// One event acknowledged and one in doubt; `there` are the events in the store.
    #[track_caller]
    fn check(there: &[&str], deliveries: &[Delivery], words: Option<&str>) {
        let told = Told {
            taken: [("one".to_owned(), "1".to_owned())].into(),
            doubtful: ["two".to_owned()].into(),
            ..Told::default()
        };
        let there = there.iter().map(|id| (*id).to_owned()).collect();
        let found = catch_unwind(|| told.audit(&there, deliveries));
        let said = found.err().map(|panic| panic.downcast_ref::<String>().cloned().unwrap_or_default());
        let as_expected = match (words, &said) {
            (Some(words), Some(said)) => said.contains(words),
            (words, said) => words.is_none() && said.is_none(),
        };
        assert!(as_expected, "{said:?} instead of {words:?}");
    }

    #[test]
    fn the_audit_of_events_finds_what_is_lost_and_what_is_there_twice() {
        let (one, two) = (delivery("one", "1", "a"), delivery("two", "2", "b"));
        check(&["1"], &[one.clone(), one.clone()], None);
        check(&["1", "2"], &[one.clone(), two.clone()], None);
        check(&["2"], &[one.clone(), two.clone()], Some("acknowledged and gone: one"));
        check(&["1"], &[], Some("acknowledged and never delivered: one"));
        check(&["1", "3"], &[delivery("one", "3", "c")], Some("was acknowledged as 1 and arrived as"));
        check(&["1", "3"], &[one.clone(), delivery("one", "3", "c")], Some("one is there as"));
        check(&["1", "2", "3"], &[one.clone(), two, delivery("two", "3", "c")], Some("two is there as"));
        check(&["1"], &[one.clone(), delivery("three", "3", "c")], Some("nobody posted \"three\""));
        check(&["1", "3"], &[one], Some("that did not arrive: [\"3\"]"));
    }
}
