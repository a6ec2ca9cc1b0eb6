//! The list of tasks, newest first, with its filters in the address.

use std::collections::HashMap;

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::Response;
use malla_access::Permission;
use malla_queue::{GroupId, Move, State, StateCounts, TaskId, TaskSummary, UnixMs};
use maud::{Markup, html};
use tokio::time::Instant;

use super::filter::Wanted;
use crate::caller::Person;
use crate::frame::Page;
use crate::listing::PATIENCE;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, export, groups, parts, words};

const ROWS: usize = 50;
/// A filter that matches little is answered in steps; this many are taken for one page, if they take no longer than
/// [`PATIENCE`].
const STEPS_MAX: usize = 8;

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let page = Page::new("/tasks", t!("Tasks"));
    let wanted = match Wanted::read(console, person, params).await {
        Ok(wanted) => wanted,
        Err(Refusal::Sentence { status: StatusCode::BAD_REQUEST, sentence }) => {
            let error = parts::error_line(Some(&sentence));
            return Ok(page.status(StatusCode::BAD_REQUEST).still(filters(params)).still(error));
        }
        Err(other) => return Err(other),
    };
    let below = params.get("cursor").map(str::parse).transpose().map_err(Refusal::from)?;
    let (counts, found) = tokio::try_join!(wanted.counts(console), find(console, &wanted, below))?;
    let names = groups::names(console, found.tasks.iter().map(|task| task.group)).await?;
    let links = wanted.params.clone();
    let links = params.get("cursor").map_or(links.clone(), |cursor| links.with("cursor", cursor));
    Ok(page
        .csv(wanted.params.link("/tasks.csv"))
        .api(person, &wanted.params.link("/api/v1/tasks"))
        .live("chips", chips(&wanted, counts.as_ref()))
        .still(filters(params))
        .still(bulk_bar(person, &wanted))
        .live("tasks", rows(person, console.now(), &wanted, &found, &names))
        .live(
            "pager",
            parts::pager("/tasks", &links, found.next.map(|id| id.to_string()), (t!("Newest"), t!("Older"))),
        ))
}

