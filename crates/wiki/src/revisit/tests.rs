//! Rounds of the planner, on pages in memory and a queue that only takes in.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use malla_queue::{
    Act, Arrivals, Bulk, Ending, KindCounts, Lane, LaneChange, LaneFilter, LaneKey, LanePage, LeaseRequest, LeaseToken,
    Leases, ManualClock, Move, NewTask, Priority, Queue, Result, Retention, Room, Scope, Submitted, Task, TaskFilter,
    TaskId, TaskPage, TaskSummary, UnixMs,
};

use super::*;
use crate::dump::kept::{Kept, page, wiki};
use crate::extraction::{PROBE, VISIT};
use crate::page::{Mark, Page, Pulse};
use crate::revision::RevId;
use crate::verbs::Wikis;

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;
/// Noon of some day.
const NOON: i64 = 19_000 * DAY + 12 * HOUR;

/// Takes tasks in, each key once until it is emptied.
#[derive(Default)]
pub(crate) struct Taken(Mutex<Vec<NewTask>>);

impl Taken {
    pub(crate) fn empty(&self) -> Vec<NewTask> {
        std::mem::take(&mut *self.0.lock().expect("nobody panicked"))
    }
}

fn kept_page(pageid: i64, visited_h_ago: i64, edits: u64) -> Page {
    let ago = |hours: i64| UnixMs(NOON - hours * HOUR);
    Page {
        newest: Some(Mark { at: ago(500), revid: RevId(pageid) }),
        complete_at: Some(ago(2_000)),
        reconciled_at: Some(ago(20)),
        visited_at: Some(ago(visited_h_ago)),
        pulse: Some(Pulse { edits, first: ago(1_500), last: ago(500) }),
        ..page(pageid)
    }
}

struct World {
    kept: Arc<Kept>,
    taken: Arc<Taken>,
    clock: Arc<ManualClock>,
    planner: Planner,
}

fn world(rule: Rule, visits_per_day: u64, pages: Vec<Page>) -> World {
    let kept = Arc::new(Kept::with(|inside| {
        inside.wikis = vec![wiki(1)];
        inside.pages = pages.into_iter().map(|page| (page.pageid, page)).collect();
    }));
    let (taken, clock) = (Arc::new(Taken::default()), Arc::new(ManualClock::at(UnixMs(NOON))));
    let options = PlannerOptions {
        rule: Some(rule),
        visits_per_day,
        gap_ms: 1_000,
        reconcile_after: Duration::from_secs(30 * 86_400),
    };
    let planner = Planner::new(kept.clone() as Arc<dyn Wikis>, taken.clone(), clock.clone(), options);
    World { kept, taken, clock, planner }
}

fn pages_of(task: &NewTask, list: &str) -> Vec<i64> {
    let payload: serde_json::Value = serde_json::from_slice(&task.payload).expect("JSON");
    payload[list].as_array().expect("a list").iter().filter_map(serde_json::Value::as_i64).collect()
}

#[tokio::test]
async fn the_most_urgent_pages_are_sent_for_fifty_at_once() {
    let world = world(Rule::Adaptive, 2_400, (1..=120).map(|n| kept_page(n, n, 20)).collect());
    assert_eq!(world.planner.plan().await, Ok(100));
    let tasks = world.taken.empty();
    assert_eq!(tasks.iter().map(|task| pages_of(task, "pages").len()).collect::<Vec<_>>(), [50, 50]);
    assert_eq!(pages_of(&tasks[0], "pages")[..3], [120, 119, 118]);
    let task = &tasks[0];
    assert_eq!(
        (task.kind.as_str(), task.lane.as_str(), task.priority),
        (PROBE, "wiki/https://w.test:443", Priority::Low)
    );
    assert_eq!((task.lane_settings.ceiling, task.lane_settings.gap_ms), (1, 1_000));
}

#[tokio::test]
async fn rounds_do_not_pile_up() {
    let world = world(Rule::Uniform, 100_000, (1..=60).map(|n| kept_page(n, n, 20)).collect());
    assert_eq!(world.planner.plan().await, Ok(60));
    assert_eq!(world.planner.plan().await, Ok(0), "what was sent for still waits");
    assert_eq!(world.taken.empty().len(), 2);
    assert_eq!(world.planner.plan().await, Ok(60));
}

