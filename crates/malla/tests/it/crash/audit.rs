//! The audit: everything acknowledged is there, nothing is there twice, nothing is stuck, and the store agrees with
//! itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::stream::{self, StreamExt as _};
use malla_protocol::{LaneView, Page, Submitted, TaskDetail, TaskState, TaskView};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::caller::{Caller, Gone};
use super::load::KEPT;
use super::record::{Known, Record, Verb, succeeds_once};
use super::world::LEASE;

/// When all has come to rest: the leases of the dead, the pace of the medic, and two minutes for tasks that lost their lease so
/// often in a row that they wait apart from the others.
pub(super) const REST: Duration = LEASE.saturating_mul(20).saturating_add(Duration::from_secs(128));
const POLL: Duration = Duration::from_millis(50);
/// Details read at the same time.
const AT_ONCE: usize = 8;

/// Numbers for the summary.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Findings {
    pub(super) tasks: u64,
    pub(super) forgotten: u64,
    pub(super) lapsed: u64,
    pub(super) broken: u64,
    pub(super) away: u64,
    pub(super) longest_ms: u64,
}

impl Findings {
    pub(super) fn add(&mut self, other: &Findings) {
        self.tasks += other.tasks;
        self.forgotten += other.forgotten;
        self.lapsed += other.lapsed;
        self.broken += other.broken;
        self.away += other.away;
        self.longest_ms = self.longest_ms.max(other.longest_ms);
    }
}

/// In the middle of the load: what was acknowledged is there, and the store agrees with itself.
pub(super) async fn quick(caller: Caller, record: &Record, forgets: bool) -> Result<(), Gone> {
    let mut audit = Audit { caller, forgets };
    let there: BTreeSet<String> = audit.tasks("").await?.into_iter().map(|task| task.id).collect();
    audit.nothing_is_lost(record, &there);
    audit.store_agrees().await
}

/// When the load has ended and a server is up: all of it, to the last task. What it lets go is added to the record.
pub(super) async fn full(caller: Caller, record: &mut Record, forgets: bool) -> Findings {
    let mut audit = Audit { caller, forgets };
    audit.all(record).await.expect("the server stays up during the audit")
}

struct Audit {
    caller: Caller,
    forgets: bool,
}

impl Audit {
    async fn all(&mut self, record: &mut Record) -> Result<Findings, Gone> {
        assert_eq!(self.caller.trials.all_wrong(), [""; 0], "answers that nobody should get");
        self.comes_to_rest(record).await?;
        self.lanes_are_as_told(record).await?;
        self.let_go(record).await;
        self.comes_to_rest(record).await?;
        let there = self.tasks("").await?;
        let ids = there.iter().map(|task| task.id.clone()).collect();
        self.nothing_is_lost(record, &ids);
        let details = self.details(&there).await?;
        self.nothing_is_there_twice(record, &details);
        self.everything_is_as_told(record, &details);
        self.repeats_are_harmless(record).await;
        self.store_agrees().await?;
        assert_eq!(self.caller.trials.all_wrong(), [""; 0], "answers that nobody should get");
        let lapsed = details.iter().flat_map(|task| &task.history).filter(|entry| entry.what == "lapsed");
        let trials = &self.caller.trials;
        Ok(Findings {
            tasks: details.len() as u64,
            forgotten: record.ids().filter(|id| !ids.contains(*id)).count() as u64,
            lapsed: lapsed.count() as u64,
            broken: trials.broken.load(Ordering::Relaxed),
            away: trials.away.load(Ordering::Relaxed),
            longest_ms: trials.longest_ms.load(Ordering::Relaxed),
        })
    }

    /// Nothing runs and nothing waits any more, but what its owner shelved or paused.
    async fn comes_to_rest(&mut self, record: &Record) -> Result<(), Gone> {
        let deadline = Instant::now() + REST;
        loop {
            let mut moving = self.tasks("state=queued,running,notified").await?;
            moving.retain(|task| task.state != TaskState::Queued || !record.is_shelved(&task.id));
            if moving.is_empty() {
                return Ok(());
            }
            if Instant::now() > deadline {
                let stuck = self.details(&moving).await?;
                let wrong = self.problems().await?;
                panic!("{} tasks never came to rest, such as {:#?}\n{wrong:?}", moving.len(), stuck.first());
            }
            tokio::time::sleep(POLL).await;
        }
    }

    async fn lanes_are_as_told(&mut self, record: &Record) -> Result<(), Gone> {
        for (key, told) in &record.lanes {
            if told.ceiling.is_none() && !told.paused {
                continue;
            }
            let lane = self.caller.read(&format!("/api/v1/lanes/{}", key.replace('/', "%2F"))).await?;
            let lane: LaneView = serde_json::from_value(lane).expect("a lane");
            assert_eq!(lane.paused, told.paused, "{key} and its pause: {lane:?}");
            assert!(told.ceiling.is_none_or(|ceiling| ceiling == lane.ceiling), "{key}: {told:?}, but {lane:?}");
            // It has come to rest, so a paused lane has let nothing go and another one has kept nothing back.
            assert_eq!(lane.counts.running, 0, "{lane:?}");
        }
        Ok(())
    }

