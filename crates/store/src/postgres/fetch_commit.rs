//! Ends leases of fetch: what it means to those who wait, to the cache, to the site and to the device.

use std::collections::{HashMap, HashSet};

use deadpool_postgres::{Object, Transaction};
use malla_fetch::trust::Watch;
use malla_fetch::{
    Commit, DeviceId, NOT_ASKED, NewPage, PageTask, PageUrl, ROOM, Renewal, Settled, Settlement, Shelf, Tally, UrlKey,
};
use malla_queue::{Ending, Event, LaneKey, LeaseToken, Result, UnixMs};

use super::act::Roused;
use super::fetch::begin;
use super::fetch_pages::{Added, add_pages};
use super::fetch_shelf::{Reshelved, Shelving};
use super::fetch_sites::learn;
use super::fetch_told::{Groups, Notes, Tell, followed, go_on, tell};
use super::pool::Broken;
use super::{finish, point, sql};
use crate::fetch_paces::lessons;
use crate::fetch_rows::{ANSWERS, changed_event, counted, from_json, orphaned, to_json};
use crate::taken::Taken;

pub(super) async fn commit(
    client: &mut Object,
    commit: &Commit,
    now: UnixMs,
) -> Result<Roused<Vec<Result<()>>>, Broken> {
    let tx = begin(client).await?;
    let endings: Vec<(LeaseToken, Ending)> =
        commit.settled.iter().map(|settled| (settled.token, settled.ending.clone())).collect();
    let (mut answers, mut taken, mut rouse) = (Vec::new(), Vec::new(), Vec::new());
    if !endings.is_empty() {
        lock_lanes(&tx, commit, now).await?;
        if is_blocked(&tx, commit).await? {
            return Ok((endings.iter().map(|(token, _)| Taken::Lost.answer(token.task)).collect(), rouse));
        }
        let finished = finish::end(&tx, &endings, now).await?;
        answers = finished.answers(&endings);
        (taken, rouse) = (finished.taken, finished.rouse);
    }
    let now_taken = commit.settled.iter().zip(&taken).filter(|(_, taken)| **taken == Taken::Now);
    let settled: Vec<&Settled> = now_taken.map(|(settled, _)| settled).collect();
    let hold = commit.watch.as_ref().is_some_and(Watch::checks);
    let probation = commit.watch.as_ref().map(|watch| watch.held.clone()).unwrap_or_default();
    let mut notes = Notes { hold, probation, ..Notes::default() };
    let shelved = settle(&tx, commit, &settled, now, &mut rouse, &mut notes).await?;
    rouse.extend(super::trust::after_commit(&tx, commit, &settled, &mut notes, now).await?);
    if let Some(device) = commit.device {
        count(&tx, device, &counted(commit, &taken), now).await?;
    }
    shelved.count(&tx).await?;
    super::trust::pay(&tx, commit, &settled, notes, now).await?;
    point("fetch.commit", "inside");
    tx.commit().await?;
    Ok((answers, rouse))
}

/// Whether what this device brings is not taken any more. It stays as it is until the transaction ends: a verdict waits.
async fn is_blocked(tx: &Transaction<'_>, commit: &Commit) -> Result<bool, Broken> {
    let Some(device) = commit.device.filter(|_| commit.watch.is_some()) else { return Ok(false) };
    let statement = tx.prepare_cached(sql!("fetch/device_blocked")).await?;
    Ok(tx.query_opt(&statement, &[&device.0]).await?.is_some_and(|row| row.get(0)))
}

