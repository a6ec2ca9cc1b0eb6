//! The one writer: a thread that groups waiting verbs into one transaction (group commit). A sync of the disk costs
//! milliseconds, so one serves as many callers as have gathered, and each is answered only after it (by the syncer).

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use malla_queue::{Clock, Error, Result};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::folder::Folder;
use super::routes::Routes;
use super::syncer::{Synced, Syncer};
use super::tx::{Memory, Tx};
use super::{broken, closed, log_of, run};
use crate::arrivals::Signals;
use crate::crashing::point;

/// Verbs in one transaction at most.
const GROUP_MAX: usize = 512;
/// Verbs that wait for the writer at most; beyond it callers wait for a place.
const QUEUE_MAX: usize = 4_096;

/// What a verb's transaction must survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// The process. (What a power cut takes away is done again: leases, attempts that failed.)
    Process,
    /// A power cut: it was promised to somebody.
    Power,
}

/// A verb that changes more than this is milliseconds' worth of work.
const LARGE: usize = 64;

/// How the writer treats a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    durability: Durability,
    /// There is one of these in a transaction at most, so that a small verb waits for one of them and not for all that came
    /// before it.
    large: bool,
}

impl From<Durability> for Way {
    fn from(durability: Durability) -> Self {
        Self { durability, large: false }
    }
}

impl Durability {
    pub(super) fn large(self) -> Way {
        Way { durability: self, large: true }
    }

    /// For a verb that changes so many things.
    pub(super) fn for_many(self, things: usize) -> Way {
        Way { durability: self, large: things > LARGE }
    }
}

/// How verbs share a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fence {
    /// None can be undone alone: a savepoint for each would cost a third of the writer's time, and verbs that fail do
    /// so before they write, nearly always.
    Without,
    /// Each inside a savepoint.
    Savepoints,
}

/// Where verbs hand in their transactions.
pub(super) struct Writer {
    queue: mpsc::Sender<Box<dyn Job>>,
}

impl Writer {
    pub(super) fn start(
        mut conn: Connection,
        path: &Path,
        clock: Arc<dyn Clock>,
        signals: Arc<Signals>,
    ) -> Result<(Self, JoinHandle<()>)> {
        let syncer = Syncer::start(log_of(path), signals.clone())?;
        let folder = Folder::start(path, &mut conn)?;
        let memory = Memory::load(&conn).map_err(broken)?;
        let (queue, jobs) = mpsc::channel(QUEUE_MAX);
        let thread = std::thread::Builder::new()
            .name("malla-writer".into())
            .spawn(move || Loop { conn, clock, signals, memory, roused: HashSet::new() }.run(jobs, syncer, folder))
            .map_err(|error| Error::Internal(format!("cannot start the writer: {error}")))?;
        Ok((Self { queue }, thread))
    }

