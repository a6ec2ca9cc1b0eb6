//! Jobs: what clients ask for, and the answers they get.

use std::collections::HashMap;

use deadpool_postgres::{GenericClient, Object, Transaction};
use malla_fetch::{Answered, Job, JobId, NewJob, NewPage, PageTask, UrlKey};
use malla_queue::{Act, Error, NewTask, Priority, Scope, TaskId, UnixMs};
use tokio_postgres::Row;

use super::act::Roused;
use super::fetch::begin;
use super::fetch_pages::{add_pages, keep_pages, new_ids};
use super::fetch_told::{Answers, read_job};
use super::perform::{first_answer, settle};
use super::pool::Broken;
use super::submit::Columns;
use super::{read, sql};
use crate::bodies::Outside;
use crate::fetch_plan::{self, AtOnce, Plan, Shelved};
use crate::fetch_rows::{ANSWERS, JobRow, PageRow, forgotten, plain};
use crate::ledger::Charges;
use crate::listing::Builder;

pub(super) async fn ask(client: &mut Object, new: &NewJob, act: &Act, now: UnixMs) -> Result<Roused<Job>, Broken> {
    let act = Act { group: new.group, ..act.clone() };
    let tx = begin(client).await?;
    if let Some(answer) = first_answer(&tx, &act, now).await? {
        return Ok((answer, Vec::new()));
    }
    let plan = Plan::new(new, &shelved(&tx, new).await?, now);
    let tasks: Vec<NewTask> = plan.tasks.iter().map(|task| task.to_task(new.lanes)).collect();
    there_is_room(&tx, new, &tasks).await?;
    let (id, group) = (new_ids(&tx, 1, now).await?.remove(0), new.group.map(|group| group.0));
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
    let mut charges = Charges::default();
    for _ in plan.at_once.iter().filter(|at_once| matches!(at_once, AtOnce::Cached { .. })) {
        charges.told(group, 200, true);
    }
    let rouse = fill(&tx, &mut job, &plan, &tasks, 0, now).await?;
    let verified = job.verified;
    let statement = tx.prepare_cached(sql!("fetch/add_job")).await?;
    let JobRow { total, done, good, cached, finished_at, .. } = job;
    tx.execute(&statement, &[&id, &group, &total, &done, &good, &cached, &finished_at, &verified]).await?;
    super::trust::pay_cached(&tx, now, &new.terms.prices, charges).await?;
    Ok((settle(tx, &act, now, "fetch.ask", job.read()).await?, rouse))
}

/// Asks for more in the name of a job that stays open; the caller writes the job. The lanes, those of the task that asks
/// among them, are locked before the job.
pub(super) async fn hand(
    tx: &Transaction<'_>,
    id: i64,
    new: &NewJob,
    (priority, by): (Priority, TaskId),
    now: UnixMs,
) -> Result<(JobRow, Vec<String>), Broken> {
    let plan = Plan::new(new, &shelved(tx, new).await?, now);
    let task = |task: &PageTask| NewTask { priority, ..task.to_task(new.lanes) };
    let tasks: Vec<NewTask> = plan.tasks.iter().map(task).collect();
    let mut columns = Columns::default();
    tasks.iter().for_each(|task| columns.push(task, None, now));
    columns.lock_lanes(tx, now, &[by.0]).await?;
    let lost = || Error::Internal("a tour lost its job".into());
    let mut job = lock(tx, id).await?.ok_or_else(lost)?;
    let before = job.total;
    job.total += i64::try_from(new.wanted.len()).unwrap_or(i64::MAX);
    let rouse = fill(tx, &mut job, &plan, &tasks, before, now).await?;
    Ok((job, rouse))
}

pub(super) async fn lock(tx: &Transaction<'_>, id: i64) -> Result<Option<JobRow>, Broken> {
    let row = tx.query_opt(&tx.prepare_cached(sql!("fetch/lock_jobs")).await?, &[&vec![id]]).await?;
    Ok(row.as_ref().map(read_job))
}

