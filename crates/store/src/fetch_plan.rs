//! What becomes of each URL of a job: answered at once, or waited for. Pure; both stores do as it says.

use std::collections::HashMap;

use malla_fetch::{NewJob, PageId, PageTask, PageUrl, Trouble, UrlKey, Wanted};
use malla_queue::{Error, Result, TaskId, UnixMs};

/// A page on the shelf that is asked for more often than this is noted as used only once.
const USED_STEP_MS: i64 = 60_000;

/// What lies on the shelf for a URL.
#[derive(Debug, Clone)]
pub(crate) struct Shelved {
    pub(crate) page: i64,
    pub(crate) fresh_until: i64,
    pub(crate) etag: Option<String>,
    pub(crate) last_modified: Option<String>,
    pub(crate) used_at: i64,
    pub(crate) verified: bool,
}

#[derive(Default)]
pub(crate) struct Plan<'j> {
    /// In the order of the job.
    pub(crate) at_once: Vec<AtOnce<'j>>,
    pub(crate) waits: Vec<Wait<'j>>,
    /// What is waited for, each page once.
    pub(crate) tasks: Vec<PageTask>,
    /// Pages on the shelf whose use is to be noted.
    pub(crate) used: Vec<(UrlKey, i64)>,
}

/// An answer without asking anybody.
pub(crate) enum AtOnce<'j> {
    Cached { url: &'j str, page: i64 },
    Refused { url: &'j str, why: &'j Trouble },
}

/// A URL of the job that waits for one of the plan's tasks.
pub(crate) struct Wait<'j> {
    pub(crate) seq: i64,
    /// As the client wrote it.
    pub(crate) url: &'j str,
    pub(crate) task: usize,
}

/// The URLs to be looked for on the shelf, each once.
pub(crate) fn keys(job: &NewJob) -> Vec<UrlKey> {
    let mut keys: Vec<UrlKey> = job.wanted.iter().filter_map(page_of).map(|(url, _)| url.key()).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn page_of(wanted: &Wanted) -> Option<(&PageUrl, bool)> {
    match wanted {
        Wanted::Page { url, cached, .. } => Some((url, *cached)),
        Wanted::Refused { .. } => None,
    }
}

impl<'j> Plan<'j> {
    pub(crate) fn new(job: &'j NewJob, shelf: &HashMap<UrlKey, Shelved>, now: UnixMs) -> Self {
        let mut plan = Plan::default();
        let mut tasks: HashMap<UrlKey, usize> = HashMap::new();
        for (seq, wanted) in (0..).zip(&job.wanted) {
            let (text, url, cached) = match wanted {
                Wanted::Page { text, url, cached } => (text, url, *cached),
                Wanted::Refused { url, why } => {
                    plan.at_once.push(AtOnce::Refused { url, why });
                    continue;
                }
            };
            let key = url.key();
            let shelved = shelf.get(&key);
            let will_do =
                |shelved: &&Shelved| cached && shelved.fresh_until > now.0 && (shelved.verified || !job.terms.verified);
            if let Some(shelved) = shelved.filter(will_do) {
                plan.at_once.push(AtOnce::Cached { url: text, page: shelved.page });
                continue;
            }
            let task = *tasks.entry(key).or_insert_with(|| {
                plan.tasks.push(task_for(url, shelved));
                plan.tasks.len() - 1
            });
            plan.waits.push(Wait { seq, url: text, task });
        }
        let unnoted = shelf.iter().filter(|(_, shelved)| now.0 - shelved.used_at > USED_STEP_MS);
        plan.used = unnoted.map(|(key, shelved)| (*key, shelved.page)).collect();
        plan.used.sort_unstable();
        plan
    }

    /// Refuses the job if more would wait than may: `waiting` do, and `new` of its tasks are not among them.
    pub(crate) fn check_room(job: &NewJob, waiting: i64, new: usize) -> Result<()> {
        let waiting = u64::try_from(waiting).unwrap_or(0);
        if new > 0 && waiting + new as u64 > job.pending_max {
            return Err(Error::Full { waiting, limit: job.pending_max });
        }
        Ok(())
    }
}

/// The page's task; with a page on the shelf it only asks whether that has changed.
fn task_for(url: &PageUrl, shelved: Option<&Shelved>) -> PageTask {
    let task = PageTask::new(url.clone());
    match shelved {
        Some(Shelved { page, etag, last_modified, .. }) if etag.is_some() || last_modified.is_some() => PageTask {
            base: Some(PageId(TaskId(*page))),
            etag: etag.clone(),
            last_modified: last_modified.clone(),
            ..task
        },
        _ => task,
    }
}