/// Locks the lanes of all that the commit touches, so that nothing behind it needs another one.
async fn lock_lanes(tx: &Transaction<'_>, commit: &Commit, now: UnixMs) -> Result<(), Broken> {
    let tasks: Vec<i64> = commit.settled.iter().map(|settled| settled.token.task.0).collect();
    let nonces: Vec<i64> = commit.settled.iter().map(|settled| settled.token.nonce).collect();
    let goal = |settled: &Settled| match &settled.outcome {
        Settlement::Moved { to } => Some(to.url.site().lane()),
        // If it is as it was said before, it is followed now.
        Settlement::Checked(settling) => {
            settling.said.location.as_deref().and_then(|to| PageUrl::parse(to).ok()).map(|to| to.site().lane())
        }
        _ => None,
    };
    let goals: Vec<Option<LaneKey>> = commit.settled.iter().map(goal).collect();
    let goals: Vec<Option<&str>> = goals.iter().map(|goal| goal.as_ref().map(LaneKey::as_str)).collect();
    let others: Vec<LaneKey> = lessons(commit.settled.iter()).keys().map(malla_fetch::Site::lane).collect();
    let others: Vec<&str> = others.iter().map(LaneKey::as_str).collect();
    let ceiling = i64::from(commit.lanes.ceiling);
    let gap_ms = i64::try_from(commit.lanes.gap_ms).unwrap_or(i64::MAX);
    let statement = tx.prepare_cached(sql!("fetch/lock_sites")).await?;
    tx.execute(&statement, &[&tasks, &nonces, &goals, &others, &ceiling, &gap_ms, &now.0]).await?;
    Ok(())
}

/// The page that came of a task.
type PageOf<'c> = (i64, &'c PageUrl, &'c NewPage, Option<&'c Shelf>);

/// What the taken endings mean, sort by sort.
#[derive(Default)]
struct Sorted<'c> {
    pages: Vec<PageOf<'c>>,
    unchanged: Vec<(i64, &'c PageUrl, i64, &'c Renewal, u32)>,
    moved: Vec<(i64, PageTask)>,
}

fn sort<'c>(settled: &[&'c Settled]) -> Sorted<'c> {
    let mut sorted = Sorted::default();
    for settled in settled {
        let task = settled.token.task.0;
        match &settled.outcome {
            Settlement::Open | Settlement::Robots { .. } | Settlement::Checked(_) => {}
            Settlement::Page { url, page, shelf } => sorted.pages.push((task, url, page, shelf.as_ref())),
            Settlement::Unchanged { url, base, renewal, hops } => {
                sorted.unchanged.push((task, url, base.0.0, renewal, *hops));
            }
            Settlement::Moved { to } => sorted.moved.push((task, to.clone())),
        }
    }
    sorted
}