/// Answers what is there, and waits for the rest. Returns the rooms to rouse.
async fn fill(
    tx: &Transaction<'_>,
    job: &mut JobRow,
    plan: &Plan<'_>,
    tasks: &[NewTask],
    before: i64,
    now: UnixMs,
) -> Result<Vec<String>, Broken> {
    let mut rouse = wait(tx, plan, tasks, (job.id, before), now).await?;
    note_use(tx, &plan.used, now).await?;
    if !plan.at_once.is_empty() {
        answer_at_once(tx, job, &plan.at_once, now).await?;
        rouse.push(ANSWERS.to_owned());
    }
    Ok(rouse)
}

/// What lies on the shelf for the job.
async fn shelved(tx: &Transaction<'_>, new: &NewJob) -> Result<HashMap<UrlKey, Shelved>, Broken> {
    let keys = fetch_plan::keys(new);
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    let keys: Vec<&[u8]> = keys.iter().map(|key| &key.0[..]).collect();
    let rows = tx.query(&tx.prepare_cached(sql!("fetch/find_shelf")).await?, &[&keys]).await?;
    let read = |row: &Row| {
        let shelved = Shelved {
            page: row.get(1),
            fresh_until: row.get(2),
            etag: row.get(3),
            last_modified: row.get(4),
            used_at: row.get(5),
            verified: row.get(6),
        };
        Some((UrlKey(row.get::<_, &[u8]>(0).try_into().ok()?), shelved))
    };
    Ok(rows.iter().filter_map(read).collect())
}

async fn there_is_room(tx: &Transaction<'_>, new: &NewJob, tasks: &[NewTask]) -> Result<(), Broken> {
    if tasks.is_empty() {
        return Ok(());
    }
    let keys: Vec<&str> = tasks.iter().filter_map(|task| task.dedup.as_deref()).collect();
    let row = tx.query_one(&tx.prepare_cached(sql!("fetch/waiting")).await?, &[&keys]).await?;
    Ok(Plan::check_room(new, row.get(0), usize::try_from(row.get::<_, i64>(1)).unwrap_or(usize::MAX))?)
}

/// Makes the job wait for its tasks. Returns the rooms to rouse.
async fn wait(
    tx: &Transaction<'_>,
    plan: &Plan<'_>,
    tasks: &[NewTask],
    (job, before): (i64, i64),
    now: UnixMs,
) -> Result<Vec<String>, Broken> {
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    let mut columns = Columns::default();
    tasks.iter().for_each(|task| columns.push(task, None, now));
    let (submitted, rouse) = columns.submit(tx, now, None).await?;
    let tasks: Vec<i64> = plan.waits.iter().map(|wait| submitted[wait.task].id.0).collect();
    let seqs: Vec<i64> = plan.waits.iter().map(|wait| before + wait.seq).collect();
    let urls: Vec<&str> = plan.waits.iter().map(|wait| wait.url).collect();
    let statement = tx.prepare_cached(sql!("fetch/add_wishes")).await?;
    tx.execute(&statement, &[&job, &tasks, &seqs, &urls]).await?;
    Ok(rouse)
}

/// Notes that pages on the shelf were used. One that was forgotten since makes the verb look again.
async fn note_use(tx: &Transaction<'_>, used: &[(UrlKey, i64)], now: UnixMs) -> Result<(), Broken> {
    if used.is_empty() {
        return Ok(());
    }
    let keys: Vec<&[u8]> = used.iter().map(|(key, _)| &key.0[..]).collect();
    tx.execute(&tx.prepare_cached(sql!("fetch/touch_shelf")).await?, &[&keys, &now.0]).await?;
    let pages: Vec<i64> = used.iter().map(|(_, page)| *page).collect();
    if keep_pages(tx, &pages, now).await? < pages.len() as u64 {
        return Err(Broken::Again("a page left the cache meanwhile".into()));
    }
    Ok(())
}

