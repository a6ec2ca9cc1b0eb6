//! Where the bodies of the rooms go before their rows are written, and how they come back.

use std::collections::HashSet;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use malla_fetch::{Answered, BodyHash, CheckedBody, Commit, PackedBody, Settlement};
use malla_queue::{Error, Result};
use malla_wiki::{Block, PageChange};

use super::{Deadline, Depot, Rows};
use crate::crashing::point;

/// What was read of a row, and the name of its body if that lies outside of the database.
pub(crate) type Outside<T> = (T, Option<String>);

/// Puts large bodies of pages outside of the database. What is kept already is not put there again; should it be forgotten
/// at this very moment, its bytes go into the row.
pub(crate) async fn place_pages(rows: &impl Rows, depot: Option<&Depot>, commit: &mut Commit) -> Result<Deadline> {
    let Some(depot) = depot else { return Ok(Deadline::default()) };
    let hashes: HashSet<BodyHash> =
        bodies(commit).filter(|body| depot.takes(body.packed.len())).map(|body| body.hash).collect();
    if hashes.is_empty() {
        return Ok(Deadline::default());
    }
    let mut seen = rows.known(hashes.iter().copied().collect()).await?;
    let new = bodies(commit).filter(|body| depot.takes(body.packed.len()) && seen.insert(body.hash));
    let (new, packed): (Vec<BodyHash>, Vec<Bytes>) = new.map(|body| (body.hash, body.packed.clone())).unzip();
    if new.is_empty() {
        return Ok(Deadline::default());
    }
    let deadline = depot.deadline();
    let names = depot.put_all(packed).await?;
    point("bodies", "put");
    let names: std::collections::HashMap<BodyHash, String> = new.into_iter().zip(names).collect();
    for body in bodies(commit) {
        body.object = names.get(&body.hash).cloned();
    }
    Ok(deadline)
}

fn bodies(commit: &mut Commit) -> impl Iterator<Item = &mut CheckedBody> {
    commit.settled.iter_mut().filter_map(|settled| match &mut settled.outcome {
        Settlement::Page { page, .. } => page.body.as_mut(),
        _ => None,
    })
}

/// Puts large blocks of texts outside of the database.
pub(crate) async fn place_blocks(depot: Option<&Depot>, changes: &mut [PageChange]) -> Result<Deadline> {
    let Some(depot) = depot else { return Ok(Deadline::default()) };
    let blocks = changes.iter_mut().flat_map(|change| &mut change.blocks);
    let mut large: Vec<&mut Block> = blocks.filter(|block| depot.takes(block.packed.len())).collect();
    if large.is_empty() {
        return Ok(Deadline::default());
    }
    let deadline = depot.deadline();
    let packed = large.iter_mut().map(|block| Bytes::from(std::mem::take(&mut block.packed))).collect();
    let names = depot.put_all(packed).await?;
    point("bodies", "put");
    large.into_iter().zip(names).for_each(|(block, name)| block.object = Some(name));
    Ok(deadline)
}

/// The answers with the bodies that lie outside of the database, several of them read at a time.
pub(crate) async fn fetch_answers(depot: Option<&Depot>, rows: Vec<Outside<Answered>>) -> Result<Vec<Answered>> {
    let at_once = depot.map_or(1, Depot::concurrency);
    let whole = rows.into_iter().map(|(mut answered, object)| async move {
        if let Some(object) = object {
            let bytes = answered.page.body.bytes;
            answered.page.body = PackedBody { packed: get(depot, &object).await?, bytes, hash: None };
        }
        Ok(answered)
    });
    stream::iter(whole).buffered(at_once).try_collect().await
}

pub(crate) async fn fetch_block(depot: Option<&Depot>, row: Option<Block>) -> Result<Option<Block>> {
    let Some(mut block) = row else { return Ok(None) };
    if let Some(object) = block.object.take() {
        block.packed = get(depot, &object).await?.into();
    }
    Ok(Some(block))
}

async fn get(depot: Option<&Depot>, object: &str) -> Result<Bytes> {
    let depot = depot.ok_or_else(|| {
        let why =
            "a body lies in an object store, and bodies.url names none: set it as it was when the body was stored";
        Error::Unavailable(why.into())
    })?;
    depot.get(object).await
}
