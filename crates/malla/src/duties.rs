//! What has to be done now and then: send overdue tasks back, forget what is old, count for `/metrics`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use malla_analyze::Analyze;
use malla_fetch::tour::{KeepTours, Tours};
use malla_fetch::{Fetch, Keep};
use malla_notify::{Dispatcher, Notify, Statistics, Watch};
use malla_queue::{Error, Kind, Queue, Result, Retention, Scope, State, StateCounts};
use malla_store::bodies::{Bodies, Place};
use malla_wiki::Wikis;
use malla_wiki::revisit::Planner;
use metrics::{counter, describe_counter, gauge};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};

use crate::notifying::Notifying;

pub(crate) type Stop = watch::Receiver<bool>;

const REAP_EVERY: Duration = Duration::from_secs(1);
const REAP_STEP: usize = 1_000;
/// The first one waits until the start is over.
const PRUNE_FIRST: Duration = Duration::from_secs(60);
/// Between two steps of a prune, so that others get their turn at the store.
const PRUNE_REST: Duration = Duration::from_millis(50);
const COUNT_EVERY: Duration = Duration::from_secs(5);
const LISTEN_EVERY: Duration = Duration::from_secs(2);
const DISPATCH_EVERY: Duration = Duration::from_millis(500);
const SWEEP_EVERY: Duration = Duration::from_secs(1);
const SWEEP_STEP: usize = 100;
/// Searching reads what is not indexed yet, so there is no hurry.
const INDEX_EVERY: Duration = Duration::from_secs(2);
const INDEX_STEP: usize = 250;
const ORPHANS_EVERY: Duration = Duration::from_secs(2);
const ORPHANS_STEP: usize = 100;
const TOURS_EVERY: Duration = Duration::from_secs(5);
const STUDIES_EVERY: Duration = Duration::from_secs(2);
const REVISIT_EVERY: Duration = Duration::from_secs(60);
const TRIM_EVERY: Duration = Duration::from_secs(10);
const RECORD_EVERY: Duration = Duration::from_secs(2);
const OBJECTS_EVERY: Duration = Duration::from_secs(60);
/// Bodies that are moved between two lines in the log.
const MOVES_A_LINE: u64 = 10_000;
const MOVE_EVERY: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_secs(10);
const WATCH_EVERY: Duration = Duration::from_secs(10);

/// Sends tasks whose holder went silent back to their lanes.
pub(crate) async fn reap(queue: Arc<dyn Queue>, stop: Stop) {
    describe_counter!("malla_reaped_total", "Tasks whose lease or confirmation ran out.");
    let reaped = counter!("malla_reaped_total");
    let duty = || async {
        loop {
            let tasks = queue.reap(REAP_STEP).await?;
            reaped.increment(tasks);
            if tasks < REAP_STEP as u64 {
                return Ok(());
            }
        }
    };
    repeat("send overdue tasks back", Duration::ZERO, REAP_EVERY, stop, duty).await;
}

/// Sees to it that each MQTT endpoint is listened to by one process.
pub(crate) async fn keep_listening(notify: Arc<dyn Notify>, queue: Arc<dyn Queue>, stop: Stop) {
    let duty = || async { malla_notify::mqtt::ensure_listening(&notify, &queue).await.map(drop) };
    repeat("look after listeners", Duration::ZERO, LISTEN_EVERY, stop, duty).await;
}

/// Answers those who wait for pages that nobody will fetch any more.
pub(crate) async fn answer_orphans(fetch: Arc<dyn Fetch>, stop: Stop) {
    let duty = || async {
        while fetch.answer_orphans(ORPHANS_STEP).await? > 0 {}
        Ok(())
    };
    repeat("answer for pages that were given up", ORPHANS_EVERY, ORPHANS_EVERY, stop, duty).await;
}

/// Keeps the cache within its bounds and forgets old jobs, pages and devices, in small steps.
pub(crate) async fn trim(fetch: Arc<dyn Fetch>, keep: Keep, stop: Stop) {
    let duty = || async {
        while fetch.trim(keep).await? > 0 {
            tokio::time::sleep(PRUNE_REST).await;
        }
        Ok(())
    };
    repeat("keep the cache within its bounds", TRIM_EVERY, TRIM_EVERY, stop, duty).await;
}