pub(crate) async fn csv(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Response, Refusal> {
    const COLUMNS: [&str; 10] =
        ["task", "state", "kind", "lane", "group", "submitted_at", "failures", "holder", "run_at", "finished_at"];
    let filter = Wanted::read(&console, &visitor, &params).await?.filter;
    Ok(export::csv("tasks", &COLUMNS, move |below, most| {
        let (console, filter) = (console.clone(), filter.clone());
        async move {
            let page = console.queue.tasks(&filter, below, most).await?;
            let groups: Vec<GroupId> = page.tasks.iter().filter_map(|task| task.group).collect();
            let names = console.access.group_names(&groups).await?;
            Ok((page.tasks.iter().map(|task| cells(task, &names)).collect(), page.next))
        }
    }))
}

fn cells(task: &TaskSummary, groups: &HashMap<GroupId, String>) -> Vec<String> {
    vec![
        task.id.to_string(),
        task.state.name().to_owned(),
        task.kind.to_string(),
        task.lane.to_string(),
        task.group.and_then(|group| groups.get(&group)).cloned().unwrap_or_default(),
        export::moment(Some(task.id.submitted_at())),
        task.failures.to_string(),
        task.holder.as_ref().map(ToString::to_string).unwrap_or_default(),
        export::moment(task.run_at),
        export::moment(task.finished_at),
    ]
}

struct Found {
    tasks: Vec<TaskSummary>,
    next: Option<TaskId>,
}

async fn find(console: &Console, wanted: &Wanted, below: Option<TaskId>) -> Result<Found, Refusal> {
    let mut found = Found { tasks: Vec::new(), next: below };
    let began = Instant::now();
    for _ in 0..STEPS_MAX {
        let page = console.queue.tasks(&wanted.filter, found.next, ROWS - found.tasks.len()).await?;
        found.tasks.extend(page.tasks);
        found.next = page.next;
        if found.next.is_none() || found.tasks.len() >= ROWS || began.elapsed() >= PATIENCE {
            break;
        }
    }
    Ok(found)
}

fn chips(wanted: &Wanted, counts: Option<&StateCounts>) -> Markup {
    let chosen = &wanted.filter.states;
    let all = wanted.params.without("state");
    html! {
        nav.chips aria-label=(t!("States")) {
            a.chip href=(all.link("/tasks")) aria-current=[chosen.is_empty().then_some("true")] {
                (t!("all")) @if let Some(counts) = counts { span.n { (words::count(counts.total())) } }
            }
            @for state in State::ALL {
                a.chip href=(all.with("state", state.name()).link("/tasks"))
                    aria-current=[chosen.contains(&state).then_some("true")] {
                    span class={ "dot s-" (state) } {}
                    (parts::state_name(state))
                    @if let Some(counts) = counts { span.n { (words::count(counts.of(state))) } }
                }
            }
        }
    }
}

fn filters(params: &Params) -> Markup {
    let active = !params.only(super::filter::NAMES).without("state").is_empty();
    html! {
        form.filters method="get" action="/tasks" role="search" {
            @for state in params.all("state") { input type="hidden" name="state" value=(state); }
            (parts::text_filter(params, t!("Room"), "room", "drill"))
            (parts::text_filter(params, t!("Kind"), "kind", "drill"))
            (parts::text_filter(params, t!("Lane"), "lane", "room/name"))
            (parts::text_filter(params, t!("Group"), "group", ""))
            @if params.get("parent").is_some() { (parts::text_filter(params, t!("Parent"), "parent", t!("task id"))) }
            (parts::time_filter(params, t!("From (UTC)"), "from"))
            (parts::time_filter(params, t!("To (UTC)"), "to"))
            div.buttons {
                button { (t!("Filter")) }
                @if active { a.button.plain href=(params.only(&["state"]).link("/tasks")) { (t!("Clear")) } }
            }
        }
    }
}

/// What can be done to all that match; each leads to a page that asks once more.
fn bulk_bar(person: &Person, wanted: &Wanted) -> Markup {
    let verbs = [Move::Resend, Move::Pause, Move::Resume, Move::Discard];
    let verbs: Vec<Move> = verbs.into_iter().filter(|verb| !wanted.states_for(*verb).is_empty()).collect();
    html! {
        @if person.may(Permission::Change) {
            div.bulk {
                @if !verbs.is_empty() { span.quiet { (t!("All that match:")) } }
                @for verb in verbs {
                    a.button.small href=(wanted.params.with("verb", verb.name()).link("/tasks/act")) {
                        (parts::verb_name(verb)) "…"
                    }
                }
                a.button.small.push href=(super::new::NEW) { (t!("New drill")) }
            }
        }
    }
}

fn rows(person: &Person, now: UnixMs, wanted: &Wanted, found: &Found, groups: &HashMap<GroupId, String>) -> Markup {
    if found.tasks.is_empty() {
        return nothing(person, wanted, found.next.is_some());
    }
    html! {
        section.card {
            table.rows {
                thead { tr {
                    th { (t!("Task")) } th { (t!("State")) } th { (t!("Kind")) } th { (t!("Lane")) } th { (t!("Group")) } th { (t!("Submitted")) }
                    th.num { (t!("Failures")) } th { (t!("Now")) } th {}
                } }
                tbody { @for task in &found.tasks { tr {
                    td data-label=(t!("Task")) { (parts::task_link(task.id)) }
                    td data-label=(t!("State")) { (parts::badge(task.state)) }
                    td.whole-word data-label=(t!("Kind")) { (task.kind) }
                    td data-label=(t!("Lane")) { (parts::lane_link(&task.lane)) }
                    td data-label=(t!("Group")) { (parts::group_name(task.group, groups)) }
                    td data-label=(t!("Submitted")) { (words::time(now, task.id.submitted_at())) }
                    td.num.quiet[task.failures == 0] data-label=(t!("Failures")) { (task.failures) }
                    td data-label=(t!("Now")) { (next(now, task)) }
                    td.end { (parts::task_buttons(person, task.id, task.state)) }
                } } }
            }
        }
    }
}

/// Who has it, or what it waits for.
fn next(now: UnixMs, task: &TaskSummary) -> Markup {
    html! {
        @match (task.state, &task.holder, task.run_at, task.finished_at) {
            (_, Some(holder), ..) => span.holder { (holder) },
            (State::Queued, _, Some(at), _) if at > now => { (rich!("starts {}", words::time(now, at))) },
            (State::Queued, ..) => (t!("waits for its turn")),
            (State::Notified, _, Some(at), _) => { (rich!("confirmation due {}", words::time(now, at))) },
            (_, _, _, Some(at)) => span.quiet.ended { (rich!("ended {}", words::time(now, at))) },
            _ => span.quiet { "–" },
        }
    }
}

fn nothing(person: &Person, wanted: &Wanted, more: bool) -> Markup {
    if more {
        return parts::empty(t!("Nothing matches among the tasks looked at so far: go on with “Older”."), None);
    }
    if !wanted.params.is_empty() {
        return parts::empty(t!("No task matches these filters."), Some(("/tasks", t!("Show all tasks"))));
    }
    if !person.may(Permission::Change) {
        return parts::empty(t!("There are no tasks yet."), None);
    }
    parts::empty_with_command(
        t!("There are no tasks yet. Try a first one, which does nothing but succeed:"),
        "malla tasks submit --lane drill/hello --kind drill '{}'",
    )
}
