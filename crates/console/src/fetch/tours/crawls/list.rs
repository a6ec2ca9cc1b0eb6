//! The list of crawls, newest first.

use std::collections::HashMap;

use axum::extract::State as Shared;
use axum::response::Response;
use malla_fetch::tour::{Tour, TourKind};
use malla_queue::{GroupId, UnixMs};
use maud::{Markup, html};

use super::super::found::{List, Wanted, csv as file};
use super::super::{NEW_CRAWL, first_of, state_badge, tour_path};
use super::{bar, read, took};
use crate::caller::Person;
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
        kind: TourKind::Crawl,
        title: t!("Crawls"),
        lead: t!("Sites followed from link to link, each page once, within limits and never into a trap."),
        new: (NEW_CRAWL, t!("New crawl")),
        api: "/api/v1/crawls",
        csv: "/fetch/crawls.csv",
        table,
    };
    list.page(console, person, params).await
}

fn table(now: UnixMs, tours: &[Tour], groups: &HashMap<GroupId, String>) -> Markup {
    html! {
        table.rows {
            thead { tr {
                th { (t!("Crawl")) } th { (t!("Seeds")) } th { (t!("State")) } th { (t!("Progress")) } th.num { (t!("Pages")) }
                th.num { (t!("Good")) } th.num { (t!("Waiting")) } th { (t!("Group")) } th { (t!("Started")) } th.num { (t!("Took")) }
            } }
            tbody { @for tour in tours {
                @let (spec, progress) = read(tour);
                tr {
                    td data-label=(t!("Crawl")) { a.id href=(tour_path(tour)) { (tour.id) } }
                    td.url data-label=(t!("Seeds")) { (first_of(&spec.seeds)) }
                    td data-label=(t!("State")) { (state_badge(tour.state)) }
                    td.bar data-label=(t!("Progress")) { (bar(tour, &progress)) }
                    td.num data-label=(t!("Pages")) { (words::count(progress.pages)) }
                    td.num data-label=(t!("Good")) { (words::count(progress.good)) }
                    td.num.quiet[tour.waiting == 0] data-label=(t!("Waiting")) { (words::count(tour.waiting)) }
                    td data-label=(t!("Group")) { (parts::group_name(tour.group, groups)) }
                    td data-label=(t!("Started")) { (words::time(now, tour.id.0.submitted_at())) }
                    td.num data-label=(t!("Took")) { (words::lasted(took(now, tour))) }
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
    const COLUMNS: [&str; 11] =
        ["crawl", "state", "seeds", "scope", "pages", "good", "bytes", "found", "group", "started_at", "finished_at"];
    let wanted = Wanted::read(TourKind::Crawl, &params)?;
    Ok(file(console, &visitor, wanted, "crawls", &COLUMNS, cells))
}

fn cells(tour: &Tour, group: &str) -> Vec<String> {
    let (spec, progress) = read(tour);
    vec![
        tour.id.to_string(),
        tour.state.name().to_owned(),
        spec.seeds.join(" "),
        spec.scope.name().to_owned(),
        progress.pages.to_string(),
        progress.good.to_string(),
        progress.bytes.to_string(),
        tour.found.to_string(),
        group.to_owned(),
        export::moment(Some(tour.id.0.submitted_at())),
        export::moment(tour.finished_at),
    ]
}
