//! The second half of a commit: a thread that makes the log safe against a power cut and then answers. The writer
//! works on the next group meanwhile.
//!
//! SQLite itself syncs the log before it copies it into the file (`synchronous = NORMAL`), so all that is left to do
//! for `FULL` is to sync the log after a commit. The log has no locks on it: to open it twice is safe.

use std::collections::HashSet;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Instant;

use malla_queue::{Error, Result};

use super::writer::Job;
use crate::arrivals::Signals;
use crate::crashing::point;

/// Groups that wait for a sync at most; then the writer waits too. One sync serves all of them, so nobody waits for
/// more than the sync in progress and the next one.
const GROUPS_WAITING: usize = 64;

/// Verbs that are committed, and the rooms to rouse when they are safe: nobody works on what may yet be lost.
pub(super) struct Synced {
    pub(super) jobs: Vec<Box<dyn Job>>,
    pub(super) roused: HashSet<String>,
}

pub(super) struct Syncer {
    queue: SyncSender<Synced>,
    thread: JoinHandle<()>,
    failed: Arc<AtomicBool>,
}

impl Syncer {
    /// `log` is the path of the log, which need not exist yet.
    pub(super) fn start(log: PathBuf, signals: Arc<Signals>) -> Result<Self> {
        let (queue, groups) = sync_channel(GROUPS_WAITING);
        let failed = Arc::new(AtomicBool::new(false));
        let flag = failed.clone();
        let thread = std::thread::Builder::new()
            .name("malla-syncer".into())
            .spawn(move || run(&log, &groups, &signals, &flag))
            .map_err(|error| Error::Internal(format!("cannot start the syncer: {error}")))?;
        Ok(Self { queue, thread, failed })
    }

    /// Answers these committed verbs once they are safe.
    pub(super) fn answer_when_safe(&self, group: Synced) {
        // The thread ends only after this sender.
        let _ = self.queue.send(group);
    }

    /// After a failed sync nobody knows what the disk holds: only a restart reads it again.
    pub(super) fn check(&self) -> Result<()> {
        if self.failed.load(Ordering::Acquire) { Err(lost()) } else { Ok(()) }
    }

    pub(super) fn finish(self) {
        drop(self.queue);
        let _ = self.thread.join();
    }
}

fn lost() -> Error {
    Error::Unavailable("the disk did not keep what was written: check it, then restart".into())
}

fn run(log: &PathBuf, groups: &Receiver<Synced>, signals: &Signals, failed: &AtomicBool) {
    let mut file = None;
    while let Ok(Synced { mut jobs, mut roused }) = groups.recv() {
        for group in groups.try_iter().take(GROUPS_WAITING) {
            jobs.extend(group.jobs);
            roused.extend(group.roused);
        }
        let began = Instant::now();
        let outcome = sync(&mut file, log).map_err(|error| {
            tracing::error!(%error, "cannot sync {}: no more writes until a restart", log.display());
            failed.store(true, Ordering::Release);
            lost()
        });
        metrics::histogram!("malla_store_sync_seconds").record(began.elapsed());
        // First, so that whoever has its answer finds the signal given.
        roused.iter().for_each(|room| signals.rouse(room));
        for job in jobs {
            if outcome.is_ok() {
                point(job.name(), "after");
            }
            job.answer(&outcome);
        }
    }
}

fn sync(file: &mut Option<File>, log: &PathBuf) -> std::io::Result<()> {
    let file = match file {
        Some(file) => file,
        None => file.insert(File::open(log)?),
    };
    file.sync_data()
}