    /// Runs `verb` in a transaction, possibly together with others' verbs, but whole or not at all by itself. It is
    /// run again if another of its group had to be undone.
    /// `name` is the verb's, for crash points.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        name: &'static str,
        way: impl Into<Way>,
        verb: impl Fn(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let job = OneJob { name, way: way.into(), verb, result: None, reply };
        self.queue.send(Box::new(job)).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}

/// A verb on its way through the writer.
pub(super) trait Job: Send {
    fn name(&self) -> &'static str;
    fn way(&self) -> Way;
    /// Does the work and keeps the result; false if the work must be undone.
    fn run(&mut self, tx: &mut Tx<'_>) -> bool;
    /// Tells the caller, after the commit: its own result, or why the whole group came to nothing.
    fn answer(self: Box<Self>, group: &Result<()>);
}

struct OneJob<F, T> {
    name: &'static str,
    way: Way,
    verb: F,
    result: Option<Result<T>>,
    reply: oneshot::Sender<Result<T>>,
}

impl<F, T> Job for OneJob<F, T>
where
    F: Fn(&mut Tx<'_>) -> Result<T> + Send,
    T: Send,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn way(&self) -> Way {
        self.way
    }

    fn run(&mut self, tx: &mut Tx<'_>) -> bool {
        let result = catch_unwind(AssertUnwindSafe(|| (self.verb)(tx)))
            .unwrap_or_else(|_| Err(Error::Internal("a verb panicked: see the log".into())));
        let done = result.is_ok();
        self.result = Some(result);
        done
    }

    fn answer(self: Box<Self>, group: &Result<()>) {
        let result = match (group, self.result) {
            (Ok(()), Some(result)) | (Err(_), Some(result @ Err(_))) => result,
            (Err(error), _) => Err(error.clone()),
            (Ok(()), None) => Err(Error::Internal("the verb did not run".into())),
        };
        // A caller that went away has its answer all the same: the work is done.
        let _ = self.reply.send(result);
    }
}

/// A group that takes longer than this makes those behind it wait.
const SLOW: Duration = Duration::from_millis(5);

fn note_time(took: Duration, group: &[Box<dyn Job>]) {
    metrics::histogram!("malla_store_write_seconds").record(took);
    if took >= SLOW && tracing::enabled!(tracing::Level::DEBUG) {
        let mut verbs = BTreeMap::new();
        group.iter().for_each(|job| *verbs.entry(job.name()).or_insert(0_u32) += 1);
        tracing::debug!(?took, ?verbs, "a slow group of verbs");
    }
}

/// Verbs on their way to the writer. Whoever waits for a verb's answer says nothing else meanwhile, so their order is free.
struct Inbox {
    jobs: mpsc::Receiver<Box<dyn Job>>,
    /// Put off, in the order in which they came.
    large: VecDeque<Box<dyn Job>>,
}

impl Inbox {
    /// Waits for verbs and puts those of the next transaction into `group`: the small ones, and one that is large. Returns
    /// false if there will be none.
    fn next_group(&mut self, group: &mut Vec<Box<dyn Job>>) -> bool {
        if self.large.is_empty() && self.jobs.blocking_recv_many(group, GROUP_MAX) == 0 {
            return false;
        }
        while group.len() < GROUP_MAX
            && self.large.len() < GROUP_MAX
            && let Ok(job) = self.jobs.try_recv()
        {
            group.push(job);
        }
        self.large.extend(group.extract_if(.., |job| job.way().large));
        group.extend(self.large.pop_front());
        true
    }
}

struct Loop {
    conn: Connection,
    clock: Arc<dyn Clock>,
    signals: Arc<Signals>,
    memory: Memory,
    /// Rooms in which the last group made something ready, to be told when it is safe.
    roused: HashSet<String>,
}

impl Loop {
    fn run(mut self, jobs: mpsc::Receiver<Box<dyn Job>>, syncer: Syncer, mut folder: Folder) {
        let mut inbox = Inbox { jobs, large: VecDeque::new() };
        let mut group = Vec::with_capacity(GROUP_MAX);
        while inbox.next_group(&mut group) {
            let began = Instant::now();
            let outcome = syncer.check().and_then(|()| self.run_group(&mut group));
            note_time(began.elapsed(), &group);
            if let Err(error) = &outcome {
                tracing::error!(%error, "{} verbs were not committed", group.len());
                group.drain(..).for_each(|job| job.answer(&outcome));
                continue;
            }
            let (to_sync, done): (Vec<_>, Vec<_>) =
                group.drain(..).partition(|job| job.way().durability == Durability::Power);
            for job in done {
                point(job.name(), "after");
                job.answer(&outcome);
            }
            let roused = std::mem::take(&mut self.roused);
            if to_sync.is_empty() {
                roused.iter().for_each(|room| self.signals.rouse(room));
            } else {
                syncer.answer_when_safe(Synced { jobs: to_sync, roused });
            }
            folder.after_commit();
        }
        syncer.finish();
        folder.finish();
        // So that the next start finds a short log; if it fails, that start does it.
        let _ = self.conn.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
    }

