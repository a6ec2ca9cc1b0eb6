//! The shelf: pages lie there while they may be given out again.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use deadpool_postgres::{GenericClient, Object, Transaction};
use malla_fetch::{CacheSize, NewPage, Renewal, Shelf, UrlKey};
use malla_queue::{Act, UnixMs};

use super::fetch::begin;
use super::fetch_pages::Added;
use super::perform::{first_answer, settle};
use super::pool::Broken;
use super::sql;
use crate::fetch_rows::{PAGES_KEPT_MS, from_json, plain, to_json};

/// What a transaction does to the shelf, by URL.
#[derive(Default)]
pub(super) struct Shelving<'c> {
    puts: BTreeMap<UrlKey, (Added, &'c NewPage, &'c Shelf)>,
    freshens: BTreeMap<UrlKey, (i64, &'c Renewal)>,
}

/// What became of it.
#[derive(Default)]
pub(super) struct Reshelved {
    /// URLs on which another page lay with another body.
    pub(super) changed: Vec<UrlKey>,
    /// URLs whose page was still there and is fresh again.
    pub(super) freshened: Vec<UrlKey>,
    entries: i64,
    bytes: i64,
}

impl<'c> Shelving<'c> {
    pub(super) fn put(&mut self, key: UrlKey, page: Added, new: &'c NewPage, shelf: &'c Shelf) {
        self.puts.insert(key, (page, new, shelf));
    }

    pub(super) fn freshen(&mut self, key: UrlKey, page: i64, renewal: &'c Renewal) {
        self.freshens.insert(key, (page, renewal));
    }

    pub(super) async fn write(&self, tx: &Transaction<'_>, now: UnixMs) -> Result<Reshelved, Broken> {
        let mut done = Reshelved::default();
        let keys: Vec<&[u8]> = self.puts.keys().chain(self.freshens.keys()).map(|key| &key.0[..]).collect();
        if keys.is_empty() {
            return Ok(done);
        }
        let rows = tx.query(&tx.prepare_cached(sql!("fetch/lock_shelf")).await?, &[&keys]).await?;
        let old = rows.iter().filter_map(|row| {
            let key = UrlKey(row.get::<_, &[u8]>(0).try_into().ok()?);
            Some((key, (row.get::<_, i64>(1), row.get::<_, i64>(2), row.get::<_, Option<i64>>(3))))
        });
        let old: HashMap<UrlKey, (i64, i64, Option<i64>)> = old.collect();
        for (key, (page, new, _)) in &self.puts {
            let (bytes, was) = (packed_len(new), old.get(key));
            done.entries += i64::from(was.is_none());
            done.bytes += bytes - was.map_or(0, |(_, bytes, _)| *bytes);
            done.changed.extend(was.filter(|(.., body)| *body != page.body).map(|_| *key));
        }
        self.write_puts(tx, now).await?;
        let there = |(key, (page, _)): &(&UrlKey, &(i64, &Renewal))| old.get(*key).is_some_and(|(old, ..)| old == page);
        let found = self.freshens.iter().filter(there).map(|(key, (page, renewal))| (*page, (*key, *renewal)));
        done.freshened = write_freshens(tx, found.collect(), now).await?;
        Ok(done)
    }

    async fn write_puts(&self, tx: &Transaction<'_>, now: UnixMs) -> Result<(), Broken> {
        if self.puts.is_empty() {
            return Ok(());
        }
        let keys: Vec<&[u8]> = self.puts.keys().map(|key| &key.0[..]).collect();
        let pages: Vec<i64> = self.puts.values().map(|(page, ..)| page.id).collect();
        let fresh: Vec<i64> = self.puts.values().map(|(_, _, shelf)| shelf.fresh_until.0).collect();
        let (etags, dates) = validators(self.puts.values().map(|(_, _, shelf)| *shelf));
        let bytes: Vec<i64> = self.puts.values().map(|(_, new, _)| packed_len(new)).collect();
        let statement = tx.prepare_cached(sql!("fetch/put_on_shelf")).await?;
        tx.execute(&statement, &[&keys, &pages, &fresh, &etags, &dates, &bytes, &now.0]).await?;
        Ok(())
    }
}

