//! Which events have which words: a file of its own beside the store's, with a writer of its own, so that no verb waits
//! for it. All in it can be made again from the events, so it is, when it is missing, damaged or another store's.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use malla_queue::{Error, Result};
use rusqlite::{Connection, OptionalExtension as _};

use super::{broken, make_private, prepare_any, run, sql};

/// Changes with the schema and with the way in which bodies are cut into words.
const VERSION: i64 = 1;

pub(super) struct Words {
    conn: Mutex<Connection>,
}

/// The words of the next events.
pub(super) struct Batch {
    pub(super) from: i64,
    pub(super) words: Vec<(i64, String)>,
}

impl Words {
    /// Opens or makes the file that belongs to the store at `path`, which is open as `store`.
    pub(super) fn open(path: &Path, store: &Connection) -> Result<Self> {
        let file = path_of(path);
        let conn = match open(&file, store) {
            Ok(Some(conn)) => conn,
            other => {
                if let Err(error) = other {
                    tracing::warn!(%error, "{} cannot be used and is made anew", file.display());
                }
                remove(&file)?;
                make(&file, store).map_err(broken)?
            }
        };
        Ok(Self { conn: Mutex::new(conn) })
    }

    /// Adds the words. Somebody else may have been faster: then nothing is left to do.
    pub(super) fn add(&self, batch: &Batch) -> Result<u64> {
        let Some((last, _)) = batch.words.last() else { return Ok(0) };
        let mut conn = self.conn();
        let tx = conn.transaction().map_err(broken)?;
        if run(&tx, sql!("words/set_mark"), (last, batch.from)).map_err(broken)? == 0 {
            return Ok(0);
        }
        for (id, words) in batch.words.iter().filter(|(_, words)| !words.is_empty()) {
            run(&tx, sql!("words/add"), (id, words)).map_err(broken)?;
        }
        tx.commit().map_err(broken)?;
        Ok(batch.words.len() as u64)
    }

    /// Drops the words of events that are gone. If a crash prevents it, they lead to nothing and do no harm.
    pub(super) fn forget(&self, events: &[i64]) -> Result<()> {
        let mut conn = self.conn();
        let tx = conn.transaction().map_err(broken)?;
        for id in events {
            run(&tx, sql!("words/drop"), (id,)).map_err(broken)?;
        }
        tx.commit().map_err(broken)
    }

    fn conn(&self) -> MutexGuard<'_, Connection> {
        self.conn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets a reader of the store at `path` look for words too.
pub(super) fn attach(path: &Path, reader: &Connection) -> Result<()> {
    let file = path_of(path);
    run(reader, "ATTACH DATABASE ?1 AS words", (file.to_string_lossy(),)).map_err(broken).map(|_| ())
}

pub(super) fn path_of(store: &Path) -> PathBuf {
    let mut file = store.as_os_str().to_owned();
    file.push("-words");
    file.into()
}

/// `None` if there is none that can be used.
fn open(file: &Path, store: &Connection) -> rusqlite::Result<Option<Connection>> {
    if !file.exists() {
        return Ok(None);
    }
    let conn = connect(file)?;
    if conn.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))? != VERSION {
        return Ok(None);
    }
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
    let found = conn.query_row("SELECT mark, identity FROM event_index", (), read).optional()?;
    let Some((mark, identity)) = found else { return Ok(None) };
    // One that is further than the events is of a store that was put back to an older state.
    let newest: i64 = store.query_row("SELECT coalesce(max(id), 0) FROM event", (), |row| row.get(0))?;
    Ok((identity_of(store)? == identity && mark <= newest).then_some(conn))
}

fn make(file: &Path, store: &Connection) -> rusqlite::Result<Connection> {
    make_private(file);
    let mut conn = connect(file)?;
    let tx = conn.transaction()?;
    tx.execute_batch(sql!("words/schema"))?;
    run(&tx, "INSERT INTO event_index (id, mark, identity) VALUES (1, 0, ?1)", (identity_of(store)?,))?;
    tx.pragma_update(None, "user_version", VERSION)?;
    tx.commit()?;
    Ok(conn)
}

fn connect(file: &Path) -> rusqlite::Result<Connection> {
    let conn = Connection::open(file)?;
    prepare_any(&conn)?;
    conn.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 16777216")?;
    Ok(conn)
}

fn identity_of(store: &Connection) -> rusqlite::Result<String> {
    store.query_row("SELECT identity FROM store", (), |row| row.get(0))
}

pub(super) fn remove(file: &Path) -> Result<()> {
    for suffix in ["", "-wal", "-shm"] {
        let mut path = file.as_os_str().to_owned();
        path.push(suffix);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                let path = Path::new(&path).display();
                return Err(Error::Unavailable(format!("cannot remove {path} to make it anew: {error}")));
            }
            _ => {}
        }
    }
    Ok(())
}
