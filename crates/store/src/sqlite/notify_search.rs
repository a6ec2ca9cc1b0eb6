//! The search for words in bodies: the index as far as it has come, newer bodies by reading them.

use malla_queue::Result;
use rusqlite::Connection;

use super::words::Batch;
use super::{many, sql};
use crate::searching::{BODIES_MAX, MATCHES_MAX, Matches, Search, Span, index_words};

/// Bytes of stored bodies that one step of indexing reads.
const INDEX_BYTES_MAX: usize = 4 * 1024 * 1024;
const INDEX_STEP_MAX: usize = 500;

/// One bounded step: the newest matches in the span.
pub(super) fn search(conn: &Connection, search: &Search, span: Span) -> Result<Matches> {
    let mark = mark(conn)?;
    if span.below > mark + 1 {
        let newer = by_reading(conn, search, span, mark)?;
        if newer.next.is_some() || !newer.ids.is_empty() {
            // The index begins where reading ends.
            return Ok(Matches { next: newer.next.or((span.from <= mark).then_some(mark + 1)), ..newer });
        }
    }
    by_index(conn, search, Span { below: span.below.min(mark + 1), ..span })
}

fn by_reading(conn: &Connection, search: &Search, span: Span, mark: i64) -> Result<Matches> {
    let mut matches = Matches::default();
    let mut read = 0;
    let mut statement = conn.prepare_cached(sql!("notify/unindexed")).map_err(super::broken)?;
    let mut rows = statement.query((mark, span.from, span.below, BODIES_MAX)).map_err(super::broken)?;
    while let Some(row) = rows.next().map_err(super::broken)? {
        let (id, packed, body): (i64, i64, Vec<u8>) = read_body(row).map_err(super::broken)?;
        read += 1;
        if search.matches(packed, &body)? {
            matches.ids.push(id);
        }
        if read == BODIES_MAX || matches.ids.len() == MATCHES_MAX {
            matches.next = Some(id);
            break;
        }
    }
    Ok(matches)
}

fn by_index(conn: &Connection, search: &Search, span: Span) -> Result<Matches> {
    let words = search.words().into_iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" AND ");
    let found: Vec<i64> =
        many(conn, sql!("words/search"), (words, span.from, span.below, MATCHES_MAX), |row| row.get(0))?;
    let next = (found.len() == MATCHES_MAX).then(|| found.last().copied()).flatten();
    if !search.needs_proof() {
        return Ok(Matches { ids: found, next });
    }
    let mut ids = Vec::new();
    for id in found {
        let body = many(conn, sql!("notify/body"), (id,), |row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?)))?.pop();
        if let Some((packed, body)) = body
            && search.matches(packed, &body)?
        {
            ids.push(id);
        }
    }
    Ok(Matches { ids, next })
}

fn mark(conn: &Connection) -> Result<i64> {
    Ok(many(conn, sql!("words/mark"), (), |row| row.get(0))?.pop().unwrap_or(0))
}

fn read_body(row: &rusqlite::Row<'_>) -> rusqlite::Result<(i64, i64, Vec<u8>)> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
}

/// Cuts the next bodies into words.
pub(super) fn next_batch(conn: &Connection, limit: usize) -> Result<Option<Batch>> {
    let from = mark(conn)?;
    let mut statement = conn.prepare_cached(sql!("notify/to_index")).map_err(super::broken)?;
    let mut rows = statement.query((from, limit.min(INDEX_STEP_MAX))).map_err(super::broken)?;
    let (mut words, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next().map_err(super::broken)? {
        let (id, packed, body) = read_body(row).map_err(super::broken)?;
        words.push((id, index_words(packed, &body)?));
        bytes += body.len();
        if bytes > INDEX_BYTES_MAX {
            break;
        }
    }
    Ok((!words.is_empty()).then_some(Batch { from, words }))
}
