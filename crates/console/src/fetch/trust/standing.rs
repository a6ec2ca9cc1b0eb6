//! How far devices are believed, and the appeal of one that was convicted.

use axum::extract::{Path, State as Shared};
use axum::response::Response;
use malla_access::Permission;
use malla_fetch::trust::{DeviceRepute, TrustRules};
use malla_fetch::{Device, DeviceId};
use malla_queue::Act;
use maud::{Markup, html};

use super::super::STANDING;
use super::checks;
use crate::caller::{Notice, Person};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Administer, Posted, See, Visitor, go};
use crate::{Console, export, parts, words};

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
    let page = page
        .csv("/fetch/standing.csv".to_owned())
        .api(person, "/api/v1/devices/standing")
        .live("standing", rows(console, person, &devices, &reputes));
    if !person.may(Permission::Administer) {
        return Ok(page);
    }
    Ok(page.live("checks", checks::card(console, params).await?))
}

/// How far a device is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Convicted,
    Trusted,
    Suspected,
    New,
    Believed,
}

impl Standing {
    fn of(rules: TrustRules, device: &Device, repute: &DeviceRepute) -> Self {
        match () {
            () if repute.own.convicted => Standing::Convicted,
            () if device.is_trusted() || !rules.enabled => Standing::Trusted,
            () if repute.own.strikes > 0 => Standing::Suspected,
            () if rules.holds(repute.cv()) => Standing::New,
            () => Standing::Believed,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Standing::Convicted => "convicted",
            Standing::Trusted => "trusted",
            Standing::Suspected => "suspected",
            Standing::New => "new",
            Standing::Believed => "believed",
        }
    }

    fn told(self) -> &'static str {
        match self {
            Standing::Convicted => t!("convicted", "device"),
            Standing::Trusted => t!("trusted", "device"),
            Standing::Suspected => t!("suspected", "device"),
            Standing::New => t!("new", "device"),
            Standing::Believed => t!("believed", "device"),
        }
    }

    /// The state of tasks whose colour it has.
    fn tone(self) -> &'static str {
        match self {
            Standing::Convicted => "failed",
            Standing::Trusted | Standing::Believed => "succeeded",
            Standing::Suspected => "paused",
            Standing::New => "running",
        }
    }
}

/// How likely a page of it is checked; `None` if none is.
fn chance(rules: TrustRules, device: &Device, repute: &DeviceRepute) -> Option<f64> {
    (rules.enabled && !device.is_trusted()).then(|| rules.chance(repute.cv()))
}

pub(crate) async fn csv(Shared(console): Shared<Console>, visitor: Visitor<See>) -> Result<Response, Refusal> {
    const COLUMNS: [&str; 9] =
        ["device", "owner", "standing", "valid_in_a_row", "checked", "checked_now", "strikes", "doubts", "reason"];
    let (scope, rules) = (visitor.principal.scope(), console.fetching.trust);
    let (devices, reputes) = (console.fetch.devices(&scope).await?, console.trust.reputes(&scope).await?);
    let cells = |repute: &DeviceRepute| {
        let (own, device) = (&repute.own, devices.iter().find(|device| device.id == repute.device)?);
        Some(vec![
            device.name.clone(),
            device.owner.clone(),
            Standing::of(rules, device, repute).name().to_owned(),
            own.cv.to_string(),
            own.checked.to_string(),
            chance(rules, device, repute).map(|chance| format!("{chance:.4}")).unwrap_or_default(),
            own.strikes.to_string(),
            own.doubts.to_string(),
            own.reason.clone().unwrap_or_default(),
        ])
    };
    let rows = reputes.iter().filter_map(cells).take(export::ROWS_MAX).collect();
    Ok(export::csv_of("standing", &COLUMNS, rows))
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
    let own = &repute.own;
    let standing = Standing::of(console.fetching.trust, device, repute);
    let chance = chance(console.fetching.trust, device, repute);
    html! {
        tr {
            td data-label=(t!("Device")) { a href=(format!("{STANDING}?device={}", device.id.0)) { (device.name) } }
            td data-label=(t!("Owner")) { (device.owner) }
            td data-label=(t!("Standing")) {
                span class={ "badge s-" (standing.tone()) } { (standing.told()) }
                @if let Some(reason) = &own.reason { p.note.quiet { (reason) } }
            }
            td.num data-label=(t!("Valid in a row")) { (words::count(own.cv)) }
            td.num data-label=(t!("Checked")) { (words::count(own.checked)) }
            td.num data-label=(t!("Checked now")) {
                @match chance {
                    Some(chance) => { (words::decimal(chance * 100.0, 1)) " %" },
                    None => span.quiet { "–" },
                }
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
