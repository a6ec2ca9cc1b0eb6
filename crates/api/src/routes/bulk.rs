//! A person's verb on every task that matches a filter.

use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use malla_access::Principal;
use malla_protocol::{AllQuery, Bulk, TaskQuery};
use malla_queue::{Act, Move, Once, TaskFilter, TaskId};

use super::tasks;
use crate::App;
use crate::auth::{Change, May};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::Query;
use crate::write::{NoBody, Write};

/// After this long the answer says `more`, and the caller asks again.
const TIME_MAX: Duration = Duration::from_secs(5);
/// A request with a key stops by steps alone: a repeat must walk the same ones to give the same answer.
const STEPS_MAX: usize = 50;

macro_rules! bulk {
    ($name:ident, $path:literal, $id:literal, $verb:expr, $summary:literal, $description:literal) => {
        #[utoipa::path(post, path = $path, tag = "tasks", operation_id = $id, summary = $summary,
                    description = $description, params(TaskQuery, AllQuery), responses((status = 200, body = Bulk)),
                    extensions(("x-permission" = json!("change"))))]
        pub(super) async fn $name(
            State(app): State<App>,
            who: May<Change>,
            Query(query, all): Query<TaskQuery, AllQuery>,
            write: Write<NoBody>,
        ) -> Result<Json<Bulk>, Refusal> {
            act_on_all(&app, &who, $verb, query, all, write).await
        }
    };
}

bulk!(
    retry,
    "/api/v1/tasks/retry",
    "retry_tasks",
    Move::Resend,
    "Retry every task that matches.",
    "Without `state` it takes those that failed. `more` in the answer says that some are left: ask again with `cursor` set to its `next_cursor`."
);
bulk!(
    resend,
    "/api/v1/tasks/resend",
    "resend_tasks",
    Move::Resend,
    "Resend every task that matches: another word for retry.",
    "Without `state` it takes those that failed. `more` in the answer says that some are left: ask again with `cursor` set to its `next_cursor`."
);
bulk!(
    discard,
    "/api/v1/tasks/discard",
    "discard_tasks",
    Move::Discard,
    "Discard every task that matches and is not done.",
    "`more` in the answer says that some are left: ask again with `cursor` set to its `next_cursor`."
);
bulk!(
    pause,
    "/api/v1/tasks/pause",
    "pause_tasks",
    Move::Pause,
    "Pause every waiting task that matches.",
    "`more` in the answer says that some are left: ask again with `cursor` set to its `next_cursor`."
);
bulk!(
    resume,
    "/api/v1/tasks/resume",
    "resume_tasks",
    Move::Resume,
    "Resume every paused task that matches.",
    "`more` in the answer says that some are left: ask again with `cursor` set to its `next_cursor`."
);
bulk!(
    confirm,
    "/api/v1/tasks/confirm",
    "confirm_tasks",
    Move::Confirm,
    "Confirm every notified task that matches.",
    "`more` in the answer says that some are left: ask again with `cursor` set to its `next_cursor`."
);

async fn act_on_all(
    app: &App,
    who: &Principal,
    verb: Move,
    mut query: TaskQuery,
    all: AllQuery,
    write: Write<NoBody>,
) -> Result<Json<Bulk>, Refusal> {
    if query == TaskQuery::default() && all.all != Some(true) {
        let name = verb.name();
        return Err(Refusal::invalid(format!("this would {name} every task: give a filter, or all=true to mean it")));
    }
    if verb == Move::Resend && query.state.is_none() {
        query.state = Some("failed".into());
    }
    let filter = tasks::filter(app, who, &query).await?;
    let object = if query == TaskQuery::default() { "all tasks" } else { "tasks that match" };
    let act = Act {
        group: filter.group.or_else(|| only(&who.groups)),
        detail: serde_json::json!({ "filter": query }),
        ..write.act(who, tasks::action(verb), object)
    };
    let below = cursor::read_as(List::Tasks, all.cursor.as_deref())?;
    Ok(Json(walk(app, &filter, below, verb, act, Pace::begin(write.is_keyed())).await?))
}

/// Step after step, until nothing is left or enough is done for one request.
async fn walk(
    app: &App,
    filter: &TaskFilter,
    mut below: Option<TaskId>,
    verb: Move,
    act: Act,
    mut pace: Pace,
) -> Result<Bulk, Refusal> {
    let mut changed = 0;
    while let Some(step) = pace.next_step() {
        let done = app.queue.act_on_all(filter, below, verb, nth_act(&act, step)).await?;
        changed += done.changed;
        below = done.next;
        if below.is_none() {
            break;
        }
    }
    let next_cursor = below.map(|task| cursor::write(List::Tasks, &task.to_string()));
    Ok(Bulk { changed, more: next_cursor.is_some(), next_cursor })
}

/// How much one request does.
pub(super) struct Pace {
    began: Instant,
    by_time: bool,
    steps: usize,
}

impl Pace {
    pub(super) fn begin(keyed: bool) -> Self {
        Self { began: Instant::now(), by_time: !keyed, steps: 0 }
    }

    /// The number of the next step, from 0; `None` when it is enough.
    pub(super) fn next_step(&mut self) -> Option<usize> {
        let late = self.by_time && self.steps > 0 && self.began.elapsed() > TIME_MAX;
        if late || self.steps == STEPS_MAX {
            return None;
        }
        self.steps += 1;
        Some(self.steps - 1)
    }
}

/// Each step is its own transaction and has its own key, made of the caller's. A line feed cannot be in theirs.
pub(super) fn nth_act(act: &Act, step: usize) -> Act {
    let once = act.once.clone().map(|once| match step {
        0 => once,
        _ => Once { key: format!("{}\n{step}", once.key), ..once },
    });
    Act { once, ..act.clone() }
}

pub(super) fn only<T: Copy>(items: &[T]) -> Option<T> {
    match items {
        [one] => Some(*one),
        _ => None,
    }
}
