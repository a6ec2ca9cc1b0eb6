//! The list of jobs, newest first.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::Response;
use malla_access::Permission;
use malla_fetch::{Job, JobId};
use malla_queue::GroupId;
use maud::{Markup, html};

use super::super::{JOBS, NEW_JOB};
use super::filter::{JobState, NAMES, Wanted};
use super::{bulk, table};
use crate::caller::Person;
use crate::frame::Page;
use crate::listing::{Listed, Order, PATIENCE, ROWS};
use crate::many::WORK_MAX;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, export, groups, parts};

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let page =
        Page::new(JOBS, t!("Jobs")).lead(html! { (t!("Pages that somebody wants, fetched without hurting a site.")) });
    let wanted = match Wanted::read(console, person, params).await {
        Ok(wanted) => wanted,
        Err(Refusal::Sentence { status: StatusCode::BAD_REQUEST, sentence }) => {
            let error = parts::error_line(Some(&sentence));
            return Ok(page.status(StatusCode::BAD_REQUEST).still(filters(person, params)).still(error));
        }
        Err(other) => return Err(other),
    };
    let below: Option<JobId> = params.get("cursor").map(str::parse).transpose()?;
    let found = wanted.find(console, below, ROWS, PATIENCE).await?;
    let found = Listed::up_to(found.jobs, found.next.map(|id| id.to_string()));
    let page = page.csv(wanted.params.link("/fetch/jobs.csv")).api(person, "/api/v1/fetch/jobs");
    let page = page.still(chips(&wanted)).still(filters(person, params)).still(bar(person, &wanted));
    let rows = rows(console, person, &wanted, &found).await?;
    let links = params.only(&["state", "group", "from", "to", "cursor"]);
    Ok(found.on(page, &links, Order::NewestFirst, "jobs", rows))
}

fn chips(wanted: &Wanted) -> Markup {
    let all = wanted.params.without("state");
    html! {
        nav.chips aria-label=(t!("States")) {
            a.chip href=(all.link(JOBS)) aria-current=[wanted.state.is_none().then_some("true")] { (t!("all")) }
            @for state in JobState::ALL {
                a.chip href=(all.with("state", state.name()).link(JOBS))
                    aria-current=[(wanted.state == Some(state)).then_some("true")] {
                    span class={ "dot s-" (state.tone()) } {} (state.told())
                }
            }
        }
    }
}

fn filters(person: &Person, params: &Params) -> Markup {
    let of_many = person.may(Permission::Administer) || person.principal.groups.len() > 1;
    html! {
        form.filters method="get" action=(JOBS) role="search" {
            @if let Some(state) = params.get("state") { input type="hidden" name="state" value=(state); }
            @if of_many || params.get("group").is_some() { (parts::text_filter(params, t!("Group"), "group", "")) }
            (parts::time_filter(params, t!("From (UTC)"), "from"))
            (parts::time_filter(params, t!("To (UTC)"), "to"))
            div.buttons {
                button { (t!("Filter")) }
                @if !params.only(NAMES).without("state").is_empty() {
                    a.button.plain href=(params.only(&["state"]).link(JOBS)) { (t!("Clear")) }
                }
            }
        }
    }
}

/// What can be done to all that match, and the way to a new one.
fn bar(person: &Person, wanted: &Wanted) -> Markup {
    html! {
        @if person.may(Permission::Change) {
            div.bulk { (bulk::bar(person, wanted)) a.button.primary.push href=(NEW_JOB) { (t!("New job")) } }
        }
    }
}

pub(crate) async fn csv(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Response, Refusal> {
    const COLUMNS: [&str; 9] =
        ["job", "state", "urls", "answered", "good", "from_cache", "group", "started_at", "finished_at"];
    let wanted = Wanted::read(&console, &visitor, &params).await?;
    Ok(export::csv("jobs", &COLUMNS, move |below: Option<JobId>, most| {
        let (console, wanted) = (console.clone(), wanted.clone());
        async move {
            let found = wanted.find(&console, below, most, WORK_MAX).await?;
            let ids: Vec<GroupId> = found.jobs.iter().filter_map(|job| job.group).collect();
            let names = console.access.group_names(&ids).await?;
            let group = |job: &Job| job.group.and_then(|id| names.get(&id)).cloned().unwrap_or_default();
            Ok((found.jobs.iter().map(|job| cells(job, group(job))).collect(), found.next))
        }
    }))
}

fn cells(job: &Job, group: String) -> Vec<String> {
    let counts = [job.total, job.done, job.good, job.cached].map(|n| n.to_string());
    let head = [job.id.to_string(), JobState::of(job).name().to_owned()].into_iter();
    let times = [Some(job.id.0.submitted_at()), job.finished_at].map(export::moment);
    head.chain(counts).chain([group]).chain(times).collect()
}

async fn rows(console: &Console, person: &Person, wanted: &Wanted, found: &Listed<Job>) -> Result<Markup, Refusal> {
    let jobs = &found.items;
    if jobs.is_empty() {
        return Ok(nothing(person, wanted, found.goes_on()));
    }
    let names = groups::names(console, jobs.iter().map(|job| job.group)).await?;
    Ok(html! { section.card { (table(console.now(), jobs, Some(&names))) } })
}

fn nothing(person: &Person, wanted: &Wanted, more: bool) -> Markup {
    if more {
        return parts::empty(t!("Nothing matches among those looked at so far: go on with “Older”."), None);
    }
    if !wanted.params.is_empty() {
        return parts::empty(t!("No job matches these filters."), Some((JOBS, t!("Show all"))));
    }
    if !person.may(Permission::Change) {
        return parts::empty(t!("Nothing has been asked for yet. The jobs of your groups will be shown here."), None);
    }
    parts::empty_with_command(
        t!("Nothing has been asked for yet. Start a job here, or from a terminal:"),
        "malla fetch https://example.org/",
    )
}
