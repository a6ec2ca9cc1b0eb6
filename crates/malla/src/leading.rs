//! Standing for the leadership, and what the leader does. Its duties write through a store under its term, which refuses
//! them as soon as another member leads.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use malla_analyze::Analyze;
use malla_cluster::{Election, MemberId, Pace, Steady, Term};
use malla_fetch::Fetch;
use malla_fetch::tour::{KeepTours, Tours};
use malla_notify::{Statistics, Watch};
use malla_queue::{Queue, Retention, SystemClock};
use malla_store::Opened;
use malla_store::bodies::Bodies;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::analyzing;
use crate::caring::{Books, Refetching};
use crate::config::Config;
use crate::duties::{self, Stop};
use crate::fetching;
use crate::tending::Tending;
use crate::wikis::WikiRoom;

/// Rows that one step of a prune forgets.
const PRUNE_STEP: usize = 1_000;

/// A member that may lead.
pub(crate) struct Leading {
    config: Arc<Config>,
    store: Arc<Opened>,
    clock: Arc<SystemClock>,
    steady: Steady,
}

impl Leading {
    pub(crate) fn new(
        config: &Arc<Config>,
        store: &Arc<Opened>,
        clock: &Arc<SystemClock>,
        steady: Steady,
    ) -> Result<Self> {
        let leading = Self { config: config.clone(), store: store.clone(), clock: clock.clone(), steady };
        // A wrong setting is told at the start, not when this member happens to lead.
        Led::new(&leading, store)?;
        Ok(leading)
    }

    /// Stands for the leadership until told to stop, and does the duties of each term that it wins.
    pub(crate) async fn run(self, member: watch::Receiver<Option<MemberId>>, stop: Stop) {
        let lease_for = self.config.cluster.leader_lease();
        let pace = Pace { every: lease_for * 2 / 7, lease_for };
        let (term, terms) = watch::channel(None);
        let election = Election::new(self.store.cluster.clone(), pace, member);
        tokio::join!(election.run(term, stop), self.serve(terms));
    }

    /// Until the election is over.
    async fn serve(&self, mut terms: watch::Receiver<Option<Term>>) {
        loop {
            let Ok(won) = terms.wait_for(Option::is_some).await.map(|won| *won) else { return };
            if let Some(term) = won {
                self.lead(term, &mut terms).await;
                // One that was deposed stays so, even if the election has not noticed yet.
                let _ = terms.wait_for(|now| *now != won).await;
            }
        }
    }

    /// Does the duties until the term is over, or until one of them is refused.
    async fn lead(&self, term: Term, terms: &mut watch::Receiver<Option<Term>>) {
        let led = match Led::new(self, &self.store.under(term)) {
            Ok(led) => led,
            Err(error) => return tracing::error!(%error, %term, "cannot lead"),
        };
        let (stop, told) = watch::channel(false);
        let mut duties = led.start(&told);
        tokio::select! {
            _ = terms.wait_for(|now| *now != Some(term)) => {}
            ended = duties.join_next() => match ended {
                Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                _ => tracing::warn!(%term, "a duty was refused because another member leads now: standing down"),
            }
        }
        stop.send_replace(true);
        duties.shutdown().await;
    }
}

/// What the duties of a leader need.
struct Led {
    queue: Arc<dyn Queue>,
    statistics: Arc<dyn Statistics>,
    alerts: Watch,
    fetch: Arc<dyn Fetch>,
    tours: Arc<dyn Tours>,
    analyze: Arc<dyn Analyze>,
    wiki: WikiRoom,
    planner: Option<malla_wiki::revisit::Planner>,
    listener: Option<malla_wiki::stream::Listener>,
    bodies: Arc<dyn Bodies>,
    moves_bodies: bool,
    tending: Tending,
    retention: Retention,
    prune_every: Duration,
    fetch_keep: malla_fetch::Keep,
    tours_keep: KeepTours,
    books: Books,
    refetching: Refetching,
    analyze_keep: malla_analyze::Keep,
    extractions_for: Duration,
}

