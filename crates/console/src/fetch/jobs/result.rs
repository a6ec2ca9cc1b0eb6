//! One result: what the site answered, byte for byte and never run.

use axum::extract::{Path, State as Shared};
use malla_fetch::{Answered, JobId, Page as Fetched, unpack_page};
use malla_queue::UnixMs;
use maud::{Markup, html};

use super::super::{JOBS, milliseconds, size, status_badge};
use super::results::fetched;
use super::{job_path, read_id};
use crate::frame::Page;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, content, words};

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    Path((id, n)): Path<(String, String)>,
    visitor: Visitor<See>,
) -> Result<Page, Refusal> {
    let job = console.fetch.job(&visitor.principal.scope(), read_id(&id)?).await?;
    let missing = say!("Result {n} of job {id}", n, id);
    let up = (job_path(job.id), say!("Job {job}", job.id));
    of(&console, JOBS, job.id, &n, up, &missing).await
}

/// The `n`th answer of a job, or of a crawl's job. `up` is the page it is on.
pub(in crate::fetch) async fn of(
    console: &Console,
    place: &'static str,
    job: JobId,
    n: &str,
    up: (String, String),
    what: &str,
) -> Result<Page, Refusal> {
    let missing = || Refusal::not_found(what);
    let number: u64 = n.parse().map_err(|_| missing())?;
    let before = number.checked_sub(1).ok_or_else(missing)?;
    let found = console.fetch.answers(job, before, 1).await?.pop();
    let answered = found.filter(|answered| answered.n == number).ok_or_else(missing)?;
    Ok(page(console.now(), place, up, &answered))
}

fn page(now: UnixMs, place: &'static str, (up, name): (String, String), answered: &Answered) -> Page {
    let fetched = &answered.page;
    Page::new(place, say!("Result {}", words::count(answered.n)))
        .up(up, name)
        .lead(html! { code { (answered.url) } })
        .still(
            html! { @if let Some(trouble) = &fetched.trouble { p.notice.bad { (words::capital(&trouble.note)) "." } } },
        )
        .still(html! {
            div.columns.side-facts {
                div { (body(fetched)) (content::headers(&fetched.headers)) }
                (facts(now, answered))
            }
        })
}

fn facts(now: UnixMs, answered: &Answered) -> Markup {
    let page = &answered.page;
    html! {
        section.card.facts-card {
            div.card-head { h2 { (t!("Facts")) } }
            dl.facts {
                dt { (t!("Status")) } dd { (status_badge(page.status)) }
                dt { (t!("Asked for")) } dd { (answered.url) }
                @if page.url != answered.url { dt { (t!("Found at")) } dd { (page.url) } }
                dt { (t!("Fetched")) } dd { (fetched(now, page.fetched_at)) }
                dt { (t!("Took")) } dd { (milliseconds(page.took_ms)) }
                dt { (t!("Device")) } dd { (page.device.as_deref().unwrap_or("–")) }
                dt { (t!("From the cache")) } dd { @if answered.from_cache { (t!("yes")) } @else { (t!("no")) } }
                dt { (t!("Content type")) } dd { (content_type(page).unwrap_or("–")) }
                dt { (t!("Size")) } dd { (size(page.body.bytes)) }
            }
        }
    }
}

fn body(page: &Fetched) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { (t!("Body")) } }
            @match unpack_page(page) {
                Ok(bytes) if is_text(content_type(page)) => (content::show_text(&bytes)),
                Ok(bytes) => (content::show(&bytes)),
                Err(_) => p.quiet { (t!("The stored body is damaged: ask for the page again.")) },
            }
        }
    }
}

fn content_type(page: &Fetched) -> Option<&str> {
    let found = page.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    found.map(|(_, value)| value.as_str())
}

fn is_text(content_type: Option<&str>) -> bool {
    let kind = content_type.unwrap_or_default().to_ascii_lowercase();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let about_text = ["application/xhtml+xml", "application/xml", "application/javascript", "application/json"];
    kind.starts_with("text/") || about_text.contains(&kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_type_says_what_is_text() {
        for kind in ["text/html", "Text/HTML; charset=iso-8859-1", "application/xml"] {
            assert!(is_text(Some(kind)), "{kind}");
        }
        assert!(!is_text(Some("image/png")) && !is_text(None));
    }
}
