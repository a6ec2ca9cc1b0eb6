//! Applies a rule to the pages that are kept: sends for those that are due, fifty with one request, within the day's budget.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use malla_queue::{Clock, Kind, NewTask, Priority, Queue, Result, RetryDelays, Scope, UnixMs};
use serde_json::json;

use super::rules;
use super::{Rule, visit_key};
use crate::extraction::{PROBE, VISIT};
use crate::mediawiki::Subject;
use crate::page::{Page, PageId};
use crate::site::{Wiki, WikiId, lane_of, lane_settings};
use crate::verbs::Wikis;
use crate::walker::{Payload, Stage};

const DAY_MS: i64 = 24 * 3_600_000;
/// No page is asked about more often, however much of the budget is left: few pages shall not be a burden.
const AGAIN_MS: i64 = 3_600_000;
/// Pages asked about with one request: more a wiki does not take.
const PROBED: usize = 50;
/// Requests planned for a wiki in one round.
const PROBES_MAX: usize = 20;
/// Pages of a wiki without an API sent for in one round: each is a request of its own.
const SCRAPED_MAX: usize = 10;
/// Wikis and pages read from the store at once.
const READ: usize = 1_000;
/// Pages of a wiki looked at in one round. The next round goes on after them.
const PAGES_MAX: usize = 100_000;
/// The share of a day's budget that one round may spend, to catch up after a pause without a rush.
const ROUND_SHARE: u64 = 24;

#[derive(Debug, Clone)]
pub struct PlannerOptions {
    /// `None`: nothing is visited without somebody asking.
    pub rule: Option<Rule>,
    /// Pages of each wiki that may be asked about on a day. The original rule takes what it takes.
    pub visits_per_day: u64,
    pub gap_ms: u64,
    /// A page whose whole list was not compared for this long is compared at its next visit.
    pub reconcile_after: Duration,
}

/// Plans visits. One of them is at work at a time: the leader's.
pub struct Planner {
    wikis: Arc<dyn Wikis>,
    queue: Arc<dyn Queue>,
    clock: Arc<dyn Clock>,
    options: PlannerOptions,
    /// Where the last round ended in wikis with more pages than a round looks at.
    places: Mutex<HashMap<WikiId, PageId>>,
}

/// It is known from a dump alone, and such names lead nowhere.
fn has_no_address(wiki: &Wiki) -> bool {
    wiki.api.host_str().is_some_and(|host| host.ends_with(".invalid"))
}

/// A page that may be visited: the larger, the more urgent.
struct Candidate {
    urgency: f64,
    pageid: PageId,
    reconcile: bool,
}

impl Planner {
    pub fn new(wikis: Arc<dyn Wikis>, queue: Arc<dyn Queue>, clock: Arc<dyn Clock>, options: PlannerOptions) -> Self {
        Self { wikis, queue, clock, options, places: Mutex::default() }
    }

    /// One round over all wikis, bounded, to be called every few minutes. Returns how many pages were sent for.
    pub async fn plan(&self) -> Result<u64> {
        let Some(rule) = self.options.rule else { return Ok(0) };
        let (mut after, mut sent) = (None, 0);
        loop {
            let wikis = self.wikis.wikis(&Scope::All, after, READ).await?;
            for wiki in &wikis {
                sent += self.plan_wiki(rule, wiki).await?;
            }
            match wikis.last() {
                Some(last) if wikis.len() == READ => after = Some(last.id),
                _ => return Ok(sent),
            }
        }
    }

    /// Visits of one wiki.
    async fn plan_wiki(&self, rule: Rule, wiki: &Wiki) -> Result<u64> {
        let now = self.clock.now();
        let room = match rule {
            Rule::Original => PROBED * PROBES_MAX,
            Rule::Uniform | Rule::Adaptive => room_now(now, self.options.visits_per_day, wiki),
        };
        if room == 0 || wiki.pages == 0 || has_no_address(wiki) {
            return Ok(0);
        }
        let chosen = self.choose(rule, wiki.id, now, room).await?;
        self.send(wiki, &chosen).await
    }

    /// The most urgent of a wiki's pages, or of as many as a round looks at.
    async fn choose(&self, rule: Rule, wiki: WikiId, now: UnixMs, room: usize) -> Result<Vec<Candidate>> {
        let mut best = BinaryHeap::with_capacity(room + 1);
        let mut after = self.place(wiki);
        for read in (0..PAGES_MAX).step_by(READ) {
            let pages = self.wikis.pages(wiki, after, READ).await?;
            let candidates = pages.iter().filter_map(|page| candidate(rule, page, now, self.options.reconcile_after));
            for candidate in candidates {
                best.push(std::cmp::Reverse(candidate));
                if best.len() > room {
                    best.pop();
                }
            }
            let at_end = pages.len() < READ;
            after = pages.last().filter(|_| !at_end).map(|page| page.pageid);
            if at_end || read + READ >= PAGES_MAX {
                break;
            }
        }
        self.leave_off(wiki, after);
        Ok(best.into_sorted_vec().into_iter().map(|candidate| candidate.0).collect())
    }

