//! The list of comparisons, newest first.

use std::collections::HashMap;

use axum::extract::State as Shared;
use axum::response::Response;
use malla_fetch::tour::{Tour, TourKind, TourState};
use malla_queue::{GroupId, UnixMs};
use maud::{Markup, html};

use super::super::found::{List, Wanted, csv as file};
use super::super::{NEW_COMPARISON, first_of, moment_if, state_badge, tour_path};
use super::{differing, every, places, read};
use crate::caller::Person;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, parts, words};

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let list = List {
        kind: TourKind::Compare,
        title: t!("Comparisons"),
        lead: t!("The same pages from several countries or devices, and what differs."),
        new: (NEW_COMPARISON, t!("New comparison")),
        api: "/api/v1/comparisons",
        csv: "/fetch/comparisons.csv",
        table,
    };
    list.page(console, person, params).await
}

fn table(now: UnixMs, tours: &[Tour], groups: &HashMap<GroupId, String>) -> Markup {
    html! {
        table.rows {
            thead { tr {
                th { (t!("Pages")) } th { (t!("State")) } th { (t!("From", "places")) } th { (t!("Repeated")) } th.num { (t!("Rounds")) }
                th { (t!("Last round")) } th { (t!("Compared")) } th { (t!("Next round")) } th { (t!("Group")) }
            } }
            tbody { @for tour in tours {
                @let (spec, progress) = read(tour);
                tr {
                    td.url data-label=(t!("Pages")) { a href=(tour_path(tour)) { (first_of(&spec.urls)) } }
                    td data-label=(t!("State")) { (state_badge(tour.state)) }
                    td data-label=(t!("From", "places")) { (places(&spec)) }
                    td data-label=(t!("Repeated")) { (every(&spec)) }
                    td.num data-label=(t!("Rounds")) { (words::count(progress.rounds)) }
                    td data-label=(t!("Last round")) {
                        @if progress.rounds == 0 { span.quiet { "–" } } @else { (differing(progress.differing, spec.urls.len() as u64)) }
                    }
                    td data-label=(t!("Compared")) { (parts::moment(now, progress.compared_at)) }
                    td data-label=(t!("Next round")) { (moment_if(now, progress.next_at, tour.state == TourState::Running)) }
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
    const COLUMNS: [&str; 9] =
        ["comparison", "state", "urls", "countries", "devices", "every_s", "rounds", "differing", "group"];
    let wanted = Wanted::read(TourKind::Compare, &params)?;
    Ok(file(console, &visitor, wanted, "comparisons", &COLUMNS, cells))
}

fn cells(tour: &Tour, group: &str) -> Vec<String> {
    let (spec, progress) = read(tour);
    vec![
        tour.id.to_string(),
        tour.state.name().to_owned(),
        spec.urls.join(" "),
        spec.countries.join(" "),
        spec.devices.to_string(),
        spec.every_s.to_string(),
        progress.rounds.to_string(),
        progress.differing.to_string(),
        group.to_owned(),
    ]
}
