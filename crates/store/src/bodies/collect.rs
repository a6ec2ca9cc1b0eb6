//! Removes objects that no row names.
//!
//! Two sorts of them: those whose row went, which are noted in the same transaction, and those whose row was never committed.
//! The latter are found by comparing names with rows, window by window, each once: what is older than the grace and has no
//! row will never have one, because a commit that late is refused.

use futures_util::TryStreamExt as _;
use malla_queue::Result;
use metrics::counter;

use super::{Collected, Depot, Rows, name};

/// Objects removed in one go, and names compared with rows at once.
const STEP: usize = 1_000;
/// Windows looked through in one step.
const WINDOWS: usize = 20;

pub(crate) async fn collect(rows: &impl Rows, depot: &Depot) -> Result<Collected> {
    let mut collected = Collected::default();
    let old = depot.now().minus(depot.grace());
    let dead = rows.dead(old, STEP).await?;
    if !dead.is_empty() {
        collected.dead = dead.len() as u64;
        collected.more = dead.len() == STEP;
        depot.remove(dead.clone()).await?;
        rows.bury(dead).await?;
        counter!("malla_bodies_collected_total", "why" => "dead").increment(collected.dead);
    }
    // All of what was put in the windows before this one is old.
    let edge = name::window(old);
    let swept = rows.swept().await?;
    if swept + 1 >= edge {
        return Ok(collected);
    }
    let windows: Vec<i64> =
        depot.windows().await?.into_iter().filter(|window| (swept + 1..edge).contains(window)).collect();
    for window in windows.iter().take(WINDOWS) {
        collected.orphans += sweep(rows, depot, *window).await?;
        rows.set_swept(*window).await?;
    }
    if windows.len() > WINDOWS {
        collected.more = true;
    } else {
        rows.set_swept(edge - 1).await?;
    }
    counter!("malla_bodies_collected_total", "why" => "orphan").increment(collected.orphans);
    Ok(collected)
}

/// Returns how many objects of the window had no row.
async fn sweep(rows: &impl Rows, depot: &Depot, window: i64) -> Result<u64> {
    let mut gone = 0;
    let mut listed = depot.names(window, STEP);
    while let Some(names) = listed.try_next().await? {
        // What somebody else has put there is not ours to remove.
        let names: Vec<String> = names.into_iter().filter(|name| name::made_at(name).is_some()).collect();
        let named = rows.named(&names).await?;
        let orphans: Vec<String> = names.into_iter().filter(|name| !named.contains(name)).collect();
        gone += orphans.len() as u64;
        depot.remove(orphans).await?;
    }
    Ok(gone)
}
