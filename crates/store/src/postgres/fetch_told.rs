//! Who waits for a task, and what they are told.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use deadpool_postgres::Transaction;
use malla_fetch::trust::Claim;
use malla_fetch::{PageId, PageTask, PageUrl};
use malla_queue::{Error, GroupId, LaneSettings, NewTask, TaskId, UnixMs};
use tokio_postgres::Row;

use super::pool::Broken;
use super::sql;
use super::submit::Columns;
use crate::fetch_rows::JobRow;
use crate::ledger::Charges;
use crate::rows::Held;
use crate::trust::Doubts;

pub(super) fn read_job(row: &Row) -> JobRow {
    JobRow {
        id: row.get(0),
        group: row.get(1),
        total: row.get(2),
        done: row.get(3),
        good: row.get(4),
        cached: row.get(5),
        cancelled: row.get(6),
        finished_at: row.get(7),
        quiet: row.get(8),
        verified: row.get(9),
    }
}

/// Answers as the columns that the server takes.
#[derive(Default)]
pub(super) struct Answers<'a> {
    jobs: Vec<i64>,
    ns: Vec<i64>,
    urls: Vec<Cow<'a, str>>,
    pages: Vec<i64>,
    cached: Vec<bool>,
}

impl<'a> Answers<'a> {
    /// The job's next answer; the caller writes the job.
    pub(super) fn add(
        &mut self,
        job: &mut JobRow,
        url: Cow<'a, str>,
        page: i64,
        status: u16,
        cached: bool,
        now: UnixMs,
    ) {
        self.ns.push(job.count(status, cached, now));
        self.jobs.push(job.id);
        self.urls.push(url);
        self.pages.push(page);
        self.cached.push(cached);
    }

    pub(super) async fn write(&self, tx: &Transaction<'_>) -> Result<(), Broken> {
        let statement = tx.prepare_cached(sql!("fetch/add_answers")).await?;
        tx.execute(&statement, &[&self.jobs, &self.ns, &self.urls, &self.pages, &self.cached]).await?;
        Ok(())
    }
}

/// A page for all who wait for a task.
pub(super) struct Tell {
    pub(super) task: i64,
    pub(super) page: i64,
    pub(super) status: u16,
    pub(super) cached: bool,
}

impl Tell {
    /// A page that was just fetched.
    pub(super) fn new(task: i64, page: i64, status: u16) -> Self {
        Self { task, page, status, cached: false }
    }
}

/// What a transaction notes about those who are told: what they pay, and who waits until it was checked.
#[derive(Default)]
pub(super) struct Notes {
    /// Results of a stranger's device: who wants them checked has to wait.
    pub(super) hold: bool,
    /// Tasks whose result waits for its check, whoever asked.
    pub(super) probation: Vec<(TaskId, Option<UnixMs>)>,
    pub(super) doubts: Doubts,
    pub(super) charges: Charges,
    /// Pages that need no check.
    pub(super) vouched: Vec<i64>,
}

impl Notes {
    /// Notes what a device claims: of which task, where, with which status, which page, and whether that is unchanged.
    pub(super) fn claim<'u>(&mut self, claims: impl IntoIterator<Item = (i64, &'u PageUrl, u16, i64, bool)>) {
        let told = claims.into_iter().filter(|(_, _, status, ..)| *status != malla_fetch::NOT_ASKED);
        for (task, url, status, page, unchanged) in told.take_while(|_| self.hold) {
            let claim = Claim { status, page: Some(PageId(TaskId(page))), unchanged, ..Claim::default() };
            self.doubts.claimed.push((TaskId(task), url.clone(), claim));
        }
    }

    fn holds(&mut self, job: &JobRow, tell: &Tell, seq: i64, url: &str) -> bool {
        if !malla_fetch::ledger::is_paid(tell.status) {
            return false;
        }
        let holds = self.hold && (job.verified || self.probation.iter().any(|(task, _)| task.0 == tell.task));
        if holds {
            self.doubts.held.push(Held { of: tell.task, job: job.id, seq, url: url.to_owned() });
        } else if job.verified {
            self.vouched.push(tell.page);
        }
        holds
    }
}

/// The groups of those who waited for a task, each once.
pub(super) type Groups = Vec<Option<GroupId>>;

