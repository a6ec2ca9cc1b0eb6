//! Which jobs: read from the address, and found in a bounded look.

use std::time::Duration;

use malla_fetch::{Job, JobId};
use malla_queue::{Scope, TaskId, UnixMs};
use tokio::time::Instant;

use crate::Console;
use crate::caller::Person;
use crate::groups;
use crate::params::Params;
use crate::refusal::Refusal;

/// The filter's names in the address.
pub(super) const NAMES: &[&str] = &["state", "group", "from", "to"];
/// Jobs that are looked at in one step where only some states are wanted, and steps of a look.
const STEP: usize = 500;
const STEPS_MAX: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobState {
    Running,
    Done,
    Cancelled,
}

impl JobState {
    pub(super) const ALL: [JobState; 3] = [JobState::Running, JobState::Done, JobState::Cancelled];

    pub(super) fn of(job: &Job) -> Self {
        match () {
            () if job.cancelled => JobState::Cancelled,
            () if job.is_over() => JobState::Done,
            () => JobState::Running,
        }
    }

    /// In addresses and files.
    pub(super) fn name(self) -> &'static str {
        match self {
            JobState::Running => "running",
            JobState::Done => "done",
            JobState::Cancelled => "cancelled",
        }
    }

    pub(super) fn told(self) -> &'static str {
        match self {
            JobState::Running => t!("running"),
            JobState::Done => t!("done"),
            JobState::Cancelled => t!("cancelled"),
        }
    }

    /// The state of tasks whose colour it has.
    pub(super) fn tone(self) -> &'static str {
        match self {
            JobState::Running => "running",
            JobState::Done => "succeeded",
            JobState::Cancelled => "discarded",
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Wanted {
    /// One group's, or all that the person sees.
    scope: Scope,
    pub(super) state: Option<JobState>,
    pub(super) from: Option<UnixMs>,
    pub(super) to: Option<UnixMs>,
    /// The filters alone, for links.
    pub(super) params: Params,
}

pub(super) struct Found {
    pub(super) jobs: Vec<Job>,
    /// Where the older ones begin.
    pub(super) next: Option<JobId>,
}

impl Wanted {
    pub(super) async fn read(console: &Console, person: &Person, params: &Params) -> Result<Self, Refusal> {
        let params = params.only(NAMES);
        let scope = person.principal.scope();
        let scope = match params.get("group") {
            Some(name) => Scope::Groups(vec![groups::named(console, &scope, name).await?]),
            None => scope,
        };
        let named = |name: &str| JobState::ALL.into_iter().find(|state| state.name() == name);
        let wrong = |name: &str| Refusal::bad(say!("\"{name}\" is not a state: running, done or cancelled", name));
        let state = params.get("state").map(|name| named(name).ok_or_else(|| wrong(name))).transpose()?;
        Ok(Self { scope, state, from: params.time("from")?, to: params.time("to")?, params })
    }

    /// Those of them that go on.
    pub(super) fn running(&self) -> Option<Self> {
        let fits = self.state.is_none_or(|state| state == JobState::Running);
        fits.then(|| Self { state: Some(JobState::Running), ..self.clone() })
    }

    /// At most `rows` that fit, newest first, below a place.
    pub(super) async fn find(
        &self,
        console: &Console,
        below: Option<JobId>,
        rows: usize,
        patience: Duration,
    ) -> malla_queue::Result<Found> {
        let young = |job: &Job| self.from.is_none_or(|from| job.id.0.submitted_at() >= from);
        let fits = |job: &Job| young(job) && self.state.is_none_or(|state| JobState::of(job) == state);
        let to = self.to.map(|to| JobId(TaskId::first_at(to)));
        // One more than are wanted says that there are more.
        let step = if self.state.is_none() { rows + 1 } else { STEP };
        let (mut found, began) = (Found { jobs: Vec::new(), next: below.into_iter().chain(to).min() }, Instant::now());
        for _ in 0..STEPS_MAX {
            let seen = console.fetch.jobs(&self.scope, found.next, step).await?;
            let last = seen.last().filter(|last| seen.len() == step && young(last));
            found.next = last.map(|job| job.id);
            found.jobs.extend(seen.into_iter().filter(fits));
            if found.jobs.len() > rows {
                found.jobs.truncate(rows);
                found.next = found.jobs.last().map(|job| job.id);
            }
            if found.next.is_none() || found.jobs.len() >= rows || began.elapsed() >= patience {
                break;
            }
        }
        Ok(found)
    }
}
