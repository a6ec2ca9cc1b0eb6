//! One task: its facts, its story, its payload and result.

use axum::extract::{Path, State as Shared};
use malla_queue::{Entry, EventId, Priority, Scope, Task, TaskId, TaskSummary, UnixMs};
use maud::{Markup, html};

use super::read_id;
use crate::caller::Person;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, content, notify, parts, words};

/// Newest entries of a long story.
const ENTRIES_MAX: usize = 100;
const ANSWER_CHARS_MAX: usize = 4_000;

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    visitor: Visitor<See>,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &id).await
}

pub(crate) async fn page(console: &Console, person: &Person, id: &str) -> Result<Page, Refusal> {
    let id = read_id(id)?;
    let scope: Scope = person.principal.scope();
    let task = console.queue.task(&scope, id).await?;
    let group = match task.summary.group {
        Some(group) => console.access.group_names(&[group]).await?.remove(&group),
        None => None,
    };
    let now = console.now();
    Ok(Page::new("/tasks", say!("Task {id}", id))
        .up("/tasks", t!("Tasks"))
        .live("head", head(person, &task.summary))
        .live(
            "body",
            html! {
                div.columns.side-facts {
                    div {
                        (timeline(now, &task))
                        section.card { div.card-head { h2 { (t!("Payload")) } } (content::show(&task.payload)) }
                        (result(&task))
                    }
                    (facts(now, &task, group.as_deref()))
                }
            },
        )
        .still(by_hand(person, &task.summary)))
}

fn head(person: &Person, task: &TaskSummary) -> Markup {
    html! {
        div.task-head {
            (parts::badge(task.state))
            span { (task.kind) } span.quiet { (t!("in")) } (parts::lane_link(&task.lane))
            span.push { (parts::task_buttons(person, task.id, task.state)) }
        }
    }
}

fn facts(now: UnixMs, task: &Task, group: Option<&str>) -> Markup {
    let summary = &task.summary;
    let children = Params::from([("parent", summary.id.to_string().as_str())]).link("/tasks");
    let same_kind = Params::from([("kind", summary.kind.as_str())]).link("/tasks");
    let delays: Vec<String> =
        task.retry.as_millis().iter().map(|ms| words::lasted(std::time::Duration::from_millis(*ms))).collect();
    html! {
        section.card.facts-card {
            div.card-head { h2 { (t!("Facts")) } }
            dl.facts {
                dt { (t!("State")) } dd { (parts::state_name(summary.state)) }
                dt { (t!("Submitted")) } dd { (words::time(now, summary.id.submitted_at())) }
                @if let Some(at) = summary.run_at {
                    dt { @if summary.state == malla_queue::State::Notified { (t!("Confirmation due")) } @else { (t!("Next run")) } }
                    dd { (words::time(now, at)) }
                }
                @if let Some(at) = summary.finished_at { dt { (t!("Ended")) } dd { (words::time(now, at)) } }
                @if let Some(holder) = &summary.holder { dt { (t!("Holder")) } dd { (holder) } }
                dt { (t!("Kind")) } dd { a href=(same_kind) { (summary.kind) } }
                dt { (t!("Lane")) } dd { (parts::lane_link(&summary.lane)) }
                dt { (t!("Group")) } dd { (group.unwrap_or("–")) }
                dt { (t!("Priority")) } dd { (priority(summary.priority)) }
                dt { (t!("Failures")) } dd { (summary.failures) }
                dt { (t!("Retry delays")) } dd { @if delays.is_empty() { (t!("none: one attempt")) } @else { (delays.join(", ")) } }
                @if let Some(dedup) = &task.dedup { dt { (t!("Dedup key")) } dd { code { (dedup) } } }
                @match summary.parent {
                    // A notification follows an event, not a task.
                    Some(TaskId(event)) if summary.kind.as_str() == malla_notify::DELIVER => {
                        dt { (t!("Event")) } dd { (notify::event_link(EventId(event))) }
                        dt { (t!("As")) } dd { a href=(notify::notification_path(summary.id)) { (t!("Notification")) } }
                    },
                    Some(parent) => { dt { (t!("Parent")) } dd { (parts::task_link(parent)) } },
                    None => {},
                }
                dt { (t!("Children")) } dd { a href=(children) { (t!("Tasks that followed")) } }
            }
        }
    }
}

fn priority(priority: Priority) -> &'static str {
    match priority {
        Priority::High => t!("high"),
        Priority::Normal => t!("normal"),
        Priority::Low => t!("low"),
    }
}

/// The story from the submission on; of a long one the newest part.
fn timeline(now: UnixMs, task: &Task) -> Markup {
    let submitted = task.summary.id.submitted_at();
    let left_out = task.history.len().saturating_sub(ENTRIES_MAX);
    html! {
        section.card {
            div.card-head { h2 { (t!("Timeline")) } }
            ol.timeline {
                li.submitted { p { strong { (t!("submitted")) } " " (words::time(now, submitted)) } }
                @if left_out > 0 { li.quiet { p { (rich!("{} earlier left out", words::count(left_out as u64))) } } }
                @for entry in &task.history[left_out..] { (entry_line(now, entry)) }
                @if task.summary.state == malla_queue::State::Running {
                    li.s-running {
                        p { strong { (t!("running")) } @if let Some(holder) = &task.summary.holder { " · " (holder) } }
                    }
                }
            }
        }
    }
}

fn entry_line(now: UnixMs, entry: &Entry) -> Markup {
    html! {
        li class={ "s-" (parts::tone(entry.what)) } {
            p {
                strong { (parts::entry_name(entry.what)) } " " (words::time(now, entry.at))
                @if let Some(started) = entry.started_at {
                    span.quiet title=(say!("started {}", words::full(started))) {
                        " " (rich!("· took {}", words::lasted(started.until(entry.at))))
                    }
                }
                @if let Some(by) = &entry.by { span.quiet { " · " (by) } }
            }
            @if let Some(note) = &entry.note { p.note { (note) } }
            @if let Some(answer) = &entry.answer {
                details { summary { (t!("What came back")) } pre.content { code { (answer_text(answer)) } } }
            }
        }
    }
}

fn answer_text(answer: &serde_json::Value) -> String {
    let text = format!("{answer:#}");
    match text.char_indices().nth(ANSWER_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn result(task: &Task) -> Markup {
    html! {
        @if let Some(result) = &task.result {
            section.card { div.card-head { h2 { (t!("Result")) } } (content::show(result)) }
        }
    }
}

fn by_hand(person: &Person, task: &TaskSummary) -> Markup {
    let line = format!("curl -H \"Authorization: Bearer $MALLA_TOKEN\" {}/api/v1/tasks/{}", person.server, task.id);
    html! { section.card { div.card-head { h2 { (t!("The same from a terminal")) } } (parts::command_line(&line)) } }
}
