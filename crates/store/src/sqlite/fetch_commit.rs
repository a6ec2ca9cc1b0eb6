//! Ends leases of fetch: what it means to those who wait, to the cache, to the site and to the device.

use std::collections::BTreeMap;

use malla_fetch::trust::{Claim, Watch};
use malla_fetch::{
    Commit, DeviceId, NewPage, PageId, PageTask, PageUrl, ROOM, Settled, Settlement, Shelf, Site, Tally,
};
use malla_queue::{Event, GroupId, LaneSettings, Result, TaskId, UnixMs};
use rusqlite::Connection;

use super::fetch_jobs as jobs;
use super::fetch_pages::{Growth, add_page, renew, resize, shelve};
use super::finish::end;
use super::submit::{add_events, submit_one};
use super::tx::Tx;
use super::{lanes, many, sql};
use crate::fetch_paces::{LanePace, Lesson, Pace, beside_the_lane, lessons};
use crate::fetch_rows::{JobRow, changed_event, counted, from_json, orphaned, pack_robots, site_state, to_json};
use crate::ledger::Charges;
use crate::rows::Held;
use crate::taken::Taken;
use crate::trust::Doubts;

pub(super) fn commit(tx: &mut Tx<'_>, commit: &Commit) -> Result<Vec<Result<()>>> {
    if is_blocked(tx, commit)? {
        return Ok(commit.settled.iter().map(|settled| Taken::Lost.answer(settled.token.task)).collect());
    }
    let endings: Vec<_> = commit.settled.iter().map(|settled| (settled.token, settled.ending.clone())).collect();
    let taken = end(tx, &endings)?;
    let settled = || commit.settled.iter().zip(&taken).filter(|(_, taken)| **taken == Taken::Now).map(|(one, _)| one);
    for (site, lessons) in lessons(settled()) {
        learn(tx, &site, &lessons)?;
    }
    let hold = commit.watch.as_ref().is_some_and(Watch::checks);
    let probation = commit.watch.as_ref().map(|watch| watch.held.clone()).unwrap_or_default();
    let mut told = Told { hold, probation, ..Told::default() };
    for settled in settled() {
        settle(tx, settled, commit.lanes, &mut told)?;
    }
    let settled: Vec<&Settled> = settled().collect();
    super::trust::after_commit(tx, commit, &settled, &mut told)?;
    told.write(tx)?;
    if let Some(device) = commit.device {
        count(tx, device, &counted(commit, &taken))?;
    }
    Ok(commit.settled.iter().zip(taken).map(|(settled, taken)| taken.answer(settled.token.task)).collect())
}

/// Whether what this device brings is not taken any more.
fn is_blocked(tx: &Tx<'_>, commit: &Commit) -> Result<bool> {
    let Some(device) = commit.device.filter(|_| commit.watch.is_some()) else { return Ok(false) };
    Ok(tx.one(sql!("fetch/device_blocked"), (device.0,), |row| row.get(0))?.unwrap_or(false))
}

/// The jobs that got answers in this transaction and the size of the shelf, each read and written once.
#[derive(Default)]
pub(super) struct Told {
    jobs: BTreeMap<i64, Option<JobRow>>,
    shelf: Growth,
    /// Results of a stranger's device: who wants them checked has to wait.
    pub(super) hold: bool,
    /// Tasks whose result waits for its check, whoever asked.
    probation: Vec<(TaskId, Option<UnixMs>)>,
    pub(super) doubts: Doubts,
    /// Pages that need no check.
    pub(super) vouched: Vec<i64>,
    pub(super) charges: Charges,
}

impl Told {
    fn job(&mut self, tx: &Tx<'_>, id: i64) -> Result<Option<&mut JobRow>> {
        if let std::collections::btree_map::Entry::Vacant(place) = self.jobs.entry(id) {
            place.insert(jobs::find(tx.conn, id)?);
        }
        Ok(self.jobs.get_mut(&id).and_then(Option::as_mut))
    }

