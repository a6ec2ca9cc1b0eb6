//! The worker loop: lease in batches, run up to a limit at once, keep the leases alive, finish in batches.
//!
//! It wakes when work arrives, backs off while the store is away, and on shutdown lets what runs come to its end
//! within the grace, then gives the rest back.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::{FutureExt, select_all};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

mod finisher;

use finisher::{Ends, Finished};

use crate::{Clock, Failure, Holder, LeaseRequest, LeaseToken, Leased, Leases, Queue, Room, Verdict, crash};

/// What a room does with a task.
#[async_trait]
pub trait Work: Send + Sync + 'static {
    /// One attempt. It may be cancelled at any await: the lease is lost, or the process must go.
    /// `None`: the lease was ended already, by a verb of the room.
    async fn work(&self, task: &Leased) -> Option<Verdict>;
}

#[derive(Debug, Clone)]
pub struct Options {
    pub rooms: Vec<Room>,
    pub holder: Holder,
    /// Tasks in hand at once, from the lease to its end.
    pub concurrency: usize,
    /// Tasks in one lease and in one finish.
    pub batch: usize,
    pub lease_for: Duration,
    /// Look again after this long even if nothing was announced.
    pub idle_max: Duration,
    /// How long running tasks may go on after shutdown began.
    pub grace: Duration,
}

/// The shortest and longest wait before the store is asked again after it failed.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// A lane may be ready and yet give nothing (another node is at it): never spin on it.
const WAIT_MIN: Duration = Duration::from_millis(1);
/// Small leases are put off this long in the hope of a larger one: each is a transaction.
const GATHER: Duration = Duration::from_millis(2);

/// Runs until `shutdown` turns true and everything in hand is finished or given back.
pub async fn run(
    queue: Arc<dyn Queue>,
    work: Arc<dyn Work>,
    clock: Arc<dyn Clock>,
    options: Options,
    shutdown: watch::Receiver<bool>,
) {
    let slots = Arc::new(Semaphore::new(options.concurrency));
    let hand = Arc::new(Hand::default());
    let (ends, mut finishers) = finisher::start(&queue, &clock, &hand, &options);
    let heart = tokio::spawn(keep_alive(queue.clone(), clock.clone(), hand.clone(), options.lease_for));

    let mut running = JoinSet::new();
    lease_until_shutdown(&queue, &work, &clock, &options, shutdown, &slots, &hand, &ends, &mut running).await;

    let deadline = Instant::now() + options.grace;
    while let Ok(Some(_)) = tokio::time::timeout_at(deadline, running.join_next()).await {}
    running.shutdown().await;
    for leased in hand.unfinished() {
        let note = "the worker was shutting down".to_owned();
        ends.send(Finished { leased, verdict: Verdict::Released { note }, slot: None }).await;
    }
    drop(ends);
    while finishers.join_next().await.is_some() {}
    heart.abort();
}

/// What this worker holds.
#[derive(Default)]
struct Hand {
    held: Mutex<HashMap<LeaseToken, Held>>,
}

struct Held {
    leased: Leased,
    running: Option<AbortHandle>,
    /// The work is over and only the finish is outstanding.
    ended: bool,
}

impl Hand {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<LeaseToken, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_up(&self, leased: Leased) {
        self.lock().insert(leased.token, Held { leased, running: None, ended: false });
    }

    fn started(&self, token: LeaseToken, abort: AbortHandle) {
        if let Some(held) = self.lock().get_mut(&token) {
            held.running = Some(abort);
        }
    }

    /// The work has ended; false if the lease was lost meanwhile.
    fn ended(&self, token: LeaseToken) -> bool {
        match self.lock().get_mut(&token) {
            Some(held) => {
                held.ended = true;
                true
            }
            None => false,
        }
    }

    fn put_down(&self, token: LeaseToken) {
        self.lock().remove(&token);
    }

    fn lose(&self, token: LeaseToken) {
        if let Some(Held { leased, running, .. }) = self.lock().remove(&token) {
            tracing::warn!(task = %leased.token.task, lane = %leased.lane, "lease lost, work dropped");
            if let Some(running) = running {
                running.abort();
            }
        }
    }

    fn tokens(&self) -> Vec<LeaseToken> {
        self.lock().keys().copied().collect()
    }

    fn unfinished(&self) -> Vec<Leased> {
        self.lock().values().filter(|held| !held.ended).map(|held| held.leased.clone()).collect()
    }
}

