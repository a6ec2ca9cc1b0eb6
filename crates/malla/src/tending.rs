//! What a leader does for the cluster: it gives up the dead, places roles and walks through rolling restarts. Every process
//! with `/metrics` counts there what it sees of the cluster.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use malla_cluster::{Cluster, Declared, MemberId, Next, Rolling, Steady, Why, medics, next, place};
use malla_queue::{Clock, Result, SystemClock, UnixMs};
use metrics::{counter, describe_counter, describe_gauge, gauge};
use tokio::sync::watch;

use crate::config::Config;
use crate::duties::{Stop, repeat};
use crate::roles::Role;

const TEND_EVERY: Duration = Duration::from_secs(2);
/// Members that were given up are shown for this long.
const KEEP_LOST: Duration = Duration::from_secs(600);
/// A rolling restart that waits this long for one process ends.
const STALLED: Duration = Duration::from_secs(600);
const COUNT_EVERY: Duration = Duration::from_secs(5);
/// Restarts that are looked at to count the new ones.
const RESTARTS_SEEN: usize = 200;

pub(crate) struct Tending {
    cluster: Arc<dyn Cluster>,
    clock: Arc<SystemClock>,
    steady: Steady,
    dead_after: Duration,
    declared: Declared,
    /// Since when a rolling restart waits.
    waits_since: Mutex<Option<UnixMs>>,
}

impl Tending {
    pub(crate) fn new(config: &Config, cluster: Arc<dyn Cluster>, clock: Arc<SystemClock>, steady: Steady) -> Self {
        let (dead_after, declared) = (config.cluster.dead_after(), config.supervise.roles.clone());
        Self { cluster, clock, steady, dead_after, declared, waits_since: Mutex::default() }
    }

    pub(crate) async fn run(self, stop: Stop) {
        repeat("look after the cluster", Duration::ZERO, TEND_EVERY, stop, || self.tend()).await;
    }

    async fn tend(&self) -> Result<()> {
        self.give_up().await?;
        self.place().await?;
        self.roll().await
    }

    /// Only who was heard itself all the time may say that others were not: after an outage of the store everybody is late.
    async fn give_up(&self) -> Result<()> {
        if !self.steady.for_all_of(self.dead_after, self.clock.now()) {
            return Ok(());
        }
        for member in self.cluster.give_up(self.dead_after, KEEP_LOST).await? {
            let (name, roles) = (&member.name, member.roles.join(","));
            tracing::warn!(member = %member.id, name, roles, "not heard of for {:?}: given up", self.dead_after);
        }
        Ok(())
    }

    async fn place(&self) -> Result<()> {
        let (members, mut before) = tokio::try_join!(self.cluster.members(), self.cluster.assignments())?;
        if before.is_empty() && !members.iter().any(|member| member.supervises) {
            return Ok(());
        }
        let assignments = place(&self.declared, &medics(&members, &before), Role::is_waited_for);
        before.sort();
        if assignments == before {
            return Ok(());
        }
        self.cluster.assign(&assignments).await?;
        for told in &assignments {
            tracing::info!(medic = %told.medic, role = told.role, count = told.count, "assigned");
        }
        Ok(())
    }

    async fn roll(&self) -> Result<()> {
        let Some(rolling) = self.cluster.rolling().await?.filter(|rolling| rolling.ended_at.is_none()) else {
            return Ok(());
        };
        let (members, assignments) = tokio::try_join!(self.cluster.members(), self.cluster.assignments())?;
        let now = self.clock.now();
        let waits_since = match next(&rolling, &members, &assignments, now, self.dead_after) {
            Next::Ask(member) => {
                let name = members.iter().find(|other| other.id == member).map_or("", |member| &member.name);
                tracing::info!(%member, name, "rolling restart: this one is next");
                self.cluster.ask_to_restart(member).await?;
                None
            }
            Next::Wait => Some(self.waited(now).unwrap_or(now)),
            Next::Over => {
                tracing::info!("the rolling restart is over");
                self.cluster.end_rolling(rolling.id, None).await?;
                None
            }
        };
        match waits_since.filter(|since| since.until(now) >= STALLED) {
            Some(_) => self.give_in(&rolling).await?,
            None => *self.waits_since.lock().unwrap_or_else(PoisonError::into_inner) = waits_since,
        }
        Ok(())
    }

    fn waited(&self, now: UnixMs) -> Option<UnixMs> {
        self.waits_since.lock().unwrap_or_else(PoisonError::into_inner).filter(|since| *since <= now)
    }

    async fn give_in(&self, rolling: &Rolling) -> Result<()> {
        let note = format!("not every role was complete again within {} minutes", STALLED.as_secs() / 60);
        tracing::error!("the rolling restart ends early: {note}");
        self.cluster.end_rolling(rolling.id, Some(&note)).await
    }
}

/// Keeps `malla_cluster_…` true, as this process sees it.
pub(crate) async fn count(
    cluster: Arc<dyn Cluster>,
    clock: Arc<SystemClock>,
    me: watch::Receiver<Option<MemberId>>,
    stop: Stop,
) {
    describe_gauge!("malla_cluster_members", "Processes of the cluster by state.");
    describe_gauge!("malla_cluster_leader", "1 if this process leads.");
    describe_gauge!("malla_cluster_term", "The number of the last leader's term.");
    describe_counter!("malla_cluster_restarts_total", "Processes that medics started again, by role and reason.");
    let counted_to = Mutex::new(clock.now());
    let duty = || async {
        let (members, leadership, restarts) =
            tokio::try_join!(cluster.members(), cluster.leadership(), cluster.restarts(RESTARTS_SEEN))?;
        let lost = members.iter().filter(|member| member.lost_at.is_some()).count();
        #[allow(clippy::cast_precision_loss)] // there are never that many
        for (state, count) in [("alive", members.len() - lost), ("lost", lost)] {
            gauge!("malla_cluster_members", "state" => state).set(count as f64);
        }
        let now = clock.now();
        let leads = leadership.as_ref().is_some_and(|lead| Some(lead.member) == *me.borrow() && now < lead.until);
        gauge!("malla_cluster_leader").set(if leads { 1.0 } else { 0.0 });
        #[allow(clippy::cast_precision_loss)] // there are never that many
        gauge!("malla_cluster_term").set(leadership.map_or(0.0, |lead| lead.term.0 as f64));
        let mut counted_to = counted_to.lock().unwrap_or_else(PoisonError::into_inner);
        for restarted in restarts.iter().filter(|restarted| restarted.at > *counted_to) {
            let (role, why) = (restarted.role.clone(), name(restarted.why));
            counter!("malla_cluster_restarts_total", "role" => role, "why" => why).increment(1);
        }
        *counted_to = restarts.iter().map(|restarted| restarted.at).fold(*counted_to, UnixMs::max);
        Ok(())
    };
    repeat("count members", Duration::ZERO, COUNT_EVERY, stop, duty).await;
}

fn name(why: Why) -> &'static str {
    match why {
        Why::Crashed => "crashed",
        Why::Ended => "ended",
        Why::Frozen => "frozen",
        Why::Asked => "asked",
    }
}
