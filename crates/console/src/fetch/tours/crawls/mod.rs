//! Crawls: the list, a new one, and one with its pages.

pub(crate) mod detail;
pub(crate) mod list;
pub(crate) mod new;

use std::time::Duration;

use malla_fetch::crawl::{CrawlSpec, Progress};
use malla_fetch::tour::Tour;
use malla_queue::UnixMs;
use maud::Markup;

use crate::parts;

/// What somebody wants of it, and what it has come to.
fn read(tour: &Tour) -> (CrawlSpec, Progress) {
    (tour.spec().unwrap_or_default(), tour.progress().unwrap_or_default())
}

/// Until its end, or until now.
fn took(now: UnixMs, tour: &Tour) -> Duration {
    let took = tour.id.0.submitted_at().until(tour.finished_at.unwrap_or(now));
    // A live page does not fidget.
    if tour.state.is_over() { took } else { Duration::from_secs(took.as_secs()) }
}

/// How many pages came of those that are known: nobody knows how many there will be.
fn bar(tour: &Tour, progress: &Progress) -> Markup {
    let bad = progress.pages.saturating_sub(progress.good);
    let known = progress.pages + if tour.state.is_over() { 0 } else { tour.waiting + tour.outstanding() };
    parts::stacked(&[("succeeded", t!("good"), progress.good), ("failed", t!("not good"), bad)], known)
}
