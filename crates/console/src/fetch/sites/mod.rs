//! Sites: the list, and one with its pace and its robots.txt. A site is a lane that belongs to nobody.

pub(crate) mod detail;
pub(crate) mod list;
mod robots;
mod told;

use malla_fetch::{KnownRobots, Site, SiteState};
use malla_queue::Lane;

use super::{SITE, milliseconds};
use crate::Console;
use crate::params::Params;

/// A lane with what is known of its site.
struct Shown {
    lane: Lane,
    site: Site,
    state: SiteState,
    robots: Option<KnownRobots>,
}

impl Shown {
    /// `None` if the lane is none of a site.
    async fn of(console: &Console, lane: Lane) -> malla_queue::Result<Option<Self>> {
        let Some(site) = Site::of_lane(&lane.key) else { return Ok(None) };
        let known = console.fetch.site(&site).await?;
        let state = known.as_ref().map(|known| known.state).unwrap_or_default();
        Ok(Some(Self { lane, site, state, robots: known.and_then(|known| known.robots) }))
    }

    fn waiting(&self) -> u64 {
        self.lane.counts.queued + self.lane.counts.paused
    }
}

fn site_path(site: &str) -> String {
    Params::from([("url", site)]).link(SITE)
}

/// `1 s`, `none`
fn pause(ms: u64) -> String {
    if ms == 0 { t!("none", "gap").to_owned() } else { milliseconds(ms) }
}
