//! The results of a job as rows, newest first.

use malla_fetch::{Answered, Job};
use malla_queue::UnixMs;
use maud::{Markup, html};

use super::super::{milliseconds, size, status_badge};
use super::job_path;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::{Console, parts};

const ROWS: u64 = 25;
/// Answers come with their bodies: so few are in memory together.
const STEP: u64 = 5;

/// A page of results.
pub(super) struct Results {
    rows: Vec<Row>,
    /// Where the older ones begin.
    next: Option<u64>,
    /// Whether these are the newest: only then do they change.
    pub(super) newest: bool,
}

/// An answer without its body.
struct Row {
    n: u64,
    url: String,
    from_cache: bool,
    status: u16,
    bytes: u64,
    reason: Option<String>,
    fetched_at: UnixMs,
    took_ms: u64,
    device: Option<String>,
}

impl From<Answered> for Row {
    fn from(answered: Answered) -> Self {
        let Answered { n, url, from_cache, page } = answered;
        Self {
            n,
            url,
            from_cache,
            status: page.status,
            bytes: page.body.bytes,
            reason: page.trouble.map(|trouble| trouble.note),
            fetched_at: page.fetched_at,
            took_ms: page.took_ms,
            device: page.device,
        }
    }
}

impl Results {
    /// Those before the cursor, or the newest.
    pub(super) async fn find(console: &Console, job: &Job, params: &Params) -> Result<Self, Refusal> {
        let wrong = |text: &str| Refusal::bad(say!("\"{text}\" is not the number of a result", text));
        let before = params.get("cursor").map(|text| text.parse::<u64>().map_err(|_| wrong(text))).transpose()?;
        let last = before.map_or(job.done, |before| before.saturating_sub(1).min(job.done));
        let first = last.saturating_sub(ROWS);
        let (mut rows, mut at) = (Vec::new(), first);
        while at < last {
            let step = usize::try_from(STEP.min(last - at)).unwrap_or(1);
            let answers = console.fetch.answers(job.id, at, step).await?;
            let Some(newest) = answers.last() else { break };
            at = newest.n;
            rows.extend(answers.into_iter().map(Row::from));
        }
        rows.reverse();
        Ok(Self { rows, next: (first > 0).then_some(first + 1), newest: before.is_none() })
    }

    pub(super) fn pager(&self, job: &Job, params: &Params) -> Markup {
        let next = self.next.map(|n| n.to_string());
        parts::pager(&job_path(job.id), &params.only(&["cursor"]), next, (t!("Newest"), t!("Older")))
    }

    pub(super) fn card(&self, now: UnixMs, job: &Job) -> Markup {
        html! {
            section.card {
                div.card-head {
                    h2 { (t!("Results")) }
                    @if job.done > 0 {
                        span {
                            @let whole = format!("/api/v1/fetch/{}/results", job.id);
                            @let lines = html! { a href=(whole) download={ (job.id) ".ndjson" } { "NDJSON" } };
                            @let archive = html! { a href={ (whole) "?as=warc" } download={ (job.id) ".warc.gz" } { "WARC" } };
                            (rich!("Download all as {} or {}", lines, archive))
                        }
                    }
                }
                @match (self.rows.is_empty(), job.is_over()) {
                    (true, true) => p.quiet { (t!("There are none.")) },
                    (true, false) => p.quiet { (t!("None yet: they are shown here as they come.")) },
                    (false, _) => (self.table(now, job)),
                }
            }
        }
    }

    fn table(&self, now: UnixMs, job: &Job) -> Markup {
        html! {
            table.rows {
                thead { tr {
                    th { "URL" } th { (t!("Status")) } th.num { (t!("Size")) } th.num { (t!("Took")) } th { (t!("Device")) }
                    th { (t!("From", "source")) } th { (t!("Fetched")) }
                } }
                tbody { @for row in &self.rows { (line(now, job, row)) } }
            }
        }
    }
}

fn line(now: UnixMs, job: &Job, row: &Row) -> Markup {
    let asked = row.took_ms > 0 || row.device.is_some();
    html! {
        tr {
            td.url data-label="URL" {
                a href={ (job_path(job.id)) "/results/" (row.n) } { (row.url) }
                @if let Some(reason) = &row.reason { p.note.quiet { (reason) } }
            }
            td data-label=(t!("Status")) { (status_badge(row.status)) }
            td.num data-label=(t!("Size")) { (size(row.bytes)) }
            td.num data-label=(t!("Took")) { @if asked { (milliseconds(row.took_ms)) } @else { span.quiet { "–" } } }
            td data-label=(t!("Device")) { @match &row.device { Some(name) => (name), None => span.quiet { "–" } } }
            td data-label=(t!("From", "source")) {
                @match (row.from_cache, asked) {
                    (true, _) => (t!("the cache")),
                    (false, true) => span.quiet { (t!("the site")) },
                    (false, false) => span.quiet { "–" },
                }
            }
            td data-label=(t!("Fetched")) { (fetched(now, row.fetched_at)) }
        }
    }
}

/// A page that is not kept any more has no time.
pub(super) fn fetched(now: UnixMs, at: UnixMs) -> Markup {
    parts::moment(now, Some(at).filter(|at| at.0 > 0))
}
