//! What the servers have acknowledged, and what must therefore be true of every task and lane in the end.

use std::collections::{BTreeMap, BTreeSet};

use malla_protocol::{SubmittedTask, TaskDetail, TaskState};
use serde_json::{Value, json};

/// A task that has run out its leases this often in a row may be given up: it is a rule, not a loss.
const LAPSES_MAX: usize = 10;

/// A person's verb, as the routes call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Pause,
    Resume,
    Discard,
    Retry,
    Confirm,
}

impl Verb {
    pub(super) const ALL: [Verb; 5] = [Verb::Pause, Verb::Resume, Verb::Discard, Verb::Retry, Verb::Confirm];

    pub(super) fn route(self) -> &'static str {
        match self {
            Verb::Pause => "pause",
            Verb::Resume => "resume",
            Verb::Discard => "discard",
            Verb::Retry => "retry",
            Verb::Confirm => "confirm",
        }
    }

    /// As the history calls it.
    fn entry(self) -> &'static str {
        match self {
            Verb::Pause => "paused",
            Verb::Resume => "resumed",
            Verb::Discard => "discarded",
            Verb::Retry => "resent",
            Verb::Confirm => "confirmed",
        }
    }
}

/// A drill and how it is told to behave.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    pub(super) lane: String,
    pub(super) work_ms: u64,
    pub(super) fail: u64,
    /// Further attempts, without a delay.
    pub(super) retries: usize,
    pub(super) follow_ups: u64,
    pub(super) confirm_ms: Option<u64>,
    pub(super) event: bool,
    pub(super) priority: &'static str,
    pub(super) dedup: Option<String>,
    /// To be run in another age: it waits for what its owner does with it.
    pub(super) shelved: bool,
    pub(super) ceiling: u32,
}

impl Told {
    pub(super) fn body(&self) -> Value {
        let mut payload = json!({
            "work_ms": self.work_ms, "fail": self.fail, "follow_ups": self.follow_ups, "event": self.event,
        });
        if let Some(confirm_ms) = self.confirm_ms {
            payload["confirm_ms"] = confirm_ms.into();
        }
        let mut body = json!({
            "lane": self.lane, "kind": "drill", "payload": payload, "priority": self.priority,
            "retry_delays_s": vec![0; self.retries], "ceiling": self.ceiling,
        });
        if let Some(key) = &self.dedup {
            body["dedup"] = key.as_str().into();
        }
        if self.shelved {
            body["run_at"] = "2100-01-01T00:00:00Z".into();
        }
        body
    }
}

/// A task that somebody was told of.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub(super) told: Told,
    /// Acknowledged, in their order: a task has one owner, who waits for each answer.
    pub(super) acts: Vec<Verb>,
}

/// A request that was acknowledged, and its answer.
#[derive(Debug, Clone)]
pub(super) struct Submission {
    pub(super) key: String,
    pub(super) body: Value,
    pub(super) answer: Vec<SubmittedTask>,
}

/// What an operator was told of a lane.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lane {
    pub(super) paused: bool,
    pub(super) ceiling: Option<u32>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Record {
    pub(super) submissions: Vec<Submission>,
    pub(super) tasks: BTreeMap<String, Known>,
    /// Tasks that answered for others with the same dedup key.
    pub(super) answered: BTreeSet<String>,
    pub(super) lanes: BTreeMap<String, Lane>,
}

impl Record {
    pub(super) fn submitted(&mut self, told: &[Told], submission: Submission) {
        for (told, task) in told.iter().zip(&submission.answer) {
            if task.new {
                self.lanes.entry(told.lane.clone()).or_default();
                let known = Known { told: told.clone(), acts: Vec::new() };
                self.tasks.insert(task.id.clone(), known);
            } else {
                self.answered.insert(task.id.clone());
            }
        }
        self.submissions.push(submission);
    }

    pub(super) fn acted(&mut self, id: &str, verb: Verb) {
        self.tasks.get_mut(id).expect("one acts on known tasks").acts.push(verb);
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &String> {
        self.tasks.keys().chain(&self.answered)
    }

    pub(super) fn is_shelved(&self, id: &str) -> bool {
        self.tasks.get(id).is_some_and(|known| known.told.shelved)
    }
}

impl Known {
    /// The states in which it may be when nothing moves any more.
    pub(super) fn rests_in(&self, detail: &TaskDetail) -> Vec<TaskState> {
        let told = &self.told;
        match self.acts.last() {
            Some(Verb::Discard) => return vec![TaskState::Discarded],
            Some(Verb::Pause) => return vec![TaskState::Paused],
            Some(Verb::Confirm) => return vec![TaskState::Succeeded],
            _ if told.shelved => return vec![TaskState::Queued],
            _ => {}
        }
        let lapsed = detail.history.iter().rev().take_while(|entry| entry.what != "resent");
        if lapsed.filter(|entry| entry.what == "lapsed").count() + 1 >= LAPSES_MAX {
            return vec![TaskState::Succeeded, TaskState::Failed];
        }
        match () {
            // Nobody confirmed in time, again and again; or its owner had asked for it before it was sent again.
            () if told.confirm_ms.is_some() => vec![TaskState::Failed],
            () if told.fail <= told.retries as u64 => vec![TaskState::Succeeded],
            () => vec![TaskState::Failed],
        }
    }

    /// What its history says must be what its owner was told: each verb once.
    pub(super) fn compare(&self, detail: &TaskDetail) -> Result<(), String> {
        for verb in Verb::ALL {
            let told = self.acts.iter().filter(|act| **act == verb).count();
            let there = detail.history.iter().filter(|entry| entry.what == verb.entry()).count();
            if told != there {
                return Err(format!("{} was acknowledged {told} times and happened {there} times", verb.route()));
            }
        }
        Ok(())
    }

    pub(super) fn follow_ups(&self, detail: &TaskDetail) -> u64 {
        self.told.follow_ups * endings(detail)
    }
}

/// Attempts that came to their end and had follow-ups.
fn endings(detail: &TaskDetail) -> u64 {
    detail.history.iter().filter(|entry| ["succeeded", "notified"].contains(&entry.what.as_str())).count() as u64
}

/// A task succeeds once, until somebody sends it again.
pub(super) fn succeeds_once(detail: &TaskDetail) -> Result<(), String> {
    let mut done = false;
    for entry in &detail.history {
        match entry.what.as_str() {
            "succeeded" | "confirmed" if done => return Err(format!("it succeeded twice: {:?}", detail.history)),
            "succeeded" | "confirmed" => done = true,
            "resent" => done = false,
            _ => {}
        }
    }
    Ok(())
}
