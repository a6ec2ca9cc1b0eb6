//! Carries what has ended to the store, in batches.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{BACK_OFF, Hand, Options};
use crate::{Clock, Ending, Error, LeaseToken, Leased, Queue, UnixMs, Verdict};

/// Batches on their way to the store at once.
const FINISHES_MAX: usize = 4;
/// Endings that follow others closely are put off this long to be carried together: each batch is a transaction, and
/// the disk has other work. For those whose place in the lane somebody may wait for it is shorter.
const GATHER: Gather = Gather { awaited: Duration::from_millis(2), other: Duration::from_millis(10) };
/// Attempts that failed gather for longer: nobody waits for them, and a far side that fails at once must not keep the
/// store as busy as it could. Its lane's places stay taken meanwhile, which slows that lane and no other.
const GATHER_FAILED: Gather = Gather { awaited: Duration::from_millis(50), other: Duration::from_millis(50) };

/// How long endings wait for others after the last batch.
#[derive(Clone, Copy)]
struct Gather {
    awaited: Duration,
    other: Duration,
}

/// A task that came to an end, on its way to the store.
pub(super) struct Finished {
    pub(super) leased: Leased,
    pub(super) verdict: Verdict,
    /// Freed when the store has it, so that what is in hand stays bounded.
    pub(super) slot: Option<OwnedSemaphorePermit>,
}

/// Where tasks go when they have come to an end.
#[derive(Clone)]
pub(super) struct Ends {
    done: mpsc::Sender<Finished>,
    failed: mpsc::Sender<Finished>,
}

impl Ends {
    pub(super) async fn send(&self, finished: Finished) {
        let end = if matches!(finished.verdict, Verdict::Failed(_)) { &self.failed } else { &self.done };
        // The finishers go after the last sender.
        let _ = end.send(finished).await;
    }
}

/// Starts a finisher for each sort of end. They go when the last sender is gone and everything is carried.
pub(super) fn start(
    queue: &Arc<dyn Queue>,
    clock: &Arc<dyn Clock>,
    hand: &Arc<Hand>,
    options: &Options,
) -> (Ends, JoinSet<()>) {
    let mut finishers = JoinSet::new();
    let [done, failed] = [GATHER, GATHER_FAILED].map(|gather| {
        let (ended, results) = mpsc::channel(options.concurrency);
        let finisher = Finisher { queue: queue.clone(), clock: clock.clone(), hand: hand.clone(), gather };
        finishers.spawn(finisher.finish_in_batches(results, options.batch));
        ended
    });
    (Ends { done, failed }, finishers)
}

struct Finisher {
    queue: Arc<dyn Queue>,
    clock: Arc<dyn Clock>,
    hand: Arc<Hand>,
    gather: Gather,
}

impl Finisher {
    /// A few batches are under way beside each other: each waits for the disk.
    async fn finish_in_batches(self, mut results: mpsc::Receiver<Finished>, batch: usize) {
        let mut gathered = Vec::with_capacity(batch);
        let mut under_way = JoinSet::new();
        let mut carried = None;
        while results.recv_many(&mut gathered, batch).await > 0 {
            if let Some(last) = carried {
                self.gather.more(&mut results, &mut gathered, batch, last).await;
            }
            carried = Some(Instant::now());
            if under_way.len() >= FINISHES_MAX {
                under_way.join_next().await;
            }
            let now = self.clock.now();
            let mut slots = Vec::with_capacity(gathered.len());
            let (leases, endings): (Vec<Leased>, Vec<_>) = gathered
                .drain(..)
                .map(|Finished { leased, verdict, slot }| {
                    slots.push(slot);
                    let ending = verdict.ending(&leased, now);
                    let token = leased.token;
                    (leased, (token, ending))
                })
                .unzip();
            let (queue, clock, hand) = (self.queue.clone(), self.clock.clone(), self.hand.clone());
            under_way.spawn(async move {
                finish_batch(&queue, &clock, &leases, endings).await;
                leases.iter().for_each(|leased| hand.put_down(leased.token));
                drop(slots);
            });
        }
        while under_way.join_next().await.is_some() {}
    }
}

impl Gather {
    /// Gathers more until long enough after the last batch, or a full one, or nothing more can come.
    async fn more(
        self,
        results: &mut mpsc::Receiver<Finished>,
        gathered: &mut Vec<Finished>,
        batch: usize,
        last: Instant,
    ) {
        let mut until = last + self.other;
        let mut seen = 0;
        while gathered.len() < batch {
            if gathered[seen..].iter().any(|finished| finished.leased.awaited) {
                until = last + self.awaited;
            }
            seen = gathered.len();
            match tokio::time::timeout_at(until, results.recv_many(gathered, batch - seen)).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }
}

async fn finish_batch(
    queue: &Arc<dyn Queue>,
    clock: &Arc<dyn Clock>,
    leases: &[Leased],
    endings: Vec<(LeaseToken, Ending)>,
) {
    let mut back_off = BACK_OFF.0;
    loop {
        match queue.finish(endings.clone()).await {
            Ok(answers) => return leases.iter().zip(answers).for_each(|(leased, answer)| report(leased, answer)),
            // Not known whether it was applied; the same ending twice counts once, so ask again.
            Err(Error::Unavailable(why)) if !given_up(leases, clock.now()) => {
                tracing::warn!(why, "cannot finish {} tasks, trying again in {back_off:?}", leases.len());
                tokio::time::sleep(back_off).await;
                back_off = (back_off * 2).min(BACK_OFF.1);
            }
            Err(error) => {
                return tracing::error!(%error, "{} tasks could not be finished: their leases will run out", leases.len());
            }
        }
    }
}

/// Trying longer than a few leases is senseless: somebody else has the tasks by then.
fn given_up(leases: &[Leased], now: UnixMs) -> bool {
    leases.iter().all(|leased| now > leased.expires_at.plus(leased.started_at.until(leased.expires_at) * 4))
}

fn report(leased: &Leased, answer: Result<(), Error>) {
    let task = leased.token.task;
    match answer {
        Ok(()) => {}
        Err(Error::LeaseLost(_)) => tracing::warn!(%task, lane = %leased.lane, "finished too late: refused"),
        Err(error) => tracing::error!(%task, %error, "the ending was refused"),
    }
}
