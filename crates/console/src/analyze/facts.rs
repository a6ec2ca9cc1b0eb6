//! What is to be said about an analysis besides its answers: how far it is, what was asked, what could not be read.

use malla_access::Permission;
use malla_analyze::lines::Lines;
use malla_analyze::{Study, StudyState};
use malla_queue::{Lane, UnixMs};
use maud::{Markup, html};
use serde_json::Value;

use super::{batches, pace, path_of, progress, state_badge};
use crate::caller::Person;
use crate::params::Params;
use crate::{parts, words};

const CANCEL_WARNING: &str = "Its batches are dropped, and there will be no answers. Others go on.";
const FORGET_WARNING: &str = "It goes from the list for good, with its answers.";

pub(super) fn how_far(now: UnixMs, study: &Study) -> Markup {
    html! {
        section.card.progress {
            div.task-head {
                (state_badge(study.state))
                strong { (words::count(study.mapped)) " of " (words::count(batches(study))) " batches" }
                span.quiet { (pace::told(now, study)) }
            }
            (progress(study))
        }
        @if let Some(why) = &study.why { p.notice.bad[study.state == StudyState::Failed] { (words::capital(why)) } }
    }
}

pub(super) fn tiles(now: UnixMs, study: &Study) -> Markup {
    let rate = pace::rows_a_second(now, study).map_or("–".into(), words::count);
    html! {
        ul.tiles.small-tiles.four aria-label="Figures" {
            (tile("Rows", &words::count(study.lines.read)))
            (tile("Rows a second", &rate))
            (tile("Came in", &words::bytes(usize::try_from(study.bytes).unwrap_or(usize::MAX))))
            (tile("Bad lines", &words::count(study.lines.bad)))
        }
    }
}

fn tile(name: &str, value: &str) -> Markup {
    let nothing = matches!(value, "0" | "–" | "0 B");
    html! { li { div.tile.figure { span.tile-name { (name) } strong.zero[nothing] { (value) } } } }
}

/// Its end before its time.
pub(super) fn cancel_form(person: &Person, study: &Study) -> Markup {
    let action = format!("{}/cancel", path_of(study.id));
    html! {
        @if person.may(Permission::Change) && !study.state.is_over() {
            (parts::asking_form(person, "Cancel…", &action, html! {
                p { (CANCEL_WARNING) } button.danger { "Cancel the analysis" }
            }))
        }
    }
}

/// Its end for good. It never takes the place of the other: an analysis may end under the pointer of who cancels it.
pub(super) fn forget_form(person: &Person, study: &Study) -> Markup {
    let action = format!("{}/forget", path_of(study.id));
    html! {
        @if person.may(Permission::Change) && study.state.is_over() {
            (parts::asking_form(person, "Forget…", &action, html! {
                p { (FORGET_WARNING) } button.danger { "Forget the analysis" }
            }))
        }
    }
}

/// Lines that could not be read; nothing if there were none.
pub(super) fn bad_lines(lines: &Lines) -> Markup {
    html! {
        @if lines.bad > 0 {
            section.card {
                div.card-head {
                    h2 { "Lines that cannot be read" }
                    @if lines.bad > lines.samples.len() as u64 {
                        span.quiet.note { "the first " (lines.samples.len()) " of " (words::count(lines.bad)) }
                    }
                }
                table.rows {
                    thead { tr { th { "Batch" } th.num { "Line" } th { "Why" } th { "Text" } } }
                    tbody { @for bad in &lines.samples { tr {
                        td data-label="Batch" { span.key { (bad.batch) } }
                        td.num data-label="Line" { (words::count(bad.line)) }
                        td data-label="Why" { (bad.why) }
                        td data-label="Text" { code { (bad.text) } }
                    } } }
                }
            }
        }
    }
}

/// What was asked, and where it is worked on.
pub(super) fn asked(study: &Study, lane: Option<&Lane>) -> Markup {
    let key = study.id.lane();
    let tasks = Params::from([("lane", key.as_str())]).link("/tasks");
    html! {
        section.card {
            div.card-head { h2 { "What was asked" } }
            dl.facts {
                dt { "Kind" } dd { (study.kind) }
                @for (name, value) in study.params.as_object().into_iter().flatten() {
                    dt { (name) } dd { (told(value)) }
                }
                dt { "Lane" }
                dd {
                    @match lane {
                        Some(lane) => {
                            (parts::lane_link(&key))
                            @if lane.paused { " " span.badge.s-paused { "paused" } }
                        },
                        None => span.quiet { "none: it has no records yet, or its tasks were forgotten" },
                    }
                }
                dt { "Tasks" } dd { a href=(tasks) { "All tasks of this analysis" } }
            }
        }
    }
}

/// A value as a person reads it: texts without their quotes, whole numbers without a point.
fn told(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string().trim_end_matches(".0").to_owned(),
    }
}