#[allow(clippy::too_many_arguments)]
async fn lease_until_shutdown(
    queue: &Arc<dyn Queue>,
    work: &Arc<dyn Work>,
    clock: &Arc<dyn Clock>,
    options: &Options,
    mut shutdown: watch::Receiver<bool>,
    slots: &Arc<Semaphore>,
    hand: &Arc<Hand>,
    ends: &Ends,
    running: &mut JoinSet<()>,
) {
    let mut arrivals: Vec<_> = options.rooms.iter().map(|room| queue.arrivals(room)).collect();
    let mut back_off = BACK_OFF.0;
    while !*shutdown.borrow() {
        while running.try_join_next().is_some() {}
        let Some(room) = free_slots(slots, options.batch, &mut shutdown).await else { break };
        for arrival in &mut arrivals {
            arrival.mark_unchanged();
        }
        let request = LeaseRequest::new(options.rooms.clone(), room, options.holder.clone(), options.lease_for);
        let wait = match queue.lease(request).await {
            Ok(Leases { tasks, next_at }) => {
                back_off = BACK_OFF.0;
                crash::point("worker.leased");
                let took = tasks.len();
                for leased in tasks {
                    let slot = slots.clone().try_acquire_owned().ok();
                    start(leased, slot, work, hand, ends, running);
                }
                match next_at {
                    _ if took == room => Duration::ZERO,
                    Some(at) => clock.now().until(at).clamp(WAIT_MIN, options.idle_max),
                    None => options.idle_max,
                }
            }
            Err(error) => {
                tracing::warn!(%error, "cannot lease, trying again in {back_off:?}");
                let wait = back_off;
                back_off = (back_off * 2).min(BACK_OFF.1);
                wait
            }
        };
        if !wait.is_zero() {
            wait_for_work(wait, &mut arrivals, &mut shutdown).await;
        }
    }
}

/// How many tasks to lease now: waits until at least one slot is free, and a little longer for more.
async fn free_slots(slots: &Semaphore, batch: usize, shutdown: &mut watch::Receiver<bool>) -> Option<usize> {
    tokio::select! {
        permit = slots.acquire() => drop(permit.ok()?),
        _ = shutdown.wait_for(|stop| *stop) => return None,
    }
    if slots.available_permits() < batch {
        tokio::time::sleep(GATHER).await;
    }
    Some(slots.available_permits().clamp(1, batch))
}

async fn wait_for_work(wait: Duration, arrivals: &mut [watch::Receiver<u64>], shutdown: &mut watch::Receiver<bool>) {
    let any = select_all(arrivals.iter_mut().map(|arrival| arrival.changed().boxed()));
    tokio::select! {
        _ = any => {}
        () = tokio::time::sleep(wait) => {}
        _ = shutdown.wait_for(|stop| *stop) => {}
    }
}

fn start(
    leased: Leased,
    slot: Option<OwnedSemaphorePermit>,
    work: &Arc<dyn Work>,
    hand: &Arc<Hand>,
    ends: &Ends,
    running: &mut JoinSet<()>,
) {
    let (work, hand_of_task, ends) = (work.clone(), hand.clone(), ends.clone());
    let token = leased.token;
    hand.take_up(leased.clone());
    let abort = running.spawn(async move {
        let attempt = AssertUnwindSafe(work.work(&leased)).catch_unwind();
        let panicked = |_| Some(Verdict::Failed(Failure::new("the worker panicked: see its log")));
        let verdict = attempt.await.unwrap_or_else(panicked);
        crash::point("worker.worked");
        match verdict {
            None => hand_of_task.put_down(token),
            Some(verdict) if hand_of_task.ended(token) => ends.send(Finished { leased, verdict, slot }).await,
            Some(_) => {}
        }
    });
    hand.started(token, abort);
}

/// Extends all leases in hand three times within their length, and drops the work whose lease is lost.
async fn keep_alive(queue: Arc<dyn Queue>, clock: Arc<dyn Clock>, hand: Arc<Hand>, lease_for: Duration) {
    let mut beat = tokio::time::interval(lease_for / 3);
    beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    beat.tick().await;
    loop {
        beat.tick().await;
        let tokens = hand.tokens();
        if tokens.is_empty() {
            continue;
        }
        match queue.extend(&tokens, lease_for).await {
            Ok(lost) => lost.into_iter().for_each(|token| hand.lose(token)),
            Err(error) => tracing::warn!(%error, now = clock.now().0, "cannot extend {} leases", tokens.len()),
        }
    }
}
