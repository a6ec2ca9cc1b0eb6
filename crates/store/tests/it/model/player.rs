//! Plays random verbs on a store and on the model side by side.

use std::collections::BTreeMap;
use std::time::Duration;

use malla_queue::{
    Clock as _, Error, Failure, LaneChange, LaneFilter, LaneKey, LaneSettings, Leased, Move, NewTask, NextTry, Outcome,
    Overdue, Priority, Retention, RetryDelays, Scope, State, TaskFilter, TaskId, UnixMs, Verdict,
};

use super::Dice;
use super::world::{ModelLane, ModelTask, World};
use crate::harness::{House, LEASE, act, lane, task};

/// Steps between two comparisons of everything.
const COMPARE_EVERY: usize = 20;

pub(crate) struct Player {
    house: House,
    world: World,
    dice: Dice,
    /// Leases taken and not yet ended by us, lost ones included.
    held: Vec<Leased>,
    steps: usize,
    guard: Guard,
}

/// Prints the seed and what was done last if the test panics.
struct Guard {
    seed: u64,
    log: Vec<String>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let last = self.log.len().saturating_sub(25);
            eprintln!("the last steps:\n  {}", self.log[last..].join("\n  "));
            eprintln!("play it again with MALLA_MODEL_SEED={}", self.seed);
        }
    }
}

impl Player {
    pub(crate) fn new(house: House, seed: u64) -> Self {
        let guard = Guard { seed, log: Vec::new() };
        Self { house, world: World::default(), dice: Dice::new(seed), held: Vec::new(), steps: 0, guard }
    }

    fn now(&self) -> UnixMs {
        self.house.clock.now()
    }

    fn log(&mut self, what: String) {
        self.guard.log.push(what);
    }

    pub(crate) async fn step(&mut self) {
        self.steps += 1;
        match self.dice.roll(20) {
            0..=4 => self.submit().await,
            5..=8 => self.lease().await,
            9..=12 => self.finish().await,
            13 => self.extend().await,
            14 => self.reap().await,
            15 | 16 => self.advance(),
            17 => self.act().await,
            18 if self.dice.one_in(3) => self.prune().await,
            18 => self.act_on_all().await,
            _ => self.change_lane().await,
        }
        if self.steps.is_multiple_of(COMPARE_EVERY) {
            self.compare_all().await;
        }
    }

    fn new_task(&mut self) -> NewTask {
        let name = ["a", "b", "c", "d"][self.dice.roll(4)];
        let delay = [0, 0, 0, 1_000, 60_000][self.dice.roll(5)];
        let retry =
            [RetryDelays::none(), RetryDelays::seconds([1]), RetryDelays::seconds([0, 30])][self.dice.roll(3)].clone();
        NewTask {
            lane_settings: LaneSettings {
                ceiling: 1 + self.dice.roll(3) as u32,
                gap_ms: [0, 0, 500][self.dice.roll(3)],
            },
            priority: Priority::ALL[self.dice.roll(3)],
            run_at: (delay > 0).then(|| self.now().plus(Duration::from_millis(delay))),
            dedup: self.dice.one_in(4).then(|| ["k", "l"][self.dice.roll(2)].to_owned()),
            retry,
            ..task(name)
        }
    }

    async fn submit(&mut self) {
        let count = 1 + self.dice.roll(4);
        let tasks: Vec<_> = (0..count).map(|_| self.new_task()).collect();
        let answers = self.house.queue.submit(tasks.clone(), None).await.expect("submits");
        self.log(format!("submit {count}: {answers:?}"));
        self.learn_lanes().await;
        let now = self.now();
        for (task, answer) in tasks.iter().zip(answers) {
            match self.world.holder_of(task.dedup.as_ref()) {
                Some(first) => assert_eq!((answer.id, answer.new), (first, false)),
                None => {
                    assert!(answer.new);
                    self.world.submit(answer.id, task, now);
                }
            }
        }
    }

    /// Which of several tasks makes a new lane is the store's choice: learn it from the store.
    async fn learn_lanes(&mut self) {
        let found = self.house.queue.lanes(&Scope::All, &LaneFilter::default(), None, 200).await.expect("lists");
        for lane in found.lanes {
            let made = ModelLane { settings: lane.settings, paused: false, next_start_at: 0 };
            self.world.lanes.entry(lane.key).or_insert(made);
        }
    }