/// What the sites of these pages said counts from now on. Returns the URLs of those that are there.
async fn write_freshens(
    tx: &Transaction<'_>,
    found: BTreeMap<i64, (UrlKey, &Renewal)>,
    now: UnixMs,
) -> Result<Vec<UrlKey>, Broken> {
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let pages: Vec<i64> = found.keys().copied().collect();
    let rows = tx.query(&tx.prepare_cached(sql!("fetch/page_headers")).await?, &[&pages]).await?;
    let (mut pages, mut headers, mut urls, mut shelves) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for row in &rows {
        let page: i64 = row.get(0);
        let Some((key, renewal)) = found.get(&page) else { continue };
        let (merged, shelf) = renewal.of(&from_json::<Vec<(String, String)>>(row.get(1))?);
        pages.push(page);
        headers.push(to_json(&merged));
        urls.push(*key);
        shelves.push(shelf);
    }
    let keys: Vec<&[u8]> = urls.iter().map(|key| &key.0[..]).collect();
    let fresh: Vec<i64> = shelves.iter().map(|shelf| shelf.fresh_until.0).collect();
    let (etags, dates) = validators(shelves.iter());
    let statement = tx.prepare_cached(sql!("fetch/freshen")).await?;
    tx.execute(&statement, &[&keys, &fresh, &etags, &dates, &now.0]).await?;
    let statement = tx.prepare_cached(sql!("fetch/renew_pages")).await?;
    tx.execute(&statement, &[&pages, &headers, &(now.0 + PAGES_KEPT_MS)]).await?;
    Ok(urls)
}

impl Reshelved {
    /// Notes the new size of the shelf; last of all, so that nobody waits for it for long.
    pub(super) async fn count(&self, tx: &Transaction<'_>) -> Result<(), Broken> {
        resize(tx, self.entries, self.bytes).await
    }
}

fn packed_len(page: &NewPage) -> i64 {
    page.body.as_ref().map_or(0, |body| i64::try_from(body.packed.len()).unwrap_or(i64::MAX))
}

type Texts<'s> = Vec<Option<Cow<'s, str>>>;

fn validators<'s>(shelves: impl Iterator<Item = &'s Shelf>) -> (Texts<'s>, Texts<'s>) {
    let of = |shelf: &'s Shelf| {
        let validators = &shelf.validators;
        (validators.etag.as_deref().map(plain), validators.last_modified.as_deref().map(plain))
    };
    shelves.map(of).unzip()
}

pub(super) async fn resize(tx: &Transaction<'_>, entries: i64, bytes: i64) -> Result<(), Broken> {
    if (entries, bytes) != (0, 0) {
        tx.execute(&tx.prepare_cached(sql!("fetch/resize_shelf")).await?, &[&entries, &bytes]).await?;
    }
    Ok(())
}

/// Takes pages off the shelf. Returns how many there were.
pub(super) async fn unshelve(tx: &Transaction<'_>, keys: &[&[u8]]) -> Result<u64, Broken> {
    let rows = tx.query(&tx.prepare_cached(sql!("fetch/forget")).await?, &[&keys]).await?;
    let bytes: i64 = rows.iter().map(|row| row.get::<_, i64>(0)).sum();
    resize(tx, -i64::try_from(rows.len()).unwrap_or(i64::MAX), -bytes).await?;
    Ok(rows.len() as u64)
}

pub(super) async fn forget(client: &mut Object, urls: &[UrlKey], act: &Act, now: UnixMs) -> Result<u64, Broken> {
    let tx = begin(client).await?;
    if let Some(answer) = first_answer(&tx, act, now).await? {
        return Ok(answer);
    }
    let keys: Vec<&[u8]> = urls.iter().map(|url| &url.0[..]).collect();
    let gone = unshelve(&tx, &keys).await?;
    settle(tx, act, now, "fetch", gone).await
}

pub(super) async fn size(client: &impl GenericClient) -> Result<CacheSize, Broken> {
    let row = client.query_one(&client.prepare_cached(sql!("fetch/shelf_size")).await?, &[]).await?;
    let count = |column| row.get::<_, Option<i64>>(column).and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
    Ok(CacheSize { entries: count(0), bytes: count(1) })
}
