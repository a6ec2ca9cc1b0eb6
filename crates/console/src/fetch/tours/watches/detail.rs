//! One watch: how often the page is visited and changes, and its versions.

use axum::extract::{Path, State as Shared};
use malla_access::Permission;
use malla_fetch::tour::{Tour, TourKind, TourState, Version};
use malla_fetch::watch::{Progress, WatchSpec};
use malla_queue::UnixMs;
use maud::{Markup, html};

use super::super::act::buttons;
use super::super::{WATCHES, find, group_of, state_badge, tile, tour_path, trouble};
use super::form::settings;
use super::{Facts, a_day, changed_at, compare_path, read, version_path};
use crate::caller::Person;
use crate::fetch::{size, status_badge};
use crate::form::Form;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, groups, parts, words};

const ROWS: usize = 25;

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &id, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, id: &str, params: &Params) -> Result<Page, Refusal> {
    let tour = find(console, person, TourKind::Watch, id).await?;
    let typed = super::form::fields_of(&read(&tour).0);
    page_with(console, person, &tour, params, &Form { typed: &typed, wrong: None }).await
}

pub(super) async fn page_with(
    console: &Console,
    person: &Person,
    tour: &Tour,
    params: &Params,
    form: &Form<'_>,
) -> Result<Page, Refusal> {
    let (spec, progress) = read(tour);
    let wrong = |text: &str| Refusal::bad(say!("\"{text}\" is not the number of a version", text));
    let below = params.get("cursor").map(|text| text.parse::<u64>().map_err(|_| wrong(text))).transpose()?;
    let mut versions = console.tours.versions(tour.id, below, ROWS + 1).await?;
    let more = versions.len() > ROWS;
    versions.truncate(ROWS);
    let next = versions.last().filter(|_| more).map(|version| version.n.to_string());
    let group = groups::names(console, [tour.group].into_iter()).await?.into_values().next();
    let now = console.now();
    let page = Page::new(WATCHES, spec.url.clone())
        .up(WATCHES, t!("Watches"))
        .lead(html! { (rich!("Started {}", words::time(now, tour.id.0.submitted_at()))) })
        .api(person, &format!("/api/v1/watches/{}", tour.id))
        .live("state", head(now, tour, &progress))
        .live("actions", buttons(person, tour))
        .live("tiles", tiles(now, tour, &progress));
    let (card, pager) = (list(now, tour, &versions), pager(tour, params, next));
    let page = match below {
        None => page.live("versions", card).live("pager", pager),
        Some(_) => page.still(card).still(pager),
    };
    let page = page.still(facts(&spec, group.as_ref()));
    Ok(match person.may(Permission::Change) && !tour.state.is_over() {
        true => page.still(settings(person, tour, form)),
        false => page,
    })
}

fn head(now: UnixMs, tour: &Tour, progress: &Progress) -> Markup {
    let running = tour.state == TourState::Running;
    html! {
        div.task-head {
            (state_badge(tour.state))
            @if progress.visits > 0 { (status_badge(progress.status)) }
            @if let Some(at) = progress.visited_at { span.quiet { (rich!("visited {}", words::time(now, at))) } }
            @if let Some(at) = progress.next_at.filter(|_| running) { span.quiet { "· " (rich!("again {}", words::time(now, at))) } }
        }
        (trouble(progress.trouble.as_deref(), true))
        (trouble(tour.note.as_deref(), tour.state == TourState::Failed))
    }
}

fn tiles(now: UnixMs, tour: &Tour, progress: &Progress) -> Markup {
    let changed = changed_at(progress).map_or_else(|| "–".to_owned(), |at| words::relative(now, at));
    html! {
        ul.tiles.small-tiles aria-label=(t!("Figures")) {
            (tile(None, t!("Visits"), &words::count(progress.visits)))
            (tile(None, t!("Changes"), &words::count(progress.changes)))
            (tile(None, t!("Changes a day"), &a_day(progress, now)))
            (tile(None, t!("Last change"), &changed))
            (tile(None, t!("Newest version"), &words::count(tour.versions)))
        }
    }
}

/// Versions with a choice of two that can be held against each other.
fn list(now: UnixMs, tour: &Tour, versions: &[Version]) -> Markup {
    html! {
        section.card {
            form method="get" action={ (tour_path(tour)) "/compare" } {
                div.card-head {
                    h2 { (t!("Versions")) }
                    @if versions.len() > 1 { button.small { (t!("Compare the two chosen")) } }
                }
                @if versions.is_empty() { p.quiet.pad { (t!("None yet: the first visit makes one.")) } }
                @else {
                    table.rows {
                        thead { tr {
                            @if versions.len() > 1 { th { (t!("Compare")) } }
                            th { (t!("Version")) } th { (t!("Seen")) } th { (t!("Status")) } th { (t!("Found at")) } th.num { (t!("Size")) } th {}
                        } }
                        tbody { @for (nth, version) in versions.iter().enumerate() { (line(now, tour, (nth, versions.len()), version)) } }
                    }
                }
            }
        }
    }
}

fn line(now: UnixMs, tour: &Tour, (nth, count): (usize, usize), version: &Version) -> Markup {
    let facts = Facts::of(version);
    html! {
        tr {
            @if count > 1 {
                td data-label=(t!("Compare")) { span.pick {
                    input type="radio" name="from" value=(version.n) checked[nth == 1] aria-label=(say!("From version {}", version.n));
                    input type="radio" name="to" value=(version.n) checked[nth == 0] aria-label=(say!("To version {}", version.n));
                } }
            }
            td data-label=(t!("Version")) { a href=(version_path(tour, version.n)) { (words::count(version.n)) } }
            td data-label=(t!("Seen")) { (words::time(now, version.at)) }
            td data-label=(t!("Status")) { (status_badge(facts.status)) }
            td.url data-label=(t!("Found at")) { (facts.url) }
            td.num data-label=(t!("Size")) { (size(facts.bytes)) }
            td.end {
                // The first has nothing before it, and what came before the last of a page may be forgotten.
                @if version.n > 1 && nth + 1 < count { a href=(compare_path(tour, version.n - 1, version.n)) { (t!("what changed")) } }
            }
        }
    }
}

fn pager(tour: &Tour, params: &Params, next: Option<String>) -> Markup {
    parts::pager(&tour_path(tour), &params.only(&["cursor"]), next, (t!("Newest"), t!("Older")))
}

fn facts(spec: &WatchSpec, group: Option<&String>) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { (t!("What was asked")) } }
            dl.facts {
                dt { "URL" } dd { (spec.url) }
                dt { (t!("Part of the page")) }
                dd { @match &spec.selector { Some(selector) => code { (selector) }, None => span.quiet { (t!("all of its text")) } } }
                dt { (t!("Ignored")) }
                dd { @if spec.ignore.is_empty() { span.quiet { "–" } } @for rule in &spec.ignore { div { code { (rule) } } } }
                dt { (t!("Between two visits")) }
                dd { (rich!("{} to {}", words::span(spec.interval_min_s), words::span(spec.interval_max_s))) }
                dt { (t!("Kept")) }
                dd { (rich!("{} versions, {} of text", words::count(spec.versions), size(spec.bytes))) }
                dt { (t!("Group")) } dd { (group_of(group)) }
            }
        }
    }
}