    async fn lease(&mut self) {
        let limit = 1 + self.dice.roll(5);
        let run_max = [1, 1, 3][self.dice.roll(3)];
        let some: Vec<LaneKey> = self.world.lanes.keys().filter(|_| self.dice.one_in(2)).cloned().collect();
        let lanes = self.dice.one_in(4).then_some(some);
        // Lanes that stood in line for nothing are put right on the way, so a few calls may be needed.
        for _ in 0..8 {
            let leased = self.house.lease_runs(limit, run_max, lanes.clone()).await;
            let tasks: Vec<_> = leased.iter().map(|leased| leased.token.task).collect();
            self.log(format!("lease {limit} in runs of {run_max} from {lanes:?}: {tasks:?}"));
            assert!(leased.len() <= limit);
            self.check_leases(&leased, run_max, lanes.as_deref());
            let now = self.now();
            let got_some = !leased.is_empty();
            self.held.extend(leased);
            if got_some || !self.world.can_start(lanes.as_deref(), now) {
                return;
            }
        }
        let now = self.now();
        let startable: Vec<_> = self.world.lanes.keys().filter_map(|lane| self.world.next_of(lane, now)).collect();
        let findings = self.house.queue.verify().await;
        panic!("{startable:?} could start, but nothing was leased; the store says {findings:?}");
    }

    /// Takes the leases over, after checking that each was its lane's next and allowed, or went on with a run.
    fn check_leases(&mut self, leased: &[Leased], run_max: usize, lanes: Option<&[LaneKey]>) {
        let now = self.now();
        let mut runs: BTreeMap<LaneKey, usize> = BTreeMap::new();
        for leased in leased {
            let (lane, task) = (&leased.lane, leased.token.task);
            assert!(lanes.is_none_or(|lanes| lanes.contains(lane)), "{task} is of a lane that was not asked for");
            let next = match runs.get_mut(lane) {
                Some(length) if *length < run_max => {
                    *length += 1;
                    self.world.first_in_line(lane, now)
                }
                _ => self.world.next_of(lane, now),
            };
            assert_eq!(next, Some(task), "not the lane's next");
            if self.world.lanes[lane].settings.ceiling == 1 && self.world.running(lane) == 0 {
                runs.insert(lane.clone(), 1);
            }
            self.world.lease(leased, now);
        }
    }

    fn verdict(&mut self) -> Verdict {
        let rest = self.dice.one_in(6).then_some(Duration::from_secs(2));
        match self.dice.roll(6) {
            0 | 1 => {
                let follow_ups = (0..self.dice.roll(3)).map(|_| self.new_task()).collect();
                Verdict::Done(Outcome { follow_ups, lane_rest: rest, ..Outcome::default() })
            }
            2 => Verdict::Done(Outcome { confirm_within: Some(Duration::from_secs(20)), ..Outcome::default() }),
            3 => Verdict::Failed(Failure { lane_rest: rest, ..Failure::new("no") }),
            4 => Verdict::Failed(Failure { next: NextTry::Never, ..Failure::new("never") }),
            _ => Verdict::Released { note: "bye".into() },
        }
    }

    async fn finish(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let mut endings = Vec::new();
        for _ in 0..1 + self.dice.roll(3) {
            let index = self.dice.roll(self.held.len());
            let leased = self.held[index].clone();
            // Which of two tokens of one task is remembered depends on their order: not of interest here.
            if endings.iter().any(|(token, _): &(malla_queue::LeaseToken, _)| token.task == leased.token.task) {
                continue;
            }
            let ending = self.verdict().ending(&leased, self.now());
            endings.push((leased.token, ending));
            // Keep some, to end them a second time.
            if !self.dice.one_in(4) {
                self.held.remove(index);
            }
            if self.held.is_empty() {
                break;
            }
        }
        let before: Vec<TaskId> = self.world.tasks.keys().copied().collect();
        let answers = self.house.queue.finish(endings.clone()).await.expect("the store answers");
        self.log(format!(
            "finish {:?}: {answers:?}",
            endings.iter().map(|(t, e)| (t.task, e.state)).collect::<Vec<_>>()
        ));
        let mut follow_ups = Vec::new();
        for ((token, ending), answer) in endings.iter().zip(&answers) {
            let applies = self.world.tasks[&token.task].lease.is_some_and(|(nonce, _)| nonce == token.nonce);
            let accepted = self.world.finish(*token, ending);
            assert_eq!(answer.is_ok(), accepted, "{answer:?}");
            if applies {
                follow_ups.extend(ending.follow_ups.iter().map(|task| (token.task, task)));
            }
        }
        self.find_follow_ups(&before, &follow_ups).await;
    }

