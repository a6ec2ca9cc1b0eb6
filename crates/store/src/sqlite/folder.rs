//! Folds the log into the file beside the writer, so that no verb waits for it: SQLite would do it inside a commit.
//!
//! The log can start anew only when all of it is folded and nobody reads it. Beside a busy writer that moment never
//! comes by itself, so when the log is long the writer folds the little that is left between two groups.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use malla_queue::{Error, Result};
use rusqlite::Connection;

use super::{broken, open_folder};

/// Pages of the log that are folded at a time, at least. While the disk writes them, a sync of the log takes longer, and
/// the more there are, the longer.
const STEP: usize = 1_024;
/// From the beginning of one to that of the next: in a rush more are folded at once, for most pages change again and again.
const APART: Duration = Duration::from_millis(100);
/// A log of this many pages (64 MiB) shall start anew as soon as the folder has caught up,
const LONG: usize = 16_384;
/// and at one of this many the writer waits for that.
const TOO_LONG: usize = 4 * LONG;
/// What was written is folded after this long even if it is little.
const REST: Duration = Duration::from_secs(5);

pub(super) struct Folder {
    shared: Arc<Shared>,
    wake: SyncSender<()>,
    thread: JoinHandle<()>,
    /// How long the log was when the folder was last told.
    seen: usize,
}

struct Shared {
    conn: Mutex<Connection>,
    /// Pages in the log. The writer's hook holds this alone, so that `finish` closes the connection.
    pages: Arc<AtomicUsize>,
    /// The log is long, and little of it is left to fold.
    nearly: AtomicBool,
}

impl Folder {
    /// Folds what `writer` commits to the store at `path`.
    pub(super) fn start(path: &Path, writer: &mut Connection) -> Result<Self> {
        let conn = Mutex::new(open_folder(path)?);
        let pages = Arc::new(AtomicUsize::new(0));
        let shared = Arc::new(Shared { conn, pages: pages.clone(), nearly: AtomicBool::new(false) });
        let hook = move |_: &mut rusqlite::hooks::Wal, in_log: std::ffi::c_int| {
            pages.store(usize::try_from(in_log).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        };
        writer.wal_hook(Some(hook)).map_err(broken)?;
        let (wake, woken) = sync_channel(1);
        let of_thread = shared.clone();
        let thread = std::thread::Builder::new()
            .name("malla-folder".into())
            .spawn(move || run(&of_thread, &woken))
            .map_err(|error| Error::Internal(format!("cannot start the folder: {error}")))?;
        Ok(Self { shared, wake, thread, seen: 0 })
    }

    /// To be called between two transactions of the writer.
    pub(super) fn after_commit(&mut self) {
        let pages = self.shared.pages.load(Ordering::Relaxed);
        if pages < self.seen {
            self.seen = 0;
        }
        let due = pages - self.seen >= STEP;
        if due {
            self.seen = pages;
            // If it cannot be told, it has been told already.
            let _ = self.wake.try_send(());
        }
        if self.shared.nearly.swap(false, Ordering::Relaxed) || (due && pages >= TOO_LONG) {
            fold(&self.shared.conn.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Closes the folder's connection.
    pub(super) fn finish(self) {
        drop(self.wake);
        let _ = self.thread.join();
    }
}

fn run(shared: &Shared, woken: &Receiver<()>) {
    let mut folded = 0;
    loop {
        match woken.recv_timeout(REST) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) if shared.pages.load(Ordering::Relaxed) == folded => continue,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        folded = shared.pages.load(Ordering::Relaxed);
        let began = Instant::now();
        fold(&shared.conn.lock().unwrap_or_else(PoisonError::into_inner));
        if folded >= LONG {
            shared.nearly.store(true, Ordering::Relaxed);
        }
        std::thread::sleep(APART.saturating_sub(began.elapsed()));
    }
}

fn fold(conn: &Connection) {
    if let Err(error) = conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(())) {
        tracing::warn!(%error, "cannot fold the log into the store's file: it will grow until this works");
    }
}
