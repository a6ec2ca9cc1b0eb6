//! All devices that match are blocked, or let in again.

use axum::extract::State as Shared;
use axum::response::Response;
use malla_access::Permission;
use malla_fetch::{Device, DeviceId, DeviceState};
use malla_queue::{Act, Error, UnixMs};
use maud::{Markup, html};

use super::super::DEVICES;
use super::filter::{NAMES, Wanted};
use super::{state_badge, state_name};
use crate::caller::Person;
use crate::each::{Asked, CHOSEN_MAX, Chosen, Each};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, Visitor};
use crate::{Console, words};

const ACT: &str = "/fetch/devices/act";
const STEP: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Block,
    Unblock,
}

impl Verb {
    const ALL: [Verb; 2] = [Verb::Block, Verb::Unblock];

    fn read(text: &str) -> Result<Self, Refusal> {
        let wrong = || Refusal::bad(say!("\"{text}\" is not a verb for devices: block or unblock", text));
        Self::ALL.into_iter().find(|verb| verb.name() == text).ok_or_else(wrong)
    }

    fn name(self) -> &'static str {
        match self {
            Verb::Block => "block",
            Verb::Unblock => "unblock",
        }
    }

    /// The word in the audit log.
    fn action(self) -> &'static str {
        match self {
            Verb::Block => "device.block",
            Verb::Unblock => "device.unblock",
        }
    }

    fn told(self) -> &'static str {
        match self {
            Verb::Block => t!("Block"),
            Verb::Unblock => t!("Unblock"),
        }
    }

    fn consequence(self) -> &'static str {
        match self {
            Verb::Block => t!("They get no more work, and what they bring is refused."),
            Verb::Unblock => t!("They may work again."),
        }
    }

    fn fits(self, device: &Device) -> bool {
        device.blocked != (self == Verb::Block)
    }

    fn each(self, list: &str) -> Each<'_> {
        let danger = self == Verb::Block;
        Each { thing: noun!("device", "devices"), place: DEVICES, act: ACT, name: self.told(), danger, list }
    }
}

pub(crate) async fn confirm(
    Shared(console): Shared<Console>,
    visitor: Visitor<Change>,
    params: Params,
) -> Result<Page, Refusal> {
    let (verb, wanted, now) = (Verb::read(params.typed("verb"))?, Wanted::read(&params)?, console.now());
    let mut devices = console.fetch.devices(&visitor.principal.scope()).await?;
    devices.retain(|device| wanted.fits(now, device) && verb.fits(device));
    devices.sort_by(|one, other| (&one.owner, &one.name).cmp(&(&other.owner, &other.name)));
    let state = wanted.state.map(|state| (t!("state"), state_name(state).to_owned()));
    let search = params.get("search").map(|search| (t!("Search"), search.to_owned()));
    let choice = |device: &Device| (device.id.0.to_string(), shown(now, device));
    let filter = params.only(NAMES);
    let asked = Asked {
        count: devices.len() as u64,
        more: false,
        consequence: verb.consequence(),
        conditions: state.into_iter().chain(search).collect(),
        fields: filter.with("verb", verb.name()).with("until", now.0.to_string()),
        choices: devices.iter().take(CHOSEN_MAX + 1).map(choice).collect(),
    };
    Ok(verb.each(&filter.link(DEVICES)).asking(&visitor, asked))
}

fn shown(now: UnixMs, device: &Device) -> Markup {
    html! {
        (device.name) " " (state_badge(device.state(now)))
        " " span.quiet { (device.owner) " · " (words::time(now, device.seen_at)) }
    }
}

pub(crate) async fn act(Shared(console): Shared<Console>, posted: Posted<Change>) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = &posted;
    // The place to go on from is not one of the list: that is sorted by owner.
    let (verb, wanted) = (Verb::read(fields.typed("verb"))?, Wanted::read(&fields.only(NAMES))?);
    let no_place = |text: &str| Refusal::bad(say!("\"{text}\" is not a place in this list", text));
    let from: Option<i64> = fields.get("cursor").map(|text| text.parse().map_err(|_| no_place(text))).transpose()?;
    let list = fields.only(NAMES).link(DEVICES);
    let (console, wanted, chosen) = (&console, &wanted, &Chosen::read(fields));
    let (actor, scope) = (&visitor.principal.actor, &visitor.principal.scope());
    let work = |after: Option<i64>| async move {
        let (now, mut devices) = (console.now(), console.fetch.devices(scope).await?);
        devices.retain(|device| after.is_none_or(|after| device.id.0 > after));
        devices.retain(|device| wanted.fits(now, device) && verb.fits(device));
        devices.retain(|device| chosen.means(&device.id.0.to_string(), device.joined_at));
        devices.sort_by_key(|device| device.id.0);
        let (more, mut done) = (devices.len() > STEP, 0);
        devices.truncate(STEP);
        for device in &devices {
            match block(console, (actor, scope), device.id, verb).await {
                Ok(()) => done += 1,
                Err(Error::NotFound(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok((done, devices.last().filter(|_| more).map(|device| device.id.0)))
    };
    verb.each(&list).work(console, &posted, from, work).await
}

async fn block(
    console: &Console,
    (actor, scope): (&str, &malla_queue::Scope),
    id: DeviceId,
    verb: Verb,
) -> malla_queue::Result<()> {
    let act = Act::new(actor, verb.action(), id.0.to_string());
    console.fetch.block_device(scope, id, verb == Verb::Block, act).await.map(drop)
}

/// What can be done to all that match.
pub(super) fn bar(person: &Person, params: &Params, wanted: &Wanted) -> Markup {
    let blocked = wanted.state.map(|state| state == DeviceState::Blocked);
    let verbs = Verb::ALL.into_iter().filter(|verb| blocked.is_none_or(|blocked| blocked == (*verb == Verb::Unblock)));
    html! {
        @if person.may(Permission::Change) {
            div.bulk {
                span.quiet { (t!("All that match:")) }
                @for verb in verbs {
                    a.button.small href=(params.only(NAMES).with("verb", verb.name()).link(ACT)) { (verb.told()) "…" }
                }
            }
        }
    }
}
