//! Jobs: what clients ask for, and the answers they get.

use malla_fetch::{Answered, Job, JobId, NewJob, NewPage, PageTask, PageUrl, Wanted};
use malla_queue::{Act, Error, LaneSettings, Result, Scope, TaskId};
use rusqlite::{Connection, Row};

use super::fetch_pages::{add_page, keep_page};
use super::submit::submit_one;
use super::tx::Tx;
use super::{many, read, sql};
use crate::fetch_rows::{ANSWERS, JobRow, PageRow, USED_STEP_MS, forgotten};
use crate::listing::Builder;

pub(super) fn ask(tx: &mut Tx<'_>, new: &NewJob, act: &Act) -> Result<Job> {
    let act = Act { group: new.group, ..act.clone() };
    tx.perform(&act, |tx| {
        there_is_room(tx, new)?;
        let id = tx.next_id();
        let total = i64::try_from(new.wanted.len()).unwrap_or(i64::MAX);
        let group = new.group.map(|group| group.0);
        let mut job = JobRow { id, group, total, done: 0, good: 0, cached: 0, cancelled: false, finished_at: None };
        for (seq, wanted) in new.wanted.iter().enumerate() {
            match wanted {
                Wanted::Page { url, cached } => want(tx, &mut job, seq, url, *cached, new.lanes)?,
                Wanted::Refused { url, why } => {
                    let page = NewPage::not_asked(url.clone(), why.clone(), tx.now);
                    let page = add_page(tx, &page, None)?;
                    answer(tx, &mut job, url, page, malla_fetch::NOT_ASKED, false)?;
                }
            }
        }
        let row = (job.id, job.group, job.total, job.done, job.good, job.cached, job.finished_at);
        tx.run(sql!("fetch/add_job"), row)?;
        Ok(job.read())
    })
}

fn there_is_room(tx: &Tx<'_>, new: &NewJob) -> Result<()> {
    let waiting: i64 = tx.one(sql!("fetch/waiting"), (), |row| row.get(0))?.unwrap_or(0);
    let waiting = u64::try_from(waiting).unwrap_or(0);
    let more = new.wanted.iter().filter(|wanted| matches!(wanted, Wanted::Page { .. })).count() as u64;
    if waiting + more > new.pending_max {
        return Err(Error::Full { waiting, limit: new.pending_max });
    }
    Ok(())
}

/// Answers from the shelf, or makes the job wait for the page's task.
fn want(tx: &mut Tx<'_>, job: &mut JobRow, seq: usize, url: &PageUrl, cached: bool, lanes: LaneSettings) -> Result<()> {
    type Shelved = (i64, i64, Option<String>, Option<String>, i64);
    let key = url.key();
    let shelved: Option<Shelved> = tx.one(sql!("fetch/find_shelf"), (key.0,), |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
    })?;
    let mut task = PageTask::new(url.clone());
    if let Some((page, fresh_until, etag, last_modified, used_at)) = shelved {
        if tx.now.0 - used_at > USED_STEP_MS {
            tx.run(sql!("fetch/touch_shelf"), (key.0, tx.now.0))?;
            keep_page(tx, page)?;
        }
        if cached && fresh_until > tx.now.0 {
            return answer(tx, job, url.as_str(), page, 200, true);
        }
        if etag.is_some() || last_modified.is_some() {
            let base = Some(malla_fetch::PageId(TaskId(page)));
            task = PageTask { base, etag, last_modified, ..task };
        }
    }
    let task = submit_one(tx, &task.to_task(lanes), None)?.id;
    tx.run(sql!("fetch/add_wish"), (task.0, job.id, seq, url.as_str()))?;
    Ok(())
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

pub(super) fn answers(conn: &Connection, id: JobId, after: u64, limit: usize) -> Result<Vec<Answered>> {
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let rows = many(conn, sql!("fetch/answers"), (id.0.0, after, limit), |row| {
        let there: Option<String> = row.get(4)?;
        let page = there.map(|url| read_page(row, url)).transpose()?;
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, bool>(2)?, row.get::<_, i64>(3)?, page))
    })?;
    let read = |(n, url, from_cache, id, page): (i64, String, bool, i64, Option<PageRow>)| {
        let page = page.map_or_else(|| Ok(forgotten(id, &url)), |page| page.read(id))?;
        Ok(Answered { n: u64::try_from(n).unwrap_or(0), url, from_cache, page })
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
    })
}
