//! A verb on all notifications that match.

use axum::extract::State as Shared;
use axum::response::{IntoResponse, Response};
use malla_notify::PageMark;
use malla_queue::{Act, Move, UnixMs};
use tokio::time::Instant;

use super::super::NOTIFICATIONS;
use super::filter::{NAMES, Wanted};
use super::list::{read_mark, write_mark};
use super::{action, read_verb, verb_name};
use crate::Console;
use crate::caller::{Notice, Person};
use crate::frame::Page;
use crate::many::{Many, Question, WORK_MAX};
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, Visitor, go};

const MANY: Many = Many {
    thing: noun!("notification", "notifications"),
    place: NOTIFICATIONS,
    act: "/notify/notifications/act",
    name_of: verb_name,
};

pub(crate) async fn confirm(
    Shared(console): Shared<Console>,
    visitor: Visitor<Change>,
    params: Params,
) -> Result<Page, Refusal> {
    let verb = read_verb(params.typed("verb"))?;
    let wanted = Wanted::read(&visitor, &params)?;
    let states = wanted.states_for(verb);
    let question = Question {
        verb,
        how_many: wanted.counts(&console).await?.map(|counts| states.iter().map(|s| counts.of(*s)).sum()),
        consequence: consequence(verb),
        conditions: wanted.conditions(),
        states: &states,
        // What is made while the person reads this is not meant.
        fields: &wanted.params.with("until", console.now().0.to_string()),
        list: &wanted.params.link(NOTIFICATIONS),
    };
    Ok(MANY.asking(&visitor, &question))
}

fn consequence(verb: Move) -> &'static str {
    match verb {
        Move::Resend => t!("They are delivered again with all their attempts, each subscription's in its own time."),
        Move::Discard => t!("They will not be delivered any more; an attempt that is under way may still arrive."),
        Move::Confirm => t!("They count as delivered."),
        Move::Pause | Move::Resume => "",
    }
}

pub(crate) async fn act(Shared(console): Shared<Console>, posted: Posted<Change>) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = &posted;
    let verb = read_verb(fields.typed("verb"))?;
    let mut wanted = Wanted::read(visitor, fields)?;
    let until = fields.get("until").and_then(|ms| ms.parse().ok()).map(UnixMs);
    wanted.filter.to = wanted.filter.to.or(until);
    wanted.filter.states = wanted.states_for(verb);
    let before: u64 = fields.get("done").and_then(|done| done.parse().ok()).unwrap_or(0);
    let (changed, next) = work(&console, visitor, verb, &wanted, read_mark(fields)?).await?;
    let done = before.saturating_add(changed);
    let list = fields.only(NAMES).link(NOTIFICATIONS);
    let Some(next) = next else {
        return Ok(go(&console, &list, Notice::good(MANY.done(verb, done))));
    };
    let again = fields.without("csrf").with("done", done.to_string()).with("cursor", write_mark(next));
    Ok(MANY.going_on(visitor, verb, done, &again, &list).into_response())
}

/// Steps until nothing is left or the time is up. Returns how many changed and where to go on.
async fn work(
    console: &Console,
    person: &Person,
    verb: Move,
    wanted: &Wanted,
    below: Option<PageMark>,
) -> Result<(u64, Option<PageMark>), Refusal> {
    // No state of the filter allows it.
    if wanted.filter.states.is_empty() {
        return Ok((0, None));
    }
    let deadline = Instant::now() + WORK_MAX;
    let (mut changed, mut below) = (0, below);
    loop {
        let group = match person.principal.groups.as_slice() {
            [only] => Some(*only),
            _ => None,
        };
        let object = wanted.params.link("notifications");
        let act = Act { group, ..Act::new(&person.principal.actor, action(verb), object) };
        let (step, next) = console.notify.act_on_notifications(&wanted.filter, below, verb, act).await?;
        changed += step.changed;
        below = next;
        if below.is_none() || Instant::now() >= deadline {
            return Ok((changed, below));
        }
    }
}