#[tokio::test]
async fn a_day_s_budget_is_spread_over_the_day() {
    for (visits_per_day, made, expected) in [
        (0, 0, 0),
        (2_400, 0, 100),    // 1,200 are due: at most an hour's share
        (2_400, 1_190, 10), // the rest up to noon
        (2_400, 1_200, 0),
        (2_400, 9_000, 0),
        (96, 0, 48),         // few: no more than are due
        (1_000_000, 0, 200), // there are no more pages
    ] {
        let world = world(Rule::Adaptive, visits_per_day, (1..=200).map(|n| kept_page(n, n, 20)).collect());
        let mut today = wiki(1);
        (today.visits_day, today.visits) = (NOON / DAY, made);
        world.kept.inside().wikis = vec![today.clone()];
        assert_eq!(world.planner.plan().await, Ok(expected), "{visits_per_day} {made}");
        world.taken.empty();
        // What was made yesterday does not count.
        world.kept.inside().wikis[0].visits_day -= 1;
        let fresh = world.planner.plan().await.expect("planned");
        assert!(fresh >= expected && (fresh > 0) == (visits_per_day > 0), "{visits_per_day} {made}");
    }
}

#[tokio::test]
async fn the_original_rule_comes_once_a_day_to_pages_that_are_silent_for_too_long() {
    // 20 edits in 1,000 hours: one in 50, and silent for 500.
    let busy =
        Page { pulse: Some(Pulse { edits: 2, first: UnixMs(0), last: UnixMs(NOON - HOUR) }), ..kept_page(3, 30, 2) };
    let world = world(Rule::Original, 0, vec![kept_page(1, 23, 20), kept_page(2, 24, 20), busy]);
    assert_eq!(world.planner.plan().await, Ok(1));
    assert_eq!(pages_of(&world.taken.empty()[0], "pages"), [2]);
    world.clock.advance(Duration::from_secs(3_600));
    assert_eq!(world.planner.plan().await, Ok(2));
}

#[tokio::test]
async fn pages_that_nobody_watches_that_are_gone_or_under_way_are_left_alone() {
    let unwatched = Page { watched: false, ..kept_page(1, 50, 20) };
    let mut deleted = kept_page(2, 50, 20);
    deleted.facts.deleted = true;
    let under_way = Page { complete_at: None, ..kept_page(3, 1, 20) };
    let given_up = Page { complete_at: None, ..kept_page(4, 25, 20) };
    let from_a_dump = Page { visited_at: None, complete_at: None, pulse: None, ..kept_page(5, 0, 1) };
    let world = world(Rule::Adaptive, 2_400, vec![unwatched, deleted, under_way, given_up, from_a_dump]);
    assert_eq!(world.planner.plan().await, Ok(2));
    let mut sent = pages_of(&world.taken.empty()[0], "pages");
    sent.sort_unstable();
    assert_eq!(sent, [4, 5]);
}

#[tokio::test]
async fn no_page_is_asked_about_more_often_than_once_an_hour() {
    let visited = |pageid, minutes: i64| Page {
        visited_at: Some(UnixMs(NOON - minutes * 60_000)),
        ..kept_page(pageid, 1, 1_000)
    };
    let world = world(Rule::Adaptive, 10_000, vec![visited(1, 59), visited(2, 60)]);
    assert_eq!(world.planner.plan().await, Ok(1));
    assert_eq!(pages_of(&world.taken.empty()[0], "pages"), [2]);
}

#[tokio::test]
async fn what_was_not_compared_for_long_is_compared() {
    let old = Page { reconciled_at: Some(UnixMs(NOON - 31 * DAY)), ..kept_page(1, 50, 20) };
    let never = Page { reconciled_at: None, ..kept_page(2, 50, 20) };
    let world = world(Rule::Uniform, 2_400, vec![old, never, kept_page(3, 50, 20)]);
    world.planner.plan().await.expect("planned");
    let task = &world.taken.empty()[0];
    assert_eq!((pages_of(task, "pages"), pages_of(task, "reconcile")), (vec![1, 2, 3], vec![1, 2]));
}

