//! Jobs: what clients ask for, and the answers they get.

use std::collections::HashMap;

use malla_fetch::{Answered, Job, JobId, NewJob, NewPage, PageTask, UrlKey};
use malla_queue::{Act, Error, NewTask, Priority, Result, Scope, TaskId};
use rusqlite::{Connection, Row};

use super::fetch_pages::{add_page, keep_page};
use super::submit::submit_one;
use super::tx::Tx;
use super::{many, read, sql};
use crate::bodies::Outside;
use crate::codes::Code;
use crate::fetch_plan::{self, AtOnce, Plan, Shelved, Wait};
use crate::fetch_rows::{ANSWERS, JobRow, PageRow, forgotten, plain};
use crate::ledger::Charges;
use crate::listing::Builder;

pub(super) fn ask(tx: &mut Tx<'_>, new: &NewJob, act: &Act) -> Result<Job> {
    let act = Act { group: new.group, ..act.clone() };
    tx.perform(&act, |tx| {
        let plan = Plan::new(new, &shelved(tx, new)?, tx.now);
        let tasks: Vec<NewTask> = plan.tasks.iter().map(|task| task.to_task(new.lanes)).collect();
        there_is_room(tx, new, &tasks)?;
        let (id, group) = (tx.next_id(), new.group.map(|group| group.0));
        let total = i64::try_from(new.wanted.len()).unwrap_or(i64::MAX);
        let mut job = JobRow {
            id,
            group,
            total,
            done: 0,
            good: 0,
            cached: 0,
            cancelled: false,
            finished_at: None,
            quiet: false,
            verified: new.terms.verified,
        };
        fill(tx, &mut job, &plan, &tasks, 0)?;
        let mut charges = Charges::default();
        for _ in plan.at_once.iter().filter(|at_once| matches!(at_once, AtOnce::Cached { .. })) {
            charges.told(group, 200, true);
        }
        let row = (job.id, job.group, job.total, job.done, job.good, job.cached, job.finished_at, job.verified);
        tx.run(sql!("fetch/add_job"), row)?;
        super::trust::pay_cached(tx, &new.terms.prices, charges)?;
        Ok(job.read())
    })
}

/// Asks for more in the name of a job that stays open; the caller writes the job.
pub(super) fn hand(tx: &mut Tx<'_>, job: &mut JobRow, new: &NewJob, priority: Priority) -> Result<()> {
    let plan = Plan::new(new, &shelved(tx, new)?, tx.now);
    let task = |task: &PageTask| NewTask { priority, ..task.to_task(new.lanes) };
    let tasks: Vec<NewTask> = plan.tasks.iter().map(task).collect();
    let before = job.total;
    job.total += i64::try_from(new.wanted.len()).unwrap_or(i64::MAX);
    fill(tx, job, &plan, &tasks, before)
}

/// Answers what is there, and waits for the rest.
fn fill(tx: &mut Tx<'_>, job: &mut JobRow, plan: &Plan<'_>, tasks: &[NewTask], before: i64) -> Result<()> {
    for at_once in &plan.at_once {
        answer_at_once(tx, job, at_once)?;
    }
    for (key, page) in &plan.used {
        tx.run(sql!("fetch/touch_shelf"), (key.0, tx.now.0))?;
        keep_page(tx, *page)?;
    }
    let ids = tasks.iter().map(|task| Ok(submit_one(tx, task, None)?.id)).collect::<Result<Vec<TaskId>>>()?;
    for Wait { seq, url, task } in &plan.waits {
        tx.run(sql!("fetch/add_wish"), (ids[*task].0, job.id, before + seq, url))?;
    }
    Ok(())
}

/// What lies on the shelf for the job.
fn shelved(tx: &Tx<'_>, new: &NewJob) -> Result<HashMap<UrlKey, Shelved>> {
    let mut shelf = HashMap::new();
    for key in fetch_plan::keys(new) {
        let found = tx.one(sql!("fetch/find_shelf"), (key.0,), |row| {
            Ok(Shelved {
                page: row.get(0)?,
                fresh_until: row.get(1)?,
                etag: row.get(2)?,
                last_modified: row.get(3)?,
                used_at: row.get(4)?,
                verified: row.get(5)?,
            })
        })?;
        shelf.extend(found.map(|found| (key, found)));
    }
    Ok(shelf)
}

fn there_is_room(tx: &Tx<'_>, new: &NewJob, tasks: &[NewTask]) -> Result<()> {
    let written: i64 = tx.one(sql!("fetch/waiting"), (), |row| row.get(0))?.unwrap_or(0);
    let waiting = written + tx.unwritten_of(malla_fetch::PAGE, Code::Open);
    if Plan::check_room(new, waiting, tasks.len()).is_ok() {
        return Ok(());
    }
    // Perhaps without those that somebody waits for already.
    let mut more = 0;
    for task in tasks {
        let found: Option<i64> =
            tx.one(sql!("submit/find_dedup"), (task.lane.room(), &task.dedup), |row| row.get(0))?;
        more += usize::from(found.is_none());
    }
    Plan::check_room(new, waiting, more)
}