    pub(super) fn write(self, tx: &Tx<'_>) -> Result<()> {
        resize(tx, self.shelf)?;
        self.jobs.into_values().flatten().try_for_each(|job| jobs::write(tx, &job))
    }

    fn claim(&mut self, task: TaskId, url: &PageUrl, status: u16, page: Option<i64>, unchanged: bool) {
        if self.hold {
            let page = page.map(|page| PageId(TaskId(page)));
            let claim = Claim { status, page, unchanged, ..Claim::default() };
            self.doubts.claimed.push((task, url.clone(), claim));
        }
    }

    fn is_on_probation(&self, of: TaskId) -> bool {
        self.probation.iter().any(|(task, _)| *task == of)
    }

    /// Whether those who wait do not follow before the redirect was checked.
    fn stays(&mut self, tx: &Tx<'_>, of: TaskId, to: &PageTask) -> Result<bool> {
        if !self.hold || to.robots_of.is_some() || to.pin.is_some() {
            return Ok(false);
        }
        let stays =
            self.is_on_probation(of) || tx.one(sql!("fetch/is_doubted"), (of.0,), |row| row.get(0))?.unwrap_or(false);
        self.doubts.stayed.extend(stays.then_some(of.0));
        Ok(stays)
    }

    /// Whether the job has to wait for a check.
    fn holds(&mut self, (job, verified): (i64, bool), of: TaskId, seq: i64, url: &str, page: i64, status: u16) -> bool {
        if !malla_fetch::ledger::is_paid(status) {
            return false;
        }
        let holds = self.hold && (verified || self.is_on_probation(of));
        if holds {
            self.doubts.held.push(Held { of: of.0, job, seq, url: url.to_owned() });
        } else if verified {
            self.vouched.push(page);
        }
        holds
    }
}

