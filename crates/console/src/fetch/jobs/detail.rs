//! One job: how far it is, its results as they come, and its end before its time.

use axum::extract::{Path, State as Shared};
use axum::response::Response;
use malla_access::Permission;
use malla_fetch::Job;
use malla_queue::{Act, UnixMs};
use maud::{Markup, html};

use super::super::JOBS;
use super::results::{Of, Results};
use super::{job_path, pace, progress, read_id, results, state_badge, took};
use crate::caller::{Notice, Person};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::tongue::Text;
use crate::visitor::{Change, Posted, See, Visitor, go};
use crate::{Console, groups, parts, words};

const CANCEL_WARNING: Text = key!(
    "Nothing more is fetched for it. What came stays, and pages that others wait for too are fetched all the same."
);

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &id, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, id: &str, params: &Params) -> Result<Page, Refusal> {
    let job = console.fetch.job(&person.principal.scope(), read_id(id)?).await?;
    let of = Of {
        job: job.id,
        done: job.done,
        over: job.is_over(),
        base: job_path(job.id),
        api: format!("/api/v1/fetch/{}/results", job.id),
    };
    let results = Results::find(console, of, params).await?;
    let group = groups::names(console, [job.group].into_iter()).await?.into_values().next();
    let now = console.now();
    let (card, pager) = (results.card(now), results.pager(params));
    let page = Page::new(JOBS, say!("Job {id}", id))
        .up(JOBS, t!("Jobs"))
        .lead(html! {
            (rich!("Started {}", words::time(now, job.id.0.submitted_at())))
            @if let Some(group) = &group { " " (rich!("for {}", group)) }
        })
        .live("progress", how_far(now, &job))
        .live("counts", tiles(&job))
        .live("cancel", end(person, &job));
    // Older results stay as they are.
    let page =
        if results.newest { page.live("results", card).live("pager", pager) } else { page.still(card).still(pager) };
    Ok(page.still(by_hand(person, &job)))
}

pub(crate) async fn csv(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    visitor: Visitor<See>,
) -> Result<Response, Refusal> {
    let job = console.fetch.job(&visitor.principal.scope(), read_id(&id)?).await?;
    Ok(results::csv(console, job.id))
}

fn how_far(now: UnixMs, job: &Job) -> Markup {
    let took = words::lasted(took(now, job));
    html! {
        section.card.progress {
            div.task-head {
                (state_badge(job))
                strong { (rich!("{} of {}", words::count(job.done), words::count(job.total))) }
                span.quiet {
                    @match pace::told(now, job) {
                        _ if job.cancelled => { (rich!("cancelled after {}", took)) },
                        _ if job.is_over() => { (rich!("took {}", took)) },
                        Some(pace) => (pace),
                        None => (t!("nothing fetched yet")),
                    }
                }
            }
            (progress(job))
        }
    }
}

fn tiles(job: &Job) -> Markup {
    let left = job.total.saturating_sub(job.done);
    let waiting = if job.cancelled { t!("Not fetched") } else { t!("Waiting") };
    html! {
        ul.tiles.small-tiles.four aria-label=(t!("Results by outcome")) {
            (tile("succeeded", t!("Good (2xx)"), job.good))
            (tile("failed", t!("Not good"), job.done.saturating_sub(job.good)))
            (tile("notified", t!("From cache"), job.cached))
            (tile("queued", waiting, left))
        }
    }
}

fn tile(tone: &str, name: &str, n: u64) -> Markup {
    html! {
        li { div.tile.figure {
            span.tile-name { span class={ "dot s-" (tone) } {} (name) }
            strong.zero[n == 0] { (words::count(n)) }
        } }
    }
}

fn end(person: &Person, job: &Job) -> Markup {
    let action = format!("{}/cancel", job_path(job.id));
    html! {
        @if person.may(Permission::Change) && !job.is_over() {
            (parts::asking_form(person, t!("Cancel…"), &action, html! {
                p { (CANCEL_WARNING) } button.danger { (t!("Cancel the job")) }
            }))
        }
    }
}

fn by_hand(person: &Person, job: &Job) -> Markup {
    let of = |accept: &str, file: &str| {
        let token = "-H \"Authorization: Bearer $MALLA_TOKEN\"";
        format!("curl {token} -H 'Accept: {accept}' -o {file} {}/api/v1/fetch/{}/results", person.server, job.id)
    };
    html! {
        section.card {
            div.card-head { h2 { (t!("The results from a terminal")) } }
            p.quiet { (t!("One JSON line a page, or an archive (WARC) of what sites answered. Both go on until the job is over.")) }
            (parts::command_line(&of("application/x-ndjson", "pages.ndjson")))
            (parts::command_line(&of("application/warc", "pages.warc.gz")))
        }
    }
}

pub(crate) async fn cancel(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    posted: Posted<Change>,
) -> Result<Response, Refusal> {
    let (id, principal) = (read_id(&id)?, &posted.visitor.principal);
    let act = Act::new(&principal.actor, "fetch.cancel", id.to_string());
    let job = console.fetch.cancel(&principal.scope(), id, act).await?;
    let notice = match job.cancelled {
        true => Notice::good(t!("The job is cancelled: nothing more is fetched for it.")),
        false => Notice::bad(t!("The job was done already: all its results are here.")),
    };
    Ok(go(&console, &job_path(id), notice))
}