    /// Resumes every lane and discards what is shelved or paused, so that the rest can come to its end.
    async fn let_go(&mut self, record: &mut Record) {
        for (key, lane) in &mut record.lanes {
            if lane.paused {
                let path = format!("/api/v1/lanes/{}", key.replace('/', "%2F"));
                let resume = json!({ "paused": false });
                let answer = self.caller.write(&Method::PATCH, &path, Some(&resume), &format!("resume-{key}")).await;
                assert_eq!(answer.status, StatusCode::OK, "{key}: {answer:?}");
                lane.paused = false;
            }
        }
        for (id, known) in &mut record.tasks {
            let waits = known.told.shelved || known.acts.last() == Some(&Verb::Pause);
            if waits && known.acts.last() != Some(&Verb::Discard) {
                let path = format!("/api/v1/tasks/{id}/discard");
                let answer = self.caller.write(&Method::POST, &path, None, &format!("let-go-{id}")).await;
                assert_eq!(answer.status, StatusCode::OK, "{id} {known:?}: {answer:?}");
                known.acts.push(Verb::Discard);
            }
        }
    }

    fn nothing_is_lost(&self, record: &Record, there: &BTreeSet<String>) {
        let may_go = |id: &&String| self.forgets && record.tasks.get(*id).is_none_or(|known| known.told.lane != KEPT);
        let lost: Vec<_> = record.ids().filter(|id| !there.contains(*id) && !may_go(id)).collect();
        assert!(lost.is_empty(), "acknowledged and gone: {lost:?}");
    }

    /// Each task is one that somebody was told of, or follows one; and each of these has as many as it was told.
    fn nothing_is_there_twice(&self, record: &Record, details: &[TaskDetail]) {
        let mut follow_ups: BTreeMap<&str, u64> = BTreeMap::new();
        for TaskDetail { task, .. } in details {
            match &task.parent {
                Some(parent) => *follow_ups.entry(parent).or_default() += 1,
                None => assert!(record.tasks.contains_key(&task.id), "nobody was told of {task:?}"),
            }
        }
        if self.forgets {
            return;
        }
        for detail in details {
            let expected = record.tasks.get(&detail.task.id).map_or(0, |known| known.follow_ups(detail));
            let there = follow_ups.get(detail.task.id.as_str()).copied().unwrap_or(0);
            assert_eq!(there, expected, "follow-ups of {detail:#?}");
        }
    }

    fn everything_is_as_told(&self, record: &Record, details: &[TaskDetail]) {
        let follower = Known { told: super::record::Told::default(), acts: Vec::new() };
        for detail in details {
            let known = record.tasks.get(&detail.task.id).unwrap_or(&follower);
            let states = known.rests_in(detail);
            assert!(states.contains(&detail.task.state), "{known:?} should be {states:?}, but {detail:#?}");
            known
                .compare(detail)
                .and(succeeds_once(detail))
                .unwrap_or_else(|why| panic!("{why}: {known:?} {detail:#?}"));
        }
    }

    /// Every acknowledged submission, sent again under its key, is answered as before.
    async fn repeats_are_harmless(&self, record: &Record) {
        let repeated = stream::iter(&record.submissions).map(|submission| {
            let mut caller = self.caller.clone();
            async move {
                let body = Some(&submission.body);
                let answer = caller.write(&Method::POST, "/api/v1/tasks", body, &submission.key).await;
                let tasks = serde_json::from_value(answer.body.clone()).map(|Submitted { tasks }| tasks);
                assert_eq!(
                    tasks.ok().as_ref(),
                    Some(&submission.answer),
                    "the answer to {}: {answer:?}",
                    submission.key
                );
            }
        });
        repeated.buffer_unordered(AT_ONCE).collect::<()>().await;
    }

    async fn store_agrees(&mut self) -> Result<(), Gone> {
        let problems = self.problems().await?;
        assert_eq!(problems, json!([]), "the store disagrees with itself");
        Ok(())
    }

    async fn problems(&mut self) -> Result<Value, Gone> {
        Ok(self.caller.read("/api/v1/verify").await?["problems"].take())
    }

    /// The load's own: others may be at work on the same store.
    async fn tasks(&mut self, filter: &str) -> Result<Vec<TaskView>, Gone> {
        let mut tasks = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = self.caller.read(&format!("/api/v1/tasks?limit=200&room=drill&{filter}{cursor}")).await?;
            let page: Page<TaskView> = serde_json::from_value(page).expect("a page of tasks");
            tasks.extend(page.items);
            match page.next_cursor {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Ok(tasks),
            }
        }
    }

    async fn details(&self, tasks: &[TaskView]) -> Result<Vec<TaskDetail>, Gone> {
        let paths: Vec<String> = tasks.iter().map(|task| format!("/api/v1/tasks/{}", task.id)).collect();
        let read = stream::iter(paths).map(|path| {
            let mut caller = self.caller.clone();
            async move {
                let detail = caller.read(&path).await?;
                Ok(serde_json::from_value(detail).expect("a task"))
            }
        });
        read.buffer_unordered(AT_ONCE).collect::<Vec<_>>().await.into_iter().collect()
    }
}
