//! Ends leases of fetch: what it means to those who wait, to the cache, to the site and to the device.

use std::collections::BTreeMap;

use malla_fetch::{
    Commit, DeviceId, KnownRobots, NewPage, PageTask, PageUrl, Seen, Settled, Settlement, Shelf, Site, Tally, Trouble,
    TroubleKind,
};
use malla_queue::{Event, GroupId, LaneSettings, Result, TaskId};

use super::fetch_jobs as jobs;
use super::fetch_pages::{add_page, keep_page, shelve};
use super::finish::{Taken, end};
use super::submit::{add_events, submit_one};
use super::tx::Tx;
use super::{lanes, sql};
use crate::fetch_rows::{JobRow, from_json, pack_robots, site_state, to_json};

pub(super) fn commit(tx: &mut Tx<'_>, commit: &Commit) -> Result<Vec<Result<()>>> {
    let endings: Vec<_> = commit.settled.iter().map(|settled| (settled.token, settled.ending.clone())).collect();
    let taken = end(tx, &endings)?;
    let mut told = Told::default();
    let mut refused = 0;
    for (settled, taken) in commit.settled.iter().zip(&taken) {
        match taken {
            Taken::Now => settle(tx, settled, commit.lanes, &mut told)?,
            Taken::Before => {}
            Taken::Lost => refused += 1,
        }
    }
    told.write(tx)?;
    if let Some(device) = commit.device {
        count(tx, device, &commit.tally, refused)?;
    }
    Ok(commit.settled.iter().zip(taken).map(|(settled, taken)| taken.answer(settled.token.task)).collect())
}

/// The jobs that got answers in this transaction, each read and written once.
#[derive(Default)]
struct Told {
    jobs: BTreeMap<i64, Option<JobRow>>,
}

impl Told {
    fn job(&mut self, tx: &Tx<'_>, id: i64) -> Result<Option<&mut JobRow>> {
        if let std::collections::btree_map::Entry::Vacant(place) = self.jobs.entry(id) {
            place.insert(jobs::find(tx.conn, id)?);
        }
        Ok(self.jobs.get_mut(&id).and_then(Option::as_mut))
    }

    fn write(self, tx: &Tx<'_>) -> Result<()> {
        self.jobs.into_values().flatten().try_for_each(|job| jobs::write(tx, &job))
    }
}

fn settle(tx: &mut Tx<'_>, settled: &Settled, lanes: LaneSettings, told: &mut Told) -> Result<()> {
    let task = settled.token.task;
    if let Some((site, seen)) = &settled.seen {
        learn(tx, site, *seen)?;
    }
    match &settled.outcome {
        Settlement::Open => Ok(()),
        Settlement::Page { url, page, shelf } => put(tx, task, url, page, shelf.as_ref(), told),
        Settlement::Unchanged { url, base, shelf, hops } => {
            let (etag, last_modified) = (&shelf.validators.etag, &shelf.validators.last_modified);
            let row = (url.key().0, base.0.0, shelf.fresh_until.0, etag, last_modified, tx.now.0);
            if tx.run(sql!("fetch/freshen"), row)? == 0 {
                return go_on(tx, task, &PageTask { hops: *hops, ..PageTask::new(url.clone()) }, lanes);
            }
            keep_page(tx, base.0.0)?;
            tell(tx, task, base.0.0, 200, true, told).map(drop)
        }
        Settlement::Moved { to } => go_on(tx, task, to, lanes),
        Settlement::Robots { of, robots, gap_ms } => write_robots(tx, of, robots, *gap_ms),
    }
}

/// Keeps a page and gives it to all who wait.
fn put(
    tx: &mut Tx<'_>,
    task: TaskId,
    url: &PageUrl,
    new: &NewPage,
    shelf: Option<&Shelf>,
    told: &mut Told,
) -> Result<()> {
    let page = add_page(tx, new, Some(url.key()))?;
    let changed = match shelf {
        Some(shelf) => shelve(tx, url.key(), page, new, shelf)?,
        None => false,
    };
    let groups = tell(tx, task, page, new.status, false, told)?;
    if changed {
        let body = serde_json::json!({ "url": url.as_str(), "status": new.status, "fetched_at": new.fetched_at.0 });
        let event = |group| Event { kind: "fetch.changed".into(), group, body: body.to_string().into_bytes() };
        let events: Vec<Event> = groups.into_iter().map(event).collect();
        add_events(tx, task, &events)?;
    }
    Ok(())
}