    /// The store gave the follow-ups their ids: find them, in order, and check that there are no others.
    async fn find_follow_ups(&mut self, before: &[TaskId], expected: &[(TaskId, &NewTask)]) {
        let mut known = self.ids().await;
        known.retain(|id| !before.contains(id));
        known.sort_unstable();
        let mut fresh = known.into_iter();
        self.learn_lanes().await;
        let now = self.now();
        for (parent, task) in expected {
            if self.world.holder_of(task.dedup.as_ref()).is_none() {
                let id = fresh.next().expect("a follow-up is missing");
                let found = self.house.queue.task(&Scope::All, id).await.expect("it is there").summary;
                assert_eq!((found.parent, found.lane), (Some(*parent), task.lane.clone()));
                self.world.submit(id, task, now);
            }
        }
        assert_eq!(fresh.next(), None, "a task came from nowhere");
    }

    async fn ids(&self) -> Vec<TaskId> {
        let (mut ids, mut below) = (Vec::new(), None);
        loop {
            let page = self.house.queue.tasks(&TaskFilter::all(Scope::All), below, 200).await.expect("lists");
            ids.extend(page.tasks.iter().map(|task| task.id));
            below = page.next;
            if below.is_none() {
                return ids;
            }
        }
    }

    async fn extend(&mut self) {
        let tokens: Vec<_> = self.held.iter().map(|leased| leased.token).collect();
        let lost = self.house.queue.extend(&tokens, LEASE).await.expect("extends");
        self.log(format!("extend {}: lost {}", tokens.len(), lost.len()));
        let expires = self.now().plus(LEASE).0;
        for token in tokens {
            let task = self.world.tasks.get_mut(&token.task).expect("there");
            let mine = task.lease.is_some_and(|(nonce, _)| nonce == token.nonce);
            assert_eq!(!lost.contains(&token), mine);
            if mine {
                task.lease = Some((token.nonce, expires));
            }
        }
    }

    async fn reap(&mut self) {
        let reaped = self.house.queue.reap(1_000).await.expect("reaps");
        self.log(format!("reap: {reaped}"));
        let now = self.now();
        let overdue = |task: &ModelTask| match task.state {
            State::Running => task.lease.is_some_and(|(_, expires)| expires <= now.0),
            State::Notified => task.run_at <= now.0,
            _ => false,
        };
        let found: Vec<_> =
            self.world.tasks.iter().filter(|(_, task)| overdue(task)).map(|(id, task)| (*id, task.clone())).collect();
        assert_eq!(reaped, found.len() as u64);
        for (id, task) in found {
            let lease = task.lease.map(|_| (now, "m".to_owned()));
            let gap = Duration::from_millis(self.world.lanes[&task.lane].settings.gap_ms);
            let overdue = Overdue {
                task: id,
                lane: task.lane,
                kind: malla_queue::Kind::new("drill"),
                group: None,
                retry: task.retry,
                failures: task.failures,
                lapses: task.lapses,
                gap,
                lease,
            };
            self.world.apply(id, &overdue.ending(now));
        }
    }

    fn advance(&mut self) {
        let by = [1, 300, 1_000, 5_000, 31_000][self.dice.roll(5)];
        self.log(format!("advance {by} ms"));
        self.house.clock.advance(Duration::from_millis(by));
    }

    async fn act(&mut self) {
        let ids: Vec<TaskId> = self.world.tasks.keys().copied().collect();
        let Some(id) = self.dice.pick(&ids).copied() else { return };
        let verb = Move::ALL[self.dice.roll(5)];
        let answer = self.house.queue.act_on(&Scope::All, id, verb, act("task.verb")).await;
        self.log(format!("{verb:?} {id}: {answer:?}"));
        let now = self.now();
        match self.world.act(id, verb, now) {
            Some(()) => assert_eq!(answer.expect("allowed").state, self.world.shown_state(&self.world.tasks[&id])),
            None => assert!(matches!(answer, Err(Error::WrongState { .. } | Error::Taken(_))), "{answer:?}"),
        }
    }

