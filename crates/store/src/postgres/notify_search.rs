//! The search for words in bodies: the index as far as it has come, newer bodies by reading them.

use std::time::Duration;

use deadpool_postgres::{GenericClient, Object};
use malla_queue::{TaskId, UnixMs};

use super::pool::Broken;
use super::sql;
use crate::searching::{BEGINNING_STORED, BODIES_MAX, Matches, Search, Span, index_words};

/// Ids become visible in another order than they are given: an event younger than this is not indexed yet, so that none
/// that is still being written is passed over.
const SETTLED_AFTER: Duration = Duration::from_secs(10);
/// Matches that one step of a search looks at: a page full. The index takes longer for one than SQLite's.
const MATCHES_MAX: usize = 64;
/// Bodies fetched in one piece.
const PIECE: usize = 100;
/// Events on a shelf.
const SHELF: i64 = 16_384;

/// One bounded step: the newest matches in the span.
pub(super) async fn search(client: &impl GenericClient, search: &Search, span: Span) -> Result<Matches, Broken> {
    let mark: i64 = client.query_one(&client.prepare_cached(sql!("notify/mark")).await?, &[]).await?.get(0);
    if span.below > mark + 1 {
        let newer = by_reading(client, search, Span { from: span.from.max(mark + 1), ..span }).await?;
        if newer.next.is_some() || !newer.ids.is_empty() {
            // The index begins where reading ends.
            return Ok(Matches { next: newer.next.or((span.from <= mark).then_some(mark + 1)), ..newer });
        }
    }
    by_index(client, search, Span { below: span.below.min(mark + 1), ..span }).await
}

async fn by_reading(client: &impl GenericClient, search: &Search, mut span: Span) -> Result<Matches, Broken> {
    let mut matches = Matches::default();
    let statement = client.prepare_cached(sql!("notify/unindexed")).await?;
    for _ in 0..BODIES_MAX / PIECE {
        let rows = client.query(&statement, &[&span.from, &span.below, &(PIECE as i64), &BEGINNING_STORED]).await?;
        for row in &rows {
            span.below = row.get(0);
            if search.matches(i64::from(row.get::<_, i16>(1)), row.get(2))? {
                matches.ids.push(span.below);
            }
        }
        if rows.len() < PIECE {
            return Ok(matches);
        }
        if matches.ids.len() >= MATCHES_MAX {
            break;
        }
    }
    Ok(Matches { next: Some(span.below), ..matches })
}

async fn by_index(client: &impl GenericClient, search: &Search, span: Span) -> Result<Matches, Broken> {
    let words = search.words().into_iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" & ");
    let most = i32::try_from(MATCHES_MAX).unwrap_or(i32::MAX);
    let statement = client.prepare_cached(sql!("notify/search")).await?;
    let row = client.query_one(&statement, &[&words, &span.from, &span.below, &most]).await?;
    let (found, next): (Vec<i64>, Option<i64>) = (row.get(0), row.get(1));
    if !search.needs_proof() {
        return Ok(Matches { ids: found, next });
    }
    let statement = client.prepare_cached(sql!("notify/bodies")).await?;
    let mut ids = Vec::new();
    for piece in found.chunks(PIECE) {
        for row in client.query(&statement, &[&piece, &BEGINNING_STORED]).await? {
            if search.matches(i64::from(row.get::<_, i16>(1)), row.get(2))? {
                ids.push(row.get(0));
            }
        }
    }
    Ok(Matches { ids, next })
}

/// Where the next indexed event is put.
struct Place {
    mark: i64,
    shelf: i64,
    filled: i64,
}

/// One step of indexing: the next events that have settled.
pub(super) async fn index(client: &mut Object, limit: usize, now: UnixMs) -> Result<u64, Broken> {
    let tx = client.transaction().await?;
    let Some(row) = tx.query_opt(&tx.prepare_cached(sql!("notify/lock_index")).await?, &[]).await? else {
        return Ok(0);
    };
    let mut place = Place { mark: row.get(0), shelf: row.get(1), filled: row.get(2) };
    let settled = TaskId::first_at(now.minus(SETTLED_AFTER)).0;
    let most = limit.min(PIECE) as i64;
    let statement = tx.prepare_cached(sql!("notify/to_index")).await?;
    let rows = tx.query(&statement, &[&place.mark, &settled, &most, &BEGINNING_STORED]).await?;
    if rows.is_empty() {
        return Ok(0);
    }
    let (mut ids, mut words): (Vec<i64>, Vec<String>) = (Vec::new(), Vec::new());
    for row in &rows {
        place.mark = row.get(0);
        let found = index_words(i64::from(row.get::<_, i16>(1)), row.get(2))?;
        if found.is_empty() {
            continue;
        }
        if place.filled == 0 || place.filled == SHELF {
            (place.shelf, place.filled) = (place.shelf + 1, 0);
            tx.execute(sql!("notify/add_shelf"), &[&place.shelf, &place.mark]).await?;
        }
        place.filled += 1;
        ids.push(place.mark);
        words.push(format!("{found} #{}", place.shelf));
    }
    tx.execute(&tx.prepare_cached(sql!("notify/add_words")).await?, &[&ids, &words]).await?;
    tx.execute(&tx.prepare_cached(sql!("notify/set_index")).await?, &[&place.mark, &place.shelf, &place.filled])
        .await?;
    tx.commit().await?;
    Ok(rows.len() as u64)
}
