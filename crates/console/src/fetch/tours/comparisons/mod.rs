//! Comparisons: the list, a new one, and one with what differs between places.

pub(crate) mod detail;
pub(crate) mod list;
pub(crate) mod new;
mod report;

use malla_fetch::compare::{CompareSpec, Progress};
use malla_fetch::tour::{Tour, Version};
use maud::{Markup, html};

use super::tour_path;
use crate::words;

/// What somebody wants of it, and what it has come to.
fn read(tour: &Tour) -> (CompareSpec, Progress) {
    (tour.spec().unwrap_or_default(), tour.progress().unwrap_or_default())
}

/// From where the pages are asked for.
fn places(spec: &CompareSpec) -> Markup {
    html! {
        @if spec.countries.is_empty() { (counted!(u64::from(spec.devices), "device", "devices")) }
        @else { (spec.countries.join(", ")) }
    }
}

fn every(spec: &CompareSpec) -> Markup {
    html! { @if spec.every_s == 0 { span.quiet { (t!("once")) } } @else { (rich!("every {}", words::span(spec.every_s))) } }
}

fn round_path(tour: &Tour, n: u64) -> String {
    format!("{}/rounds/{n}", tour_path(tour))
}

/// How many URLs differed in a round, and whether that was new.
fn facts(version: &Version) -> (u64, bool) {
    let facts: serde_json::Value = serde_json::from_str(&version.facts).unwrap_or_default();
    (facts["differing"].as_u64().unwrap_or(0), facts["changed"].as_bool().unwrap_or(false))
}

/// In the colour of what it means.
fn differing(n: u64, of: u64) -> Markup {
    html! {
        @if n == 0 { span.badge.s-succeeded { (t!("all the same")) } }
        @else { span.badge.s-paused { (rich!("{} of {} differ", words::count(n), words::count(of))) } }
    }
}
