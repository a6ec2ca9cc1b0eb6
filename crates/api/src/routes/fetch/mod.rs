//! Fetching pages: what clients ask for and get, the sites, and the fleet of devices.

mod answers;
pub(crate) mod blocked;
pub(crate) mod compare;
pub(crate) mod crawls;
mod delivery;
pub(crate) mod devices;
pub(crate) mod fleet;
pub(crate) mod jobs;
pub(crate) mod ledger;
mod limits;
pub(crate) mod results;
pub(crate) mod scrap;
pub(crate) mod sites;
pub(crate) mod trust;
pub(crate) mod watches;

use malla_fetch::{Job, NewJob, Terms, Wanted};
use malla_protocol::FetchPages;
use malla_queue::{Act, GroupId};

use crate::App;
use crate::problem::Refusal;

/// A share of fresh cached pages is asked about all the same.
fn recheck(share: f64) -> bool {
    let mut bytes = [0; 4];
    // Without randomness nothing is asked about before its time.
    let drawn = getrandom::fill(&mut bytes).is_ok();
    drawn && f64::from(u32::from_le_bytes(bytes)) < share * f64::from(u32::MAX)
}

/// Takes a job in.
async fn ask(app: &App, pages: &FetchPages, group: Option<GroupId>, act: Act) -> Result<Job, Refusal> {
    let fetching = &app.fetching;
    let read = |url: &String| Wanted::read(url, pages.cached.unwrap_or(true) && !recheck(fetching.recheck_share));
    let wanted: Vec<Wanted> = pages.urls.iter().map(read).map(|wanted| fetching.blocked.apply(wanted)).collect();
    for refused in wanted.iter().filter_map(|wanted| match wanted {
        Wanted::Refused { url, why } => Some((url, why)),
        Wanted::Page { .. } => None,
    }) {
        tracing::warn!(actor = act.actor, url = refused.0, reason = refused.1.note, "a URL was refused");
    }
    let terms = Terms { verified: pages.verified.unwrap_or(false), prices: fetching.prices };
    let job = NewJob { group, wanted, pending_max: fetching.pending_max, lanes: fetching.lanes, terms };
    job.check()?;
    let count = job.pages();
    app.door.admit(group, count).await?;
    let detail = serde_json::json!({ "urls": pages.urls.len() });
    let asked = app.fetch.ask(job, Act { group, detail, ..act }).await?;
    app.door.took_in(group, count).await;
    Ok(asked)
}
