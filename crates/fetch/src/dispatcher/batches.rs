//! How many pages of which sites go into one block, and the block itself.

use std::collections::HashMap;
use std::time::Duration;

use malla_queue::{LaneKey, LeaseToken, Leased};

use super::BLOCK_MAX;
use crate::{Block, Item, Measures, PageTask, Ready, Run, What};

/// A run of one site shall take no longer than this.
const RUN_FOR_MS: u64 = 30_000;
/// What a page takes at least, for the length of a run.
const PAGE_MS_MIN: u64 = 50;

/// Fewer pages of a site than this are not worth its while, if more wait.
const PART_MIN: u64 = 8;
/// Requests at once of a device that has not told how many it makes.
const AT_ONCE: usize = 16;

/// Sites of one block that are leased together, because their runs are equally long.
pub(super) struct Batch {
    pub(super) lanes: Vec<LaneKey>,
    pub(super) run_max: usize,
    /// Pages at most, in equal parts of the sites.
    pub(super) most: usize,
    pub(super) lease_for: Duration,
}

/// How many sites a device works on at the same time.
pub(super) fn at_once(measures: &Measures) -> usize {
    if measures.parallel == 0 { AT_ONCE } else { measures.parallel as usize }
}

/// Of the sites that are asked without a gap, as few as keep a device busy that works on `at_once` of them: what it has in
/// hand nobody else can work on, and pages of one site cost less than pages of many. Where others are at work as well, it gets
/// no more than twice as many. Sites with a gap stay: the more of them are in hand, the less they wait for each other.
pub(super) fn narrow(mut known: Vec<Ready>, pages: usize, at_once: usize, alone: bool) -> Vec<Ready> {
    let (mut sites, mut sum) = (0, 0_u64);
    known.retain(|ready| {
        let enough = sum >= pages as u64 || (!alone && sites >= 2 * at_once);
        if ready.gap_ms > 0 || sites < at_once || !enough {
            sites += usize::from(ready.gap_ms == 0);
            sum = sum.saturating_add(part(ready));
            return true;
        }
        false
    });
    known
}

/// What may be taken of a site. Without a gap at most half of what waits: so runs become shorter towards the end, and nobody
/// is left with a long one while the others have nothing to do.
fn part(ready: &Ready) -> u64 {
    let waiting = ready.waiting.max(1);
    if ready.gap_ms > 0 { waiting } else { waiting.min(PART_MIN.max(waiting / 2)) }
}

/// Sites by how long a run of theirs may be. A lease lasts as long as a block of so many `pages`, or of all that wait, takes
/// one page after the other, and no longer: while a device stands still, its sites wait for that.
pub(super) fn batches(known: &[Ready], beyond: Duration, pages: usize) -> Vec<Batch> {
    let waiting = known.iter().fold(0, |sum: u64, ready| sum.saturating_add(ready.waiting));
    let pages = pages.min(usize::try_from(waiting).unwrap_or(usize::MAX));
    let mut by_length: HashMap<usize, Vec<&Ready>> = HashMap::new();
    for ready in known {
        by_length.entry(run_max(ready)).or_default().push(ready);
    }
    let batch = |(run_max, sites): (usize, Vec<&Ready>)| {
        let longest = sites.iter().map(|ready| pace_ms(ready)).max().unwrap_or(0) * run_max.min(pages) as u64;
        let most = sites.iter().fold(0, |sum: u64, ready| sum.saturating_add(part(ready)));
        Batch {
            most: usize::try_from(most).unwrap_or(usize::MAX),
            lanes: sites.iter().map(|ready| ready.site.lane()).collect(),
            run_max,
            lease_for: beyond + Duration::from_millis(longest),
        }
    };
    let mut batches: Vec<Batch> = by_length.into_iter().map(batch).collect();
    batches.sort_by_key(|batch| std::cmp::Reverse(batch.lanes.len()));
    batches
}

/// The time from one page of a site to the next.
fn pace_ms(ready: &Ready) -> u64 {
    ready.gap_ms.saturating_add(ready.state.page_ms.unwrap_or(0)).max(PAGE_MS_MIN)
}