    async fn act_on_all(&mut self) {
        let verb = Move::ALL[self.dice.roll(4)];
        let filter = TaskFilter {
            lane: self.dice.one_in(2).then(|| lane(["a", "b"][self.dice.roll(2)])),
            states: if self.dice.one_in(2) { vec![State::ALL[self.dice.roll(7)]] } else { vec![] },
            ..TaskFilter::all(Scope::All)
        };
        let bulk = self.house.queue.act_on_all(&filter, None, verb, act("task.verb")).await.expect("acts");
        self.log(format!("{verb:?} all {:?} {:?}: {bulk:?}", filter.lane, filter.states));
        let now = self.now();
        let matching = self.world.matching(&filter);
        // Among several that want the same dedup key, which one gets it is the store's choice: learn it from the store.
        let mut changed = 0;
        let mut undecided = Vec::new();
        for id in matching {
            let wants =
                verb == Move::Resend && self.world.tasks[&id].dedup.is_some() && self.world.tasks[&id].state.is_final();
            if wants {
                undecided.push(id);
            } else if self.world.act(id, verb, now).is_some() {
                changed += 1;
            }
        }
        for id in undecided {
            let state = self.house.state(id).await;
            if !state.is_final() {
                assert!(self.world.act(id, verb, now).is_some(), "{id} was resent though its key is taken");
                changed += 1;
            }
        }
        assert_eq!(bulk.changed, changed);
    }

    async fn change_lane(&mut self) {
        let keys: Vec<LaneKey> = self.world.lanes.keys().cloned().collect();
        let Some(key) = self.dice.pick(&keys).cloned() else { return };
        let change = match self.dice.roll(4) {
            0 => LaneChange { paused: Some(true), ..LaneChange::default() },
            1 => LaneChange { paused: Some(false), ..LaneChange::default() },
            2 => LaneChange { ceiling: Some(1 + self.dice.roll(4) as u32), ..LaneChange::default() },
            _ => LaneChange { gap_ms: Some([0, 200, 2_000][self.dice.roll(3)]), ..LaneChange::default() },
        };
        self.log(format!("{key}: {change:?}"));
        self.house.queue.change_lane(&Scope::All, &key, change, act("lane.change")).await.expect("changes");
        let now = self.now();
        self.world.change_lane(&key, change, now);
    }

    async fn prune(&mut self) {
        let age = Duration::from_secs(30);
        let retention = Retention { tasks: age, events: age, audit: age, step: 1_000 };
        self.house.queue.prune(retention).await.expect("prunes");
        self.log("prune".into());
        let before = TaskId::first_at(self.now().minus(age));
        self.world.tasks.retain(|id, task| !(task.state.is_final() && *id < before));
        self.held.retain(|leased| self.world.tasks.contains_key(&leased.token.task));
        // Empty lanes may be forgotten with them, and then come back as they are made anew.
        let lanes = self.house.queue.lanes(&Scope::All, &LaneFilter::default(), None, 200).await.expect("lists");
        let there: Vec<_> = lanes.lanes.into_iter().map(|lane| lane.key).collect();
        self.world.lanes.retain(|key, _| there.contains(key));
        assert!(self.world.tasks.values().all(|task| there.contains(&task.lane)), "a lane with tasks was forgotten");
    }

    /// The store and the model say the same of every task, the counters are right and nothing is stuck.
    pub(crate) async fn compare_all(&mut self) {
        let ids = self.ids().await;
        let expected: Vec<TaskId> = self.world.tasks.keys().rev().copied().collect();
        assert_eq!(ids, expected);
        for (id, expected) in &self.world.tasks {
            let found = self.house.queue.task(&Scope::All, *id).await.expect("there");
            let summary = found.summary;
            assert_eq!(summary.state, self.world.shown_state(expected), "task {id}");
            assert_eq!((summary.failures, &summary.lane), (expected.failures, &expected.lane), "task {id}");
            assert_eq!(found.history.len(), expected.history, "history of {id}");
            if !summary.state.is_final() && summary.state != State::Running {
                assert_eq!(summary.run_at, Some(UnixMs(expected.run_at)), "task {id}");
            }
        }
        for state in State::ALL {
            let filter = TaskFilter { states: vec![state], ..TaskFilter::all(Scope::All) };
            let mut listed = Vec::new();
            let mut below = None;
            loop {
                let page = self.house.queue.tasks(&filter, below, 200).await.expect("lists");
                listed.extend(page.tasks.iter().map(|task| task.id));
                below = page.next;
                if below.is_none() {
                    break;
                }
            }
            assert_eq!(listed, self.world.matching(&filter), "{state}");
        }
        let counts = self.house.queue.counts(&Scope::All).await.expect("counts");
        for state in State::ALL {
            let counted: u64 = counts.iter().map(|kind| kind.counts.of(state)).sum();
            let expected = self.world.tasks.values().filter(|task| self.world.shown_state(task) == state).count();
            assert_eq!(counted, expected as u64, "{state}");
        }
        self.house.verify().await;
    }
}
