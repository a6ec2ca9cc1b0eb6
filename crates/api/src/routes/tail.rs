//! A live view of tasks, as server-sent events. It looks once a second at the newest tasks that match, so it costs
//! the same however many there are; a task that changes twice within a second is told once.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, Method};
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use futures_util::stream::unfold;
use malla_access::Permission;
use malla_protocol::{Code, TaskQuery, TaskView};
use malla_queue::{State as TaskState, TaskFilter, TaskId, TaskSummary, UnixMs};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Interval, MissedTickBehavior};

use super::tasks;
use crate::App;
use crate::auth::{May, See, identify, permit};
use crate::problem::Refusal;
use crate::query::{NoParams, Query};
use crate::view::{self, GroupNames};

const LOOK_EVERY: Duration = Duration::from_secs(1);
const HEARTBEAT_EVERY: Duration = Duration::from_secs(15);
/// How many of the newest matching tasks are watched.
const WINDOW: usize = 200;
/// A filter that matches little is answered in bounded steps; so many are taken a second.
const STEPS_MAX: usize = 5;

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
    let turn = app
        .tail_turn()
        .ok_or_else(|| Refusal::new(Code::Full, "too many live views are open: close one or try again later"))?;
    let mut watch = Watch::new(app, headers, filter, turn);
    watch.look().await?;
    watch.waiting.clear();
    watch.waiting.push_back(Event::default().event("ready").data("{}"));
    let events = unfold(watch, |mut watch| async move { watch.next().await.map(|event| (Ok(event), watch)) });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT_EVERY)))
}

/// What is looked at to see whether a task changed.
type Seen = (TaskState, u32, Option<UnixMs>);

struct Watch {
    app: App,
    /// Who watches is asked anew each time: a deleted token must not go on seeing.
    headers: HeaderMap,
    filter: TaskFilter,
    seen: HashMap<TaskId, Seen>,
    /// Below this id nothing is known, because the window was full.
    floor: Option<TaskId>,
    waiting: VecDeque<Event>,
    every: Interval,
    _turn: OwnedSemaphorePermit,
}

impl Watch {
    fn new(app: App, headers: HeaderMap, filter: TaskFilter, turn: OwnedSemaphorePermit) -> Self {
        let mut every = tokio::time::interval(LOOK_EVERY);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (seen, waiting) = (HashMap::new(), VecDeque::new());
        Self { app, headers, filter, seen, floor: None, waiting, every, _turn: turn }
    }

    /// The next event; `None` ends the view.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            self.every.tick().await;
            if (self.app.ready)().is_err() || !self.still_allowed().await {
                return None;
            }
            // A store that is away for a moment does not end the view.
            if let Err(refusal) = self.look().await {
                tracing::debug!(?refusal, "a live view could not look");
            }
        }
    }

    async fn still_allowed(&mut self) -> bool {
        match identify(&self.app, &self.headers, &Method::GET).await {
            Ok(principal) => {
                self.filter.scope = principal.scope();
                permit(&principal, Permission::See).is_ok()
            }
            Err(refusal) => refusal.is_passing(),
        }
    }

    /// Compares the window with what was seen before and queues an event for each difference, oldest first.
    async fn look(&mut self) -> Result<(), Refusal> {
        let tasks = self.window().await?;
        let changed: Vec<&TaskSummary> = tasks.iter().rev().filter(|task| self.is_news(task)).collect();
        let names = GroupNames::of(&self.app, changed.iter().map(|task| task.group)).await?;
        for task in changed {
            let event = Event::default().event("task").id(task.id.to_string()).json_data(view::task(task, &names));
            self.waiting.extend(event.ok());
        }
        self.floor = if tasks.len() >= WINDOW { tasks.last().map(|task| task.id) } else { None };
        self.seen = tasks.iter().map(|task| (task.id, seen(task))).collect();
        Ok(())
    }

    fn is_news(&self, task: &TaskSummary) -> bool {
        match self.seen.get(&task.id) {
            Some(before) => *before != seen(task),
            // An old task that slid into the window because newer ones left it is not news.
            None => self.floor.is_none_or(|floor| task.id > floor),
        }
    }

    async fn window(&self) -> Result<Vec<TaskSummary>, Refusal> {
        let mut tasks = Vec::new();
        let mut below = None;
        for _ in 0..STEPS_MAX {
            let page = self.app.queue.tasks(&self.filter, below, WINDOW - tasks.len()).await?;
            tasks.extend(page.tasks);
            below = page.next;
            if below.is_none() || tasks.len() >= WINDOW {
                break;
            }
        }
        Ok(tasks)
    }
}

fn seen(task: &TaskSummary) -> Seen {
    (task.state, task.failures, task.finished_at)
}