/// Writes what these endings mean.
async fn settle(
    tx: &Transaction<'_>,
    commit: &Commit,
    settled: &[&Settled],
    now: UnixMs,
    rouse: &mut Vec<String>,
    notes: &mut Notes,
) -> Result<Reshelved, Broken> {
    learn(tx, &lessons(settled.iter().copied()), now).await?;
    if settled.iter().any(|settled| matches!(settled.outcome, Settlement::Robots { .. })) {
        rouse.push(ROOM.to_owned());
    }
    let Sorted { pages, unchanged, moved } = sort(settled);
    let mut moved = followed(tx, moved, notes).await?;
    let new: Vec<_> = pages.iter().map(|(_, url, page, _)| (*page, Some(url.key()))).collect();
    let added = add_pages(tx, &new, now).await?;
    let mut shelving = Shelving::default();
    for ((_, url, page, shelf), added) in pages.iter().zip(&added) {
        if let Some(shelf) = shelf {
            shelving.put(url.key(), *added, page, shelf);
        }
    }
    for (_, url, base, renewal, _) in &unchanged {
        shelving.freshen(url.key(), *base, renewal);
    }
    let shelved = shelving.write(tx, now).await?;
    notes.claim(
        pages.iter().zip(&added).map(|((task, url, page, _), added)| (*task, *url, page.status, added.id, false)),
    );
    let freshened: HashSet<&UrlKey> = shelved.freshened.iter().collect();
    let page = |((task, _, page, _), added): (&PageOf<'_>, &Added)| Tell::new(*task, added.id, page.status);
    let mut tells: Vec<Tell> = pages.iter().zip(&added).map(page).collect();
    for (task, url, page, _, hops) in unchanged {
        if freshened.contains(&url.key()) {
            notes.claim([(task, url, 304, page, true)]);
            tells.push(Tell { cached: true, ..Tell::new(task, page, 200) });
        } else {
            moved.push((task, PageTask { hops, ..PageTask::new(url.clone()) }));
        }
    }
    let order: HashMap<i64, usize> = settled.iter().zip(0..).map(|(one, at)| (one.token.task.0, at)).collect();
    tells.sort_by_key(|tell| order.get(&tell.task).copied());
    rouse.extend(go_on(tx, &moved, commit.lanes, now).await?);
    let told = tell(tx, &tells, now, notes).await?;
    if !told.is_empty() {
        rouse.push(ANSWERS.to_owned());
    }
    let changed: HashSet<&UrlKey> = shelved.changed.iter().collect();
    let changes = pages.iter().filter(|(_, url, ..)| changed.contains(&url.key()));
    add_changes(tx, changes.filter_map(|(task, url, page, _)| Some((*task, *url, *page, told.get(task)?))), now)
        .await?;
    Ok(shelved)
}

/// Tells the groups of those who waited that pages have changed.
async fn add_changes<'c>(
    tx: &Transaction<'_>,
    changes: impl Iterator<Item = (i64, &'c PageUrl, &'c NewPage, &'c Groups)>,
    now: UnixMs,
) -> Result<(), Broken> {
    let of = |(task, url, page, groups): (i64, &'c PageUrl, &'c NewPage, &'c Groups)| {
        groups.iter().map(move |group| (task, changed_event(url, page, *group)))
    };
    let (tasks, events): (Vec<i64>, Vec<Event>) = changes.flat_map(of).unzip();
    if events.is_empty() {
        return Ok(());
    }
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    let groups: Vec<Option<i64>> = events.iter().map(|event| event.group.map(|group| group.0)).collect();
    let bodies: Vec<&[u8]> = events.iter().map(|event| event.body.as_slice()).collect();
    let statement = tx.prepare_cached(sql!("fetch/add_events")).await?;
    tx.execute(&statement, &[&now.0, &kinds, &groups, &tasks, &bodies]).await?;
    Ok(())
}

async fn count(tx: &Transaction<'_>, device: DeviceId, more: &Tally, now: UnixMs) -> Result<(), Broken> {
    let row = tx.query_opt(&tx.prepare_cached(sql!("fetch/device_tally")).await?, &[&device.0]).await?;
    let Some(row) = row else { return Ok(()) };
    let mut tally: Tally = from_json(row.get(0))?;
    tally.add(more);
    let statement = tx.prepare_cached(sql!("fetch/write_tally")).await?;
    tx.execute(&statement, &[&device.0, &to_json(&tally), &now.0]).await?;
    Ok(())
}

pub(super) async fn answer_orphans(client: &mut Object, limit: usize, now: UnixMs) -> Result<Roused<u64>, Broken> {
    let tx = begin(client).await?;
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = tx.query(&tx.prepare_cached(sql!("fetch/orphans")).await?, &[&most]).await?;
    let tasks: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    if tasks.is_empty() {
        return Ok((0, Vec::new()));
    }
    tx.query(&tx.prepare_cached(sql!("fetch/lock_tasks")).await?, &[&tasks]).await?;
    let rows = tx.query(&tx.prepare_cached(sql!("fetch/still_orphans")).await?, &[&tasks]).await?;
    let tasks: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
    let pages: Vec<NewPage> = rows.iter().map(|row| orphaned(row.get(1), now)).collect();
    let added = add_pages(&tx, &pages.iter().map(|page| (page, None)).collect::<Vec<_>>(), now).await?;
    let tells: Vec<Tell> = tasks.iter().zip(added).map(|(task, page)| Tell::new(*task, page.id, NOT_ASKED)).collect();
    let told = tell(&tx, &tells, now, &mut Notes::default()).await?;
    tx.commit().await?;
    Ok((tells.len() as u64, if told.is_empty() { Vec::new() } else { vec![ANSWERS.to_owned()] }))
}