    fn run_group(&mut self, group: &mut [Box<dyn Job>]) -> Result<()> {
        group.iter().for_each(|job| point(job.name(), "before"));
        if self.try_group(group, Fence::Without)? || self.try_group(group, Fence::Savepoints)? {
            return Ok(());
        }
        Err(Error::Internal("a verb could not be undone".into()))
    }

    /// Runs and commits the group; nothing is left of it otherwise. False: a verb failed with its work half done, and
    /// there was no savepoint to go back to.
    fn try_group(&mut self, group: &mut [Box<dyn Job>], fence: Fence) -> Result<bool> {
        let outcome = self.run_in_transaction(group, fence);
        if !matches!(outcome, Ok(true)) {
            if !self.conn.is_autocommit() {
                let _ = self.conn.execute_batch("ROLLBACK");
            }
            self.memory = Memory::load(&self.conn).map_err(broken)?;
        }
        outcome
    }

    fn run_in_transaction(&mut self, group: &mut [Box<dyn Job>], fence: Fence) -> Result<bool> {
        run(&self.conn, "BEGIN IMMEDIATE", ()).map_err(broken)?;
        let mut tx = Tx::new(&self.conn, self.clock.now(), &mut self.memory);
        for job in &mut *group {
            if fence == Fence::Savepoints {
                run(&self.conn, "SAVEPOINT verb", ()).map_err(broken)?;
            }
            let (mark, changes) = (tx.mark(), self.conn.total_changes());
            if job.run(&mut tx) {
                point(job.name(), "inside");
            } else {
                if self.conn.is_autocommit() {
                    // SQLite gave up the whole transaction (the disk is full, an I/O error).
                    return Err(Error::Unavailable("the store could not write: is its disk full?".into()));
                }
                if fence == Fence::Savepoints {
                    run(&self.conn, "ROLLBACK TO verb", ()).map_err(broken)?;
                    // Some may have been made by the undone verb.
                    tx.forget_lanes();
                    *tx.routes() = Routes::default();
                } else if self.conn.total_changes() != changes {
                    return Ok(false);
                }
                tx.undo_to(mark);
            }
            if fence == Fence::Savepoints {
                run(&self.conn, "RELEASE verb", ()).map_err(broken)?;
            }
        }
        let roused = tx.settle()?;
        run(&self.conn, "COMMIT", ()).map_err(broken)?;
        roused.at_once.iter().for_each(|room| self.signals.rouse(room));
        self.roused = roused.when_safe;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Verb(&'static str, Way);

    impl Job for Verb {
        fn name(&self) -> &'static str {
            self.0
        }

        fn way(&self) -> Way {
            self.1
        }

        fn run(&mut self, _: &mut Tx<'_>) -> bool {
            true
        }

        fn answer(self: Box<Self>, _: &Result<()>) {}
    }

    #[test]
    fn small_verbs_wait_for_one_large_verb_at_most() {
        let (queue, jobs) = mpsc::channel(QUEUE_MAX);
        let mut inbox = Inbox { jobs, large: VecDeque::new() };
        let tell = |name, way: Way| queue.try_send(Box::new(Verb(name, way)) as Box<dyn Job>).expect("there is room");
        let mut next = || {
            let mut group = Vec::new();
            assert!(inbox.next_group(&mut group));
            group.iter().map(|job| job.name()).collect::<Vec<_>>()
        };
        tell("first pages", Durability::Power.large());
        tell("more pages", Durability::Power.for_many(LARGE + 1));
        tell("event", Durability::Power.for_many(LARGE));
        tell("last pages", Durability::Power.large());
        assert_eq!(next(), ["event", "first pages"]);
        tell("lease", Durability::Process.into());
        assert_eq!(next(), ["lease", "more pages"]);
        assert_eq!(next(), ["last pages"]);
        drop(queue);
        assert!(!inbox.next_group(&mut Vec::new()), "nothing will come");
    }
}
