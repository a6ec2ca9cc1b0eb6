//! One comparison: the round under way, what the last one found, and those before.

use axum::extract::{Path, State as Shared};
use axum::response::Response;
use malla_fetch::compare::{CompareSpec, Progress, Report};
use malla_fetch::tour::{Tour, TourKind, TourState, Version};
use malla_queue::UnixMs;
use maud::{Markup, html};

use super::super::act::buttons;
use super::super::{COMPARISONS, find, group_of, state_badge, titled, tour_path, trouble};
use super::{differing, every, facts, places, read, report, round_path};
use crate::caller::Person;
use crate::frame::Page;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, export, groups, words};

/// Rounds that are listed; the API has them all.
const ROUNDS: usize = 25;

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    visitor: Visitor<See>,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &id).await
}

pub(crate) async fn page(console: &Console, person: &Person, id: &str) -> Result<Page, Refusal> {
    let tour = find(console, person, TourKind::Compare, id).await?;
    let (spec, progress) = read(&tour);
    let last = if tour.versions > 0 { console.tours.version(tour.id, tour.versions).await? } else { None };
    let rounds = console.tours.versions(tour.id, None, ROUNDS).await?;
    let group = groups::names(console, [tour.group].into_iter()).await?.into_values().next();
    let now = console.now();
    let newest = last.as_ref().and_then(|version| Some((version, read_report(version)?)));
    Ok(Page::new(COMPARISONS, titled(TourKind::Compare, id))
        .up(COMPARISONS, t!("Comparisons"))
        .lead(html! {
            (rich!("Started {}", words::time(now, tour.id.0.submitted_at())))
            @if let Some(group) = &group { " " (rich!("for {}", group)) }
        })
        .api(person, &format!("/api/v1/comparisons/{}", tour.id))
        .live("state", head(now, &tour, &spec, &progress))
        .live("actions", buttons(person, &tour))
        .live("report", html! {
            @match &newest {
                Some((version, report)) => {
                    div.task-head {
                        h2 { (rich!("Round {}", words::count(version.n))) }
                        span.quiet { (words::time(now, version.at)) }
                        a.button.small.plain.push href={ (round_path(&tour, version.n)) "/csv" } download { "CSV" }
                    }
                    (report::cards(report))
                },
                None => @if tour.state.is_over() { p.quiet { (t!("It ended before a round was over.")) } }
                    @else { p.quiet { (t!("No round is over yet: what differs is shown here when the pages have come.")) } },
            }
        })
        .live("rounds", list(now, &tour, &spec, &rounds))
        .still(asked(&spec, group.as_ref())))
}

fn head(now: UnixMs, tour: &Tour, spec: &CompareSpec, progress: &Progress) -> Markup {
    let running = tour.state == TourState::Running;
    let under_way = running && tour.outstanding() > 0;
    html! {
        div.task-head {
            (state_badge(tour.state))
            @if progress.rounds > 0 { (differing(progress.differing, spec.urls.len() as u64)) }
            span.quiet {
                @match (under_way, progress.next_at.filter(|_| running)) {
                    (true, _) => { (rich!("{} answers are awaited", words::count(tour.outstanding()))) },
                    (false, Some(at)) => { (rich!("again {}", words::time(now, at))) },
                    (false, None) => {},
                }
            }
        }
        (trouble(tour.note.as_deref().or(progress.note.as_deref()), tour.state == TourState::Failed))
    }
}

fn list(now: UnixMs, tour: &Tour, spec: &CompareSpec, rounds: &[Version]) -> Markup {
    html! {
        @if rounds.len() > 1 {
            section.card {
                div.card-head { h2 { (t!("Rounds")) } }
                table.rows {
                    thead { tr { th { (t!("Round")) } th { (t!("Compared")) } th { (t!("What differs")) } th { (t!("Against the round before")) } } }
                    tbody { @for version in rounds {
                        @let (n, changed) = facts(version);
                        tr {
                            td data-label=(t!("Round")) { a href=(round_path(tour, version.n)) { (words::count(version.n)) } }
                            td data-label=(t!("Compared")) { (words::time(now, version.at)) }
                            td data-label=(t!("What differs")) { (differing(n, spec.urls.len() as u64)) }
                            td data-label=(t!("Against the round before")) {
                                @if changed { span.badge.s-notified { (t!("changed")) } } @else { span.quiet { (t!("the same")) } }
                            }
                        }
                    } }
                }
            }
        }
    }
}

fn asked(spec: &CompareSpec, group: Option<&String>) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { (t!("What was asked")) } }
            dl.facts {
                dt { (t!("URLs")) } dd { @for url in &spec.urls { div { (url) } } }
                dt { (t!("From", "places")) } dd { (places(spec)) }
                dt { (t!("Repeated")) } dd { (every(spec)) }
                dt { (t!("A page waits for its place")) } dd { (words::span(spec.wait_s)) }
                dt { (t!("Group")) } dd { (group_of(group)) }
            }
        }
    }
}

fn read_report(version: &Version) -> Option<Report> {
    serde_json::from_str(&version.text).ok()
}

/// A round of before.
pub(crate) async fn round(
    Shared(console): Shared<Console>,
    Path((id, n)): Path<(String, String)>,
    visitor: Visitor<See>,
) -> Result<Page, Refusal> {
    let (tour, version, report) = kept(&console, &visitor, &id, &n).await?;
    let now = console.now();
    Ok(Page::new(COMPARISONS, say!("Round {}", words::count(version.n)))
        .up(tour_path(&tour), titled(TourKind::Compare, &id))
        .lead(html! { (rich!("Compared {}", words::time(now, version.at))) })
        .csv(format!("{}/csv", round_path(&tour, version.n)))
        .api(&visitor, &format!("/api/v1/comparisons/{}/rounds/{}", tour.id, version.n))
        .still(report::cards(&report)))
}

pub(crate) async fn csv(
    Shared(console): Shared<Console>,
    Path((id, n)): Path<(String, String)>,
    visitor: Visitor<See>,
) -> Result<Response, Refusal> {
    let (_, version, report) = kept(&console, &visitor, &id, &n).await?;
    let name = format!("comparison-{id}-round-{}", version.n);
    Ok(export::csv_of(&name, &report::COLUMNS, report::cells(&report)))
}

async fn kept(console: &Console, person: &Person, id: &str, n: &str) -> Result<(Tour, Version, Report), Refusal> {
    let tour = find(console, person, TourKind::Compare, id).await?;
    let gone = || {
        let sentence = say!("Round {n} is not kept, or there is none yet.", n);
        Refusal::new(axum::http::StatusCode::NOT_FOUND, sentence)
    };
    let number: u64 = n.parse().map_err(|_| gone())?;
    let version = console.tours.version(tour.id, number).await?.ok_or_else(gone)?;
    let report = read_report(&version).ok_or_else(gone)?;
    Ok((tour, version, report))
}
