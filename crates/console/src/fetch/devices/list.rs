//! The list of devices, by owner.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use malla_access::Permission;
use malla_fetch::{Device, DeviceState, Measures};
use malla_queue::UnixMs;
use maud::{Markup, html};

use super::super::{DEVICES, milliseconds, size};
use super::filter::{NAMES, Wanted};
use super::{STATES, by_class, countries, state_badge, tone};
use crate::caller::Person;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, parts, words};

const ROWS: usize = 50;
const BLOCK_WARNING: &str = "It gets no more work, and what it brings is refused.";

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let page = Page::new(DEVICES, "Devices").lead(html! { "The machines that fetch, most of them volunteers'." });
    let wanted = match Wanted::read(params) {
        Ok(wanted) => wanted,
        Err(Refusal::Sentence { status: StatusCode::BAD_REQUEST, sentence }) => {
            let error = parts::error_line(Some(&sentence));
            return Ok(page.status(StatusCode::BAD_REQUEST).still(filters(params)).still(error));
        }
        Err(other) => return Err(other),
    };
    let mut devices = console.fetch.devices(&person.principal.scope()).await?;
    devices.sort_by(|one, other| (&one.owner, &one.name).cmp(&(&other.owner, &other.name)));
    let now = console.now();
    if devices.is_empty() {
        return Ok(page.live("devices", nothing(person)));
    }
    let (shown, next) = wanted.page(now, &devices, ROWS);
    let links = params.only(&["state", "search", "cursor"]);
    let pager = parts::pager(DEVICES, &links, next.map(|id| id.0.to_string()), ("First", "Further"));
    Ok(page
        .live("chips", chips(now, params, &wanted, &devices))
        .still(filters(params))
        .live("devices", rows(person, now, &shown))
        .live("pager", pager)
        .live("countries", countries::card(now, &devices)))
}

fn chips(now: UnixMs, params: &Params, wanted: &Wanted, devices: &[Device]) -> Markup {
    let all = params.only(NAMES).without("state");
    let count = |state: DeviceState| devices.iter().filter(|device| device.state(now) == state).count() as u64;
    html! {
        nav.chips aria-label="States" {
            a.chip href=(all.link(DEVICES)) aria-current=[wanted.state.is_none().then_some("true")] {
                "all" span.n { (words::count(devices.len() as u64)) }
            }
            @for state in STATES {
                a.chip href=(all.with("state", state.name()).link(DEVICES))
                    aria-current=[(wanted.state == Some(state)).then_some("true")] {
                    span class={ "dot s-" (tone(state)) } {}
                    (state.name()) span.n { (words::count(count(state))) }
                }
            }
        }
    }
}

fn filters(params: &Params) -> Markup {
    html! {
        form.filters method="get" action=(DEVICES) role="search" {
            @if let Some(state) = params.get("state") { input type="hidden" name="state" value=(state); }
            label.wide { span.label { "Search" }
                input type="search" name="search" value=(params.typed("search"))
                    placeholder="name, owner, address, system, country"; }
            div.buttons {
                button { "Filter" }
                @if !params.only(NAMES).is_empty() { a.button.plain href=(DEVICES) { "Clear" } }
            }
        }
    }
}

fn rows(person: &Person, now: UnixMs, devices: &[&Device]) -> Markup {
    html! {
        @if devices.is_empty() { (parts::empty("No device matches these filters.", Some((DEVICES, "Show all devices")))) }
        @for of_owner in devices.chunk_by(|one, other| one.owner == other.owner) {
            section.card {
                div.card-head { h2 { (of_owner[0].owner) } }
                table.rows {
                    thead { tr {
                        th { "Device" } th { "State" } th { "System" } th { "Where" } th { "Speed" }
                        th.num { "Pages" } th { "By status" } th { "Last seen" } th {}
                    } }
                    tbody { @for device in of_owner { (line(person, now, device)) } }
                }
            }
        }
    }
}

fn line(person: &Person, now: UnixMs, device: &Device) -> Markup {
    let (about, tally) = (&device.about, &device.tally);
    html! {
        tr {
            td data-label="Device" {
                (device.name)
                @if !about.hostname.is_empty() && about.hostname != device.name { p.note.quiet { (about.hostname) } }
            }
            td data-label="State" { (state_badge(device.state(now))) }
            td data-label="System" { (about.system) p.note.quiet { (about.version) } }
            td data-label="Where" {
                (about.country.as_deref().unwrap_or("–")) p.note.quiet { (about.address) }
            }
            td data-label="Speed" { (speed(device.measures)) }
            td.num data-label="Pages" {
                (words::count(tally.pages)) p.note.quiet { (size(tally.bytes)) }
                @if tally.refused > 0 { p.note.quiet { (words::count(tally.refused)) " too late" } }
            }
            td.bar data-label="By status" { (by_class(tally)) }
            td data-label="Last seen" { (words::time(now, device.seen_at)) }
            td.end { (switch(person, device)) }
        }
    }
}

fn speed(measures: Measures) -> Markup {
    let Measures { parallel, page_ms, bytes_per_s } = measures;
    html! {
        @if measures == Measures::default() { span.quiet { "–" } }
        @else {
            (parallel) " at once"
            p.note.quiet { (milliseconds(page_ms)) " a page, " (size(bytes_per_s)) "/s" }
        }
    }
}

fn switch(person: &Person, device: &Device) -> Markup {
    let action = format!("{DEVICES}/{}/block", device.id.0);
    html! {
        @if person.may(Permission::Change) {
            @if device.blocked {
                form.actions method="post" action=(action) {
                    (parts::form_secret(person)) (parts::back(person))
                    button.small name="blocked" value="no" { "Unblock" }
                }
            } @else {
                (parts::asking_form(person, "Block…", &action, html! {
                    (parts::back(person))
                    p { (BLOCK_WARNING) }
                    button.danger name="blocked" value="yes" { "Block " (device.name) }
                }))
            }
        }
    }
}

fn nothing(person: &Person) -> Markup {
    if !person.may(Permission::Change) {
        return parts::empty("No device has joined yet. Those of your groups will be shown here.", None);
    }
    let command = format!("malla worker --server {} --token $MALLA_TOKEN", person.server);
    parts::empty_with_command("No device has joined yet. Let a machine join with a token of yours:", &command)
}
