//! The load: submitters with their tasks and an operator at the lanes, who go on through every crash and note what was
//! acknowledged.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use malla_protocol::Submitted;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::caller::{Answer, Caller};
use super::clients::{self, Clients};
use super::dice::Dice;
use super::record::{Lane, Record, Submission, Told, Verb};

const SUBMITTERS: usize = 3;
/// A load takes in no more than this, however long it lasts; then it only acts on what is there.
const SUBMISSIONS_MAX: usize = 5_000;
/// What no retention may touch: it waits in a paused lane.
pub(super) const KEPT: &str = "drill/kept";
const LANES: [&str; 5] = ["drill/a", "drill/b", "drill/c", "drill/d", "drill/e"];
const PRIORITIES: [&str; 3] = ["high", "normal", "low"];

#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    /// How long one try of a request may take.
    pub(super) timeout: Duration,
    /// Finished tasks may be forgotten on the way.
    pub(super) forgets: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(10), forgets: false }
    }
}

pub(super) type Load = Clients<Shared>;
type Hand = clients::Hand<Shared>;

pub(super) struct Shared {
    record: Mutex<Record>,
    keys: AtomicU64,
    options: Options,
}

impl Shared {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn new_key(&self) -> String {
        format!("load-{}", self.keys.fetch_add(1, Ordering::Relaxed))
    }
}

impl Load {
    pub(super) fn start(mut dice: Dice, options: Options) -> Self {
        let shared = Shared { record: Mutex::default(), keys: AtomicU64::new(0), options };
        let mut load = Clients::new(shared, options.timeout, &mut dice);
        for _ in 0..SUBMITTERS {
            load.add(&mut dice, Hand::submit);
        }
        load.add(&mut dice, Hand::operate);
        load
    }

    /// What is acknowledged so far, and somebody to ask about it.
    pub(super) fn so_far(&self) -> (Record, Caller) {
        (self.shared.record().clone(), self.caller.clone())
    }

    /// One more task in each lane, acknowledged.
    pub(super) fn knock_at_each_lane(&self, mut dice: Dice) {
        let mut hand = self.hand(dice.split());
        for lane in LANES {
            let told = Told { lane: lane.into(), ..plain(&mut dice) };
            self.runtime.block_on(hand.submit_these(&[told]));
        }
    }

    /// Ends when every request in hand has its answer.
    pub(super) fn stop(mut self) -> (Runtime, Record, Caller) {
        self.end();
        let record = self.shared.record().clone();
        (self.runtime, record, self.caller)
    }
}

impl Hand {
    async fn submit(mut self) {
        if self.shared.options.forgets {
            self.keep_some().await;
        }
        // Tasks that nobody else touches.
        let mut mine: Vec<String> = Vec::new();
        while self.goes_on() {
            let full = self.shared.record().submissions.len() >= SUBMISSIONS_MAX;
            match self.dice.roll(10) {
                0..6 if !full => {
                    let told: Vec<Told> = (0..=self.dice.roll(3)).map(|_| drill(&mut self.dice)).collect();
                    let new = self.submit_these(&told).await;
                    mine.extend(new);
                }
                0..8 if !full => self.shelve().await,
                _ => {
                    if let Some(id) = self.dice.pick(&mine).cloned() {
                        let verb = *self.dice.pick(&Verb::ALL).expect("there are verbs");
                        self.act(&id, verb).await;
                    }
                }
            }
            self.breathe(25).await;
        }
    }

    /// Submits tasks; the ids of those that are new.
    async fn submit_these(&mut self, told: &[Told]) -> Vec<String> {
        let body = json!({ "tasks": told.iter().map(Told::body).collect::<Vec<Value>>() });
        let key = self.shared.new_key();
        let answer = self.caller.write(&Method::POST, "/api/v1/tasks", Some(&body), &key).await;
        let Ok(Submitted { tasks }) = serde_json::from_value(answer.body.clone()) else {
            self.caller.trials.wrong(format!("a submission was answered with {answer:?}"));
            return Vec::new();
        };
        if self.dice.one_in(5) {
            let again = self.caller.write(&Method::POST, "/api/v1/tasks", Some(&body), &key).await;
            if again.body != answer.body {
                self.caller.trials.wrong(format!("{key} was answered with {answer:?}, then with {again:?}"));
            }
        }
        let new = tasks.iter().filter(|task| task.new).map(|task| task.id.clone()).collect();
        self.shared.record().submitted(told, Submission { key, body, answer: tasks });
        new
    }

