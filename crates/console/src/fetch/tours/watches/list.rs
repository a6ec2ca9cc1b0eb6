//! The list of watches, newest first.

use std::collections::HashMap;

use axum::extract::State as Shared;
use axum::response::Response;
use malla_fetch::tour::{Tour, TourKind, TourState};
use malla_queue::{GroupId, UnixMs};
use maud::{Markup, html};

use super::super::found::{List, Wanted, csv as file};
use super::super::{NEW_WATCH, moment_if, state_badge, tour_path};
use super::{changed_at, read};
use crate::caller::Person;
use crate::fetch::status_badge;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, export, parts, words};

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let list = List {
        kind: TourKind::Watch,
        title: t!("Watches"),
        lead: t!(
            "Pages that are fetched as often as they change; their versions are kept, and each change is an event."
        ),
        new: (NEW_WATCH, t!("New watch")),
        api: "/api/v1/watches",
        csv: "/fetch/watches.csv",
        table,
    };
    list.page(console, person, params).await
}

fn table(now: UnixMs, tours: &[Tour], groups: &HashMap<GroupId, String>) -> Markup {
    html! {
        table.rows {
            thead { tr {
                th { (t!("Page")) } th { (t!("State")) } th { (t!("Status")) } th.num { (t!("Visits")) } th.num { (t!("Changes")) }
                th { (t!("Changed")) } th { (t!("Visited")) } th { (t!("Next visit")) } th { (t!("Group")) }
            } }
            tbody { @for tour in tours {
                @let (spec, progress) = read(tour);
                tr {
                    td.url data-label=(t!("Page")) {
                        a href=(tour_path(tour)) { (spec.url) }
                        @if let Some(selector) = &spec.selector { p.note.quiet { (rich!("only {}", selector)) } }
                    }
                    td data-label=(t!("State")) { (state_badge(tour.state)) }
                    td data-label=(t!("Status")) {
                        @if progress.visits == 0 { span.quiet { "–" } } @else { (status_badge(progress.status)) }
                    }
                    td.num data-label=(t!("Visits")) { (words::count(progress.visits)) }
                    td.num.quiet[progress.changes == 0] data-label=(t!("Changes")) { (words::count(progress.changes)) }
                    td data-label=(t!("Changed")) { (parts::moment(now, changed_at(&progress))) }
                    td data-label=(t!("Visited")) { (parts::moment(now, progress.visited_at)) }
                    td data-label=(t!("Next visit")) { (moment_if(now, progress.next_at, tour.state == TourState::Running)) }
                    td data-label=(t!("Group")) { (parts::group_name(tour.group, groups)) }
                }
            } }
        }
    }
}

pub(crate) async fn csv(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Response, Refusal> {
    const COLUMNS: [&str; 10] =
        ["watch", "url", "selector", "state", "status", "visits", "changes", "changed_at", "visited_at", "group"];
    let wanted = Wanted::read(TourKind::Watch, &params)?;
    Ok(file(console, &visitor, wanted, "watches", &COLUMNS, cells))
}

fn cells(tour: &Tour, group: &str) -> Vec<String> {
    let (spec, progress) = read(tour);
    vec![
        tour.id.to_string(),
        spec.url,
        spec.selector.unwrap_or_default(),
        tour.state.name().to_owned(),
        progress.status.to_string(),
        progress.visits.to_string(),
        progress.changes.to_string(),
        export::moment(changed_at(&progress)),
        export::moment(progress.visited_at),
        group.to_owned(),
    ]
}
