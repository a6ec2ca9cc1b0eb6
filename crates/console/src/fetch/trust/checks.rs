//! The checks behind the standing of devices: for admins.

use axum::extract::State as Shared;
use axum::response::Response;
use malla_fetch::DeviceId;
use malla_fetch::trust::{Check, CheckId, CheckKind, CheckState, Claim};
use malla_queue::UnixMs;
use maud::{Markup, html};

use super::super::{STANDING, status_badge};
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Administer, Visitor};
use crate::{Console, export, parts, words};

pub(crate) const FILE: &str = "/fetch/checks.csv";
const ROWS: usize = 50;

/// The newest, of all devices or of one. Whoever calls this has seen to it that the person is an admin.
pub(super) async fn card(console: &Console, params: &Params) -> Result<Markup, Refusal> {
    let device = read_device(params)?;
    let checks = console.trust.checks(device, None, ROWS).await?;
    Ok(list(console.now(), device, &checks))
}

fn read_device(params: &Params) -> Result<Option<DeviceId>, Refusal> {
    let wrong = |text: &str| Refusal::not_found(&say!("Device {id}", text));
    let number = |text: &str| text.parse().map(DeviceId).map_err(|_| wrong(text));
    params.get("device").map(number).transpose()
}

/// What no page may know (a mark, a validator) is not told here either.
pub(crate) async fn csv(
    Shared(console): Shared<Console>,
    _: Visitor<Administer>,
    params: Params,
) -> Result<Response, Refusal> {
    const COLUMNS: [&str; 12] = [
        "url",
        "kind",
        "state",
        "first",
        "first_status",
        "second",
        "second_status",
        "trusted",
        "trusted_status",
        "lied",
        "at",
        "ended_at",
    ];
    let device = read_device(&params)?;
    Ok(export::csv("checks", &COLUMNS, move |below: Option<CheckId>, most| {
        let console = console.clone();
        async move {
            let checks = console.trust.checks(device, below, most).await?;
            let next = checks.last().map(|check| check.id).filter(|_| checks.len() == most);
            Ok((checks.iter().map(cells).collect(), next))
        }
    }))
}

fn cells(check: &Check) -> Vec<String> {
    let claims = [&check.first, &check.second, &check.third];
    let said = claims.into_iter().flat_map(|claim| match claim {
        Some(claim) => [claim.by.name.clone(), claim.status.to_string()],
        None => [String::new(), String::new()],
    });
    let guilty = check.guilty.and_then(|guilty| claims.into_iter().flatten().find(|claim| claim.by.device == guilty.0));
    let head = [check.url.clone(), check.kind.name().to_owned(), check.state.name().to_owned()];
    let tail = [
        guilty.map(|claim| claim.by.name.clone()).unwrap_or_default(),
        export::moment(Some(check.at)),
        export::moment(check.ended_at),
    ];
    head.into_iter().chain(said).chain(tail).collect()
}

fn list(now: UnixMs, device: Option<DeviceId>, checks: &[Check]) -> Markup {
    let file = device.map_or_else(|| FILE.to_owned(), |id| format!("{FILE}?device={}", id.0));
    html! {
        section.card {
            div.card-head {
                h2 { (t!("Checks")) }
                span {
                    @if device.is_some() { a href=(STANDING) { (t!("Of all devices")) } " · " }
                    a href=(file) { (t!("All as CSV")) }
                }
            }
            @if checks.is_empty() { (parts::empty(t!("Nothing was checked yet."), None)) }
            @else {
                table.rows.dense {
                    thead { tr {
                        th { (t!("Page")) } th { (t!("Kind")) } th { (t!("State")) } th { (t!("First", "device")) } th { (t!("Second")) } th { (t!("Trusted")) }
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
        CheckKind::Known => t!("known page"),
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
            td.whole-word data-label=(t!("Kind")) { (kind_name(check.kind)) }
            td data-label=(t!("State")) { span class={ "badge s-" (tone) } { (state_name(check.state)) } }
            td data-label=(t!("First", "device")) { (said(&check.first)) }
            td data-label=(t!("Second")) { (said(&check.second)) }
            td data-label=(t!("Trusted")) { (said(&check.third)) }
            td data-label=(t!("When")) { (words::time(now, check.at)) }
        }
    }
}