    /// A task that would run in another age: paused, resumed and discarded, or left at any of these.
    async fn shelve(&mut self) {
        let told = Told { shelved: true, ..plain(&mut self.dice) };
        let Some(id) = self.submit_these(&[told]).await.pop() else { return };
        for verb in [Verb::Pause, Verb::Resume, Verb::Discard] {
            if self.dice.one_in(5) {
                return;
            }
            self.act(&id, verb).await;
        }
    }

    async fn act(&mut self, id: &str, verb: Verb) {
        let path = format!("/api/v1/tasks/{id}/{}", verb.route());
        let key = self.shared.new_key();
        let answer = self.caller.write(&Method::POST, &path, None, &key).await;
        match (answer.status, answer.code()) {
            (StatusCode::OK, _) => self.shared.record().acted(id, verb),
            (StatusCode::CONFLICT, "wrong_state" | "taken") => {}
            (StatusCode::NOT_FOUND, _) if self.shared.options.forgets => {}
            _ => self.caller.trials.wrong(format!("{verb:?} of {id} was answered with {answer:?}")),
        }
    }

    /// Tasks in a lane that is paused before anything can run there.
    async fn keep_some(&mut self) {
        let shelved = Told { lane: KEPT.into(), shelved: true, ..plain(&mut self.dice) };
        self.submit_these(&[shelved]).await;
        self.change_lane(KEPT, json!({ "paused": true })).await;
        let told = Told { lane: KEPT.into(), follow_ups: 1, ..plain(&mut self.dice) };
        self.submit_these(&vec![told; 5]).await;
    }

    /// Pauses lanes, resumes them and changes their ceilings.
    async fn operate(mut self) {
        while self.goes_on() {
            let known = self.shared.record().lanes.clone();
            let known: Vec<(String, Lane)> = known.into_iter().filter(|(key, _)| key != KEPT).collect();
            if let Some((key, lane)) = self.dice.pick(&known).cloned() {
                let change = match self.dice.roll(4) {
                    0 if !lane.paused => json!({ "paused": true }),
                    1 => json!({ "ceiling": 1 + self.dice.roll(8) }),
                    _ if lane.paused => json!({ "paused": false }),
                    _ => json!({ "ceiling": 2 + self.dice.roll(20), "paused": self.dice.one_in(8) }),
                };
                self.change_lane(&key, change).await;
            }
            self.breathe(40).await;
        }
    }

    async fn change_lane(&mut self, key: &str, change: Value) {
        let path = format!("/api/v1/lanes/{}", key.replace('/', "%2F"));
        let once = self.shared.new_key();
        let answer: Answer = self.caller.write(&Method::PATCH, &path, Some(&change), &once).await;
        if answer.status != StatusCode::OK {
            // A lane without tasks that nobody has touched may be forgotten with them.
            if answer.status != StatusCode::NOT_FOUND || !self.shared.options.forgets {
                self.caller.trials.wrong(format!("{key}: {change} was answered with {answer:?}"));
            }
            return;
        }
        let mut record = self.shared.record();
        let lane = record.lanes.entry(key.to_owned()).or_default();
        lane.paused = change["paused"].as_bool().unwrap_or(lane.paused);
        lane.ceiling = change["ceiling"].as_u64().and_then(|ceiling| ceiling.try_into().ok()).or(lane.ceiling);
    }
}

fn plain(dice: &mut Dice) -> Told {
    let lane = *dice.pick(&LANES).expect("there are lanes");
    let priority = dice.pick(&PRIORITIES).expect("there are priorities");
    Told { lane: lane.into(), priority, ceiling: 4, ..Told::default() }
}

fn drill(dice: &mut Dice) -> Told {
    let told = Told { event: dice.one_in(3), work_ms: dice.roll(20), ..plain(dice) };
    match dice.roll(12) {
        // Longer than a third of the lease, so that it is extended.
        0 => Told { work_ms: 400 + dice.roll(200), retries: 1, follow_ups: 1, ..told },
        1 => Told { fail: 3, retries: 1, follow_ups: 2, ..told },
        2 => Told { confirm_ms: Some(20 + dice.roll(200)), retries: 1, ..told },
        3 | 4 => Told { dedup: Some(format!("same-{}", dice.roll(4))), follow_ups: dice.roll(2), ..told },
        5 | 6 => Told { fail: 1 + dice.roll(2), retries: 3, follow_ups: dice.roll(4), ..told },
        _ => Told { follow_ups: dice.roll(4), retries: 1, ..told },
    }
}
