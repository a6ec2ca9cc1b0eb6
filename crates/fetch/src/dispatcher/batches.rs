//! How many pages of which sites go into one block, and the block itself.

use std::collections::HashMap;
use std::time::Duration;

use malla_queue::{LaneKey, LeaseToken, Leased};

use super::BLOCK_MAX;
use crate::{Block, Item, PageTask, Ready, Run, What};

/// A run of one site shall take no longer than this.
const RUN_FOR_MS: u64 = 30_000;
/// What a page takes at least, for the length of a run.
const PAGE_MS_MIN: u64 = 50;

/// Sites of one block that are leased together, because their runs are equally long.
pub(super) struct Batch {
    pub(super) lanes: Vec<LaneKey>,
    pub(super) run_max: usize,
    pub(super) lease_for: Duration,
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
        Batch {
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

    fn lease_s(gap_ms: u64, page_ms: u64, pages: usize, waiting: u64) -> u64 {
        let ready = Ready {
            site: PageUrl::parse("http://example.org/").expect("a URL").site(),
            since: UnixMs(0),
            gap_ms,
            ceiling: 1,
            state: SiteState { page_ms: Some(page_ms), ..SiteState::default() },
            waiting,
            robots_until: None,
        };
        batches(&[ready], Duration::from_secs(6), pages)[0].lease_for.as_secs()
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
