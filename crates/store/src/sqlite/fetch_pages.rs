//! Pages, their bodies and the shelf they lie on while they are fresh.

use std::borrow::Cow;

use malla_fetch::{CacheSize, CheckedBody, NewPage, Renewal, Shelf, UrlKey};
use malla_queue::{Act, Error, Result};
use rusqlite::Connection;

use super::tx::Tx;
use super::{many, sql};
use crate::fetch_rows::{PAGES_KEPT_MS, from_json, plain, to_json};

/// A page that was written.
#[derive(Clone, Copy)]
pub(super) struct Added {
    pub(super) id: i64,
    body: Option<i64>,
}

/// Writes a page. `key` is its URL's; a page without one never comes onto the shelf.
pub(super) fn add_page(tx: &mut Tx<'_>, page: &NewPage, key: Option<UrlKey>) -> Result<Added> {
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
    Ok(Added { id, body })
}

/// A page that is an answer again is kept for longer.
pub(super) fn keep_page(tx: &Tx<'_>, page: i64) -> Result<()> {
    tx.run(sql!("fetch/keep_page"), (page, tx.now.0 + PAGES_KEPT_MS))?;
    Ok(())
}

fn add_body(tx: &Tx<'_>, body: &CheckedBody) -> Result<i64> {
    let bytes = i64::try_from(body.bytes).unwrap_or(i64::MAX);
    let here: &[u8] = if body.object.is_some() { &[] } else { &body.packed[..] };
    if tx.run(sql!("fetch/add_body"), (body.hash.0, bytes, here, &body.object))? == 1 {
        return Ok(tx.conn.last_insert_rowid());
    }
    let shared = tx.one(sql!("fetch/share_body"), (body.hash.0,), |row| row.get(0))?;
    shared.ok_or_else(|| Error::Internal("a body is there and is not".into()))
}

/// By how much the shelf has grown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Growth {
    entries: i64,
    bytes: i64,
}

/// Puts a page onto the shelf. Returns whether another page of the URL lay there with another body.
pub(super) fn shelve(
    tx: &Tx<'_>,
    key: UrlKey,
    page: Added,
    new: &NewPage,
    shelf: &Shelf,
    growth: &mut Growth,
) -> Result<bool> {
    let bytes = new.body.as_ref().map_or(0, |body| i64::try_from(body.packed.len()).unwrap_or(i64::MAX));
    let [etag, last_modified] = validators(shelf);
    let row = || (key.0, page.id, shelf.fresh_until.0, &etag, &last_modified, tx.now.0, bytes);
    if tx.run(sql!("fetch/add_to_shelf"), row())? == 1 {
        growth.entries += 1;
        growth.bytes += bytes;
        return Ok(false);
    }
    let old: Option<(i64, Option<i64>)> =
        tx.one(sql!("fetch/shelved_body"), (key.0,), |row| Ok((row.get(0)?, row.get(1)?)))?;
    tx.run(sql!("fetch/renew_on_shelf"), row())?;
    growth.bytes += bytes - old.map_or(0, |(was, _)| was);
    Ok(old.is_some_and(|(_, was)| was != page.body))
}

pub(super) fn resize(tx: &Tx<'_>, by: Growth) -> Result<()> {
    if by != Growth::default() {
        tx.run(sql!("fetch/resize_shelf"), (by.entries, by.bytes))?;
    }
    Ok(())
}

/// The page has not changed: what its site said with that counts from now on. Returns whether it lies on the shelf.
pub(super) fn renew(tx: &Tx<'_>, key: UrlKey, page: i64, renewal: &Renewal) -> Result<bool> {
    let headers: Option<String> = tx.one(sql!("fetch/shelved_headers"), (key.0, page), |row| row.get(0))?;
    let Some(headers) = headers else { return Ok(false) };
    let (headers, shelf) = renewal.of(&from_json::<Vec<(String, String)>>(&headers)?);
    let [etag, last_modified] = validators(&shelf);
    tx.run(sql!("fetch/freshen"), (key.0, shelf.fresh_until.0, etag, last_modified, tx.now.0))?;
    tx.run(sql!("fetch/renew_page"), (page, to_json(&headers), tx.now.0 + PAGES_KEPT_MS))?;
    Ok(true)
}

/// How to ask for the page again, as the store has it.
fn validators(shelf: &Shelf) -> [Option<Cow<'_, str>>; 2] {
    [&shelf.validators.etag, &shelf.validators.last_modified].map(|text| text.as_deref().map(plain))
}

/// Takes a page off the shelf. Returns whether one lay there.
pub(super) fn unshelve(tx: &Tx<'_>, key: UrlKey) -> Result<bool> {
    let Some(bytes) = tx.one(sql!("fetch/drop_from_shelf"), (key.0,), |row| row.get::<_, i64>(0))? else {
        return Ok(false);
    };
    resize(tx, Growth { entries: -1, bytes: -bytes })?;
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
