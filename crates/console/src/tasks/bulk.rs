//! A verb on all tasks that match.

use axum::extract::State as Shared;
use axum::response::{IntoResponse, Response};
use malla_queue::{Act, Bulk, Move, TaskId, UnixMs};
use tokio::time::Instant;

use super::filter::{NAMES, Wanted};
use super::{action, read_verb};
use crate::caller::{Notice, Person};
use crate::frame::Page;
use crate::many::{Many, Question, WORK_MAX};
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, Visitor, go};
use crate::{Console, parts};

const TASKS: Many =
    Many { thing: noun!("task", "tasks"), place: "/tasks", act: "/tasks/act", name_of: parts::verb_name };

pub(crate) async fn confirm(
    Shared(console): Shared<Console>,
    visitor: Visitor<Change>,
    params: Params,
) -> Result<Page, Refusal> {
    let verb = read_verb(params.typed("verb"))?;
    let wanted = Wanted::read(&console, &visitor, &params).await?;
    let states = wanted.states_for(verb);
    let question = Question {
        verb,
        how_many: wanted.counts(&console).await?.map(|counts| states.iter().map(|s| counts.of(*s)).sum()),
        consequence: consequence(verb),
        conditions: wanted.conditions(),
        states: &states,
        // Tasks that come in while the person reads this are not meant.
        fields: &wanted.params.with("until", console.now().0.to_string()),
        list: &wanted.params.link("/tasks"),
    };
    Ok(TASKS.asking(&visitor, &question))
}

fn consequence(verb: Move) -> &'static str {
    match verb {
        Move::Pause => t!("They wait until somebody resumes them."),
        Move::Resume => t!("They go on in their lanes."),
        Move::Discard => t!("They will not be done; what runs now loses its lease."),
        Move::Resend => t!("They start over with all their attempts."),
        Move::Confirm => t!("They count as done."),
    }
}

pub(crate) async fn act(Shared(console): Shared<Console>, posted: Posted<Change>) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = &posted;
    let verb = read_verb(fields.typed("verb"))?;
    let mut wanted = Wanted::read(&console, visitor, fields).await?;
    let until = fields.get("until").and_then(|ms| ms.parse().ok()).map(UnixMs);
    wanted.filter.to = wanted.filter.to.or(until);
    let before: u64 = fields.get("done").and_then(|done| done.parse().ok()).unwrap_or(0);
    let below = fields.get("cursor").map(str::parse).transpose()?;
    let step = work(&console, visitor, verb, &wanted, below).await?;
    let done = before.saturating_add(step.changed);
    let list = fields.only(NAMES).link("/tasks");
    let Some(next) = step.next else {
        return Ok(go(&console, &list, Notice::good(TASKS.done(verb, done))));
    };
    let again = fields.without("csrf").with("done", done.to_string()).with("cursor", next.to_string());
    Ok(TASKS.going_on(visitor, verb, done, &again, &list).into_response())
}

/// Steps until nothing is left or the time is up. `sum.next` is where to go on.
async fn work(
    console: &Console,
    person: &Person,
    verb: Move,
    wanted: &Wanted,
    below: Option<TaskId>,
) -> Result<Bulk, Refusal> {
    let deadline = Instant::now() + WORK_MAX;
    let mut sum = Bulk { changed: 0, next: below };
    loop {
        let object = wanted.params.link("tasks");
        let act = Act { group: wanted.filter.group, ..Act::new(&person.principal.actor, action(verb), object) };
        let step = console.queue.act_on_all(&wanted.filter, sum.next, verb, act).await?;
        sum = Bulk { changed: sum.changed + step.changed, next: step.next };
        if sum.next.is_none() || Instant::now() >= deadline {
            return Ok(sum);
        }
    }
}
