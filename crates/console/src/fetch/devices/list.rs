//! The list of devices, by owner.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::Response;
use malla_access::Permission;
use malla_fetch::{Device, DeviceState, Measures};
use malla_queue::UnixMs;
use maud::{Markup, html};

use super::super::{DEVICES, milliseconds, size};
use super::filter::{NAMES, Wanted};
use super::{STATES, bulk, by_class, countries, state_badge, state_name, tone};
use crate::caller::Person;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::tongue::Text;
use crate::visitor::{See, Visitor};
use crate::{Console, export, parts, tongue, words};

const ROWS: usize = 50;
const BLOCK_WARNING: Text = key!("It gets no more work, and what it brings is refused.");

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let page =
        Page::new(DEVICES, t!("Devices")).lead(html! { (t!("The machines that fetch, most of them volunteers'.")) });
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
    let pager = parts::pager(DEVICES, &links, next.map(|id| id.0.to_string()), (t!("First"), t!("Further")));
    Ok(page
        .csv(params.only(NAMES).link("/fetch/devices.csv"))
        .api(person, "/api/v1/devices")
        .live("chips", chips(now, params, &wanted, &devices))
        .still(filters(params))
        .still(bulk::bar(person, params, &wanted))
        .live("devices", rows(person, now, &shown))
        .live("pager", pager)
        .live("countries", countries::card(now, &devices)))
}

pub(crate) async fn csv(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Response, Refusal> {
    const COLUMNS: [&str; 11] = [
        "device", "owner", "state", "system", "version", "country", "address", "pages", "bytes", "too_late", "seen_at",
    ];
    let (wanted, now) = (Wanted::read(&params)?, console.now());
    let devices = console.fetch.devices(&visitor.principal.scope()).await?;
    let wanted = devices.iter().filter(|device| wanted.fits(now, device));
    Ok(export::csv_of("devices", &COLUMNS, wanted.take(export::ROWS_MAX).map(|device| cells(now, device)).collect()))
}

fn cells(now: UnixMs, device: &Device) -> Vec<String> {
    let (about, tally) = (&device.about, &device.tally);
    vec![
        device.name.clone(),
        device.owner.clone(),
        device.state(now).name().to_owned(),
        about.system.clone(),
        about.version.clone(),
        about.country.clone().unwrap_or_default(),
        about.address.clone(),
        tally.pages.to_string(),
        tally.bytes.to_string(),
        tally.refused.to_string(),
        export::moment(Some(device.seen_at)),
    ]
}

fn chips(now: UnixMs, params: &Params, wanted: &Wanted, devices: &[Device]) -> Markup {
    let all = params.only(NAMES).without("state");
    let count = |state: DeviceState| devices.iter().filter(|device| device.state(now) == state).count() as u64;
    html! {
        nav.chips aria-label=(t!("States")) {
            a.chip href=(all.link(DEVICES)) aria-current=[wanted.state.is_none().then_some("true")] {
                (t!("all", "devices")) span.n { (words::count(devices.len() as u64)) }
            }
            @for state in STATES {
                a.chip href=(all.with("state", state.name()).link(DEVICES))
                    aria-current=[(wanted.state == Some(state)).then_some("true")] {
                    span class={ "dot s-" (tone(state)) } {}
                    (state_name(state)) span.n { (words::count(count(state))) }
                }
            }
        }
    }
}

fn filters(params: &Params) -> Markup {
    html! {
        form.filters method="get" action=(DEVICES) role="search" {
            @if let Some(state) = params.get("state") { input type="hidden" name="state" value=(state); }
            label.wide { span.label { (t!("Search")) }
                input type="search" name="search" value=(params.typed("search"))
                    placeholder=(t!("name, owner, address, system, country")); }
            div.buttons {
                button { (t!("Filter")) }
                @if !params.only(NAMES).is_empty() { a.button.plain href=(DEVICES) { (t!("Clear")) } }
            }
        }
    }
}

fn rows(person: &Person, now: UnixMs, devices: &[&Device]) -> Markup {
    html! {
        @if devices.is_empty() { (parts::empty(t!("No device matches these filters."), Some((DEVICES, t!("Show all devices"))))) }
        @for of_owner in devices.chunk_by(|one, other| one.owner == other.owner) {
            section.card {
                div.card-head { h2 { (owner(&of_owner[0].owner)) } span.quiet.note { (counted!(of_owner.len() as u64, "device", "devices")) } }
                table.rows {
                    thead { tr {
                        th { (t!("Device")) } th { (t!("State")) } th { (t!("System")) } th { (t!("Where")) } th { (t!("Speed")) }
                        th.num { (t!("Pages")) } th { (t!("By status")) } th { (t!("Last seen")) } th {}
                    } }
                    tbody { @for device in of_owner { (line(person, now, device)) } }
                }
            }
        }
    }
}

/// Whoever let them join: a person, or the token that they have.
fn owner(owner: &str) -> Markup {
    html! {
        @match owner.split_once(':') {
            Some(("token", name)) => { (name) " " span.quiet.note { (t!("by token")) } },
            Some(("user", name)) => (name),
            _ => (owner),
        }
    }
}

fn line(person: &Person, now: UnixMs, device: &Device) -> Markup {
    let (about, tally) = (&device.about, &device.tally);
    html! {
        tr {
            td data-label=(t!("Device")) {
                (device.name)
                @if !about.hostname.is_empty() && about.hostname != device.name { p.note.quiet { (about.hostname) } }
            }
            td data-label=(t!("State")) { (state_badge(device.state(now))) }
            td data-label=(t!("System")) { (about.system) p.note.quiet { (about.version) } }
            td data-label=(t!("Where")) {
                (about.country.as_deref().unwrap_or("–")) p.note.quiet { (tongue::told(about.address.clone())) }
            }
            td data-label=(t!("Speed")) { (speed(device.measures)) }
            td.num data-label=(t!("Pages")) {
                (words::count(tally.pages)) p.note.quiet { (size(tally.bytes)) }
                @if tally.refused > 0 { p.note.quiet { (rich!("{} too late", words::count(tally.refused))) } }
            }
            td.bar data-label=(t!("By status")) { (by_class(tally)) }
            td data-label=(t!("Last seen")) { (words::time(now, device.seen_at)) }
            td.end { (switch(person, device)) }
        }
    }
}

fn speed(measures: Measures) -> Markup {
    let Measures { parallel, page_ms, bytes_per_s } = measures;
    html! {
        @if measures == Measures::default() { span.quiet { "–" } }
        @else {
            (rich!("{} at once", parallel))
            @if page_ms > 0 && bytes_per_s > 0 { p.note.quiet { (rich!("{} a page, {}/s", milliseconds(page_ms), size(bytes_per_s))) } }
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
                    button.small name="blocked" value="no" { (t!("Unblock")) }
                }
            } @else {
                (parts::asking_form(person, t!("Block…"), &action, html! {
                    (parts::back(person))
                    p { (BLOCK_WARNING) }
                    button.danger name="blocked" value="yes" { (rich!("Block {}", device.name)) }
                }))
            }
        }
    }
}

fn nothing(person: &Person) -> Markup {
    if !person.may(Permission::Change) {
        return parts::empty(t!("No device has joined yet. Those of your groups will be shown here."), None);
    }
    let command = format!("malla worker --server {} --token $MALLA_TOKEN", person.server);
    parts::empty_with_command(t!("No device has joined yet. Let a machine join with a token of yours:"), &command)
}
