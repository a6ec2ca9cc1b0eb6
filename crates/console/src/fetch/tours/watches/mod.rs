//! Watches: the list, the form, one with its versions, and what differs between two of them.

pub(crate) mod detail;
pub(crate) mod form;
pub(crate) mod list;
pub(crate) mod version;

use malla_fetch::tour::{Tour, Version};
use malla_fetch::watch::{Progress, WatchSpec};
use malla_queue::UnixMs;

use super::tour_path;
use crate::words;

/// What somebody wants of it, and what it has seen.
fn read(tour: &Tour) -> (WatchSpec, Progress) {
    (tour.spec().unwrap_or_default(), tour.progress().unwrap_or_default())
}

/// When the page was last found changed.
fn changed_at(progress: &Progress) -> Option<UnixMs> {
    progress.changed_at.last().copied().map(UnixMs)
}

/// What is told of a version beside its text.
#[derive(Debug, Default)]
struct Facts {
    status: u16,
    url: String,
    bytes: u64,
}

impl Facts {
    fn of(version: &Version) -> Self {
        let facts: serde_json::Value = serde_json::from_str(&version.facts).unwrap_or_default();
        Self {
            status: facts["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(0),
            url: facts["url"].as_str().unwrap_or_default().to_owned(),
            bytes: facts["bytes"].as_u64().unwrap_or(0),
        }
    }
}

fn version_path(tour: &Tour, n: u64) -> String {
    format!("{}/versions/{n}", tour_path(tour))
}

fn compare_path(tour: &Tour, from: u64, to: u64) -> String {
    format!("{}/compare?from={from}&to={to}", tour_path(tour))
}

/// `0.3`, and less than that in words.
fn a_day(progress: &Progress, now: UnixMs) -> String {
    let (_, an_hour) = progress.weight(now);
    match an_hour * 24.0 {
        _ if progress.visits < 2 => "–".to_owned(),
        day if day >= 10.0 => words::count(day.round() as u64),
        day if day >= 0.1 => words::decimal(day, 1),
        _ => "< 0.1".replace('.', &words::decimal(0.1, 1)[1..2]),
    }
}
