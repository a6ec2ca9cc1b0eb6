//! The results of a job or a crawl as rows, newest first.

use axum::response::Response;
use malla_fetch::{Answered, JobId};
use malla_queue::UnixMs;
use maud::{Markup, html};

use super::super::{milliseconds, size, status_badge};
use crate::params::Params;
use crate::refusal::Refusal;
use crate::{Console, export, parts};

const ROWS: u64 = 25;
/// Answers come with their bodies: so few are in memory together.
const STEP: u64 = 5;
/// Rows of a file that are read before they are sent.
const FILE_STEP: usize = 50;

/// Whose results they are.
pub(in crate::fetch) struct Of {
    pub(in crate::fetch) job: JobId,
    /// How many came.
    pub(in crate::fetch) done: u64,
    /// No more will come.
    pub(in crate::fetch) over: bool,
    /// The page that they are on.
    pub(in crate::fetch) base: String,
    /// Where all of them are had.
    pub(in crate::fetch) api: String,
}

/// A page of results.
pub(in crate::fetch) struct Results {
    of: Of,
    rows: Vec<Row>,
    /// Where the older ones begin.
    next: Option<u64>,
    /// Whether these are the newest: only then do they change.
    pub(in crate::fetch) newest: bool,
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
    pub(in crate::fetch) async fn find(console: &Console, of: Of, params: &Params) -> Result<Self, Refusal> {
        let wrong = |text: &str| Refusal::bad(say!("\"{text}\" is not the number of a result", text));
        let before = params.get("cursor").map(|text| text.parse::<u64>().map_err(|_| wrong(text))).transpose()?;
        let last = before.map_or(of.done, |before| before.saturating_sub(1).min(of.done));
        let first = last.saturating_sub(ROWS);
        let (mut rows, mut at) = (Vec::new(), first);
        while at < last {
            let step = usize::try_from(STEP.min(last - at)).unwrap_or(1);
            let answers = console.fetch.answers(of.job, at, step).await?;
            let Some(newest) = answers.last() else { break };
            at = newest.n;
            rows.extend(answers.into_iter().map(Row::from));
        }
        rows.reverse();
        Ok(Self { of, rows, next: (first > 0).then_some(first + 1), newest: before.is_none() })
    }

    pub(in crate::fetch) fn pager(&self, params: &Params) -> Markup {
        let next = self.next.map(|n| n.to_string());
        parts::pager(&self.of.base, &params.only(&["cursor"]), next, (t!("Newest"), t!("Older")))
    }

    pub(in crate::fetch) fn card(&self, now: UnixMs) -> Markup {
        let Of { job, done, over, api, .. } = &self.of;
        html! {
            section.card {
                div.card-head {
                    h2 { (t!("Results")) }
                    @if *done > 0 {
                        span {
                            @let lines = html! { a href=(api) download={ (job) ".ndjson" } { "NDJSON" } };
                            @let table = html! { a href={ (self.of.base) "/results.csv" } { "CSV" } };
                            @let archive = html! { a href={ (api) "?as=warc" } download={ (job) ".warc.gz" } { "WARC" } };
                            (rich!("Download all as {}, {} or {}", table, lines, archive))
                        }
                    }
                }
                @match (self.rows.is_empty(), *over) {
                    (true, true) => p.quiet { (t!("There are none.")) },
                    (true, false) => p.quiet { (t!("None yet: they are shown here as they come.")) },
                    (false, _) => (self.table(now)),
                }
            }
        }
    }

    fn table(&self, now: UnixMs) -> Markup {
        html! {
            table.rows {
                thead { tr {
                    th { "URL" } th { (t!("Status")) } th.num { (t!("Size")) } th.num { (t!("Took")) } th { (t!("Device")) }
                    th { (t!("From", "source")) } th { (t!("Fetched")) }
                } }
                tbody { @for row in &self.rows { (line(now, &self.of.base, row)) } }
            }
        }
    }
}

/// All results as a file, in the order in which they came, without their bodies.
pub(in crate::fetch) fn csv(console: Console, job: JobId) -> Response {
    const COLUMNS: [&str; 9] =
        ["result", "url", "status", "bytes", "took_ms", "device", "from_cache", "fetched_at", "reason"];
    export::csv("results", &COLUMNS, move |after: Option<u64>, most| {
        let console = console.clone();
        async move {
            let (mut rows, mut at) = (Vec::new(), after.unwrap_or(0));
            while rows.len() < most.min(FILE_STEP) {
                let answers = console.fetch.answers(job, at, STEP as usize).await?;
                let Some(newest) = answers.last() else { return Ok((rows, None)) };
                at = newest.n;
                rows.extend(answers.into_iter().map(Row::from).map(Row::cells));
            }
            Ok((rows, Some(at)))
        }
    })
}

impl Row {
    fn cells(self) -> Vec<String> {
        vec![
            self.n.to_string(),
            self.url,
            self.status.to_string(),
            self.bytes.to_string(),
            self.took_ms.to_string(),
            self.device.unwrap_or_default(),
            if self.from_cache { "yes" } else { "no" }.to_owned(),
            export::moment(Some(self.fetched_at).filter(|at| at.0 > 0)),
            self.reason.unwrap_or_default(),
        ]
    }
}

fn line(now: UnixMs, base: &str, row: &Row) -> Markup {
    let asked = row.took_ms > 0 || row.device.is_some();
    html! {
        tr {
            td.url data-label="URL" {
                a href={ (base) "/results/" (row.n) } { (row.url) }
                @if let Some(reason) = &row.reason { p.note.quiet { (reason) } }
            }
            td data-label=(t!("Status")) { (status_badge(row.status)) }
            td.num data-label=(t!("Size")) { (size(row.bytes)) }
            td.num data-label=(t!("Took")) { @if asked { (milliseconds(row.took_ms)) } @else { span.quiet { "–" } } }
            td data-label=(t!("Device")) { @match &row.device { Some(name) => (name), None => span.quiet { "–" } } }
            td.whole-word data-label=(t!("From", "source")) {
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
