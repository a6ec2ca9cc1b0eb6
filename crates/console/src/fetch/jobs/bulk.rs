//! All jobs that match are cancelled.

use axum::extract::State as Shared;
use axum::response::Response;
use malla_access::Permission;
use malla_fetch::{Job, JobId};
use malla_queue::{Act, Error, UnixMs};
use maud::{Markup, html};

use super::super::JOBS;
use super::filter::{Found, NAMES, Wanted};
use crate::caller::Person;
use crate::each::{Asked, CHOSEN_MAX, Chosen, Each};
use crate::frame::Page;
use crate::many::WORK_MAX;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, Visitor};
use crate::{Console, words};

const ACT: &str = "/fetch/jobs/act";
const CANCEL: &str = "cancel";
/// Jobs that are counted for the question; more are told as "at least".
const COUNTED_MAX: usize = 1_000;
/// A job may have thousands of pages that wait.
const STEP: usize = 20;

fn each(list: &str) -> Each<'_> {
    Each { thing: noun!("job", "jobs"), place: JOBS, act: ACT, name: t!("Cancel"), danger: true, list }
}

async fn asked(console: &Console, person: &Person, params: &Params) -> Result<Wanted, Refusal> {
    match params.typed("verb") {
        CANCEL => Wanted::read(console, person, params).await,
        other => Err(Refusal::bad(say!("\"{other}\" is not a verb for jobs: cancel", other))),
    }
}

pub(crate) async fn confirm(
    Shared(console): Shared<Console>,
    visitor: Visitor<Change>,
    params: Params,
) -> Result<Page, Refusal> {
    let (wanted, now) = (asked(&console, &visitor, &params).await?, console.now());
    let found = match wanted.running() {
        Some(running) => running.find(&console, None, COUNTED_MAX, WORK_MAX).await?,
        None => Found { jobs: Vec::new(), next: None },
    };
    let times = [(t!("from"), wanted.from), (t!("before"), wanted.to)];
    let times = times.into_iter().filter_map(|(name, at)| Some((name, words::full(at?))));
    let group = params.get("group").map(|group| (t!("group"), group.to_owned()));
    let asked = Asked {
        count: found.jobs.len() as u64,
        more: found.next.is_some(),
        consequence: t!(
            "Nothing more is fetched for them. What came stays, and pages that others wait for too are fetched all the same."
        ),
        conditions: group.into_iter().chain(times).collect(),
        fields: wanted.params.with("verb", CANCEL).with("until", now.0.to_string()),
        choices: found.jobs.iter().take(CHOSEN_MAX + 1).map(|job| (job.id.to_string(), shown(now, job))).collect(),
    };
    Ok(each(&wanted.params.link(JOBS)).asking(&visitor, asked))
}

fn shown(now: UnixMs, job: &Job) -> Markup {
    html! {
        code { (job.id) } " " (rich!("{} of {}", words::count(job.done), words::count(job.total)))
        " " span.quiet { (rich!("Started {}", words::time(now, job.id.0.submitted_at()))) }
    }
}

pub(crate) async fn act(Shared(console): Shared<Console>, posted: Posted<Change>) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = &posted;
    let wanted = asked(&console, visitor, fields).await?.running();
    let list = fields.only(NAMES).link(JOBS);
    let from: Option<JobId> = fields.get("cursor").map(str::parse).transpose()?;
    let (console, wanted, chosen) = (&console, wanted.as_ref(), &Chosen::read(fields));
    let (actor, scope) = (&visitor.principal.actor, &visitor.principal.scope());
    let work = |below: Option<JobId>| async move {
        let Some(wanted) = wanted else { return Ok((0, None)) };
        let found = wanted.find(console, below, STEP, WORK_MAX).await?;
        let means = |job: &&Job| chosen.means(&job.id.to_string(), job.id.0.submitted_at());
        let mut done = 0;
        for job in found.jobs.iter().filter(means) {
            let act = Act::new(actor, "fetch.cancel", job.id.to_string());
            match console.fetch.cancel(scope, job.id, act).await {
                Ok(job) => done += u64::from(job.cancelled),
                Err(Error::NotFound(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok((done, found.next))
    };
    each(&list).work(console, &posted, from, work).await
}

/// What can be done to all that match.
pub(super) fn bar(person: &Person, wanted: &Wanted) -> Markup {
    html! {
        @if person.may(Permission::Change) && wanted.running().is_some() {
            span.quiet { (t!("All that match:")) }
            a.button.small href=(wanted.params.with("verb", CANCEL).link(ACT)) { (t!("Cancel…")) }
        }
    }
}
