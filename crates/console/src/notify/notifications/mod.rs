//! Notifications: the list, one of them, and what a person does to one or to all that match.

mod attempts;
pub(crate) mod bulk;
pub(crate) mod detail;
mod filter;
pub(crate) mod list;

use axum::extract::{Path, State as Shared};
use axum::response::Response;
use malla_access::Permission;
use malla_notify::Notification;
use malla_queue::{Act, Error, Move, State, TaskId, UnixMs};
use maud::{Markup, html};

use super::{endpoint_link, event_link, notification_link, notification_path, subscription_link};
use crate::caller::{Notice, Person};
use crate::refusal::{Refusal, mendable};
use crate::visitor::{Change, Posted, go};
use crate::{Console, parts, tongue, words};

/// What people do to notifications. To hold them, they suspend the subscription.
const VERBS: [Move; 3] = [Move::Resend, Move::Confirm, Move::Discard];

/// A verb on one; back to the page it was asked on.
pub(crate) async fn act(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    posted: Posted<Change>,
) -> Result<Response, Refusal> {
    let id = read_id(&id)?;
    let verb = read_verb(posted.fields.typed("verb"))?;
    let principal = &posted.visitor.principal;
    let scope = principal.scope();
    // Another room's task does not exist here.
    console.notify.notification(&scope, id).await?;
    let act = Act::new(&principal.actor, action(verb), id.to_string());
    let notice = match console.queue.act_on(&scope, id, verb, act).await {
        Ok(task) => Notice::good(say!(
            "Notification {id} is {}: it is {} now.",
            id,
            parts::participle(verb),
            parts::state_name(task.state)
        )),
        Err(error @ Error::NotFound(_)) => return Err(error.into()),
        Err(Error::WrongState { state, verb }) => Notice::bad(say!(
            "A notification that is {state} cannot be {verb}.",
            parts::state_name(state),
            tongue::told(verb.to_owned())
        )),
        Err(error) => Notice::bad(mendable(error)?),
    };
    Ok(go(&console, &posted.back(&notification_path(id)), notice))
}

fn read_id(text: &str) -> Result<TaskId, Refusal> {
    text.parse().map_err(|_| Refusal::not_found(&say!("Notification {text}", text)))
}

fn read_verb(text: &str) -> Result<Move, Refusal> {
    let names = || VERBS.map(Move::name).join(", ");
    let found = VERBS.into_iter().find(|verb| verb.name() == text);
    found
        .ok_or_else(|| Refusal::bad(say!("\"{text}\" cannot be done to a notification: choose from {}", text, names())))
}

/// How the audit log calls a verb.
fn action(verb: Move) -> &'static str {
    match verb {
        Move::Pause => "notification.pause",
        Move::Resume => "notification.resume",
        Move::Discard => "notification.discard",
        Move::Resend => "notification.resend",
        Move::Confirm => "notification.confirm",
    }
}

/// What a verb is called on a button.
fn verb_name(verb: Move) -> &'static str {
    match verb {
        Move::Resend => t!("Resend"),
        other => parts::verb_name(other),
    }
}

/// In a list only what a person is likely to want: resending what has arrived is for the notification's own page.
fn likely(state: State) -> Vec<Move> {
    let arrived = matches!(state, State::Succeeded | State::Notified);
    possible(state).into_iter().filter(|verb| !arrived || *verb != Move::Resend).collect()
}

fn possible(state: State) -> Vec<Move> {
    VERBS.into_iter().filter(|verb| state.after(*verb).is_some()).collect()
}

fn buttons(person: &Person, id: TaskId, verbs: &[Move]) -> Markup {
    html! {
        @if person.may(Permission::Change) && !verbs.is_empty() {
            form.actions method="post" action={ (notification_path(id)) "/act" } {
                (parts::form_secret(person)) (parts::back(person))
                @for verb in verbs.iter().copied() {
                    button.small.danger[verb == Move::Discard] name="verb" value=(verb.name()) { (verb_name(verb)) }
                }
            }
        }
    }
}

/// What the page around a table says already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Columns {
    All,
    OfEvent,
    OfSubscription,
}

/// Notifications as rows.
pub(super) fn table(person: &Person, now: UnixMs, notifications: &[Notification], columns: Columns) -> Markup {
    let (all, subscription) = (columns == Columns::All, columns != Columns::OfSubscription);
    let event = columns != Columns::OfEvent;
    html! {
        table.rows {
            thead { tr {
                th { (t!("Notification")) } th { (t!("State")) } @if subscription { th { (t!("Subscription")) } }
                @if all { th.roomy-only { (t!("Endpoint")) } } @if event { th { (t!("Event")) } th { (t!("Made")) } }
                th.num { (t!("Failures")) } th { (t!("Now")) } th {}
            } }
            tbody { @for one in notifications { tr {
                td data-label=(t!("Notification")) { (notification_link(one.id)) }
                td data-label=(t!("State")) { (parts::badge(one.state)) }
                @if subscription { td data-label=(t!("Subscription")) { (subscription_link(&one.subscription)) } }
                @if all { td.roomy-only data-label=(t!("Endpoint")) { (endpoint_link(&one.endpoint)) } }
                @if event {
                    td data-label=(t!("Event")) { (event_link(one.event)) }
                    td data-label=(t!("Made")) { (words::time(now, one.id.submitted_at())) }
                }
                td.num.quiet[one.failures == 0] data-label=(t!("Failures")) { (one.failures) }
                td data-label=(t!("Now")) { (next(now, one)) }
                td.end { (buttons(person, one.id, &likely(one.state))) }
            } } }
        }
    }
}

/// What it waits for, or when it ended.
fn next(now: UnixMs, one: &Notification) -> Markup {
    html! {
        @match (one.state, one.run_at, one.finished_at) {
            (State::Queued, Some(at), _) if one.failures > 0 => { (rich!("tried again {}", words::time(now, at))) },
            (State::Queued, ..) => (t!("waits for its turn")),
            (State::Running, ..) => (t!("on its way")),
            (State::Paused, ..) => span.quiet { (t!("held")) },
            (State::Notified, Some(at), _) => { (rich!("confirmation due {}", words::time(now, at))) },
            (_, _, Some(at)) => span.quiet.ended { (rich!("ended {}", words::time(now, at))) },
            _ => span.quiet { "–" },
        }
    }
}
