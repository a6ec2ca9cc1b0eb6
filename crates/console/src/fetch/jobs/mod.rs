//! Jobs: the list, a new one, one with its results, and one result.

pub(crate) mod bulk;
pub(crate) mod detail;
mod filter;
pub(crate) mod list;
pub(crate) mod new;
mod pace;
pub(crate) mod result;
pub(super) mod results;

use std::collections::HashMap;
use std::time::Duration;

use malla_fetch::{Job, JobId};
use malla_queue::{GroupId, UnixMs};
use maud::{Markup, html};

use self::filter::JobState;
use super::JOBS;
use crate::refusal::Refusal;
use crate::{parts, words};

fn read_id(text: &str) -> Result<JobId, Refusal> {
    text.parse().map_err(|_| Refusal::not_found(&say!("Job {text}", text)))
}

fn job_path(id: JobId) -> String {
    format!("{JOBS}/{id}")
}

fn state_badge(job: &Job) -> Markup {
    let state = JobState::of(job);
    html! { span class={ "badge s-" (state.tone()) } { (state.told()) } }
}

/// How much of it is answered, and how much of that is good.
fn progress(job: &Job) -> Markup {
    let bad = job.done.saturating_sub(job.good);
    parts::stacked(&[("succeeded", t!("good"), job.good), ("failed", t!("not good"), bad)], job.total)
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
                th { (t!("Job")) } th { (t!("State")) } th { (t!("Progress")) } th.num { (t!("Answered")) } th.num { (t!("Good")) }
                th.num { (t!("From cache")) } @if groups.is_some() { th { (t!("Group")) } } th { (t!("Started")) } th.num { (t!("Took")) }
            } }
            tbody { @for job in jobs { tr {
                td data-label=(t!("Job")) { a.id href=(job_path(job.id)) { (job.id) } }
                td data-label=(t!("State")) { (state_badge(job)) }
                td data-label=(t!("Progress")) { (progress(job)) }
                td.num data-label=(t!("Answered")) { (rich!("{} of {}", words::count(job.done), words::count(job.total))) }
                td.num data-label=(t!("Good")) { (words::count(job.good)) }
                td.num.quiet[job.cached == 0] data-label=(t!("From cache")) { (words::count(job.cached)) }
                @if let Some(groups) = groups { td data-label=(t!("Group")) { (parts::group_name(job.group, groups)) } }
                td data-label=(t!("Started")) { (words::time(now, job.id.0.submitted_at())) }
                td.num data-label=(t!("Took")) { (words::lasted(took(now, job))) }
            } } }
        }
    }
}
