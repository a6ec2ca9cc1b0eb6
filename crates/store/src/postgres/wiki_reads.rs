//! What is read of revisions and texts.

use std::collections::HashMap;

use deadpool_postgres::{Object, Transaction};
use malla_wiki::{Block, Known, Mark, PageId, RevId, Revision, TextHash, TextPlace, WikiId};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::fetch::begin;
use super::pool::Broken;
use super::{one_view, sql};
use crate::analyze_rows::{count, int};
use crate::wiki_revisions::{KnownRow, RevisionRow, after_mark, place, text_hash};

/// Reads by the indexes, whatever is known of the size of the tables.
async fn rows(client: &mut Object, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Broken> {
    let tx = begin(client).await?;
    let rows = tx.query(&tx.prepare_cached(sql).await?, params).await?;
    tx.rollback().await?;
    Ok(rows)
}

pub(super) async fn known(client: &mut Object, wiki: WikiId, revids: &[RevId]) -> Result<Vec<Known>, Broken> {
    let revids: Vec<i64> = revids.iter().map(|revid| revid.0).collect();
    let read = |row: &Row| {
        let row = KnownRow {
            revid: row.get(0),
            pageid: row.get(1),
            at: row.get(2),
            size: row.get(3),
            user_hidden: row.get(4),
            comment_hidden: row.get(5),
            sha1: row.get(6),
            text: row.get(7),
            flags: row.get(8),
        };
        Ok(row.read()?)
    };
    rows(client, sql!("wiki/known"), &[&wiki.0, &revids]).await?.iter().map(read).collect()
}

pub(super) async fn revision(client: &mut Object, wiki: WikiId, revid: RevId) -> Result<Option<Revision>, Broken> {
    let rows = rows(client, sql!("wiki/revision"), &[&wiki.0, &revid.0]).await?;
    Ok(rows.first().map(|row| read_revision(row).read()).transpose()?)
}

pub(super) async fn history(
    client: &mut Object,
    wiki: WikiId,
    pageid: PageId,
    after: Option<Mark>,
    limit: usize,
) -> Result<Vec<Revision>, Broken> {
    let ((at, revid), most) = (after_mark(after), int(limit as u64));
    let rows = rows(client, sql!("wiki/history"), &[&wiki.0, &pageid.0, &at, &revid, &most]).await?;
    rows.iter().map(|row| Ok(read_revision(row).read()?)).collect()
}

fn read_revision(row: &Row) -> RevisionRow {
    RevisionRow {
        revid: row.get(0),
        parentid: row.get(1),
        pageid: row.get(2),
        at: row.get(3),
        user: row.get(4),
        userid: row.get(5),
        flags: row.get(6),
        size: row.get(7),
        sha1: row.get(8),
        model: row.get(9),
        format: row.get(10),
        comment: row.get(11),
        parsed_comment: row.get(12),
        tags: row.get(13),
        text: row.get(14),
    }
}

fn bytes_of(hashes: &[TextHash]) -> Vec<&[u8]> {
    hashes.iter().map(|hash| &hash.0[..]).collect()
}

pub(super) async fn places(
    client: &mut Object,
    wiki: WikiId,
    pageid: PageId,
    hashes: &[TextHash],
) -> Result<Vec<(TextHash, TextPlace)>, Broken> {
    let rows = rows(client, sql!("wiki/places"), &[&wiki.0, &pageid.0, &bytes_of(hashes)]).await?;
    rows.iter().map(read_text).collect()
}

/// Reads the columns hash, block, start and length.
fn read_text(row: &Row) -> Result<(TextHash, TextPlace), Broken> {
    Ok((text_hash(row.get(0))?, place(row.get(1), row.get(2), row.get(3))?))
}

pub(super) async fn uses(
    client: &mut Object,
    wiki: WikiId,
    pageid: PageId,
    hashes: &[TextHash],
) -> Result<Vec<(TextHash, u64)>, Broken> {
    let rows = rows(client, sql!("wiki/uses"), &[&wiki.0, &pageid.0, &bytes_of(hashes)]).await?;
    let used: HashMap<&[u8], i64> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    Ok(hashes.iter().map(|hash| (*hash, used.get(&hash.0[..]).map_or(0, |uses| count(*uses)))).collect())
}

pub(super) async fn block(
    client: &mut Object,
    wiki: WikiId,
    pageid: PageId,
    number: u32,
) -> Result<Option<Block>, Broken> {
    let tx = one_view(client).await?;
    let block = block_in(&tx, wiki, pageid, number).await?;
    tx.rollback().await?;
    Ok(block)
}

async fn block_in(tx: &Transaction<'_>, wiki: WikiId, pageid: PageId, number: u32) -> Result<Option<Block>, Broken> {
    let place: [&(dyn ToSql + Sync); 3] = [&wiki.0, &pageid.0, &i64::from(number)];
    let Some(row) = tx.query_opt(&tx.prepare_cached(sql!("wiki/block")).await?, &place).await? else {
        return Ok(None);
    };
    let texts = tx.query(&tx.prepare_cached(sql!("wiki/texts_of_block")).await?, &place).await?;
    let texts = texts.iter().map(read_text).collect::<Result<_, _>>()?;
    let bytes = u32::try_from(row.get::<_, i64>(0)).unwrap_or(0);
    Ok(Some(Block { number, packed: row.get(1), bytes, texts, object: row.get(2) }))
}
