//! One notification: did it arrive, and what came back from each attempt.

use axum::extract::{Path, State as Shared};
use malla_notify::{Notification, Subscription, SubscriptionState};
use malla_queue::{Error, State, Task, UnixMs};
use maud::{Markup, html};

use super::super::{NOTIFICATIONS, endpoint_link, event_link, state_badge, subscription_link};
use super::{attempts, buttons, next, possible, read_id};
use crate::caller::Person;
use crate::frame::Page;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, groups, parts, words};

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    visitor: Visitor<See>,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &id).await
}

pub(crate) async fn page(console: &Console, person: &Person, id: &str) -> Result<Page, Refusal> {
    let id = read_id(id)?;
    let scope = person.principal.scope();
    let notification = console.notify.notification(&scope, id).await?;
    let task = console.queue.task(&scope, id).await?;
    let subscription = match console.notify.subscription(&scope, &notification.subscription).await {
        Ok(subscription) => Some(subscription),
        Err(Error::NotFound(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let group = groups::names(console, [notification.group].into_iter()).await?.into_values().next();
    let now = console.now();
    Ok(Page::new(NOTIFICATIONS, say!("Notification {id}", id))
        .up(NOTIFICATIONS, t!("Notifications"))
        .live("head", head(person, now, &notification, subscription.as_ref()))
        .live(
            "body",
            html! {
                div.columns.side-facts {
                    div { (attempts::card(now, &task)) }
                    (facts(now, &notification, &task, subscription.as_ref(), group.as_deref()))
                }
            },
        )
        .still(by_hand(person, &notification)))
}

fn head(person: &Person, now: UnixMs, one: &Notification, subscription: Option<&Subscription>) -> Markup {
    html! {
        div.task-head {
            (parts::badge(one.state))
            span.quiet { (t!("event")) } (event_link(one.event)) span.quiet { (t!("to")) } (subscription_link(&one.subscription))
            span.push { (buttons(person, one.id, &possible(one.state))) }
        }
        @if let Some(sentence) = held_up(one, subscription) { p.notice { (sentence) } }
        @else if !one.state.is_final() { p.quiet { (words::capital(plain(one.state))) " – " (next(now, one)) "." } }
    }
}

fn plain(state: State) -> &'static str {
    match state {
        State::Notified => t!("taken by the target"),
        other => parts::state_name(other),
    }
}

/// Why it goes nowhere now, if the subscription is the reason.
fn held_up(one: &Notification, subscription: Option<&Subscription>) -> Option<&'static str> {
    match subscription.map(|subscription| subscription.state) {
        None => Some(t!("Its subscription was deleted: resending it leads nowhere.")),
        Some(SubscriptionState::Suspended) if one.state == State::Paused => {
            Some(t!("Its subscription is suspended: it goes out when the subscription is active again."))
        }
        Some(SubscriptionState::Disabled) => {
            Some(t!("Its subscription is disabled: what is resent now is discarded. Activate the subscription first."))
        }
        _ => None,
    }
}

fn facts(
    now: UnixMs,
    one: &Notification,
    task: &Task,
    subscription: Option<&Subscription>,
    group: Option<&str>,
) -> Markup {
    let delays = task.retry.as_millis().len() + 1;
    html! {
        section.card {
            div.card-head { h2 { (t!("Facts")) } }
            dl.facts {
                dt { (t!("State")) } dd { (parts::state_name(one.state)) }
                dt { (t!("Event")) } dd { (event_link(one.event)) }
                dt { (t!("Endpoint")) } dd { (endpoint_link(&one.endpoint)) }
                dt { (t!("Subscription")) }
                dd {
                    (subscription_link(&one.subscription))
                    @if let Some(subscription) = subscription { " " (state_badge(subscription.state)) }
                }
                @if let Some(subscription) = subscription {
                    dt { (t!("Target")) } dd { (subscription.spec.target.masked()) }
                }
                dt { (t!("Made")) } dd { (words::time(now, one.id.submitted_at())) }
                @if let Some(at) = one.run_at {
                    dt { @if one.state == State::Notified { (t!("Confirmation due")) } @else { (t!("Next attempt")) } }
                    dd { (words::time(now, at)) }
                }
                @if let Some(at) = one.finished_at { dt { (t!("Ended")) } dd { (words::time(now, at)) } }
                dt { (t!("Failures")) } dd { (rich!("{} of {}", one.failures, counted!(delays as u64, "attempt", "attempts"))) }
                dt { (t!("Group")) } dd { (group.unwrap_or("–")) }
                dt { (t!("In the queue")) } dd { (parts::task_link(one.id)) }
            }
        }
    }
}

fn by_hand(person: &Person, one: &Notification) -> Markup {
    let path = format!("{}/api/v1/notifications/{}", person.server, one.id);
    let line = format!("curl -H \"Authorization: Bearer $MALLA_TOKEN\" {path}");
    html! { section.card { div.card-head { h2 { (t!("The same from a terminal")) } } (parts::command_line(&line)) } }
}
