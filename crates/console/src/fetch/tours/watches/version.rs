//! A version of a watched page: its text, as a file too, and what differs between two of them.

use axum::extract::{Path, State as Shared};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use malla_fetch::tour::{Tour, TourKind, Version};
use maud::{Markup, html};

use super::super::{WATCHES, find, tour_path};
use super::{Facts, compare_path, read, version_path};
use crate::fetch::{size, status_badge};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, content, difference, words};

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    Path((id, n)): Path<(String, String)>,
    visitor: Visitor<See>,
) -> Result<Page, Refusal> {
    let tour = find(&console, &visitor, TourKind::Watch, &id).await?;
    let version = kept(&console, &tour, &n).await?;
    let (facts, now) = (Facts::of(&version), console.now());
    let url = read(&tour).0.url;
    Ok(Page::new(WATCHES, say!("Version {}", words::count(version.n)))
        .up(tour_path(&tour), url)
        .api(&visitor, &format!("/api/v1/watches/{}/versions/{}", tour.id, version.n))
        .still(html! {
            div.task-head {
                (status_badge(facts.status)) span.quiet { (rich!("seen {}", words::time(now, version.at))) }
                span.quiet { "· " (size(facts.bytes)) }
                @if version.n > 1 {
                    a.button.push href=(compare_path(&tour, version.n - 1, version.n)) { (t!("What changed")) }
                }
            }
        })
        .still(html! {
            section.card {
                div.card-head {
                    h2 { (t!("Text")) }
                    a href={ (version_path(&tour, version.n)) "/text" } download { (t!("Download as text")) }
                }
                (content::show_text(version.text.as_bytes()))
            }
        }))
}

/// The whole text as a file.
pub(crate) async fn text(
    Shared(console): Shared<Console>,
    Path((id, n)): Path<(String, String)>,
    visitor: Visitor<See>,
) -> Result<Response, Refusal> {
    let tour = find(&console, &visitor, TourKind::Watch, &id).await?;
    let version = kept(&console, &tour, &n).await?;
    let attachment = format!("attachment; filename=\"watch-{}-version-{}.txt\"", tour.id, version.n);
    let headers = [(header::CONTENT_TYPE, "text/plain; charset=utf-8"), (header::CONTENT_DISPOSITION, &attachment)];
    Ok((headers, version.text).into_response())
}

pub(crate) async fn compare(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    let both = params.get("from").zip(params.get("to"));
    let (from, to) = both.ok_or_else(|| Refusal::bad(t!("Choose two versions to compare: from and to")))?;
    let tour = find(&console, &visitor, TourKind::Watch, &id).await?;
    let (old, new) = (kept(&console, &tour, from).await?, kept(&console, &tour, to).await?);
    let url = read(&tour).0.url;
    let heads = heads(&console, &tour, &old, &new);
    let pieces = difference::pieces(&console, old.text.into_bytes(), new.text.into_bytes()).await?;
    Ok(Page::new(WATCHES, say!("What changed from version {} to {}", from, to))
        .up(tour_path(&tour), url)
        .api(&visitor, &format!("/api/v1/watches/{}/diff?from={}&to={}", tour.id, old.n, new.n))
        .still(heads)
        .still(difference::card(&pieces)))
}

fn heads(console: &Console, tour: &Tour, old: &Version, new: &Version) -> Markup {
    let now = console.now();
    let head = |which: &str, version: &Version| {
        html! {
            section.card {
                div.card-head {
                    h2 { (which) " " a href=(version_path(tour, version.n)) { (rich!("version {}", words::count(version.n))) } }
                    span.quiet.note { (words::time(now, version.at)) }
                }
            }
        }
    };
    html! {
        div.columns { (head(t!("From"), old)) (head(t!("To"), new)) }
        div.task-head { a.button.plain.push href=(compare_path(tour, new.n, old.n)) { (t!("The other way round")) } }
    }
}

async fn kept(console: &Console, tour: &Tour, n: &str) -> Result<Version, Refusal> {
    let gone = || {
        let sentence = say!("Version {n} is not kept, or there is none yet.", n);
        Refusal::new(axum::http::StatusCode::NOT_FOUND, sentence)
    };
    let number: u64 = n.parse().map_err(|_| gone())?;
    console.tours.version(tour.id, number).await?.ok_or_else(gone)
}
