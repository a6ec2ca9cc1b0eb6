//! One task: its facts, its story, its payload and result.

use axum::extract::{Path, State as Shared};
use malla_queue::{Entry, EventId, Scope, Task, TaskId, TaskSummary, UnixMs};
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
    Ok(Page::new("/tasks", format!("Task {id}"))
        .up("/tasks", "Tasks")
        .live("head", head(person, &task.summary))
        .live(
            "body",
            html! {
                div.columns.side-facts {
                    div {
                        (timeline(now, &task))
                        section.card { div.card-head { h2 { "Payload" } } (content::show(&task.payload)) }
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
            span { (task.kind) } span.quiet { "in" } (parts::lane_link(&task.lane))
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
            div.card-head { h2 { "Facts" } }
            dl.facts {
                dt { "State" } dd { (summary.state) }
                dt { "Submitted" } dd { (words::time(now, summary.id.submitted_at())) }
                @if let Some(at) = summary.run_at {
                    dt { @if summary.state == malla_queue::State::Notified { "Confirmation due" } @else { "Next run" } }
                    dd { (words::time(now, at)) }
                }
                @if let Some(at) = summary.finished_at { dt { "Ended" } dd { (words::time(now, at)) } }
                @if let Some(holder) = &summary.holder { dt { "Holder" } dd { (holder) } }
                dt { "Kind" } dd { a href=(same_kind) { (summary.kind) } }
                dt { "Lane" } dd { (parts::lane_link(&summary.lane)) }
                dt { "Group" } dd { (group.unwrap_or("–")) }
                dt { "Priority" } dd { (summary.priority.name()) }
                dt { "Failures" } dd { (summary.failures) }
                dt { "Retry delays" } dd { @if delays.is_empty() { "none: one attempt" } @else { (delays.join(", ")) } }
                @if let Some(dedup) = &task.dedup { dt { "Dedup key" } dd { code { (dedup) } } }
                @match summary.parent {
                    // A notification follows an event, not a task.
                    Some(TaskId(event)) if summary.kind.as_str() == malla_notify::DELIVER => {
                        dt { "Event" } dd { (notify::event_link(EventId(event))) }
                        dt { "As" } dd { a href=(notify::notification_path(summary.id)) { "Notification" } }
                    },
                    Some(parent) => { dt { "Parent" } dd { (parts::task_link(parent)) } },
                    None => {},
                }
                dt { "Children" } dd { a href=(children) { "Tasks that followed" } }
            }
        }
    }
}

/// The story from the submission on; of a long one the newest part.
fn timeline(now: UnixMs, task: &Task) -> Markup {
    let submitted = task.summary.id.submitted_at();
    let left_out = task.history.len().saturating_sub(ENTRIES_MAX);
    html! {
        section.card {
            div.card-head { h2 { "Timeline" } }
            ol.timeline {
                li.submitted { p { strong { "submitted" } " " (words::time(now, submitted)) } }
                @if left_out > 0 { li.quiet { p { (words::count(left_out as u64)) " earlier left out" } } }
                @for entry in &task.history[left_out..] { (entry_line(now, entry)) }
                @if task.summary.state == malla_queue::State::Running {
                    li.s-running {
                        p { strong { "running" } @if let Some(holder) = &task.summary.holder { " · " (holder) } }
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
                strong { (entry.what.name()) } " " (words::time(now, entry.at))
                @if let Some(started) = entry.started_at {
                    span.quiet title={ "started " (words::full(started)) } {
                        " · took " (words::lasted(started.until(entry.at)))
                    }
                }
                @if let Some(by) = &entry.by { span.quiet { " · " (by) } }
            }
            @if let Some(note) = &entry.note { p.note { (note) } }
            @if let Some(answer) = &entry.answer {
                details { summary { "What came back" } pre.content { code { (answer_text(answer)) } } }
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
            section.card { div.card-head { h2 { "Result" } } (content::show(result)) }
        }
    }
}

fn by_hand(person: &Person, task: &TaskSummary) -> Markup {
    let line = format!("curl -H \"Authorization: Bearer $MALLA_TOKEN\" {}/api/v1/tasks/{}", person.server, task.id);
    html! { section.card { div.card-head { h2 { "The same from a terminal" } } (parts::command_line(&line)) } }
}
