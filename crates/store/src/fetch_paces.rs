//! What a commit learns of sites: how fast they may be asked, and what their lanes keep. Pure; a store reads before and
//! writes after.

use std::collections::BTreeMap;

use malla_fetch::{Change, KnownRobots, Seen, Settled, Settlement, Site, SiteState};
use malla_queue::UnixMs;

use crate::place::regapped;

/// One thing that a settlement tells of a site.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lesson<'c> {
    Seen(Seen),
    Robots { robots: &'c KnownRobots, gap_ms: u64 },
}

/// What these tell of each site, in the order in which they do.
pub(crate) fn lessons<'c>(settled: impl Iterator<Item = &'c Settled>) -> BTreeMap<Site, Vec<Lesson<'c>>> {
    let mut sites: BTreeMap<Site, Vec<Lesson<'c>>> = BTreeMap::new();
    for settled in settled {
        if let Some((site, seen)) = &settled.seen {
            sites.entry(site.clone()).or_default().push(Lesson::Seen(*seen));
        }
        if let Settlement::Robots { of, robots, gap_ms } = &settled.outcome {
            sites.entry(of.clone()).or_default().push(Lesson::Robots { robots, gap_ms: *gap_ms });
        }
    }
    sites
}

/// What the site's state becomes if its lane has nothing to learn, which is nearly always so.
pub(crate) fn beside_the_lane(mut state: SiteState, lessons: &[Lesson<'_>], now: UnixMs) -> Option<SiteState> {
    for lesson in lessons {
        match lesson {
            Lesson::Seen(seen) if state.after(*seen, now) == Change::default() => {}
            _ => return None,
        }
    }
    Some(state)
}

/// A site while a commit changes it.
pub(crate) struct Pace<'c> {
    pub(crate) state: SiteState,
    pub(crate) lane: Option<LanePace>,
    /// A robots.txt to be written.
    pub(crate) robots: Option<&'c KnownRobots>,
}

/// How fast the lane of a site starts its tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LanePace {
    pub(crate) id: i64,
    pub(crate) gap_ms: i64,
    /// What an operator asked for: it is never made shorter.
    pub(crate) least_gap_ms: Option<i64>,
    pub(crate) next_start_at: i64,
}

impl<'c> Pace<'c> {
    pub(crate) fn new(state: SiteState, lane: Option<LanePace>) -> Self {
        Self { state, lane, robots: None }
    }

    pub(crate) fn learn(&mut self, lessons: &[Lesson<'c>], now: UnixMs) {
        for lesson in lessons {
            match *lesson {
                Lesson::Seen(seen) => self.see(seen, now),
                Lesson::Robots { robots, gap_ms } => {
                    self.robots = Some(robots);
                    self.state.set_gap(gap_ms);
                    self.set_gap(self.state.effective_gap_ms(), now);
                }
            }
        }
    }

    fn see(&mut self, seen: Seen, now: UnixMs) {
        let change = self.state.after(seen, now);
        if let Some(gap_ms) = change.gap_ms {
            self.set_gap(gap_ms, now);
        }
        if let (Some(until), Some(lane)) = (change.rest_until, &mut self.lane) {
            lane.next_start_at = lane.next_start_at.max(until.0);
        }
    }

    fn set_gap(&mut self, gap_ms: u64, now: UnixMs) {
        let Some(lane) = &mut self.lane else { return };
        let gap_ms = i64::try_from(gap_ms).unwrap_or(i64::MAX).max(lane.least_gap_ms.unwrap_or(0));
        lane.next_start_at = regapped(lane.next_start_at, lane.gap_ms, gap_ms, now.0);
        lane.gap_ms = gap_ms;
    }
}