/// In powers of two, so that sites that are nearly alike are leased together.
fn run_max(ready: &Ready) -> usize {
    let most = usize::try_from(RUN_FOR_MS / pace_ms(ready)).unwrap_or(1).clamp(1, BLOCK_MAX);
    1 << most.ilog2()
}

impl Block {
    /// All of it, to be given back. Whoever has it may have asked a site just now.
    pub(super) fn unasked(&self) -> Vec<(LeaseToken, u64)> {
        self.runs.iter().flat_map(|run| &run.items).map(|item| (item.token, 0)).collect()
    }

    pub(super) fn add(
        &mut self,
        lease_for: Duration,
        leased: &Leased,
        task: PageTask,
        gap_ms: u64,
        ceiling: u32,
        what: What,
    ) {
        let lease_for_ms = u64::try_from(lease_for.as_millis()).unwrap_or(u64::MAX);
        self.lease_for_ms = if self.runs.is_empty() { lease_for_ms } else { self.lease_for_ms.min(lease_for_ms) };
        let validators = task.validators();
        let site = task.url.site();
        let item = Item { token: leased.token, url: task.url, what, validators };
        match self.runs.iter_mut().rev().find(|run| run.site == site) {
            Some(run) => {
                run.items.push(item);
                run.parallel = ceiling.min(run.items.len() as u32).max(1);
            }
            None => self.runs.push(Run { site, gap_ms, parallel: 1, items: vec![item] }),
        }
    }
}

#[cfg(test)]
mod tests {
    use malla_queue::UnixMs;

    use super::*;
    use crate::{PageUrl, SiteState};

    fn ready(gap_ms: u64, waiting: u64) -> Ready {
        Ready {
            site: PageUrl::parse("http://example.org/").expect("a URL").site(),
            since: UnixMs(0),
            gap_ms,
            ceiling: 1,
            state: SiteState::default(),
            waiting,
            robots_until: None,
        }
    }

    fn lease_s(gap_ms: u64, page_ms: u64, pages: usize, waiting: u64) -> u64 {
        let state = SiteState { page_ms: Some(page_ms), ..SiteState::default() };
        let ready = Ready { state, ..ready(gap_ms, waiting) };
        batches(&[ready], Duration::from_secs(6), pages)[0].lease_for.as_secs()
    }

    /// Sites that are left of 100 for a block of 512 pages on a device that works on 16 at once, and the pages they may give.
    fn narrowed(gap_ms: u64, waiting: u64, alone: bool) -> (usize, usize) {
        let known = narrow(vec![ready(gap_ms, waiting); 100], 512, 16, alone);
        (known.len(), batches(&known, Duration::from_secs(6), 512).iter().map(|batch| batch.most).sum())
    }

    #[test]
    fn a_device_gets_as_few_sites_as_keep_it_busy() {
        assert_eq!(narrowed(0, 1_000, true), (16, 8_000), "one for each request");
        assert_eq!(narrowed(0, 40, true), (26, 520), "half of what waits");
        assert_eq!(narrowed(0, 10, true), (64, 512), "but not too little of it");
        assert_eq!(narrowed(0, 3, true), (100, 300));
        assert_eq!(narrowed(0, 3, false), (32, 96), "the others want to work as well");
        assert_eq!(narrowed(100, 1_000, false), (100, 100_000), "with a gap they wait, and keep nobody busy");
    }

    #[test]
    fn a_lease_follows_the_size_of_its_block() {
        assert_eq!(lease_s(0, 10, 16, 1_000), 6, "16 pages of 50 ms");
        assert_eq!(lease_s(900, 100, 16, 1_000), 22, "16 pages of a second");
        assert_eq!(lease_s(900, 100, 512, 1_000), 22, "a run takes no longer than half a minute");
        assert_eq!(lease_s(0, 50, 512, 1_000), 31, "512 pages of 50 ms");
        assert_eq!(lease_s(60_000, 0, 512, 1_000), 66, "a page a minute");
        assert_eq!(lease_s(0, 50, 512, 20), 7, "20 wait");
    }
}
