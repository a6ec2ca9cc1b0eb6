//! The room `analyze`: analyses, how far each is, and what it answers.

mod answers;
mod detail;
mod facts;
mod list;
mod pace;

use std::collections::HashMap;

use axum::Router;
use axum::routing::{get, post};
use malla_analyze::{Study, StudyId, StudyState};
use malla_queue::{GroupId, UnixMs};
use maud::{Markup, html};

use crate::caller::Person;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::{Console, parts, words};

pub(crate) const ANALYSES: &str = "/analyses";

pub(crate) fn routes() -> Router<Console> {
    Router::new()
        .route(ANALYSES, get(list::show))
        .route("/analyses.csv", get(list::csv))
        .route("/analyses/{id}", get(detail::show))
        .route("/analyses/{id}/cancel", post(detail::cancel))
        .route("/analyses/{id}/forget", post(detail::forget))
}

/// The page at `path`, if it is a live one of this room.
pub(crate) async fn live_page(
    console: &Console,
    person: &Person,
    path: &str,
    params: &Params,
) -> Option<Result<Page, Refusal>> {
    if path == ANALYSES {
        return Some(list::page(console, person, params).await);
    }
    let id = path.strip_prefix("/analyses/").filter(|id| !id.contains('/'))?;
    Some(detail::live(console, person, id, params).await)
}

/// The newest analyses, as another page shows them.
pub(crate) fn latest(now: UnixMs, latest: &[Study]) -> Markup {
    html! {
        @if !latest.is_empty() {
            section.card {
                div.card-head { h2 { (t!("Latest analyses")) } a href=(ANALYSES) { (t!("All analyses")) } }
                (table(now, latest, None))
            }
        }
    }
}

fn read_id(text: &str) -> Result<StudyId, Refusal> {
    text.parse().map_err(|_| Refusal::not_found(&say!("Analysis {text}", text)))
}

fn path_of(id: StudyId) -> String {
    format!("{ANALYSES}/{id}")
}

fn state_badge(state: StudyState) -> Markup {
    let tone = match state {
        StudyState::Collecting => "queued",
        StudyState::Computing => "running",
        StudyState::Succeeded => "succeeded",
        StudyState::Failed => "failed",
        StudyState::Cancelled => "discarded",
    };
    html! { span class={ "badge s-" (tone) } { (state_name(state)) } }
}

fn state_name(state: StudyState) -> &'static str {
    match state {
        StudyState::Collecting => t!("collecting"),
        StudyState::Computing => t!("computing"),
        StudyState::Succeeded => t!("succeeded", "analysis"),
        StudyState::Failed => t!("failed", "analysis"),
        StudyState::Cancelled => t!("cancelled"),
    }
}

/// All batches that there are, as far as that is known.
fn batches(study: &Study) -> u64 {
    study.expected.unwrap_or(study.taken)
}

fn progress(study: &Study) -> Markup {
    let left = batches(study).saturating_sub(study.mapped);
    let left =
        if study.state.is_over() { ("discarded", t!("not worked on"), left) } else { ("queued", t!("waiting"), left) };
    parts::stacked(&[("succeeded", t!("worked on"), study.mapped), left], batches(study))
}

/// Analyses as rows; with the names of groups where it matters whose they are.
fn table(now: UnixMs, studies: &[Study], groups: Option<&HashMap<GroupId, String>>) -> Markup {
    html! {
        table.rows {
            thead { tr {
                th { (t!("Analysis")) } th { (t!("Kind")) } th { (t!("State")) } th { (t!("Progress")) } th.num { (t!("Batches")) } th.num { (t!("Rows")) }
                th.num { (t!("Rows a second")) } @if groups.is_some() { th { (t!("Group")) } } th { (t!("Begun")) } th.num { (t!("Took")) }
            } }
            tbody { @for study in studies { tr {
                td data-label=(t!("Analysis")) { a.id href=(path_of(study.id)) { (study.id) } }
                td data-label=(t!("Kind")) { (study.kind) }
                td data-label=(t!("State")) { (state_badge(study.state)) }
                td data-label=(t!("Progress")) { (progress(study)) }
                td.num data-label=(t!("Batches")) { (rich!("{} of {}", words::count(study.mapped), words::count(batches(study)))) }
                td.num data-label=(t!("Rows")) { (words::count(study.lines.read)) }
                td.num data-label=(t!("Rows a second")) {
                    @match pace::rows_a_second(now, study) {
                        Some(rate) => (words::count(rate)),
                        None => span.quiet { "–" },
                    }
                }
                @if let Some(groups) = groups { td data-label=(t!("Group")) { (parts::group_name(study.group, groups)) } }
                td data-label=(t!("Begun")) { (words::time(now, study.created_at)) }
                td.num data-label=(t!("Took")) { (words::lasted(pace::took(now, study))) }
            } } }
        }
    }
}