/// Ends tours that cannot end by themselves, and forgets the old, in small steps.
pub(crate) async fn sweep_tours(tours: Arc<dyn Tours>, keep: KeepTours, stop: Stop) {
    let duty = || async {
        while tours.sweep_tours(keep).await? > 0 {
            tokio::time::sleep(PRUNE_REST).await;
        }
        Ok(())
    };
    repeat("look after crawls and watches", TOURS_EVERY, TOURS_EVERY, stop, duty).await;
}

/// Removes objects that no row names any more, in small steps.
pub(crate) async fn collect_objects(bodies: Arc<dyn Bodies>, stop: Stop) {
    let duty = || async {
        while bodies.collect().await?.more {
            tokio::time::sleep(PRUNE_REST).await;
        }
        Ok(())
    };
    repeat("remove objects that nobody needs", MOVE_EVERY, OBJECTS_EVERY, stop, duty).await;
}

/// Moves bodies to where new ones are kept, from the first to the last, once.
pub(crate) async fn move_bodies(bodies: Arc<dyn Bodies>, stop: Stop) {
    // Where the next step goes on, and what was moved up to there.
    let progress = std::sync::Mutex::new((Some(Place::Page(i64::MIN)), 0, 0));
    let duty = || async {
        loop {
            let (Some(after), before, sum) = *progress.lock().expect("nobody panics while holding it") else {
                return Ok(());
            };
            let moved = bodies.relocate(Some(after)).await?;
            let (count, sum) = (before + moved.bodies, sum + moved.bytes);
            *progress.lock().expect("nobody panics while holding it") = (moved.next, count, sum);
            if moved.next.is_none() || count / MOVES_A_LINE > before / MOVES_A_LINE {
                let done = if moved.next.is_none() { ", that is all: bodies.move can be taken back" } else { "" };
                tracing::info!("{count} bodies ({} MB) were moved{done}", sum / 1_000_000);
            }
            tokio::time::sleep(PRUNE_REST).await;
        }
    };
    repeat("move bodies", MOVE_EVERY, MOVE_EVERY, stop, duty).await;
}

/// Looks whether the object store is there, in every process: each has its own way to it.
pub(crate) async fn look_at_bodies(bodies: Arc<dyn Bodies>, stop: Stop) {
    // What is wrong is said by the store itself, once.
    let duty = || async {
        let _ = bodies.look().await;
        Ok(())
    };
    repeat("look at the object store", Duration::ZERO, LOOK_EVERY, stop, duty).await;
}

/// Ends analyses that cannot end by themselves, and drops what belongs to those that are over, in small steps.
pub(crate) async fn sweep_studies(analyze: Arc<dyn Analyze>, keep: malla_analyze::Keep, stop: Stop) {
    let duty = || async {
        while analyze.sweep(keep).await? > 0 {
            tokio::task::yield_now().await;
        }
        Ok(())
    };
    repeat("look after analyses", STUDIES_EVERY, STUDIES_EVERY, stop, duty).await;
}

/// Ends extractions that cannot end by themselves and forgets the old, in small steps.
pub(crate) async fn sweep_extractions(wikis: Arc<dyn Wikis>, keep: Duration, stop: Stop) {
    let duty = || async {
        while wikis.sweep(keep, SWEEP_STEP).await? > 0 {
            tokio::task::yield_now().await;
        }
        Ok(())
    };
    repeat("look after extractions", STUDIES_EVERY, STUDIES_EVERY, stop, duty).await;
}

/// Sends for pages that may have changed.
pub(crate) async fn revisit(planner: Planner, stop: Stop) {
    repeat("plan visits of wikis", REVISIT_EVERY, REVISIT_EVERY, stop, || async { planner.plan().await.map(drop) })
        .await;
}

/// Gives Malla's own events their notifications.
pub(crate) async fn dispatch(notify: Arc<dyn Notify>, stop: Stop) {
    let dispatcher = Dispatcher::new(notify);
    let duty = || async {
        while dispatcher.run_once().await? > 0 {}
        Ok(())
    };
    repeat("dispatch own events", Duration::ZERO, DISPATCH_EVERY, stop, duty).await;
}

