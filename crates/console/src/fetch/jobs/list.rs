//! The list of jobs, newest first.

use axum::extract::State as Shared;
use axum::response::Response;
use malla_access::Permission;
use malla_fetch::{Job, JobId};
use malla_queue::GroupId;
use maud::{Markup, html};

use super::super::{JOBS, NEW_JOB};
use super::table;
use crate::caller::Person;
use crate::frame::Page;
use crate::listing::{Listed, Order, ROWS};
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
    let below: Option<JobId> = params.get("cursor").map(str::parse).transpose()?;
    let found = console.fetch.jobs(&person.principal.scope(), below, ROWS + 1).await?;
    let found = Listed::of(found, |job| job.id.to_string());
    let page =
        Page::new(JOBS, t!("Jobs")).lead(html! { (t!("Pages that somebody wants, fetched without hurting a site.")) });
    let page = page.csv("/fetch/jobs.csv".to_owned()).api(person, "/api/v1/fetch/jobs");
    let page = page.still(html! {
        @if person.may(Permission::Change) { div.buttons { a.button.primary href=(NEW_JOB) { (t!("New job")) } } }
    });
    let rows = rows(console, person, &found.items).await?;
    Ok(found.on(page, params, Order::NewestFirst, "jobs", rows))
}

pub(crate) async fn csv(Shared(console): Shared<Console>, visitor: Visitor<See>) -> Response {
    const COLUMNS: [&str; 8] = ["job", "state", "urls", "answered", "good", "from_cache", "group", "finished_at"];
    let scope = visitor.principal.scope();
    export::csv("jobs", &COLUMNS, move |below: Option<JobId>, most| {
        let (console, scope) = (console.clone(), scope.clone());
        async move {
            let jobs = console.fetch.jobs(&scope, below, most).await?;
            let ids: Vec<GroupId> = jobs.iter().filter_map(|job| job.group).collect();
            let names = console.access.group_names(&ids).await?;
            let next = jobs.last().map(|job| job.id).filter(|_| jobs.len() == most);
            let group = |job: &Job| job.group.and_then(|id| names.get(&id)).cloned().unwrap_or_default();
            Ok((jobs.iter().map(|job| cells(job, group(job))).collect(), next))
        }
    })
}

fn cells(job: &Job, group: String) -> Vec<String> {
    let state = match () {
        () if job.cancelled => "cancelled",
        () if job.is_over() => "done",
        () => "running",
    };
    let counts = [job.total, job.done, job.good, job.cached].map(|n| n.to_string());
    let head = [job.id.to_string(), state.to_owned()].into_iter();
    head.chain(counts).chain([group, export::moment(job.finished_at)]).collect()
}

async fn rows(console: &Console, person: &Person, jobs: &[Job]) -> Result<Markup, Refusal> {
    if jobs.is_empty() {
        return Ok(nothing(person));
    }
    let names = groups::names(console, jobs.iter().map(|job| job.group)).await?;
    Ok(html! { section.card { (table(console.now(), jobs, Some(&names))) } })
}

fn nothing(person: &Person) -> Markup {
    if !person.may(Permission::Change) {
        return parts::empty(t!("Nothing has been asked for yet. The jobs of your groups will be shown here."), None);
    }
    parts::empty_with_command(
        t!("Nothing has been asked for yet. Start a job here, or from a terminal:"),
        "malla fetch https://example.org/",
    )
}
