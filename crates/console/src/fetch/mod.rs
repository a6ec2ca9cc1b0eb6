//! The room `fetch`: what clients want from the web, the sites it comes from, and the devices that bring it.

mod devices;
mod jobs;
mod sites;
pub(crate) mod tours;
mod trust;

use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::response::Redirect;
use axum::routing::{get, post};
use malla_fetch::door::Turned;
use malla_fetch::quota::TooMuch;
use malla_fetch::{Job, NO_ANSWER, NOT_ASKED};
use malla_queue::UnixMs;
use maud::{Markup, html};

use crate::caller::Person;
use crate::form::{Form, Trouble, Wrong};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::tongue::Text;
use crate::{Console, words};

pub(crate) const JOBS: &str = "/fetch/jobs";
const NEW_JOB: &str = "/fetch/new-job";
const SITES: &str = "/fetch/sites";
const SITE: &str = "/fetch/site";
pub(crate) const DEVICES: &str = "/fetch/devices";
const STANDING: &str = "/fetch/standing";
const LEDGER: &str = "/fetch/ledger";
const BLOCKED: &str = "/fetch/blocked";

/// The pages of this room in the navigation.
pub(crate) const PAGES: &[(&str, Text)] = &[
    (JOBS, key!("Jobs")),
    (tours::CRAWLS, key!("Crawls")),
    (tours::WATCHES, key!("Watches")),
    (tours::COMPARISONS, key!("Comparisons")),
    (SITES, key!("Sites")),
    (BLOCKED, key!("Blocked sites")),
    (DEVICES, key!("Devices")),
    (STANDING, key!("Standing")),
    (LEDGER, key!("Ledger")),
];

/// The name by which robots.txt knows us.
const AGENT: &str = "MallaBot";
/// A job may have many URLs.
const JOB_FORM_BYTES_MAX: usize = 1024 * 1024;

pub(crate) fn routes() -> Router<Console> {
    let new_job = get(jobs::new::show).post(jobs::new::start).layer(DefaultBodyLimit::max(JOB_FORM_BYTES_MAX));
    Router::new()
        .route("/fetch", get(async || Redirect::to(JOBS)))
        .route(JOBS, get(jobs::list::show))
        .route("/fetch/jobs.csv", get(jobs::list::csv))
        .route(NEW_JOB, new_job)
        .route("/fetch/jobs/act", get(jobs::bulk::confirm).post(jobs::bulk::act))
        .route("/fetch/jobs/{id}", get(jobs::detail::show))
        .route("/fetch/jobs/{id}/results.csv", get(jobs::detail::csv))
        .route("/fetch/jobs/{id}/cancel", post(jobs::detail::cancel))
        .route("/fetch/jobs/{id}/results/{n}", get(jobs::result::show))
        .route(SITES, get(sites::list::show))
        .route("/fetch/sites.csv", get(sites::list::csv))
        .route(SITE, get(sites::detail::show))
        .route(DEVICES, get(devices::list::show))
        .route("/fetch/devices.csv", get(devices::list::csv))
        .route("/fetch/devices/act", get(devices::bulk::confirm).post(devices::bulk::act))
        .route("/fetch/devices/{id}/block", post(devices::block))
        .merge(tours::routes())
        .route(STANDING, get(trust::standing::show))
        .route("/fetch/standing.csv", get(trust::standing::csv))
        .route(trust::checks::FILE, get(trust::checks::csv))
        .route("/fetch/standing/{id}/acquit", post(trust::standing::acquit))
        .route(LEDGER, get(trust::ledger::show))
        .route("/fetch/ledger.csv", get(trust::ledger::csv))
        .route("/fetch/ledger/topup", post(trust::ledger::top_up))
        .route(BLOCKED, get(trust::blocked::show))
        .route("/fetch/blocked.csv", get(trust::blocked::csv))
        .route("/fetch/blocked/add", post(trust::blocked::add))
        .route("/fetch/blocked/remove", post(trust::blocked::remove))
}

/// The page at `path`, if it is a live one of this room.
pub(crate) async fn live_page(
    console: &Console,
    person: &Person,
    path: &str,
    params: &Params,
) -> Option<Result<Page, Refusal>> {
    Some(match path {
        JOBS => jobs::list::page(console, person, params).await,
        SITES => sites::list::page(console, person, params).await,
        SITE => sites::detail::page(console, person, params).await,
        DEVICES => devices::list::page(console, person, params).await,
        STANDING => trust::standing::page(console, person, params).await,
        LEDGER => trust::ledger::page(console, person, params, &Form::default()).await,
        BLOCKED => trust::blocked::page(console, person, &Form::default()).await,
        _ => match path.strip_prefix("/fetch/jobs/").filter(|id| !id.contains('/')) {
            Some(id) => jobs::detail::page(console, person, id, params).await,
            None => return tours::live_page(console, person, path, params).await,
        },
    })
}

impl From<Turned> for Trouble {
    fn from(turned: Turned) -> Self {
        match turned {
            Turned::TooMuch(TooMuch { why, .. }) | Turned::NoCredit(why) => Wrong::at("", words::capital(&why)).into(),
            Turned::Failed(error) => error.into(),
        }
    }
}

/// The newest jobs, as another page shows them.
pub(crate) fn latest_jobs(now: UnixMs, latest: &[Job]) -> Markup {
    html! {
        @if !latest.is_empty() {
            section.card {
                div.card-head { h2 { (t!("Latest fetch jobs")) } a href=(JOBS) { (t!("All jobs")) } }
                (jobs::table(now, latest, None))
            }
        }
    }
}

/// A page's status in the colour of what it means.
fn status_badge(status: u16) -> Markup {
    let (tone, title) = match status {
        NOT_ASKED => {
            return html! { span.badge.s-discarded title=(t!("The site was not asked for it")) { (t!("not asked")) } };
        }
        200..=299 => ("succeeded", None),
        300..=399 => ("running", None),
        400..=499 => ("paused", None),
        NO_ANSWER => ("failed", Some(t!("The site gave no answer"))),
        _ => ("failed", None),
    };
    html! { span class={ "badge s-" (tone) } title=[title] { (status) } }
}

fn size(bytes: u64) -> String {
    words::bytes(usize::try_from(bytes).unwrap_or(usize::MAX))
}

fn milliseconds(ms: u64) -> String {
    words::lasted(Duration::from_millis(ms))
}
