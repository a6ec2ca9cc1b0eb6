//! Crawls, watches and comparisons as they travel.

use malla_fetch::compare::{self, CompareSpec};
use malla_fetch::crawl::{CrawlSpec, Progress};
use malla_fetch::tour::{Tour, TourState, Version};
use malla_fetch::watch::{self, WatchSpec};
use malla_protocol as wire;
use malla_queue::UnixMs;

use super::{GroupNames, time};

pub(crate) fn crawl(tour: &Tour, names: &GroupNames) -> wire::CrawlView {
    let spec: CrawlSpec = tour.spec().unwrap_or_default();
    let progress: Progress = tour.progress().unwrap_or_default();
    wire::CrawlView {
        id: tour.id.to_string(),
        group: names.name(tour.group),
        state: tour.state.name().to_owned(),
        seeds: spec.seeds,
        scope: spec.scope.name().to_owned(),
        depth: spec.depth,
        limit: spec.pages,
        bytes_limit: (spec.bytes > 0).then_some(spec.bytes),
        pages: progress.pages,
        good: progress.good,
        unanswered: progress.unanswered,
        from_cache: progress.from_cache,
        bytes: progress.bytes,
        sitemaps: progress.sitemaps,
        found: tour.found,
        under_way: if tour.state.is_over() { 0 } else { tour.outstanding() },
        waiting: tour.waiting,
        left_alone: wire::LeftAlone {
            outside: progress.outside,
            too_deep: progress.too_deep,
            nofollow: progress.nofollow,
            files: progress.files,
            trapped: progress.trapped + tour.trapped,
            left_out: tour.left_out,
            sessions: progress.sessions,
            copies: progress.copies,
        },
        by_status: progress.by_status.iter().map(|(status, count)| (status.to_string(), *count)).collect(),
        limited_by: progress.limited_by,
        note: tour.note.clone(),
        created_at: time(tour.id.0.submitted_at()),
        finished_at: tour.finished_at.map(time),
    }
}

pub(crate) fn watch(tour: &Tour, names: &GroupNames, now: UnixMs) -> wire::WatchView {
    let spec: WatchSpec = tour.spec().unwrap_or_default();
    let progress: watch::Progress = tour.progress().unwrap_or_default();
    let (_, rate) = progress.weight(now);
    wire::WatchView {
        id: tour.id.to_string(),
        group: names.name(tour.group),
        state: tour.state.name().to_owned(),
        url: spec.url,
        selector: spec.selector,
        ignore: spec.ignore,
        interval_min_s: spec.interval_min_s,
        interval_max_s: spec.interval_max_s,
        visits: progress.visits,
        changes: progress.changes,
        version: tour.versions,
        changes_per_day: (rate * 24.0 * 1_000.0).round() / 1_000.0,
        status: (progress.visits > 0).then_some(progress.status),
        trouble: progress.trouble,
        visited_at: progress.visited_at.map(time),
        changed_at: progress.changed_at.last().map(|at| time(UnixMs(*at))),
        next_at: progress.next_at.filter(|_| tour.state == TourState::Running).map(time),
        note: tour.note.clone(),
        created_at: time(tour.id.0.submitted_at()),
    }
}

pub(crate) fn version(version: &Version, with_text: bool) -> wire::PageVersion {
    let facts: serde_json::Value = serde_json::from_str(&version.facts).unwrap_or_default();
    wire::PageVersion {
        version: version.n,
        at: time(version.at),
        status: facts["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(0),
        final_url: facts["url"].as_str().unwrap_or_default().to_owned(),
        bytes: facts["bytes"].as_u64().unwrap_or(0),
        text: with_text.then(|| version.text.clone()),
    }
}

pub(crate) fn comparison(tour: &Tour, names: &GroupNames, last: Option<&Version>) -> wire::ComparisonView {
    let spec: CompareSpec = tour.spec().unwrap_or_default();
    let progress: compare::Progress = tour.progress().unwrap_or_default();
    wire::ComparisonView {
        id: tour.id.to_string(),
        group: names.name(tour.group),
        state: tour.state.name().to_owned(),
        urls: spec.urls,
        countries: spec.countries,
        devices: (spec.devices > 0).then_some(spec.devices),
        every_s: (spec.every_s > 0).then_some(spec.every_s),
        rounds: progress.rounds,
        changes: progress.changes,
        differing: progress.differing,
        compared_at: progress.compared_at.map(time),
        next_at: progress.next_at.filter(|_| tour.state == TourState::Running).map(time),
        note: tour.note.clone().or(progress.note),
        created_at: time(tour.id.0.submitted_at()),
        report: last.and_then(report),
    }
}

/// What is kept of a round.
pub(crate) fn report(version: &Version) -> Option<wire::ComparisonReport> {
    let report: compare::Report = serde_json::from_str(&version.text).ok()?;
    let place = |place: compare::PlaceReport| wire::ComparedPlace {
        place: place.place,
        device: place.device,
        status: place.status,
        final_url: place.final_url,
        bytes: place.bytes,
        similarity: place.similarity,
        missing: place.missing,
        extra: place.extra,
        differs: place.differs,
        note: place.note,
    };
    let url = |url: compare::UrlReport| wire::ComparedUrl {
        url: url.url,
        differs: url.differs,
        places: url.places.into_iter().map(place).collect(),
    };
    let urls = report.urls.into_iter().map(url).collect();
    Some(wire::ComparisonReport { round: version.n, at: time(report.at), urls })
}