/// Gives pages to all who wait for their tasks, in this order. Returns the groups of those who got one, by task.
pub(super) async fn tell(
    tx: &Transaction<'_>,
    tells: &[Tell],
    now: UnixMs,
    notes: &mut Notes,
) -> Result<HashMap<i64, Groups>, Broken> {
    if tells.is_empty() {
        return Ok(HashMap::new());
    }
    let tasks: Vec<i64> = tells.iter().map(|tell| tell.task).collect();
    let mut wishes: HashMap<i64, Vec<(i64, i64, String)>> = HashMap::new();
    for row in tx.query(&tx.prepare_cached(sql!("fetch/take_wishes")).await?, &[&tasks]).await? {
        wishes.entry(row.get(0)).or_default().push((row.get(1), row.get(2), row.get(3)));
    }
    let mut jobs = lock_jobs(tx, wishes.values().flatten().map(|(job, ..)| *job).collect()).await?;
    let mut answers = Answers::default();
    let mut told: HashMap<i64, Groups> = HashMap::new();
    for tell in tells {
        let mut wishes = wishes.remove(&tell.task).unwrap_or_default();
        wishes.sort_unstable();
        for (job, seq, url) in wishes {
            let Some(job) = jobs.get_mut(&job).filter(|job| !job.cancelled) else { continue };
            if notes.holds(job, tell, seq, &url) {
                continue;
            }
            notes.charges.told(job.group, tell.status, tell.cached);
            let (group, groups) = (job.group.map(GroupId), told.entry(tell.task).or_default());
            if !job.quiet && !groups.contains(&group) {
                groups.push(group);
            }
            answers.add(job, url.into(), tell.page, tell.status, tell.cached, now);
        }
    }
    if !told.is_empty() {
        answers.write(tx).await?;
        write_jobs(tx, jobs.values()).await?;
    }
    Ok(told)
}

async fn lock_jobs(tx: &Transaction<'_>, ids: HashSet<i64>) -> Result<BTreeMap<i64, JobRow>, Broken> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let ids: Vec<i64> = ids.into_iter().collect();
    let rows = tx.query(&tx.prepare_cached(sql!("fetch/lock_jobs")).await?, &[&ids]).await?;
    Ok(rows.iter().map(|row| (row.get(0), read_job(row))).collect())
}

async fn write_jobs(tx: &Transaction<'_>, jobs: impl Iterator<Item = &JobRow> + Clone) -> Result<(), Broken> {
    let of = |read: fn(&JobRow) -> i64| jobs.clone().map(read).collect::<Vec<i64>>();
    let (ids, done, good, cached) = (of(|job| job.id), of(|job| job.done), of(|job| job.good), of(|job| job.cached));
    let finished: Vec<Option<i64>> = jobs.map(|job| job.finished_at).collect();
    let statement = tx.prepare_cached(sql!("fetch/write_jobs")).await?;
    tx.execute(&statement, &[&ids, &done, &good, &cached, &finished]).await?;
    Ok(())
}

/// All who wait for a task wait for the one beside it from now on; where nobody does, there is none. The lanes of all are
/// locked already. Returns the rooms to rouse.
pub(super) async fn go_on(
    tx: &Transaction<'_>,
    moved: &[(i64, PageTask)],
    lanes: LaneSettings,
    now: UnixMs,
) -> Result<Vec<String>, Broken> {
    if moved.is_empty() {
        return Ok(Vec::new());
    }
    let wished = wished(tx, moved.iter().map(|(task, _)| *task).collect()).await?;
    let goes_on = |(task, to): &&(i64, PageTask)| to.robots_of.is_some() || wished.contains(task);
    let (from, tasks): (Vec<i64>, Vec<NewTask>) =
        moved.iter().filter(goes_on).map(|(task, to)| (*task, to.to_task(lanes))).unzip();
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    let mut columns = Columns::default();
    tasks.iter().for_each(|task| columns.push(task, None, now));
    let (submitted, rouse) = columns.submit(tx, now, None).await?;
    if submitted.len() != from.len() {
        return Err(Error::Internal("the server did not answer for a task".into()).into());
    }
    let next: Vec<i64> = submitted.iter().map(|submitted| submitted.id.0).collect();
    tx.execute(&tx.prepare_cached(sql!("fetch/move_wishes")).await?, &[&from, &next]).await?;
    Ok(rouse)
}

/// Those of these redirects that are followed at once; who waits for the others waits for their check.
pub(super) async fn followed(
    tx: &Transaction<'_>,
    moved: Vec<(i64, PageTask)>,
    notes: &mut Notes,
) -> Result<Vec<(i64, PageTask)>, Broken> {
    let is_checked = |to: &PageTask| to.robots_of.is_none() && to.pin.is_none();
    if !notes.hold || !moved.iter().any(|(_, to)| is_checked(to)) {
        return Ok(moved);
    }
    let tasks: Vec<i64> = moved.iter().map(|(task, _)| *task).collect();
    let rows = tx.query(&tx.prepare_cached(sql!("fetch/doubted")).await?, &[&tasks]).await?;
    let doubted: HashSet<i64> = rows.iter().map(|row| row.get(0)).collect();
    let stays = |task: &i64, to: &PageTask| {
        is_checked(to) && (doubted.contains(task) || notes.probation.iter().any(|(of, _)| of.0 == *task))
    };
    let (stayed, followed): (Vec<_>, Vec<_>) = moved.into_iter().partition(|(task, to)| stays(task, to));
    notes.doubts.stayed.extend(stayed.into_iter().map(|(task, _)| task));
    Ok(followed)
}

/// Which of these tasks somebody waits for; those who wait in vain are forgotten.
async fn wished(tx: &Transaction<'_>, tasks: Vec<i64>) -> Result<HashSet<i64>, Broken> {
    tx.execute(&tx.prepare_cached(sql!("fetch/drop_vain_wishes")).await?, &[&tasks]).await?;
    let rows = tx.query(&tx.prepare_cached(sql!("fetch/wished")).await?, &[&tasks]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}
