//! The verbs. Each is one whole transaction; no transaction ever leaves a store.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::{
    Act, Bulk, Ending, GroupId, Kind, Lane, LaneChange, LaneFilter, LaneKey, LanePage, LeaseRequest, LeaseToken,
    Leases, Move, NewTask, Result, Room, State, StateCounts, Submitted, Task, TaskId, TaskSummary, UnixMs,
};

/// Whose things a caller may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    All,
    Groups(Vec<GroupId>),
}

impl Scope {
    pub fn sees(&self, group: Option<GroupId>) -> bool {
        match self {
            Scope::All => true,
            Scope::Groups(groups) => group.is_some_and(|group| groups.contains(&group)),
        }
    }
}

/// Which tasks. Every condition that is given must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFilter {
    pub scope: Scope,
    pub states: Vec<State>,
    pub room: Option<String>,
    pub kind: Option<Kind>,
    pub lane: Option<LaneKey>,
    pub group: Option<GroupId>,
    pub parent: Option<TaskId>,
    /// Submitted at or after.
    pub from: Option<UnixMs>,
    /// Submitted before.
    pub to: Option<UnixMs>,
}

impl TaskFilter {
    pub fn all(scope: Scope) -> Self {
        Self {
            scope,
            states: Vec::new(),
            room: None,
            kind: None,
            lane: None,
            group: None,
            parent: None,
            from: None,
            to: None,
        }
    }
}

impl TaskFilter {
    /// This filter, narrowed to the states from which `verb` leads somewhere; `None` if there are none.
    /// What waits in a paused lane shows as paused but is queued by itself, so `paused` stays where `queued` may.
    pub fn narrowed_to(&self, verb: Move) -> Option<TaskFilter> {
        let asked = |state: &State| self.states.is_empty() || self.states.contains(state);
        let leads = |state: &State| {
            state.after(verb).is_some() || (*state == State::Paused && State::Queued.after(verb).is_some())
        };
        let states: Vec<_> = State::ALL.into_iter().filter(asked).filter(leads).collect();
        (!states.is_empty()).then(|| TaskFilter { states, ..self.clone() })
    }

    /// The groups whose tasks may match; `None` if any may.
    pub fn groups(&self) -> Option<Vec<GroupId>> {
        match (&self.scope, self.group) {
            (Scope::All, None) => None,
            (scope, Some(group)) => Some(if scope.sees(Some(group)) { vec![group] } else { Vec::new() }),
            (Scope::Groups(groups), None) => Some(groups.clone()),
        }
    }
}

#[derive(Debug, Clone)]
pub struct TaskPage {
    /// Newest first.
    pub tasks: Vec<TaskSummary>,
    /// Go on below this id; `None` at the end. A page may be short, even empty, and still go on:
    /// a filter that matches little is answered in bounded steps.
    pub next: Option<TaskId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindCounts {
    pub kind: Kind,
    #[serde(flatten)]
    pub counts: StateCounts,
}

/// What may be forgotten.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// Finished tasks submitted before this long ago.
    pub tasks: Duration,
    pub events: Duration,
    pub audit: Duration,
    /// Rows in one step, so that nobody waits for it.
    pub step: usize,
}

/// Tells waiting workers that tasks arrived or lanes opened in a room.
pub type Arrivals = watch::Receiver<u64>;

#[async_trait]
pub trait Queue: Send + Sync + 'static {
    /// Takes tasks in, all or none. When this returns they survive a crash.
    /// With an [`Act`], its audit line and idempotency key are stored with them; a repeat gives the first answer.
    async fn submit(&self, tasks: Vec<NewTask>, act: Option<Act>) -> Result<Vec<Submitted>>;

    /// Takes leases on due tasks: lanes that have waited longest first, each no more than its ceiling and gap allow.
    async fn lease(&self, request: LeaseRequest) -> Result<Leases>;

    /// Moves the end of these leases to `lease_for` from now. Returns those that are lost.
    async fn extend(&self, tokens: &[LeaseToken], lease_for: Duration) -> Result<Vec<LeaseToken>>;

    /// Ends leases, each with what becomes of its task: state, result, events and follow-ups become visible together
    /// or not at all. A token that is no longer the task's is refused with [`Error::LeaseLost`](crate::Error::LeaseLost) and changes nothing;
    /// the others in the call are not touched by that. The same ending given twice counts once.
    async fn finish(&self, endings: Vec<(LeaseToken, Ending)>) -> Result<Vec<Result<()>>>;

    /// Sends tasks whose lease or confirmation is overdue back to their lanes. Returns how many.
    async fn reap(&self, limit: usize) -> Result<u64>;

    /// Forgets what is old, one bounded step. Returns how many rows went; zero when there is nothing left to forget.
    async fn prune(&self, retention: Retention) -> Result<u64>;

    /// A person's verb on one task. [`Error::WrongState`](crate::Error::WrongState) if it makes no sense there.
    async fn act_on(&self, scope: &Scope, task: TaskId, verb: Move, act: Act) -> Result<TaskSummary>;

    /// A person's verb on all that match and can take it, newest first, one bounded step from `below` on.
    /// The next step begins where this one ended, so that a task resent here and failed again is not resent twice.
    async fn act_on_all(&self, filter: &TaskFilter, below: Option<TaskId>, verb: Move, act: Act) -> Result<Bulk>;

    async fn change_lane(&self, scope: &Scope, lane: &LaneKey, change: LaneChange, act: Act) -> Result<Lane>;

    async fn task(&self, scope: &Scope, id: TaskId) -> Result<Task>;

    async fn tasks(&self, filter: &TaskFilter, below: Option<TaskId>, limit: usize) -> Result<TaskPage>;

    async fn lane(&self, scope: &Scope, key: &LaneKey) -> Result<Lane>;

    /// Lanes in the order of their keys.
    async fn lanes(
        &self,
        scope: &Scope,
        filter: &LaneFilter,
        after: Option<&LaneKey>,
        limit: usize,
    ) -> Result<LanePage>;

    /// How many tasks of each kind are in each state, from counters: it costs the same with a million tasks.
    async fn counts(&self, scope: &Scope) -> Result<Vec<KindCounts>>;

    /// Compares every counter with what it counts and every lane with its tasks, and says what is wrong.
    /// This reads everything: for tests and for an operator with a doubt.
    async fn verify(&self) -> Result<Vec<String>>;

    /// A signal that changes whenever something may have become ready in `room`.
    fn arrivals(&self, room: &Room) -> Arrivals;

    /// Whether the store answers and can write.
    async fn ping(&self) -> Result<()>;
}