    fn place(&self, wiki: WikiId) -> Option<PageId> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).get(&wiki).copied()
    }

    fn leave_off(&self, wiki: WikiId, at: Option<PageId>) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        match at {
            Some(pageid) => places.insert(wiki, pageid),
            None => places.remove(&wiki),
        };
    }

    /// Submits the visits. What was sent for before and is not done yet keeps its place: rounds never pile up.
    async fn send(&self, wiki: &Wiki, chosen: &[Candidate]) -> Result<u64> {
        let at_once = if wiki.scraped { 1 } else { PROBED };
        let parts = || chosen.chunks(at_once).take(if wiki.scraped { SCRAPED_MAX } else { PROBES_MAX });
        let task = |(number, some)| if wiki.scraped { self.visit(wiki, some) } else { self.probe(wiki, number, some) };
        let tasks = parts().enumerate().map(task).collect::<Result<Vec<NewTask>>>()?;
        if tasks.is_empty() {
            return Ok(0);
        }
        let submitted = self.queue.submit(tasks, None).await?;
        let new = submitted.iter().zip(parts()).filter(|(submitted, _)| submitted.new);
        Ok(new.map(|(_, some)| some.len() as u64).sum())
    }

    /// Asks which of these pages have changed.
    fn probe(&self, wiki: &Wiki, number: usize, some: &[Candidate]) -> Result<NewTask> {
        let pages: Vec<PageId> = some.iter().map(|candidate| candidate.pageid).collect();
        let reconcile = some.iter().filter(|candidate| candidate.reconcile).map(|candidate| candidate.pageid);
        let reconcile: Vec<PageId> = reconcile.collect();
        let payload = json!({ "wiki": wiki.id, "pages": pages, "reconcile": reconcile }).to_string();
        self.task(wiki, PROBE, format!("{PROBE} {} {number}", wiki.id), payload.into_bytes())
    }

    /// Reads the history page of the one page there is.
    fn visit(&self, wiki: &Wiki, some: &[Candidate]) -> Result<NewTask> {
        let pageid = some[0].pageid;
        let stage = Stage::ScrapeList { wiki: wiki.id, subject: Subject::Page(pageid), offset: None };
        self.task(wiki, VISIT, visit_key(wiki.id, pageid), Payload::at(None, stage).to_bytes()?)
    }

    fn task(&self, wiki: &Wiki, kind: &'static str, dedup: String, payload: Vec<u8>) -> Result<NewTask> {
        Ok(NewTask {
            lane_settings: lane_settings(self.options.gap_ms),
            group: wiki.group,
            priority: Priority::Low,
            dedup: Some(dedup),
            // What fails is planned again.
            retry: RetryDelays::seconds([30, 120]),
            ..NewTask::new(lane_of(&wiki.api)?, Kind::new(kind), payload)
        })
    }
}

/// How many visits of a wiki are due by now and not made, so that every hour has its share of the day's.
fn room_now(now: UnixMs, visits_per_day: u64, wiki: &Wiki) -> usize {
    let (day, of_day) = (now.0.div_euclid(DAY_MS), now.0.rem_euclid(DAY_MS));
    let made = if wiki.visits_day == day { wiki.visits } else { 0 };
    let due = u128::from(visits_per_day) * of_day as u128 / DAY_MS as u128;
    let due = u64::try_from(due).unwrap_or(u64::MAX).saturating_sub(made);
    let at_once = (visits_per_day / ROUND_SHARE).max(PROBED as u64);
    usize::try_from(due.min(at_once)).unwrap_or(usize::MAX).min(PROBED * PROBES_MAX)
}

/// `None` if a page is not to be visited, or not yet.
fn candidate(rule: Rule, page: &Page, now: UnixMs, reconcile_after: Duration) -> Option<Candidate> {
    let seen = rules::seen(page);
    let since_visit = now.0 - seen.visited_at;
    // A history that is being walked is none of ours, unless the walk was given up.
    let left_alone = page.complete_at.is_none() && page.visited_at.is_some() && since_visit < DAY_MS;
    let just_visited = page.visited_at.is_some() && since_visit < AGAIN_MS;
    if !page.watched || page.facts.deleted || left_alone || just_visited {
        return None;
    }
    let urgency = match rule {
        Rule::Original if since_visit >= DAY_MS && rules::original_is_due(now.0, seen.pulse) => since_visit as f64,
        Rule::Original => 0.0,
        Rule::Uniform => since_visit as f64,
        Rule::Adaptive => malla_pulse::urgency(now.0, seen),
    };
    let compared = page.reconciled_at.or(page.complete_at);
    let reconcile = compared.is_some_and(|at| at.until(now) >= reconcile_after);
    (urgency > 0.0).then_some(Candidate { urgency, pageid: page.pageid, reconcile })
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.urgency.total_cmp(&other.urgency).then(other.pageid.cmp(&self.pageid))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}
