//! What a round found: each URL with its places, and what is missing or only there.

use malla_fetch::NOT_ASKED;
use malla_fetch::compare::{PlaceReport, Report, UrlReport};
use maud::{Markup, html};

use crate::fetch::{size, status_badge};
use crate::tongue;
use crate::words;

pub(super) const COLUMNS: [&str; 9] =
    ["url", "place", "device", "status", "final_url", "bytes", "similarity", "differs", "note"];

pub(super) fn cells(report: &Report) -> Vec<Vec<String>> {
    let row = |url: &UrlReport, place: &PlaceReport| {
        vec![
            url.url.clone(),
            place.place.clone(),
            place.device.clone().unwrap_or_default(),
            place.status.to_string(),
            place.final_url.clone(),
            place.bytes.to_string(),
            place.similarity.map(|alike| format!("{alike:.3}")).unwrap_or_default(),
            if place.differs { "yes" } else { "no" }.to_owned(),
            place.note.clone().unwrap_or_default(),
        ]
    };
    report.urls.iter().flat_map(|url| url.places.iter().map(move |place| row(url, place))).collect()
}

/// A card for each URL; those that differ first.
pub(super) fn cards(report: &Report) -> Markup {
    let mut urls: Vec<&UrlReport> = report.urls.iter().collect();
    urls.sort_by_key(|url| !url.differs);
    html! { @for url in urls { (card(url)) } }
}

fn card(url: &UrlReport) -> Markup {
    html! {
        section.card {
            div.card-head {
                h2 { (url.url) }
                @if url.differs { span.badge.s-paused { (t!("differs")) } } @else { span.badge.s-succeeded { (t!("the same everywhere")) } }
            }
            table.rows {
                thead { tr {
                    th { (t!("Place")) } th { (t!("Status")) } th { (t!("Found at")) } th.num { (t!("Size")) } th.num { (t!("Alike")) } th { (t!("Against the others")) }
                } }
                tbody { @for place in &url.places { (line(url, place)) } }
            }
            @for place in url.places.iter().filter(|place| !place.missing.is_empty() || !place.extra.is_empty()) {
                (passages(place))
            }
        }
    }
}

fn line(url: &UrlReport, place: &PlaceReport) -> Markup {
    html! {
        tr {
            td data-label=(t!("Place")) {
                (place_name(place)) @if let Some(device) = &place.device { p.note.quiet { (device) } }
            }
            td data-label=(t!("Status")) { (status_badge(place.status)) }
            td.url data-label=(t!("Found at")) {
                @if place.final_url == url.url { span.quiet { (t!("the address itself")) } } @else { (place.final_url) }
            }
            td.num data-label=(t!("Size")) { (size(place.bytes)) }
            td.num data-label=(t!("Alike")) {
                @match place.similarity { Some(alike) => (percent(alike)), None => span.quiet { "–" } }
            }
            td data-label=(t!("Against the others")) {
                @match (place.status, place.differs) {
                    (NOT_ASKED, _) => span.quiet { (t!("nobody was there")) },
                    (_, true) => span.badge.s-paused { (t!("differs")) },
                    (_, false) => span.quiet { (t!("as most")) },
                }
                @if let Some(note) = &place.note { p.note.quiet { (words::capital(&tongue::told(note.clone()))) } }
            }
        }
    }
}

/// A country's letters, or the number of a device.
fn place_name(place: &PlaceReport) -> String {
    match place.place.strip_prefix("device:") {
        Some(number) => say!("device {}", number),
        None => place.place.clone(),
    }
}

/// Not 100 % before it is the same.
fn percent(alike: f32) -> String {
    let per_mille = (f64::from(alike) * 1_000.0).round().min(if alike < 1.0 { 999.0 } else { 1_000.0 });
    format!("{} %", words::short_decimal(per_mille / 10.0, 1))
}

fn passages(place: &PlaceReport) -> Markup {
    html! {
        details.pad {
            summary { (rich!("Lines of {}", place_name(place))) }
            div.difference tabindex="0" role="region" aria-label=(t!("What differs")) {
                @for text in &place.missing { del { (text) } "\n" }
                @for text in &place.extra { ins { (text) } "\n" }
            }
        }
    }
}