fn settle(tx: &mut Tx<'_>, settled: &Settled, lanes: LaneSettings, told: &mut Told) -> Result<()> {
    let task = settled.token.task;
    match &settled.outcome {
        Settlement::Open | Settlement::Robots { .. } | Settlement::Checked(_) => Ok(()),
        Settlement::Page { url, page, shelf } => put(tx, task, url, page, shelf.as_ref(), told),
        Settlement::Unchanged { url, base, renewal, hops } => {
            if !renew(tx, url.key(), base.0.0, renewal)? {
                return go_on(tx, task, &PageTask { hops: *hops, ..PageTask::new(url.clone()) }, lanes);
            }
            told.claim(task, url, 304, Some(base.0.0), true);
            tell(tx, task, base.0.0, 200, true, told).map(drop)
        }
        Settlement::Moved { to } if told.stays(tx, task, to)? => Ok(()),
        Settlement::Moved { to } => go_on(tx, task, to, lanes),
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
    let key = url.key();
    let page = add_page(tx, new, Some(key))?;
    let changed = match shelf {
        Some(shelf) => shelve(tx, key, page, new, shelf, &mut told.shelf)?,
        None => false,
    };
    if new.status != malla_fetch::NOT_ASKED {
        told.claim(task, url, new.status, Some(page.id), false);
    }
    let groups = tell(tx, task, page.id, new.status, false, told)?;
    if changed {
        let events: Vec<Event> = groups.into_iter().map(|group| changed_event(url, new, group)).collect();
        add_events(tx, task, &events)?;
    }
    Ok(())
}

/// Gives a page to all who wait for the task. Returns their groups, each once.
pub(super) fn tell(
    tx: &mut Tx<'_>,
    task: TaskId,
    page: i64,
    status: u16,
    cached: bool,
    told: &mut Told,
) -> Result<Vec<Option<GroupId>>> {
    let wishes: Vec<(i64, i64, String)> =
        tx.many(sql!("fetch/wishes"), (task.0,), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    tx.run(sql!("fetch/drop_wishes"), (task.0,))?;
    let mut groups = Vec::new();
    for (id, seq, url) in wishes {
        let Some(job) = told.job(tx, id)?.filter(|job| !job.cancelled) else { continue };
        let verified = job.verified;
        if told.holds((id, verified), task, seq, &url, page, status) {
            continue;
        }
        let Some(job) = told.job(tx, id)? else { continue };
        let group = job.group.map(GroupId);
        if !job.quiet && !groups.contains(&group) {
            groups.push(group);
        }
        let payer = job.group;
        jobs::answer(tx, job, &url, page, status, cached)?;
        told.charges.told(payer, status, cached);
    }
    Ok(groups)
}

/// All who wait for the task wait for another one from now on.
fn go_on(tx: &mut Tx<'_>, task: TaskId, to: &PageTask, lanes: LaneSettings) -> Result<()> {
    if to.robots_of.is_some() {
        return submit_one(tx, &to.to_task(lanes), None).map(drop);
    }
    tx.run(sql!("fetch/drop_vain_wishes"), (task.0,))?;
    if tx.one(sql!("fetch/is_wanted"), (task.0,), |row| row.get(0))? != Some(true) {
        return Ok(());
    }
    let next = submit_one(tx, &to.to_task(lanes), None)?.id;
    tx.run(sql!("fetch/move_wishes"), (task.0, next.0))?;
    Ok(())
}

/// Learns from what was told of a site, and tells its lane.
fn learn(tx: &mut Tx<'_>, site: &Site, lessons: &[Lesson<'_>]) -> Result<()> {
    let key = site.lane();
    let text: Option<String> = tx.one(sql!("fetch/site_state"), (key.as_str(),), |row| row.get(0))?;
    let state = site_state(text.as_deref())?;
    if let Some(learnt) = beside_the_lane(state, lessons, tx.now) {
        if learnt != state || text.is_none() {
            tx.run(sql!("fetch/write_state"), (key.as_str(), to_json(&learnt)))?;
        }
        return Ok(());
    }
    let found = lanes::find(tx, &key)?;
    let lane = found.as_ref().map(|found| LanePace {
        id: found.id,
        gap_ms: found.gap_ms,
        least_gap_ms: found.least_gap_ms,
        next_start_at: found.state.next_start_at,
    });
    let mut pace = Pace::new(state, lane);
    pace.learn(lessons, tx.now);
    tx.run(sql!("fetch/write_state"), (key.as_str(), to_json(&pace.state)))?;
    if let Some(robots) = pace.robots {
        let packed = pack_robots(&robots.text);
        let row = (key.as_str(), robots.status, packed, robots.fetched_at.0, robots.until.0);
        tx.run(sql!("fetch/write_robots"), row)?;
        tx.rouse(ROOM);
    }
    match (found, pace.lane) {
        (Some(found), Some(now)) if lane != Some(now) => lanes::set_pace(tx, found, now.gap_ms, now.next_start_at),
        _ => Ok(()),
    }
}

fn count(tx: &Tx<'_>, device: DeviceId, more: &Tally) -> Result<()> {
    let Some(text) = tx.one(sql!("fetch/device_tally"), (device.0,), |row| row.get::<_, String>(0))? else {
        return Ok(());
    };
    let mut tally: Tally = from_json(&text)?;
    tally.add(more);
    tx.run(sql!("fetch/write_tally"), (device.0, to_json(&tally), tx.now.0))?;
    Ok(())
}

/// Tasks that ended while somebody waits for them.
pub(super) fn orphans(conn: &Connection, limit: usize) -> Result<Vec<TaskId>> {
    many(conn, sql!("fetch/orphans"), (limit,), |row| row.get(0).map(TaskId))
}

pub(super) fn answer_orphans(tx: &mut Tx<'_>, orphans: &[TaskId]) -> Result<u64> {
    let mut told = Told::default();
    let mut answered = 0;
    for task in orphans {
        let Some(url) = tx.one(sql!("fetch/first_orphan"), (task.0,), |row| row.get(0))? else { continue };
        let page = add_page(tx, &orphaned(url, tx.now), None)?;
        tell(tx, *task, page.id, malla_fetch::NOT_ASKED, false, &mut told)?;
        answered += 1;
    }
    told.write(tx)?;
    Ok(answered)
}
