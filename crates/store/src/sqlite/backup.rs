//! The store's file as a whole: copied while others write, checked, and put in the place of another.
//!
//! The words beside it are no part of this: they are made anew.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use malla_queue::{Error, Result};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::{broken, cannot_open, log_of, newest_applied, newest_known, prepare_any, words};

/// Pages copied between two words about it: 4 MiB.
const STEP: std::ffi::c_int = 1_024;

/// Copies the store at `from` as it is at one moment to the new file `to`. A process that writes to the store goes on;
/// its log cannot start anew before the copy is done. `step` hears how many bytes of how many are done, and ends it by
/// an error.
pub fn copy(from: &Path, to: &Path, mut step: impl FnMut(u64, u64) -> Result<()>) -> Result<()> {
    if !from.exists() {
        return Err(Error::Unavailable(format!("there is no store at {}", from.display())));
    }
    let source = open_to_read(from)?;
    // From here on this connection sees one moment: without it, the copy would begin again with every write.
    source.execute_batch("BEGIN").map_err(broken)?;
    newest_applied(&source).map_err(|error| cannot_open(from, &error))?;
    let page_bytes: u64 = source.pragma_query_value(None, "page_size", |row| row.get(0)).map_err(broken)?;
    let mut target = Connection::open(to).map_err(|error| cannot_open(to, &error))?;
    // Whoever needs the copy to last syncs what becomes of it.
    target.execute_batch("PRAGMA synchronous = OFF").map_err(broken)?;
    let copying = Backup::new(&source, &mut target).map_err(broken)?;
    loop {
        let stepped = copying.step(STEP).map_err(broken)?;
        let pages = |pages: std::ffi::c_int| u64::try_from(pages).unwrap_or(0) * page_bytes;
        let (left, all) = (pages(copying.progress().remaining), pages(copying.progress().pagecount));
        step(all.saturating_sub(left), all)?;
        match stepped {
            StepResult::Done => break,
            StepResult::More => {}
            _ => return Err(Error::Unavailable("the store is busy".into())),
        }
    }
    drop(copying);
    // A file of its own, without a log beside it.
    target.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(())).map_err(broken)?;
    target.close().map_err(|(_, error)| broken(error))
}

/// Reads all of a store's file that nobody has open, and gives the version of its schema.
pub fn check(path: &Path) -> Result<i64> {
    let conn = open_to_read(path)?;
    let found: String = conn.query_row("PRAGMA quick_check(1)", (), |row| row.get(0)).map_err(broken)?;
    if found != "ok" {
        return Err(Error::Internal(format!("{} is damaged: {found}", path.display())));
    }
    let schema = newest_applied(&conn).map_err(broken)?;
    let schema = schema.ok_or_else(|| Error::Invalid(format!("{} is no store of Malla", path.display())))?;
    crate::checks::version(Some(schema), newest_known(), path.display())?;
    Ok(schema)
}

/// The newest schema that this program knows.
pub fn schema_known() -> i64 {
    newest_known()
}

/// Where the next [`replace`] keeps the store that was there.
pub fn kept_at(path: &Path) -> PathBuf {
    beside(path, ".before")
}

/// Puts the file `new`, which is on disk already, in the place of the store at `path`, which nobody may have open. At
/// whatever moment the process is killed, there is the old store or the new one. The old one is kept at [`kept_at`].
pub fn replace(path: &Path, new: &Path) -> Result<()> {
    let there = path.exists();
    if there {
        fold(path)?;
    }
    // It would be taken for the new store's log.
    if log_of(path).metadata().is_ok_and(|log| log.len() > 0) {
        let (log, store) = (log_of(path), path.display());
        return Err(Error::Unavailable(format!(
            "{} holds what is not in {store} yet: wait for whoever reads that store, or move both away",
            log.display()
        )));
    }
    words::remove(&words::path_of(path))?;
    if there {
        put_aside(path).map_err(|error| trouble(path, &error))?;
    }
    for leftover in [log_of(path), beside(path, "-shm")] {
        remove(&leftover).map_err(|error| trouble(&leftover, &error))?;
    }
    fs::rename(new, path).and_then(|()| sync_parent(path)).map_err(|error| trouble(path, &error))
}

/// Brings all that is in the log of a store into its file, so that the file alone is the store.
fn fold(path: &Path) -> Result<()> {
    let folded = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).and_then(|conn| {
        prepare_any(&conn)?;
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()))?;
        conn.close().map_err(|(_, error)| error)
    });
    folded.map_err(|error| {
        Error::Unavailable(format!(
            "the store that is there cannot be kept whole ({error}): move {0} and {0}-wal away and try again",
            path.display()
        ))
    })
}

/// A second name for the old store, so that the rename takes only its first.
fn put_aside(path: &Path) -> io::Result<()> {
    let kept = kept_at(path);
    remove(&kept)?;
    fs::hard_link(path, &kept).and_then(|()| sync_parent(path))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent)?.sync_all()
}

fn trouble(path: &Path, error: &io::Error) -> Error {
    Error::Unavailable(format!("cannot replace {}: {error}", path.display()))
}

fn open_to_read(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).map_err(|error| cannot_open(path, &error))?;
    prepare_any(&conn).map_err(broken)?;
    Ok(conn)
}
