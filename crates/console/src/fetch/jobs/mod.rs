//! Jobs: the list, a new one, one with its results, and one result.

pub(crate) mod detail;
pub(crate) mod list;
pub(crate) mod new;
mod pace;
pub(crate) mod result;
mod results;

use std::collections::HashMap;
use std::time::Duration;

use malla_fetch::{Job, JobId};
use malla_queue::{GroupId, UnixMs};
use maud::{Markup, html};

use super::JOBS;
use crate::refusal::Refusal;
use crate::{parts, words};

fn read_id(text: &str) -> Result<JobId, Refusal> {
    text.parse().map_err(|_| Refusal::not_found(&format!("Job {text}")))
}

fn job_path(id: JobId) -> String {
    format!("{JOBS}/{id}")
}

fn state_badge(job: &Job) -> Markup {
    let (tone, name) = match () {
        () if job.cancelled => ("discarded", "cancelled"),
        () if job.is_over() => ("succeeded", "done"),
        () => ("running", "running"),
    };
    html! { span class={ "badge s-" (tone) } { (name) } }
}

/// How much of it is answered, and how much of that is good.
fn progress(job: &Job) -> Markup {
    let bad = job.done.saturating_sub(job.good);
    parts::stacked(&[("succeeded", "good", job.good), ("failed", "not good", bad)], job.total)
}

/// Until its end, or until now.
fn took(now: UnixMs, job: &Job) -> Duration {
    let took = job.id.0.submitted_at().until(job.finished_at.unwrap_or(now));
    // A live page does not fidget.
    if job.is_over() { took } else { Duration::from_secs(took.as_secs()) }
}

/// Jobs as rows; with the names of groups where it matters whose they are.
pub(super) fn table(now: UnixMs, jobs: &[Job], groups: Option<&HashMap<GroupId, String>>) -> Markup {
    html! {
        table.rows {
            thead { tr {
                th { "Job" } th { "State" } th { "Progress" } th.num { "Answered" } th.num { "Good" }
                th.num { "From cache" } @if groups.is_some() { th { "Group" } } th { "Started" } th.num { "Took" }
            } }
            tbody { @for job in jobs { tr {
                td data-label="Job" { a.id href=(job_path(job.id)) { (job.id) } }
                td data-label="State" { (state_badge(job)) }
                td data-label="Progress" { (progress(job)) }
                td.num data-label="Answered" { (words::count(job.done)) " of " (words::count(job.total)) }
                td.num data-label="Good" { (words::count(job.good)) }
                td.num.quiet[job.cached == 0] data-label="From cache" { (words::count(job.cached)) }
                @if let Some(groups) = groups { td data-label="Group" { (parts::group_name(job.group, groups)) } }
                td data-label="Started" { (words::time(now, job.id.0.submitted_at())) }
                td.num data-label="Took" { (words::lasted(took(now, job))) }
            } } }
        }
    }
}
