//! How far devices are believed, the checks behind that, and the appeal of one that was convicted.

use axum::extract::{Path, State as Shared};
use axum::response::Response;
use malla_access::Permission;
use malla_fetch::trust::{Check, CheckKind, CheckState, Claim, DeviceRepute};
use malla_fetch::{Device, DeviceId};
use malla_queue::{Act, UnixMs};
use maud::{Markup, html};

use super::super::{STANDING, status_badge};
use crate::caller::{Notice, Person};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Administer, Posted, See, Visitor, go};
use crate::{Console, parts, words};

const CHECKS: usize = 50;

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let scope = person.principal.scope();
    let (devices, reputes) = (console.fetch.devices(&scope).await?, console.trust.reputes(&scope).await?);
    let page = Page::new(STANDING, t!("Standing")).lead(html! {
        (t!("Some of what a device brings is fetched once more by a device of another user. Who never lied is checked least, and nobody never."))
    });
    let page = page.live("standing", rows(console, person, &devices, &reputes));
    if !person.may(Permission::Administer) {
        return Ok(page);
    }
    let device = params.get("device").and_then(|id| id.parse().ok()).map(DeviceId);
    let checks = console.trust.checks(device, None, CHECKS).await?;
    Ok(page.live("checks", list(console.now(), params, &checks)))
}

fn rows(console: &Console, person: &Person, devices: &[Device], reputes: &[DeviceRepute]) -> Markup {
    if reputes.is_empty() {
        return parts::empty(t!("No device has joined yet."), None);
    }
    html! {
        section.card {
            table.rows {
                thead { tr {
                    th { (t!("Device")) } th { (t!("Owner")) } th { (t!("Standing")) } th.num { (t!("Valid in a row")) } th.num { (t!("Checked")) }
                    th.num { (t!("Checked now")) } th.num { (t!("Strikes")) } th.num { (t!("Doubts")) } th {}
                } }
                tbody { @for repute in reputes {
                    @if let Some(device) = devices.iter().find(|device| device.id == repute.device) {
                        (line(console, person, device, repute))
                    }
                } }
            }
        }
    }
}

fn line(console: &Console, person: &Person, device: &Device, repute: &DeviceRepute) -> Markup {
    let (own, rules) = (&repute.own, console.fetching.trust);
    let unchecked = device.is_trusted() || !rules.enabled;
    let (tone, name) = match () {
        () if own.convicted => ("failed", t!("convicted", "device")),
        () if unchecked => ("succeeded", t!("trusted", "device")),
        () if own.strikes > 0 => ("paused", t!("suspected", "device")),
        () if rules.holds(repute.cv()) => ("running", t!("new", "device")),
        () => ("succeeded", t!("believed", "device")),
    };
    html! {
        tr {
            td data-label=(t!("Device")) { a href=(format!("{STANDING}?device={}", device.id.0)) { (device.name) } }
            td data-label=(t!("Owner")) { (device.owner) }
            td data-label=(t!("Standing")) {
                span class={ "badge s-" (tone) } { (name) }
                @if let Some(reason) = &own.reason { p.note.quiet { (reason) } }
            }
            td.num data-label=(t!("Valid in a row")) { (words::count(own.cv)) }
            td.num data-label=(t!("Checked")) { (words::count(own.checked)) }
            td.num data-label=(t!("Checked now")) {
                @if unchecked { span.quiet { "–" } } @else { (format!("{:.1} %", rules.chance(repute.cv()) * 100.0)) }
            }
            td.num.quiet[own.strikes == 0] data-label=(t!("Strikes")) { (own.strikes) }
            td.num.quiet[own.doubts == 0] data-label=(t!("Doubts")) { (words::count(own.doubts)) }
            td.end {
                @if own.convicted && person.may(Permission::Administer) {
                    (parts::asking_form(person, t!("Acquit…"), &format!("{STANDING}/{}/acquit", device.id.0), html! {
                        p { (t!("It may work again, begins as a newcomer, and gets its pledge back.")) }
                        button.danger { (say!("Acquit {}", device.name)) }
                    }))
                }
            }
        }
    }
}

fn list(now: UnixMs, params: &Params, checks: &[Check]) -> Markup {
    html! {
        section.card {
            div.card-head {
                h2 { (t!("Checks")) }
                @if params.get("device").is_some() { a href=(STANDING) { (t!("Of all devices")) } }
            }
            @if checks.is_empty() { (parts::empty(t!("Nothing was checked yet."), None)) }
            @else {
                table.rows.dense {
                    thead { tr {
                        th { (t!("Page")) } th { (t!("Kind")) } th { (t!("State")) } th { (t!("First")) } th { (t!("Second")) } th { (t!("Trusted")) }
                        th { (t!("When")) }
                    } }
                    tbody { @for check in checks { (row(now, check)) } }
                }
            }
        }
    }
}

fn kind_name(kind: CheckKind) -> &'static str {
    match kind {
        CheckKind::Replica => t!("replica"),
        CheckKind::Etag => t!("validator"),
        CheckKind::Control => t!("control"),
        CheckKind::Report => t!("report"),
    }
}

fn state_name(state: CheckState) -> &'static str {
    match state {
        CheckState::Open => t!("open", "check"),
        CheckState::Trial => t!("trial"),
        CheckState::Agreed => t!("agreed"),
        CheckState::Cleared => t!("cleared"),
        CheckState::Upheld => t!("upheld"),
        CheckState::Lapsed => t!("lapsed"),
    }
}

fn row(now: UnixMs, check: &Check) -> Markup {
    let tone = match check.state {
        CheckState::Open => "running",
        CheckState::Trial => "paused",
        CheckState::Agreed => "succeeded",
        CheckState::Cleared | CheckState::Lapsed => "discarded",
        CheckState::Upheld => "failed",
    };
    let said = |claim: &Option<Claim>| {
        html! {
            @match claim {
                Some(claim) => {
                    (claim.by.name) " " (status_badge(claim.status))
                    @if check.guilty.is_some_and(|guilty| guilty.0 == claim.by.device) { " " span.badge.s-failed { (t!("lied")) } }
                },
                None => span.quiet { "–" },
            }
        }
    };
    html! {
        tr {
            td data-label=(t!("Page")) { (check.url) }
            td data-label=(t!("Kind")) { (kind_name(check.kind)) }
            td data-label=(t!("State")) { span class={ "badge s-" (tone) } { (state_name(check.state)) } }
            td data-label=(t!("First")) { (said(&check.first)) }
            td data-label=(t!("Second")) { (said(&check.second)) }
            td data-label=(t!("Trusted")) { (said(&check.third)) }
            td data-label=(t!("When")) { (words::time(now, check.at)) }
        }
    }
}

pub(crate) async fn acquit(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    posted: Posted<Administer>,
) -> Result<Response, Refusal> {
    let number = id.parse().map_err(|_| Refusal::not_found(&say!("Device {id}", id)))?;
    let principal = &posted.visitor.principal;
    let act = Act::new(&principal.actor, "device.acquit", &id);
    console.trust.acquit(&principal.scope(), DeviceId(number), console.fetching.trust, act).await?;
    Ok(go(&console, STANDING, Notice::good(say!("Device {} may work again.", id))))
}
