//! Tasks: the list, one task, and what a person does to one or to all that match.

pub(crate) mod bulk;
pub(crate) mod detail;
mod filter;
pub(crate) mod list;
pub(crate) mod new;

use axum::extract::{Path, State as Shared};
use axum::response::Response;
use malla_queue::{Act, Error, Move, State, TaskId};

use crate::caller::Notice;
use crate::refusal::{Refusal, mendable};
use crate::visitor::{Change, Posted, go};
use crate::{Console, parts};

/// A verb on one task; back to the page it was asked on.
pub(crate) async fn act(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    posted: Posted<Change>,
) -> Result<Response, Refusal> {
    let id = read_id(&id)?;
    let verb = read_verb(posted.fields.typed("verb"))?;
    let principal = &posted.visitor.principal;
    let act = Act::new(&principal.actor, action(verb), id.to_string());
    let notice = match console.queue.act_on(&principal.scope(), id, verb, act).await {
        Ok(task) => Notice::good(say!(
            "Task {id} is {}: it is {} now.",
            id,
            parts::participle(verb),
            parts::state_name(task.state)
        )),
        Err(error @ Error::NotFound(_)) => return Err(error.into()),
        // What waits in a paused lane shows as paused, yet is not paused by itself.
        Err(Error::WrongState { state: State::Paused, .. }) if verb == Move::Resume => {
            Notice::bad(say!("Task {id} waits because its lane is paused: resume the lane.", id))
        }
        Err(error) => Notice::bad(mendable(error)?),
    };
    Ok(go(&console, &posted.back(&parts::task_path(id)), notice))
}

fn read_id(text: &str) -> Result<TaskId, Refusal> {
    text.parse().map_err(|_| Refusal::not_found(&say!("Task {text}", text)))
}

fn read_verb(text: &str) -> Result<Move, Refusal> {
    let names = || Move::ALL.map(Move::name).join(", ");
    let found = Move::ALL.into_iter().find(|verb| verb.name() == text);
    found.ok_or_else(|| Refusal::bad(say!("\"{text}\" cannot be done to a task: choose from {}", text, names())))
}

/// How the audit log calls a verb.
fn action(verb: Move) -> &'static str {
    match verb {
        Move::Pause => "task.pause",
        Move::Resume => "task.resume",
        Move::Discard => "task.discard",
        Move::Resend => "task.resend",
        Move::Confirm => "task.confirm",
    }
}