/// Discards what waits in disabled subscriptions, in small steps.
pub(crate) async fn sweep(notify: Arc<dyn Notify>, stop: Stop) {
    let duty = || async {
        while notify.sweep(SWEEP_STEP).await? > 0 {
            tokio::task::yield_now().await;
        }
        Ok(())
    };
    repeat("sweep disabled subscriptions", Duration::ZERO, SWEEP_EVERY, stop, duty).await;
}

/// Makes the bodies of events searchable, in small steps, and rests nine times as long as each took: a rush of events
/// comes first, and a search reads what is not indexed yet.
pub(crate) async fn index(notify: Arc<dyn Notify>, stop: Stop) {
    let duty = || async {
        loop {
            let began = Instant::now();
            if notify.index(INDEX_STEP).await? == 0 {
                return Ok(());
            }
            tokio::time::sleep(began.elapsed() * 9).await;
        }
    };
    repeat("index events", INDEX_EVERY, INDEX_EVERY, stop, duty).await;
}

/// Forgets what is old, in small steps.
pub(crate) async fn prune(
    queue: Arc<dyn Queue>,
    statistics: Arc<dyn Statistics>,
    retention: Retention,
    every: Duration,
    stop: Stop,
) {
    let duty = || async {
        let mut forgotten = 0;
        loop {
            let step = queue.prune(retention).await? + statistics.forget_figures(retention.step).await?;
            forgotten += step;
            if step == 0 {
                break;
            }
            tokio::time::sleep(PRUNE_REST).await;
        }
        if forgotten > 0 {
            tracing::info!(forgotten, "old tasks, events, figures and audit lines are forgotten");
        }
        Ok(())
    };
    repeat("forget what is old", PRUNE_FIRST.min(every), every, stop, duty).await;
}

/// Writes down the figures of this process.
pub(crate) async fn record(notifying: Arc<Notifying>, stop: Stop) {
    repeat("write statistics", RECORD_EVERY, RECORD_EVERY, stop, || notifying.record()).await;
}

/// Looks whether alerts are to be sent.
pub(crate) async fn look_after_alerts(watch: Watch, stop: Stop) {
    let duty = || async { watch.run_once().await.map(drop) };
    repeat("look after alerts", WATCH_EVERY, WATCH_EVERY, stop, duty).await;
}

/// Keeps `malla_tasks` true.
pub(crate) async fn count(queue: Arc<dyn Queue>, stop: Stop) {
    let seen = tokio::sync::Mutex::new(BTreeSet::new());
    let duty = || async {
        let counts = queue.counts(&Scope::All).await?;
        let mut seen = seen.lock().await;
        // A kind whose tasks are all forgotten has no row any more, but its gauge must fall to zero.
        let gone: Vec<Kind> = seen.iter().filter(|kind| !counts.iter().any(|c| c.kind == **kind)).cloned().collect();
        for kind in gone {
            show(&kind, &StateCounts::default());
            seen.remove(&kind);
        }
        for row in counts {
            show(&row.kind, &row.counts);
            seen.insert(row.kind);
        }
        Ok(())
    };
    repeat("count tasks", Duration::ZERO, COUNT_EVERY, stop, duty).await;
}

fn show(kind: &Kind, counts: &StateCounts) {
    for state in State::ALL {
        #[allow(clippy::cast_precision_loss)] // counts fit
        gauge!("malla_tasks", "kind" => kind.to_string(), "state" => state.name()).set(counts.of(state) as f64);
    }
}

/// Does `duty` again and again until told to stop, or until it is refused because another member leads. Another failure is
/// told once, not every time.
pub(crate) async fn repeat<D, F>(what: &str, first: Duration, every: Duration, mut stop: Stop, duty: D)
where
    D: Fn() -> F,
    F: Future<Output = Result<()>>,
{
    let mut tick = tokio::time::interval_at(Instant::now() + first, every);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut failing = false;
    loop {
        let once = async {
            tick.tick().await;
            duty().await
        };
        let done = tokio::select! {
            done = once => done,
            _ = stop.wait_for(|stop| *stop) => return,
        };
        match done {
            Err(Error::Deposed) => return,
            Err(error) if !failing => {
                failing = true;
                tracing::warn!(%error, "cannot {what}, trying again every {every:?}");
            }
            Ok(()) if failing => {
                failing = false;
                tracing::info!("can {what} again");
            }
            _ => {}
        }
    }
}
