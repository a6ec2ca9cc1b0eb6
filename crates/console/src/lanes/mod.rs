//! Lanes: the list, one lane, and the pause switch.

pub(crate) mod detail;
pub(crate) mod list;

use axum::extract::State;
use axum::response::Response;
use malla_access::Permission;
use malla_queue::{Act, Lane, LaneChange, LaneKey};
use maud::{Markup, html};

use crate::caller::{Notice, Person};
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, go};
use crate::{Console, parts};

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

fn gap(lane: &Lane) -> String {
    match lane.settings.gap_ms {
        0 => t!("none", "gap").to_owned(),
        ms => crate::words::lasted(std::time::Duration::from_millis(ms)),
    }
}
