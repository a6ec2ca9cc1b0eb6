//! Devices: the list, where they are, and the switch that keeps one from working.

pub(crate) mod bulk;
mod countries;
mod filter;
pub(crate) mod list;
mod map;

use axum::extract::{Path, State as Shared};
use axum::response::Response;
use malla_fetch::{DeviceId, DeviceState, Tally};
use malla_queue::Act;
use maud::{Markup, html};

use super::DEVICES;
use crate::caller::Notice;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, go};
use crate::{Console, parts};

const STATES: [DeviceState; 3] = [DeviceState::Online, DeviceState::Offline, DeviceState::Blocked];

/// The state of tasks whose colour it has.
fn tone(state: DeviceState) -> &'static str {
    match state {
        DeviceState::Online => "succeeded",
        DeviceState::Offline => "discarded",
        DeviceState::Blocked => "failed",
    }
}

fn state_badge(state: DeviceState) -> Markup {
    html! { span class={ "badge s-" (tone(state)) } { (state_name(state)) } }
}

fn state_name(state: DeviceState) -> &'static str {
    match state {
        DeviceState::Online => t!("online"),
        DeviceState::Offline => t!("offline"),
        DeviceState::Blocked => t!("blocked"),
    }
}

/// What it brought, by the class of the status.
fn by_class(tally: &Tally) -> Markup {
    let [success, redirect, client, server, none] = tally.by_class;
    let slices = [
        ("succeeded", "2xx", success),
        ("running", "3xx", redirect),
        ("paused", "4xx", client),
        ("failed", "5xx", server),
        ("discarded", t!("without an answer (580)"), none),
    ];
    parts::stacked(&slices, tally.by_class.iter().sum())
}

/// Blocks a device or lets it work again; back to the page it was asked on.
pub(crate) async fn block(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    posted: Posted<Change>,
) -> Result<Response, Refusal> {
    let number = id.parse().map_err(|_| Refusal::not_found(&say!("Device {id}", id)))?;
    let (blocked, action) = match posted.fields.typed("blocked") {
        "yes" => (true, "device.block"),
        "no" => (false, "device.unblock"),
        other => return Err(Refusal::bad(say!("\"{other}\" is neither yes nor no", other))),
    };
    let principal = &posted.visitor.principal;
    let act = Act::new(&principal.actor, action, &id);
    let device = console.fetch.block_device(&principal.scope(), DeviceId(number), blocked, act).await?;
    let sentence = match device.blocked {
        true => say!("Device {} is blocked: it gets no more work.", device.name),
        false => say!("Device {} may work again.", device.name),
    };
    Ok(go(&console, &posted.back(DEVICES), Notice::good(sentence)))
}
