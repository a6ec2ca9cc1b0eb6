//! Ends leases of wiki: what it means to its extraction and to pages.

use deadpool_postgres::{Object, Transaction};
use malla_queue::{LeaseToken, UnixMs};
use malla_wiki::{Committed, Settled};

use super::act::Roused;
use super::fetch::begin;
use super::pool::Broken;
use super::{finish, point, sql, wiki_change as change, wiki_counts as counts};
use super::{wiki_extractions as extractions, wiki_pages as pages};
use crate::analyze_rows::int;
use crate::taken::Taken;
use crate::wiki_change::{incoming, next_task};
use crate::wiki_rows::day;

/// Returns also the rooms to rouse. The locks are taken in order: the extraction, pages, names, lanes, counts, wikis.
pub(super) async fn commit(client: &mut Object, settled: &Settled, now: UnixMs) -> Result<Roused<Committed>, Broken> {
    let tx = begin(client).await?;
    if let Some(step) = &settled.step {
        extractions::lock(&tx, step.extraction).await?;
    }
    let (changes, visited) = (&settled.changes, settled.visited.as_ref());
    let incoming = incoming(changes);
    let locked = pages::lock(&tx, changes, &incoming, visited, now).await?;
    let held = held(&tx, settled.token).await?;
    held.answer(settled.token.task)?;
    let locked = match locked {
        _ if held == Taken::Before => return Ok((Committed::Done, Vec::new())),
        None => return Ok((Committed::Stale, Vec::new())),
        Some(locked) => locked,
    };
    let effects = change::apply(&tx, changes, &incoming, &locked, now).await?;
    if let Some(visited) = visited {
        pages::visit(&tx, visited, now).await?;
    }
    let finished = finish::end(&tx, &[(settled.token, settled.ending.clone())], now).await?;
    let taken = finished.taken.first().copied().unwrap_or(Taken::Lost);
    taken.answer(settled.token.task)?;
    if taken == Taken::Before {
        return Ok((Committed::Done, Vec::new()));
    }
    if let Some(step) = &settled.step {
        extractions::step(&tx, step, next_task(settled, &finished.followed), now).await?;
    }
    let visits = visited.map(|visited| (visited.wiki.0, int(visited.pages.len() as u64)));
    counts::add(&tx, &effects, visits, day(now)).await?;
    point("wiki.commit", "inside");
    tx.commit().await?;
    Ok((Committed::Done, finished.rouse))
}

/// How an ending of this lease would be taken, as it is now: nobody shall work for one that is lost.
pub(super) async fn held(tx: &Transaction<'_>, token: LeaseToken) -> Result<Taken, Broken> {
    let row = tx.query_one(&tx.prepare_cached(sql!("wiki/held")).await?, &[&token.task.0]).await?;
    let (holder, last): (Option<i64>, Option<i64>) = (row.get(0), row.get(1));
    Ok(match Some(token.nonce) {
        nonce if nonce == holder => Taken::Now,
        nonce if nonce == last => Taken::Before,
        _ => Taken::Lost,
    })
}