/// Gives a page to all who wait for the task. Returns their groups, each once.
fn tell(
    tx: &mut Tx<'_>,
    task: TaskId,
    page: i64,
    status: u16,
    cached: bool,
    told: &mut Told,
) -> Result<Vec<Option<GroupId>>> {
    let wishes: Vec<(i64, String)> = tx.many(sql!("fetch/wishes"), (task.0,), |row| Ok((row.get(0)?, row.get(2)?)))?;
    tx.run(sql!("fetch/drop_wishes"), (task.0,))?;
    let mut groups = Vec::new();
    for (id, url) in wishes {
        let Some(job) = told.job(tx, id)?.filter(|job| !job.cancelled) else { continue };
        let group = job.group.map(GroupId);
        if !groups.contains(&group) {
            groups.push(group);
        }
        jobs::answer(tx, job, &url, page, status, cached)?;
    }
    Ok(groups)
}

/// All who wait for the task wait for another one from now on.
fn go_on(tx: &mut Tx<'_>, task: TaskId, to: &PageTask, lanes: LaneSettings) -> Result<()> {
    if to.robots_of.is_some() {
        return submit_one(tx, &to.to_task(lanes), None).map(drop);
    }
    let wishes: Vec<(i64, i64, String)> =
        tx.many(sql!("fetch/wishes"), (task.0,), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    if wishes.is_empty() {
        return Ok(());
    }
    tx.run(sql!("fetch/drop_wishes"), (task.0,))?;
    let next = submit_one(tx, &to.to_task(lanes), None)?.id;
    for (job, seq, url) in wishes {
        tx.run(sql!("fetch/add_wish"), (next.0, job, seq, url))?;
    }
    Ok(())
}

/// Learns from what a site did, and tells its lane.
fn learn(tx: &mut Tx<'_>, site: &Site, seen: Seen) -> Result<()> {
    let lane = site.lane();
    let text: Option<String> = tx.one(sql!("fetch/site_state"), (lane.as_str(),), |row| row.get(0))?;
    let mut state = site_state(text.as_deref())?;
    let change = state.after(seen, tx.now);
    tx.run(sql!("fetch/write_state"), (lane.as_str(), to_json(&state)))?;
    if let Some(gap_ms) = change.gap_ms {
        set_gap(tx, site, gap_ms)?;
    }
    if let Some(until) = change.rest_until {
        lanes::rest(tx, &lane, until)?;
    }
    Ok(())
}

fn write_robots(tx: &mut Tx<'_>, of: &Site, robots: &KnownRobots, gap_ms: u64) -> Result<()> {
    let lane = of.lane();
    let text: Option<String> = tx.one(sql!("fetch/site_state"), (lane.as_str(),), |row| row.get(0))?;
    let mut state = site_state(text.as_deref())?;
    let change = state.set_gap(gap_ms);
    tx.run(sql!("fetch/write_state"), (lane.as_str(), to_json(&state)))?;
    let packed = pack_robots(&robots.text);
    let row = (lane.as_str(), robots.status, packed, robots.fetched_at.0, robots.until.0);
    tx.run(sql!("fetch/write_robots"), row)?;
    if change.gap_ms.is_some() {
        set_gap(tx, of, state.effective_gap_ms())?;
    }
    tx.rouse(malla_fetch::ROOM);
    Ok(())
}

/// The lane keeps the site's gap; one that an operator has set is never made shorter.
fn set_gap(tx: &mut Tx<'_>, site: &Site, gap_ms: u64) -> Result<()> {
    let Some(found) = lanes::find(tx, &site.lane())? else { return Ok(()) };
    if !found.settled() || gap_ms > found.gap_ms() {
        lanes::set_gap(tx, found, gap_ms)?;
    }
    Ok(())
}

fn count(tx: &Tx<'_>, device: DeviceId, more: &Tally, refused: u64) -> Result<()> {
    let Some(text) = tx.one(sql!("fetch/device_tally"), (device.0,), |row| row.get::<_, String>(0))? else {
        return Ok(());
    };
    let mut tally: Tally = from_json(&text)?;
    tally.add(more);
    tally.refused += refused;
    tx.run(sql!("fetch/write_tally"), (device.0, to_json(&tally), tx.now.0))?;
    Ok(())
}

pub(super) fn answer_orphans(tx: &mut Tx<'_>, limit: usize) -> Result<u64> {
    let orphans: Vec<i64> = tx.many(sql!("fetch/orphans"), (limit,), |row| row.get(0))?;
    let mut told = Told::default();
    for task in &orphans {
        let note = "its task was discarded, or failed for good, before an answer came".to_owned();
        let why = Trouble { what: TroubleKind::Refused, note };
        let urls: Vec<String> = tx.many(sql!("fetch/wishes"), (*task,), |row| row.get(2))?;
        let url = urls.into_iter().next().unwrap_or_default();
        let page = add_page(tx, &NewPage::not_asked(url, why, tx.now), None)?;
        tell(tx, TaskId(*task), page, malla_fetch::NOT_ASKED, false, &mut told)?;
    }
    told.write(tx)?;
    Ok(orphans.len() as u64)
}
