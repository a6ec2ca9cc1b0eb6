//! Pages and their bodies.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use deadpool_postgres::Transaction;
use malla_fetch::{BodyHash, CheckedBody, NewPage, UrlKey};
use malla_queue::UnixMs;
use tokio_postgres::Row;

use super::pool::Broken;
use super::sql;
use crate::fetch_rows::{PAGES_KEPT_MS, plain, to_json};

/// Bytes of bodies in one statement at most (a larger body goes alone).
const BATCH_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How often bodies are looked for that somebody forgets at the same moment.
const ROUNDS_MAX: usize = 5;

/// Numbers for what is new.
pub(super) async fn new_ids(tx: &Transaction<'_>, count: usize, now: UnixMs) -> Result<Vec<i64>, Broken> {
    let many = i64::try_from(count).unwrap_or(i64::MAX);
    let rows = tx.query(&tx.prepare_cached(sql!("fetch/new_ids")).await?, &[&now.0, &many]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// A page that was written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Added {
    pub(super) id: i64,
    pub(super) body: Option<i64>,
}

/// Writes pages. The key is the URL's; a page without one never comes onto the shelf.
pub(super) async fn add_pages(
    tx: &Transaction<'_>,
    pages: &[(&NewPage, Option<UrlKey>)],
    now: UnixMs,
) -> Result<Vec<Added>, Broken> {
    if pages.is_empty() {
        return Ok(Vec::new());
    }
    fn text<'p>(
        pages: &[(&'p NewPage, Option<UrlKey>)],
        of: fn(&NewPage) -> Option<&str>,
    ) -> Vec<Option<Cow<'p, str>>> {
        pages.iter().map(|(page, _)| of(page).map(plain)).collect()
    }
    let number = |of: fn(&NewPage) -> u64| {
        pages.iter().map(|(page, _)| i64::try_from(of(page)).unwrap_or(i64::MAX)).collect::<Vec<i64>>()
    };
    let known = hold_bodies(tx, pages.iter().filter_map(|(page, _)| page.body.as_ref())).await?;
    let body = |page: &NewPage| page.body.as_ref().and_then(|body| known.get(&body.hash).copied());
    let ids = new_ids(tx, pages.len(), now).await?;
    let bodies: Vec<Option<i64>> = pages.iter().map(|(page, _)| body(page)).collect();
    let keys: Vec<[u8; 16]> = pages.iter().map(|(_, key)| key.map_or([0; 16], |key| key.0)).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    let statuses: Vec<i32> = pages.iter().map(|(page, _)| i32::from(page.status)).collect();
    let headers: Vec<String> = pages.iter().map(|(page, _)| to_json(&page.headers)).collect();
    let fetched: Vec<i64> = pages.iter().map(|(page, _)| page.fetched_at.0).collect();
    let statement = tx.prepare_cached(sql!("fetch/add_pages")).await?;
    tx.execute(
        &statement,
        &[
            &ids,
            &keys,
            &text(pages, |page| Some(&page.url)),
            &statuses,
            &headers,
            &bodies,
            &number(|page| page.body.as_ref().map_or(0, |body| body.bytes)),
            &text(pages, |page| page.trouble.as_ref().map(|trouble| trouble.what.name())),
            &text(pages, |page| page.trouble.as_ref().map(|trouble| trouble.note.as_str())),
            &fetched,
            &number(|page| page.took_ms),
            &text(pages, |page| page.device.as_deref()),
            &(now.0 + PAGES_KEPT_MS),
        ],
    )
    .await?;
    Ok(ids.into_iter().zip(bodies).map(|(id, body)| Added { id, body }).collect())
}

/// The numbers of these bodies, written if they are new, and held until the transaction ends: who forgets bodies passes
/// over them.
async fn hold_bodies<'b>(
    tx: &Transaction<'_>,
    bodies: impl Iterator<Item = &'b CheckedBody>,
) -> Result<HashMap<BodyHash, i64>, Broken> {
    let mut missing: BTreeMap<[u8; 32], &CheckedBody> = bodies.map(|body| (body.hash.0, body)).collect();
    let mut known = HashMap::with_capacity(missing.len());
    for _ in 0..ROUNDS_MAX {
        if missing.is_empty() {
            return Ok(known);
        }
        let hashes: Vec<&[u8]> = missing.keys().map(|hash| &hash[..]).collect();
        let found = tx.query(&tx.prepare_cached(sql!("fetch/find_bodies")).await?, &[&hashes]).await?;
        note_bodies(&found, &mut missing, &mut known);
        let new: Vec<&CheckedBody> = missing.values().copied().collect();
        let mut rest = new.as_slice();
        while !rest.is_empty() {
            let (some, others) = rest.split_at(fitting(rest));
            rest = others;
            let added = add_bodies(tx, some).await?;
            note_bodies(&added, &mut missing, &mut known);
        }
    }
    Err(Broken::Again("a body is being forgotten at the same moment".into()))
}

fn note_bodies(rows: &[Row], missing: &mut BTreeMap<[u8; 32], &CheckedBody>, known: &mut HashMap<BodyHash, i64>) {
    for row in rows {
        if let Ok(hash) = row.get::<_, &[u8]>(0).try_into() {
            missing.remove(&hash);
            known.insert(BodyHash(hash), row.get(1));
        }
    }
}

/// How many of these go into one statement.
fn fitting(bodies: &[&CheckedBody]) -> usize {
    let mut bytes = 0;
    let over = |body: &&CheckedBody| {
        bytes += body.packed.len();
        bytes > BATCH_BYTES_MAX
    };
    bodies.iter().position(over).unwrap_or(bodies.len()).max(1)
}

async fn add_bodies(tx: &Transaction<'_>, bodies: &[&CheckedBody]) -> Result<Vec<Row>, Broken> {
    let hashes: Vec<&[u8]> = bodies.iter().map(|body| &body.hash.0[..]).collect();
    let sizes: Vec<i64> = bodies.iter().map(|body| i64::try_from(body.bytes).unwrap_or(i64::MAX)).collect();
    let here = |body: &&CheckedBody| if body.object.is_some() { Bytes::new() } else { body.packed.clone() };
    let packed: Vec<Bytes> = bodies.iter().map(here).collect();
    let packed: Vec<&[u8]> = packed.iter().map(|packed| &packed[..]).collect();
    let objects: Vec<Option<&str>> = bodies.iter().map(|body| body.object.as_deref()).collect();
    let statement = tx.prepare_cached(sql!("fetch/add_bodies")).await?;
    Ok(tx.query(&statement, &[&hashes, &sizes, &packed, &objects]).await?)
}

/// Pages that are an answer again are kept for longer. Returns how many there are.
pub(super) async fn keep_pages(tx: &Transaction<'_>, pages: &[i64], now: UnixMs) -> Result<u64, Broken> {
    let statement = tx.prepare_cached(sql!("fetch/keep_pages")).await?;
    Ok(tx.execute(&statement, &[&pages, &(now.0 + PAGES_KEPT_MS)]).await?)
}
