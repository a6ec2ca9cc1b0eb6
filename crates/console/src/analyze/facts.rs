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
use crate::tongue::Text;
use crate::{parts, words};

const CANCEL_WARNING: Text = key!("Its batches are dropped, and there will be no answers. Others go on.");
const FORGET_WARNING: Text = key!("It goes from the list for good, with its answers.");

pub(super) fn how_far(now: UnixMs, study: &Study) -> Markup {
    html! {
        section.card.progress {
            div.task-head {
                (state_badge(study.state))
                strong { (rich!("{} of {} batches", words::count(study.mapped), words::count(batches(study)))) }
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
        ul.tiles.small-tiles.four aria-label=(t!("Figures")) {
            (tile(t!("Rows"), &words::count(study.lines.read)))
            (tile(t!("Rows a second"), &rate))
            (tile(t!("Came in"), &words::bytes(usize::try_from(study.bytes).unwrap_or(usize::MAX))))
            (tile(t!("Bad lines"), &words::count(study.lines.bad)))
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
            (parts::asking_form(person, t!("Cancel…"), &action, html! {
                p { (CANCEL_WARNING) } button.danger { (t!("Cancel the analysis")) }
            }))
        }
    }
}

/// Its end for good. It never takes the place of the other: an analysis may end under the pointer of who cancels it.
pub(super) fn forget_form(person: &Person, study: &Study) -> Markup {
    let action = format!("{}/forget", path_of(study.id));
    html! {
        @if person.may(Permission::Change) && study.state.is_over() {
            (parts::asking_form(person, t!("Forget…"), &action, html! {
                p { (FORGET_WARNING) } button.danger { (t!("Forget the analysis")) }
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
                    h2 { (t!("Lines that cannot be read")) }
                    @if lines.bad > lines.samples.len() as u64 {
                        span.quiet.note { (rich!("the first {} of {}", lines.samples.len(), words::count(lines.bad))) }
                    }
                }
                table.rows {
                    thead { tr { th { (t!("Batch")) } th.num { (t!("Line")) } th { (t!("Why")) } th { (t!("Text")) } } }
                    tbody { @for bad in &lines.samples { tr {
                        td data-label=(t!("Batch")) { span.key { (bad.batch) } }
                        td.num data-label=(t!("Line")) { (words::count(bad.line)) }
                        td data-label=(t!("Why")) { (bad.why) }
                        td data-label=(t!("Text")) { code { (bad.text) } }
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
            div.card-head { h2 { (t!("What was asked")) } }
            dl.facts {
                dt { (t!("Kind")) } dd { (study.kind) }
                @for (name, value) in study.params.as_object().into_iter().flatten() {
                    dt { (name) } dd { (told(value)) }
                }
                dt { (t!("Lane")) }
                dd {
                    @match lane {
                        Some(lane) => {
                            (parts::lane_link(&key))
                            @if lane.paused { " " span.badge.s-paused { (t!("paused")) } }
                        },
                        None => span.quiet { (t!("none: it has no records yet, or its tasks were forgotten")) },
                    }
                }
                dt { (t!("Tasks")) } dd { a href=(tasks) { (t!("All tasks of this analysis")) } }
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
