//! Logs that are written through the layer, read by connections that know nothing of it.

use std::path::Path;

use rusqlite::Connection;

fn writer(path: &Path) -> Connection {
    let conn = malla_gather::open(path).expect("it opens");
    let begin = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = 20;
                 CREATE TABLE IF NOT EXISTS word (n INTEGER PRIMARY KEY, text BLOB); CREATE INDEX IF NOT EXISTS word_text ON word (text)";
    conn.execute_batch(begin).expect("it is prepared");
    conn
}

fn add(conn: &Connection, from: i64, count: i64) {
    for n in from..from + count {
        conn.execute("INSERT INTO word (n, text) VALUES (?1, randomblob(300))", (n,)).expect("it is added");
    }
}

fn count(conn: &Connection) -> i64 {
    conn.query_row("SELECT count(*) FROM word", (), |row| row.get(0)).expect("it is counted")
}

fn check(conn: &Connection) {
    let found: String = conn.query_row("PRAGMA integrity_check", (), |row| row.get(0)).expect("it is checked");
    assert_eq!(found, "ok");
}

/// What somebody finds after the process was killed now.
fn after_a_kill(path: &Path) -> (tempfile::TempDir, Connection) {
    let place = tempfile::tempdir().expect("a directory");
    for ending in ["", "-wal"] {
        let [from, to] = [path, &place.path().join("w.db")].map(|path| format!("{}{ending}", path.display()));
        std::fs::copy(from, to).expect("it is copied");
    }
    let conn = Connection::open(place.path().join("w.db")).expect("it opens");
    (place, conn)
}

#[test]
fn a_commit_is_in_the_file_when_it_returns() {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("w.db");
    let (conn, reader) = (writer(&path), Connection::open(&path).expect("it opens"));
    let mut rows = 0;
    for size in [1, 2, 3, 50, 400, 1, 7_000] {
        conn.execute_batch("BEGIN IMMEDIATE").expect("it begins");
        add(&conn, rows, size);
        assert_eq!(count(&reader), rows, "before the commit");
        conn.execute_batch("COMMIT").expect("it is committed");
        rows += size;
        assert_eq!(count(&reader), rows, "after the commit");
        let (_place, found) = after_a_kill(&path);
        assert_eq!(count(&found), rows, "after a kill");
        check(&found);
    }
}

#[test]
fn nothing_of_an_unfinished_transaction_reaches_the_log() {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("w.db");
    let conn = writer(&path);
    let size = || std::fs::metadata(place.path().join("w.db-wal")).expect("there is a log").len();
    let before = size();
    conn.execute_batch("BEGIN IMMEDIATE").expect("it begins");
    // A hundred times what SQLite keeps in memory if it may choose.
    add(&conn, 0, 20_000);
    assert_eq!(size(), before);
    conn.execute_batch("ROLLBACK").expect("it is undone");
    // Another writes to the same places of the log.
    let other = Connection::open(&path).expect("it opens");
    other.execute_batch("BEGIN IMMEDIATE").expect("it begins");
    add(&other, 0, 500);
    other.execute_batch("COMMIT").expect("it is committed");
    add(&conn, 500, 1);
    assert_eq!((count(&conn), count(&other)), (501, 501));
    check(&conn);
    check(&after_a_kill(&path).1);
}

#[test]
fn the_log_is_folded_and_begun_anew() {
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("w.db");
    let (conn, folder) = (writer(&path), Connection::open(&path).expect("it opens"));
    let mut rows = 0;
    for (round, how) in ["PASSIVE", "FULL", "RESTART", "TRUNCATE"].iter().cycle().take(40).enumerate() {
        let by = if round % 3 == 0 { &conn } else { &folder };
        conn.execute_batch("BEGIN IMMEDIATE").expect("it begins");
        add(&conn, rows, 40);
        conn.execute_batch("SAVEPOINT part").expect("a savepoint");
        add(&conn, rows + 40, 40);
        conn.execute_batch("ROLLBACK TO part; RELEASE part; COMMIT").expect("it is committed");
        rows += 40;
        by.query_row(&format!("PRAGMA wal_checkpoint({how})"), (), |_| Ok(())).expect("it is folded");
        assert_eq!(count(&after_a_kill(&path).1), rows);
    }
    drop((conn, folder));
    let conn = writer(&path);
    assert_eq!(count(&conn), rows);
    check(&conn);
}
