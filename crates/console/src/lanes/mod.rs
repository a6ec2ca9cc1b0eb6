//! Lanes: the list, one lane, and the pause switch.

pub(crate) mod bulk;
pub(crate) mod detail;
pub(crate) mod list;

use std::collections::HashMap;

use axum::extract::State;
use axum::response::Response;
use malla_access::Permission;
use malla_notify::{Subscription, SubscriptionState};
use malla_queue::{Act, Error, Lane, LaneChange, LaneKey, Scope};
use maud::{Markup, html};

use crate::caller::{Notice, Person};
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, go};
use crate::{Console, notify, parts};

fn read_key(params: &Params) -> Result<LaneKey, Refusal> {
    let text = params.typed("key");
    text.parse().map_err(|_| Refusal::not_found(&say!("Lane \"{text}\"", text)))
}

async fn change(console: &Console, person: &Person, key: &LaneKey, change: LaneChange) -> malla_queue::Result<Lane> {
    let detail = serde_json::to_value(change).unwrap_or_default();
    let act = Act { detail, ..Act::new(&person.principal.actor, "lane.change", key.to_string()) };
    console.queue.change_lane(&person.principal.scope(), key, change, act).await
}

/// Pauses or resumes a lane; back to the page it was asked on.
pub(crate) async fn pause(State(console): State<Console>, posted: Posted<Change>) -> Result<Response, Refusal> {
    let key = read_key(&posted.fields)?;
    let paused = match posted.fields.typed("paused") {
        "yes" => true,
        "no" => false,
        other => return Err(Refusal::bad(say!("\"{other}\" is neither yes nor no", other))),
    };
    let switch = LaneChange { paused: Some(paused), ..LaneChange::default() };
    change(&console, &posted.visitor, &key, switch).await?;
    let sentence = match paused {
        true => say!("Lane {key} is paused: it starts nothing new.", key),
        false => say!("Lane {key} goes on.", key),
    };
    Ok(go(&console, &posted.back(&parts::lane_path(&key)), Notice::good(sentence)))
}

/// The button says what it is about where that is not plain: a live page has a pause of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pausing {
    Lane,
    Site,
    Plain,
}

pub(crate) fn pause_button(person: &Person, lane: &Lane, what: Pausing) -> Markup {
    let (value, name) = match (lane.paused, what) {
        (true, Pausing::Lane) => ("no", t!("Resume lane")),
        (true, Pausing::Site) => ("no", t!("Resume site")),
        (true, Pausing::Plain) => ("no", t!("Resume")),
        (false, Pausing::Lane) => ("yes", t!("Pause lane")),
        (false, Pausing::Site) => ("yes", t!("Pause site")),
        (false, Pausing::Plain) => ("yes", t!("Pause")),
    };
    html! {
        @if person.may(Permission::Change) {
            form.actions method="post" action="/lane/pause" {
                (parts::form_secret(person)) (parts::back(person))
                input type="hidden" name="key" value=(lane.key);
                button.small name="paused" value=(value) { (name) }
            }
        }
    }
}

/// Whether it may start something now.
pub(crate) fn readiness(lane: &Lane, now: malla_queue::UnixMs) -> Markup {
    html! {
        @match (lane.paused, lane.ready_at) {
            (true, _) => span.badge.s-paused { (t!("paused")) },
            (false, Some(at)) if at <= now => (t!("ready")),
            (false, Some(at)) => (crate::words::time(now, at)),
            (false, None) if lane.counts.running > 0 => span.quiet { (t!("busy")) },
            (false, None) => span.quiet { (t!("idle")) },
        }
    }
}

/// How much may run at once. A site is asked by one device at a time, which may take several pages in a row.
fn ceiling(lane: &Lane) -> Markup {
    let ceiling = lane.settings.ceiling;
    html! {
        @if lane.key.room() == malla_fetch::ROOM {
            span title=(t!("A device takes several pages in a row, and asks for them one after the other.")) {
                (counted!(u64::from(ceiling), "device", "devices"))
            }
        } @else { (ceiling) }
    }
}

/// Whose lane it is, if it is paused for a subscription that does not deliver now.
pub(crate) type Held = HashMap<LaneKey, Subscription>;

/// The subscriptions behind paused lanes: what is held there goes on when they are activated.
pub(crate) async fn held(console: &Console, scope: &Scope, lanes: &[Lane]) -> Result<Held, Refusal> {
    let mut held = Held::new();
    for lane in lanes.iter().filter(|lane| lane.paused && lane.key.room() == malla_notify::ROOM) {
        match console.notify.subscription(scope, lane.key.name()).await {
            Ok(one) if one.state != SubscriptionState::Active => drop(held.insert(lane.key.clone(), one)),
            Ok(_) | Err(Error::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(held)
}

/// Whether it may start something now; a lane of a subscription that does not deliver says so.
fn standing(lane: &Lane, held: &Held, now: malla_queue::UnixMs) -> Markup {
    match held.get(&lane.key) {
        Some(subscription) => notify::state_badge(subscription.state),
        None => readiness(lane, now),
    }
}

/// The switch of a lane, or the way to the subscription whose state it follows.
fn switch(person: &Person, lane: &Lane, held: &Held, what: Pausing) -> Markup {
    match held.get(&lane.key) {
        Some(subscription) => html! { a href=(notify::subscription_path(&subscription.name)) { (t!("Subscription")) } },
        None => pause_button(person, lane, what),
    }
}

fn gap(lane: &Lane) -> String {
    match lane.settings.gap_ms {
        0 => t!("none", "gap").to_owned(),
        ms => crate::words::lasted(std::time::Duration::from_millis(ms)),
    }
}
