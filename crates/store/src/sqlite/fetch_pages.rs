//! Pages, their bodies and the shelf they lie on while they are fresh.

use std::borrow::Cow;

use malla_fetch::{CacheSize, CheckedBody, NewPage, Shelf, UrlKey};
use malla_queue::{Act, Result};
use rusqlite::Connection;

use super::tx::Tx;
use super::{many, sql};
use crate::fetch_rows::{PAGES_KEPT_MS, plain, to_json};

/// Writes a page. `key` is its URL's; a page without one never comes onto the shelf.
pub(super) fn add_page(tx: &mut Tx<'_>, page: &NewPage, key: Option<UrlKey>) -> Result<i64> {
    let id = tx.next_id();
    let body = page.body.as_ref().map(|body| add_body(tx, body)).transpose()?;
    let bytes = page.body.as_ref().map_or(0, |body| i64::try_from(body.bytes).unwrap_or(i64::MAX));
    let trouble = page.trouble.as_ref();
    let row = (
        id,
        key.map_or([0; 16], |key| key.0),
        plain(&page.url),
        page.status,
        to_json(&page.headers),
        body,
        bytes,
        trouble.map(|trouble| trouble.what.name()),
        trouble.map(|trouble| plain(&trouble.note)),
        page.fetched_at.0,
        i64::try_from(page.took_ms).unwrap_or(i64::MAX),
        page.device.as_deref().map(plain),
        tx.now.0 + PAGES_KEPT_MS,
    );
    tx.run(sql!("fetch/add_page"), row)?;
    Ok(id)
}

/// A page that is an answer again is kept for longer.
pub(super) fn keep_page(tx: &Tx<'_>, page: i64) -> Result<()> {
    tx.run(sql!("fetch/keep_page"), (page, tx.now.0 + PAGES_KEPT_MS))?;
    Ok(())
}

fn add_body(tx: &Tx<'_>, body: &CheckedBody) -> Result<i64> {
    if let Some(id) = tx.one(sql!("fetch/find_body"), (body.hash.0,), |row| row.get(0))? {
        return Ok(id);
    }
    let bytes = i64::try_from(body.bytes).unwrap_or(i64::MAX);
    tx.run(sql!("fetch/add_body"), (body.hash.0, bytes, &body.packed[..]))?;
    Ok(tx.conn.last_insert_rowid())
}

/// Puts a page onto the shelf. Returns whether another page of the URL lay there with another body.
pub(super) fn shelve(tx: &Tx<'_>, key: UrlKey, page: i64, new: &NewPage, shelf: &Shelf) -> Result<bool> {
    let old: Option<(i64, Option<i64>)> =
        tx.one(sql!("fetch/shelved_body"), (key.0,), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let bytes = new.body.as_ref().map_or(0, |body| i64::try_from(body.packed.len()).unwrap_or(i64::MAX));
    let [etag, last_modified] = validators(shelf);
    let row = (key.0, page, shelf.fresh_until.0, etag, last_modified, tx.now.0, bytes);
    tx.run(sql!("fetch/put_on_shelf"), row)?;
    let (entries, more) = old.as_ref().map_or((1, bytes), |(was, _)| (0, bytes - was));
    tx.run(sql!("fetch/resize_shelf"), (entries, more))?;
    let body: Option<i64> = match &new.body {
        Some(body) => tx.one(sql!("fetch/find_body"), (body.hash.0,), |row| row.get(0))?,
        None => None,
    };
    Ok(old.is_some_and(|(_, was)| was != body))
}

/// How to ask for the page again, as the store has it.
pub(super) fn validators(shelf: &Shelf) -> [Option<Cow<'_, str>>; 2] {
    [&shelf.validators.etag, &shelf.validators.last_modified].map(|text| text.as_deref().map(plain))
}

/// Takes a page off the shelf. Returns whether one lay there.
pub(super) fn unshelve(tx: &Tx<'_>, key: UrlKey) -> Result<bool> {
    let Some(bytes) = tx.one(sql!("fetch/drop_from_shelf"), (key.0,), |row| row.get::<_, i64>(0))? else {
        return Ok(false);
    };
    tx.run(sql!("fetch/resize_shelf"), (-1, -bytes))?;
    Ok(true)
}

pub(super) fn forget(tx: &mut Tx<'_>, urls: &[UrlKey], act: &Act) -> Result<u64> {
    tx.perform(act, |tx| {
        let mut gone = 0;
        for url in urls {
            gone += u64::from(unshelve(tx, *url)?);
        }
        Ok(gone)
    })
}

pub(super) fn size(conn: &Connection) -> Result<CacheSize> {
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
    let (entries, bytes) = many(conn, sql!("fetch/shelf_size"), (), read)?.pop().unwrap_or_default();
    Ok(CacheSize { entries: u64::try_from(entries).unwrap_or(0), bytes: u64::try_from(bytes).unwrap_or(0) })
}