impl Led {
    /// On the store of a term.
    fn new(leading: &Leading, store: &Opened) -> Result<Self> {
        let Leading { config, clock, steady, .. } = leading;
        let wiki = WikiRoom::new(config, store)?;
        Ok(Self {
            queue: store.queue.clone(),
            statistics: store.statistics.clone(),
            alerts: Watch::new(store.alerts.clone(), store.notify.clone(), store.statistics.clone(), clock.clone()),
            fetch: store.fetch.clone(),
            tours: store.tours.clone(),
            analyze: store.analyze.clone(),
            planner: wiki.planner(&store.queue, clock),
            listener: wiki.listener(&store.queue)?,
            wiki,
            bodies: store.bodies.clone(),
            moves_bodies: config.moves_bodies(),
            tending: Tending::new(config, store.cluster.clone(), clock.clone(), steady.clone()),
            retention: retention(config),
            prune_every: Duration::from_secs(config.retention.every_s),
            fetch_keep: fetching::keep(config),
            tours_keep: fetching::keep_tours(config),
            books: Books::new(&config.credit, store, clock),
            refetching: Refetching::new(config, store),
            analyze_keep: analyzing::keep(config),
            extractions_for: config.kept_for(config.wiki.keep_days),
        })
    }

    /// What a leader does now and then, for the cluster, for the queue and for each room. None of it ends before it is told,
    /// except when it is refused.
    fn start(self, stop: &Stop) -> JoinSet<()> {
        let mut duties = JoinSet::new();
        let stop = || stop.clone();
        duties.spawn(self.tending.run(stop()));
        duties.spawn(duties::reap(self.queue.clone(), stop()));
        duties.spawn(duties::prune(self.queue, self.statistics, self.retention, self.prune_every, stop()));
        duties.spawn(duties::look_after_alerts(self.alerts, stop()));
        duties.spawn(duties::trim(self.fetch.clone(), self.fetch_keep, stop()));
        duties.spawn(duties::answer_orphans(self.fetch, stop()));
        duties.spawn(self.books.keep(stop()));
        duties.spawn(self.refetching.run(stop()));
        duties.spawn(duties::sweep_tours(self.tours, self.tours_keep, stop()));
        duties.spawn(duties::sweep_extractions(self.wiki.wikis.clone(), self.extractions_for, stop()));
        duties.spawn(duties::sweep_studies(self.analyze, self.analyze_keep, stop()));
        duties.spawn(duties::collect_objects(self.bodies.clone(), stop()));
        if self.moves_bodies {
            duties.spawn(duties::move_bodies(self.bodies, stop()));
        }
        if let Some(planner) = self.planner {
            duties.spawn(duties::revisit(planner, stop()));
        }
        if let Some(listener) = self.listener {
            let stop = stop();
            duties.spawn(async move { listener.run(stop).await });
        }
        duties
    }
}

fn retention(config: &Config) -> Retention {
    Retention {
        tasks: config.kept_for(config.retention.tasks_days),
        events: config.kept_for(config.retention.events_days),
        audit: config.kept_for(config.retention.audit_days),
        step: PRUNE_STEP,
    }
}

#[cfg(test)]
mod tests {
    use malla_cluster::{Membership, NewMember};
    use malla_queue::{Clock as _, Error, Limits};

    use super::*;
    use crate::config::{Sources, load};

    /// Longer than any duty rests before it writes.
    const PATIENCE: Duration = Duration::from_secs(30);

    fn member(name: &str) -> NewMember {
        NewMember {
            name: name.into(),
            machine: "here".into(),
            address: None,
            roles: vec!["medic".into()],
            version: "1".into(),
            medic: None,
            supervises: false,
        }
    }

    #[tokio::test]
    async fn a_leader_that_was_deposed_stops_at_its_first_refused_write() {
        let data = tempfile::tempdir().expect("a directory");
        let clock = Arc::new(SystemClock::default());
        let url = format!("sqlite:{}", data.path().join("malla.db").display());
        let store = Arc::new(malla_store::open(&url, clock.clone(), Limits::default()).await.expect("opens"));
        let config = Arc::new(load(Sources::default()).expect("loads").config().expect("valid"));
        let cluster = store.cluster.clone();
        let steady = Membership::new(cluster.clone(), clock.clone(), member("a"), Duration::from_secs(3)).steady();
        let leading = Leading::new(&config, &store, &clock, steady).expect("its settings are fine");
        let (first, second) = (cluster.join(member("a")).await, cluster.join(member("b")).await);
        let lease = Duration::from_millis(1);
        let won = cluster.campaign(first.expect("joined"), lease).await.expect("free");
        // Nobody has told it that its lease is over.
        let (_term, mut terms) = watch::channel(Some(won.term));
        while clock.now() <= won.until {
            tokio::time::sleep(lease).await;
        }
        let next = cluster.campaign(second.expect("joined"), PATIENCE).await.expect("free again");
        assert!(next.term > won.term);

        let refused = store.under(won.term).cluster.assign(&[]).await;
        assert_eq!(refused, Err(Error::Deposed));
        let led = tokio::time::timeout(PATIENCE, leading.lead(won.term, &mut terms));
        led.await.expect("a duty is refused, and that ends the term");
        store.close().await;
    }
}