fn answer_at_once(tx: &mut Tx<'_>, job: &mut JobRow, at_once: &AtOnce<'_>) -> Result<()> {
    match *at_once {
        AtOnce::Cached { url, page } => answer(tx, job, url, page, 200, true),
        AtOnce::Refused { url, why } => {
            let page = NewPage::not_asked(url.to_owned(), why.clone(), tx.now);
            let page = add_page(tx, &page, None)?;
            answer(tx, job, &plain(url), page.id, malla_fetch::NOT_ASKED, false)
        }
    }
}

/// Gives the job its next answer; the caller writes the job.
pub(super) fn answer(tx: &mut Tx<'_>, job: &mut JobRow, url: &str, page: i64, status: u16, cached: bool) -> Result<()> {
    let n = job.count(status, cached, tx.now);
    tx.run(sql!("fetch/add_answer"), (job.id, n, url, page, cached))?;
    tx.rouse(ANSWERS);
    Ok(())
}

pub(super) fn find(conn: &Connection, id: i64) -> Result<Option<JobRow>> {
    Ok(many(conn, sql!("fetch/job"), (id,), read_job)?.pop())
}

fn read_job(row: &Row<'_>) -> rusqlite::Result<JobRow> {
    Ok(JobRow {
        id: row.get(0)?,
        group: row.get(1)?,
        total: row.get(2)?,
        done: row.get(3)?,
        good: row.get(4)?,
        cached: row.get(5)?,
        cancelled: row.get(6)?,
        finished_at: row.get(7)?,
        quiet: row.get(8)?,
        verified: row.get(9)?,
    })
}

pub(super) fn write(tx: &Tx<'_>, job: &JobRow) -> Result<()> {
    tx.run(sql!("fetch/write_job"), (job.id, job.done, job.good, job.cached, job.finished_at))?;
    Ok(())
}

pub(super) fn get(conn: &Connection, scope: &Scope, id: JobId) -> Result<Job> {
    let found = find(conn, id.0.0)?.map(JobRow::read).filter(|job| scope.sees(job.group));
    found.ok_or_else(|| Error::NotFound(format!("job {id}")))
}

pub(super) fn list(conn: &Connection, scope: &Scope, below: Option<JobId>, limit: usize) -> Result<Vec<Job>> {
    let jobs = read::query(conn, Builder::new('?').jobs(scope, below, limit), read_job)?;
    Ok(jobs.into_iter().map(JobRow::read).collect())
}

pub(super) fn cancel(tx: &mut Tx<'_>, scope: &Scope, id: JobId, act: &Act) -> Result<Job> {
    let found = get(tx.conn, scope, id)?;
    let act = Act { group: found.group, ..act.clone() };
    tx.perform(&act, |tx| {
        if !found.is_over() {
            tx.run(sql!("fetch/cancel_job"), (id.0.0, tx.now.0))?;
            tx.rouse(ANSWERS);
        }
        get(tx.conn, scope, id)
    })
}

pub(super) fn answers(conn: &Connection, id: JobId, after: u64, limit: usize) -> Result<Vec<Outside<Answered>>> {
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let rows = many(conn, sql!("fetch/answers"), (id.0.0, after, limit), |row| {
        let there: Option<String> = row.get(4)?;
        let page = there.map(|url| read_page(row, url)).transpose()?;
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, bool>(2)?, row.get::<_, i64>(3)?, page))
    })?;
    let read = |(n, url, from_cache, id, page): (i64, String, bool, i64, Option<PageRow>)| {
        let object = page.as_ref().and_then(|page| page.object.clone());
        let page = page.map_or_else(|| Ok(forgotten(id, &url)), |page| page.read(id))?;
        Ok((Answered { n: u64::try_from(n).unwrap_or(0), url, from_cache, page }, object))
    };
    rows.into_iter().map(read).collect()
}

/// A page in the columns of `fetch/answers`.
fn read_page(row: &Row<'_>, url: String) -> rusqlite::Result<PageRow> {
    Ok(PageRow {
        url,
        status: row.get(5)?,
        headers: row.get(6)?,
        bytes: row.get(7)?,
        trouble: row.get(8)?,
        note: row.get(9)?,
        fetched_at: row.get(10)?,
        took_ms: row.get(11)?,
        device: row.get(12)?,
        packed: row.get(13)?,
        object: row.get(14)?,
        verified: row.get(15)?,
    })
}