#[tokio::test]
async fn a_wiki_without_an_api_is_visited_page_by_page() {
    let world = world(Rule::Adaptive, 2_400, (1..=30).map(|n| kept_page(n, n, 20)).collect());
    world.kept.inside().wikis[0].scraped = true;
    assert_eq!(world.planner.plan().await, Ok(10));
    let tasks = world.taken.empty();
    assert!(tasks.iter().all(|task| task.kind.as_str() == VISIT));
    assert_eq!(tasks[0].dedup.as_deref(), Some("visit 1 30"));
}

#[tokio::test]
async fn a_round_is_bounded_and_the_next_goes_on() {
    let world = world(Rule::Uniform, 24, (1..=100_500).map(|n| kept_page(n, 1, 20)).collect());
    let first = |tasks: Vec<NewTask>| pages_of(&tasks[0], "pages")[0];
    for expected in [1, 100_001, 1] {
        world.planner.plan().await.expect("planned");
        assert_eq!(first(world.taken.empty()), expected);
    }
}

#[async_trait]
impl Queue for Taken {
    async fn submit(&self, tasks: Vec<NewTask>, _: Option<Act>) -> Result<Vec<Submitted>> {
        let mut taken = self.0.lock().expect("nobody panicked");
        let mut submitted = Vec::new();
        for task in tasks {
            let new = !taken.iter().any(|waiting| waiting.dedup.is_some() && waiting.dedup == task.dedup);
            submitted.push(Submitted { id: TaskId(taken.len() as i64), new });
            if new {
                taken.push(task);
            }
        }
        Ok(submitted)
    }
    async fn lease(&self, _: LeaseRequest) -> Result<Leases> {
        unreachable!("tasks are only taken in")
    }
    async fn extend(&self, _: &[LeaseToken], _: Duration) -> Result<Vec<LeaseToken>> {
        unreachable!("tasks are only taken in")
    }
    async fn finish(&self, _: Vec<(LeaseToken, Ending)>) -> Result<Vec<Result<()>>> {
        unreachable!("tasks are only taken in")
    }
    async fn reap(&self, _: usize) -> Result<u64> {
        unreachable!("tasks are only taken in")
    }
    async fn prune(&self, _: Retention) -> Result<u64> {
        unreachable!("tasks are only taken in")
    }
    async fn act_on(&self, _: &Scope, _: TaskId, _: Move, _: Act) -> Result<TaskSummary> {
        unreachable!("tasks are only taken in")
    }
    async fn act_on_all(&self, _: &TaskFilter, _: Option<TaskId>, _: Move, _: Act) -> Result<Bulk> {
        unreachable!("tasks are only taken in")
    }
    async fn change_lane(&self, _: &Scope, _: &LaneKey, _: LaneChange, _: Act) -> Result<Lane> {
        unreachable!("tasks are only taken in")
    }
    async fn task(&self, _: &Scope, _: TaskId) -> Result<Task> {
        unreachable!("tasks are only taken in")
    }
    async fn tasks(&self, _: &TaskFilter, _: Option<TaskId>, _: usize) -> Result<TaskPage> {
        unreachable!("tasks are only taken in")
    }
    async fn lane(&self, _: &Scope, _: &LaneKey) -> Result<Lane> {
        unreachable!("tasks are only taken in")
    }
    async fn lanes(&self, _: &Scope, _: &LaneFilter, _: Option<&LaneKey>, _: usize) -> Result<LanePage> {
        unreachable!("tasks are only taken in")
    }
    async fn counts(&self, _: &Scope) -> Result<Vec<KindCounts>> {
        unreachable!("tasks are only taken in")
    }
    async fn verify(&self) -> Result<Vec<String>> {
        unreachable!("tasks are only taken in")
    }
    fn arrivals(&self, _: &Room) -> Arrivals {
        unreachable!("tasks are only taken in")
    }
    async fn ping(&self) -> Result<()> {
        unreachable!("tasks are only taken in")
    }
}