async fn answer_at_once(
    tx: &Transaction<'_>,
    job: &mut JobRow,
    at_once: &[AtOnce<'_>],
    now: UnixMs,
) -> Result<(), Broken> {
    let refusal = |at_once: &AtOnce<'_>| match *at_once {
        AtOnce::Refused { url, why } => Some(NewPage::not_asked(url.to_owned(), why.clone(), now)),
        AtOnce::Cached { .. } => None,
    };
    let refused: Vec<NewPage> = at_once.iter().filter_map(refusal).collect();
    let added = add_pages(tx, &refused.iter().map(|page| (page, None)).collect::<Vec<_>>(), now).await?;
    let mut added = added.into_iter();
    let mut answers = Answers::default();
    for at_once in at_once {
        match *at_once {
            AtOnce::Cached { url, page } => answers.add(job, url.into(), page, 200, true, now),
            AtOnce::Refused { url, .. } => {
                let page = added.next().ok_or_else(|| Error::Internal("a page was not written".into()))?;
                answers.add(job, plain(url), page.id, malla_fetch::NOT_ASKED, false, now);
            }
        }
    }
    answers.write(tx).await
}

pub(super) async fn get(client: &impl GenericClient, scope: &Scope, id: JobId) -> Result<Job, Broken> {
    let row = client.query_opt(&client.prepare_cached(sql!("fetch/job")).await?, &[&id.0.0]).await?;
    found(row, scope, id)
}

fn found(row: Option<Row>, scope: &Scope, id: JobId) -> Result<Job, Broken> {
    let job = row.map(|row| read_job(&row).read()).filter(|job| scope.sees(job.group));
    Ok(job.ok_or_else(|| Error::NotFound(format!("job {id}")))?)
}

pub(super) async fn list(
    client: &impl GenericClient,
    scope: &Scope,
    below: Option<JobId>,
    limit: usize,
) -> Result<Vec<Job>, Broken> {
    let rows = read::query(client, &Builder::new('$').jobs(scope, below, limit)).await?;
    Ok(rows.iter().map(|row| read_job(row).read()).collect())
}

pub(super) async fn cancel(
    client: &mut Object,
    scope: &Scope,
    id: JobId,
    act: &Act,
    now: UnixMs,
) -> Result<Job, Broken> {
    let tx = begin(client).await?;
    let row = tx.query_opt(&tx.prepare_cached(sql!("fetch/lock_jobs")).await?, &[&vec![id.0.0]]).await?;
    let job = found(row, scope, id)?;
    let act = Act { group: job.group, ..act.clone() };
    if let Some(answer) = first_answer(&tx, &act, now).await? {
        return Ok(answer);
    }
    if !job.is_over() {
        tx.execute(&tx.prepare_cached(sql!("fetch/cancel_job")).await?, &[&id.0.0, &now.0]).await?;
    }
    let job = get(&tx, scope, id).await?;
    settle(tx, &act, now, "fetch", job).await
}

pub(super) async fn answers(
    client: &impl GenericClient,
    id: JobId,
    after: u64,
    limit: usize,
) -> Result<Vec<Outside<Answered>>, Broken> {
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = client.query(&client.prepare_cached(sql!("fetch/answers")).await?, &[&id.0.0, &after, &most]).await?;
    let read = |row: &Row| {
        let (url, page): (String, i64) = (row.get(1), row.get(3));
        let there: Option<String> = row.get(4);
        let page = match there {
            Some(found_at) => read_page(row, found_at).read(page)?,
            None => forgotten(page, &url),
        };
        let n = u64::try_from(row.get::<_, i64>(0)).unwrap_or(0);
        Ok((Answered { n, url, from_cache: row.get(2), page }, row.get(14)))
    };
    rows.iter().map(read).collect()
}

/// A page in the columns of `fetch/answers`.
fn read_page(row: &Row, url: String) -> PageRow {
    PageRow {
        url,
        status: row.get(5),
        headers: row.get(6),
        bytes: row.get(7),
        trouble: row.get(8),
        note: row.get(9),
        fetched_at: row.get(10),
        took_ms: row.get(11),
        device: row.get(12),
        packed: row.get(13),
        object: row.get(14),
        verified: row.get(15),
    }
}
