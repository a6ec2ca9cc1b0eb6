//! A live view of tasks.

use std::convert::Infallible;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, Sse};
use futures_util::Stream;
use malla_protocol::{TaskQuery, TaskView};
use malla_queue::{Scope, State as TaskState, TaskFilter, TaskId, TaskSummary, UnixMs};

use super::tasks;
use super::watch::{Look, Watched, watch};
use crate::App;
use crate::auth::{May, See};
use crate::problem::Refusal;
use crate::query::{NoParams, Query};
use crate::view::{self, GroupNames};

/// Watch tasks as they appear and change state, as server-sent events.
///
/// An event `ready` says that watching has begun; then comes one event `task` whenever one of the 200 newest tasks
/// that match appears or changes, with the task as its data. The view ends when the token does, or the server.
#[utoipa::path(get, path = "/api/v1/tasks/tail", tag = "tasks", operation_id = "tail_tasks", params(TaskQuery),
    responses((status = 200, body = TaskView, content_type = "text/event-stream")),
    extensions(("x-permission" = json!("see"))))]
pub(super) async fn tail(
    State(app): State<App>,
    who: May<See>,
    headers: HeaderMap,
    Query(query, NoParams {}): Query<TaskQuery, NoParams>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    let filter = tasks::filter(&app, &who, &query).await?;
    watch(app, headers, filter).await
}

impl Watched for TaskFilter {
    type Item = TaskSummary;
    type Id = TaskId;
    type Mark = TaskId;
    type Seen = (TaskState, u32, Option<UnixMs>);
    type View = TaskView;
    const EVENT: &'static str = "task";

    fn set_scope(&mut self, scope: Scope) {
        self.scope = scope;
    }

    async fn page(&self, app: &App, below: Option<TaskId>, limit: usize) -> Look<Self> {
        let page = app.queue.tasks(self, below, limit).await?;
        Ok((page.tasks, page.next))
    }

    fn id(task: &TaskSummary) -> TaskId {
        task.id
    }

    fn seen(task: &TaskSummary) -> Self::Seen {
        (task.state, task.failures, task.finished_at)
    }

    async fn views(app: &App, tasks: &[&TaskSummary]) -> Result<Vec<TaskView>, Refusal> {
        let names = GroupNames::of(app, tasks.iter().map(|task| task.group)).await?;
        Ok(tasks.iter().map(|task| view::task(task, &names)).collect())
    }
}
