//! Folds the log into the file beside the writer, so that no verb waits for it: SQLite would do it inside a commit.
//!
//! The log can start anew only when all of it is folded and nobody reads it. Beside a busy writer that moment never
//! comes by itself, so when the log is long the writer folds the little that is left between two groups.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use malla_queue::{Error, Result};
use rusqlite::Connection;

use super::{broken, log_of, open_folder};

/// Pages of the log that are folded at a time. The more, the fewer in all, for most pages change again and again; and
/// while the disk writes them, a sync of the log takes longer.
const STEP: usize = 8_192;
/// A log of this many pages (64 MiB) shall start anew as soon as the folder has caught up,
const LONG: usize = 16_384;
/// and at one of this many the writer waits for that.
const TOO_LONG: usize = 4 * LONG;
/// What was written is folded after this long even if it is little.
const REST: Duration = Duration::from_secs(5);
/// The log's file grows by this much: to sync what lies within a file costs half as much as to sync its growth, and
/// does not wait for what others have the disk do.
const GROWTH: u64 = 4 * 1024 * 1024;
const HEADER: u64 = 32;
const FRAME: u64 = 24 + 4_096;

pub(super) struct Folder {
    shared: Arc<Shared>,
    wake: SyncSender<()>,
    thread: JoinHandle<()>,
    log: PathBuf,
    /// How long the log was when the folder was last told.
    seen: usize,
    /// The file's size as this made it.
    grown_to: u64,
}

struct Shared {
    conn: Mutex<Connection>,
    /// Pages in the log.
    pages: AtomicUsize,
    /// The log is long, and little of it is left to fold.
    nearly: AtomicBool,
}

impl Folder {
    /// Folds what `writer` commits to the store at `path`.
    pub(super) fn start(path: &Path, writer: &mut Connection) -> Result<Self> {
        let conn = Mutex::new(open_folder(path)?);
        let shared = Arc::new(Shared { conn, pages: AtomicUsize::new(0), nearly: AtomicBool::new(false) });
        let told = shared.clone();
        let hook = move |_: &mut rusqlite::hooks::Wal, pages: std::ffi::c_int| {
            told.pages.store(usize::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        };
        writer.wal_hook(Some(hook)).map_err(broken)?;
        let (wake, woken) = sync_channel(1);
        let of_thread = shared.clone();
        let thread = std::thread::Builder::new()
            .name("malla-folder".into())
            .spawn(move || run(&of_thread, &woken))
            .map_err(|error| Error::Internal(format!("cannot start the folder: {error}")))?;
        Ok(Self { shared, wake, thread, log: log_of(path), seen: 0, grown_to: 0 })
    }

    /// To be called between two transactions of the writer.
    pub(super) fn after_commit(&mut self) {
        let pages = self.shared.pages.load(Ordering::Relaxed);
        if pages < self.seen {
            self.seen = 0;
        }
        self.make_room(pages);
        if self.shared.nearly.swap(false, Ordering::Relaxed) || pages >= TOO_LONG {
            fold(&self.shared.conn.lock().unwrap_or_else(PoisonError::into_inner));
        } else if pages - self.seen >= STEP {
            self.seen = pages;
            // If it cannot be told, it has been told already.
            let _ = self.wake.try_send(());
        }
    }

    /// Lets the log's file grow before SQLite needs it to. What follows the last commit is nothing to SQLite, which
    /// knows its own pages by their checksums; and nobody but this thread writes there.
    fn make_room(&mut self, pages: usize) {
        let end = HEADER + FRAME * pages as u64;
        if end + GROWTH / 4 < self.grown_to || pages >= LONG {
            return;
        }
        let grow = || -> std::io::Result<u64> {
            let file = OpenOptions::new().write(true).open(&self.log)?;
            let from = file.metadata()?.len().max(end);
            let to = end + GROWTH;
            if from < to {
                file.write_all_at(&vec![0; usize::try_from(to - from).unwrap_or(0)], from)?;
            }
            Ok(to.max(from))
        };
        // A full disk is SQLite's to report.
        self.grown_to = grow().unwrap_or(end + GROWTH);
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
        fold(&shared.conn.lock().unwrap_or_else(PoisonError::into_inner));
        if folded >= LONG {
            shared.nearly.store(true, Ordering::Relaxed);
        }
    }
}

fn fold(conn: &Connection) {
    if let Err(error) = conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(())) {
        tracing::warn!(%error, "cannot fold the log into the store's file: it will grow until this works");
    }
}
