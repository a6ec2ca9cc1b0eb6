//! Tasks: list, count, show, and a person's verb on one of them.

use axum::Json;
use axum::extract::State;
use malla_access::Principal;
use malla_protocol::{Code, Counts, KindCounts, Page, PageQuery, TaskDetail, TaskQuery, TaskView};
use malla_queue::{Kind, Limits, Move, Room, StateCounts, TaskFilter, TaskId};

use crate::App;
use crate::auth::{Change, May, See};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{Path, Query, limit, time};
use crate::view::{self, GroupNames};
use crate::write::{NoBody, Write};

/// List tasks, newest first.
#[utoipa::path(get, path = "/api/v1/tasks", tag = "tasks", operation_id = "list_tasks",
    params(TaskQuery, PageQuery), responses((status = 200, body = Page<TaskView>)),
    extensions(("x-permission" = json!("see"))))]
pub(super) async fn list(
    State(app): State<App>,
    who: May<See>,
    Query(query, page): Query<TaskQuery, PageQuery>,
) -> Result<Json<Page<TaskView>>, Refusal> {
    let filter = filter(&app, &who, &query).await?;
    let below = cursor::read_as::<TaskId>(List::Tasks, page.cursor.as_deref())?;
    let found = app.queue.tasks(&filter, below, limit(&page)?).await?;
    let names = GroupNames::of(&app, found.tasks.iter().map(|task| task.group)).await?;
    Ok(Json(Page {
        items: found.tasks.iter().map(|task| view::task(task, &names)).collect(),
        next_cursor: found.next.map(|id| cursor::write(List::Tasks, &id.to_string())),
    }))
}

/// Count tasks by kind and state.
#[utoipa::path(get, path = "/api/v1/tasks/counts", tag = "tasks", operation_id = "count_tasks",
    responses((status = 200, body = Counts)), extensions(("x-permission" = json!("see"))))]
pub(super) async fn counts(State(app): State<App>, who: May<See>) -> Result<Json<Counts>, Refusal> {
    let found = app.queue.counts(&who.scope()).await?;
    let mut total = StateCounts::default();
    found.iter().for_each(|kind| total.add(&kind.counts));
    let kinds = found
        .iter()
        .map(|kind| KindCounts { kind: kind.kind.to_string(), counts: view::counts(&kind.counts) })
        .collect();
    Ok(Json(Counts { total: view::counts(&total), kinds }))
}

/// Show one task whole, with its history.
#[utoipa::path(get, path = "/api/v1/tasks/{id}", tag = "tasks", operation_id = "show_task",
    params(("id" = String, Path, description = "The task's id")),
    responses((status = 200, body = TaskDetail)), extensions(("x-permission" = json!("see"))))]
pub(super) async fn show(
    State(app): State<App>,
    who: May<See>,
    Path(id): Path<String>,
) -> Result<Json<TaskDetail>, Refusal> {
    let task = app.queue.task(&who.scope(), id.parse()?).await?;
    let names = GroupNames::of(&app, [task.summary.group]).await?;
    Ok(Json(view::task_detail(task, &names)))
}

/// Retry (or resend), discard, pause, resume or confirm one task.
///
/// A verb that makes no sense in the task's state is refused with `wrong_state`.
#[utoipa::path(post, path = "/api/v1/tasks/{id}/{verb}", tag = "tasks", operation_id = "act_on_task",
    params(
        ("id" = String, Path, description = "The task's id"),
        ("verb" = String, Path, description = "retry, resend, discard, pause, resume or confirm"),
    ),
    responses((status = 200, body = TaskView)), extensions(("x-permission" = json!("change"))))]
pub(super) async fn act(
    State(app): State<App>,
    who: May<Change>,
    Path((id, verb)): Path<(String, String)>,
    write: Write<NoBody>,
) -> Result<Json<TaskView>, Refusal> {
    let verb = verb_named(&verb)?;
    let id: TaskId = id.parse()?;
    let act = write.act(&who, action(verb), id.to_string());
    let task = app.queue.act_on(&who.scope(), id, verb, act).await?;
    let names = GroupNames::of(&app, [task.group]).await?;
    Ok(Json(view::task(&task, &names)))
}

fn verb_named(name: &str) -> Result<Move, Refusal> {
    let name = if name == "retry" { Move::Resend.name() } else { name };
    Move::ALL.into_iter().find(|verb| verb.name() == name).ok_or_else(|| {
        let verbs = "retry, resend, discard, pause, resume and confirm";
        Refusal::new(Code::NotFound, format!("\"{name}\" cannot be done to a task: there are {verbs}"))
    })
}

/// How the audit log calls it.
pub(super) fn action(verb: Move) -> &'static str {
    match verb {
        Move::Pause => "task.pause",
        Move::Resume => "task.resume",
        Move::Discard => "task.discard",
        Move::Resend => "task.resend",
        Move::Confirm => "task.confirm",
    }
}

/// The filter that a query stands for, within what the caller may see.
pub(super) async fn filter(app: &App, who: &Principal, query: &TaskQuery) -> Result<TaskFilter, Refusal> {
    let scope = who.scope();
    let states = query.state.iter().flat_map(|list| list.split(',')).map(|state| state.trim().parse());
    let states = states.collect::<Result<Vec<_>, _>>()?;
    if let Some(room) = &query.room {
        Room::new(room)?;
    }
    if query.kind.as_ref().is_some_and(|kind| kind.len() > Limits::NAME_BYTES_MAX) {
        return Err(Refusal::invalid(format!("a kind has at most {} bytes", Limits::NAME_BYTES_MAX)));
    }
    let group = match &query.group {
        Some(name) => Some(app.access.group(&scope, name).await?.id),
        None => None,
    };
    Ok(TaskFilter {
        states,
        room: query.room.clone(),
        kind: query.kind.clone().map(Kind::new),
        lane: query.lane.as_deref().map(str::parse).transpose()?,
        group,
        parent: query.parent.as_deref().map(str::parse).transpose()?,
        from: query.from.as_deref().map(|text| time("from", text, false)).transpose()?,
        to: query.to.as_deref().map(|text| time("to", text, true)).transpose()?,
        ..TaskFilter::all(scope)
    })
}
