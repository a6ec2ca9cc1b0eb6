//! One extraction: how far it is, what it has brought, or why it failed.

use axum::extract::{Path, State as Shared};
use malla_queue::UnixMs;
use malla_wiki::{Extraction, ExtractionId, ExtractionState};
use maud::{Markup, html};

use super::places::{EXTRACTIONS, find_all, wiki_link};
use super::{extractions, pace, state_badge, tile, titled};
use crate::caller::Person;
use crate::frame::Page;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, groups, parts, words};

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    visitor: Visitor<See>,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &id).await
}

pub(crate) async fn page(console: &Console, person: &Person, id: &str) -> Result<Page, Refusal> {
    let number: ExtractionId = id.parse().map_err(|_| Refusal::not_found(&say!("Extraction {id}", id)))?;
    let extraction = console.wikis.extraction(&person.principal.scope(), number).await?;
    let group = groups::names(console, [extraction.group].into_iter()).await?.into_values().next();
    let wiki = find_all(console, &person.principal.scope(), extraction.wiki.into_iter()).await?.into_values().next();
    let now = console.now();
    let title = extraction.title.as_deref().unwrap_or(&extraction.asked);
    let facts = html! {
        section.card {
            div.card-head { h2 { (t!("What was asked")) } }
            dl.facts {
                dt { (t!("Asked for")) } dd { (extraction.asked) }
                dt { (t!("Article")) } dd { (extractions::article(&extraction)) }
                dt { (t!("Wiki")) } dd { @match &wiki { Some(wiki) => (wiki_link(wiki)), None => span.quiet { (t!("not known yet")) } } }
                dt { (t!("First answer")) } dd { (parts::moment(now, extraction.started_at)) }
                dt { (t!("Last answer")) } dd { (words::time(now, extraction.changed_at)) }
            }
        }
    };
    let page = Page::new(EXTRACTIONS, say!("Extraction of {}", titled(title)))
        .up(EXTRACTIONS, t!("Extractions"))
        .lead(html! {
            (rich!("Asked {}", words::time(now, extraction.asked_at)))
            @if let Some(group) = &group { " " (rich!("for {}", group)) }
        })
        .live("progress", progress(now, &extraction))
        .live("figures", figures(&extraction))
        .live("asked", facts);
    Ok(page)
}

/// How far it is, as a card.
pub(super) fn progress(now: UnixMs, extraction: &Extraction) -> Markup {
    let failed = extraction.state == ExtractionState::Failed;
    html! {
        section.card.progress {
            div.task-head {
                (state_badge(extraction.state))
                strong { (rich!("{} revisions", pace::so_far(extraction))) }
                span.quiet { (pace::told(now, extraction)) }
            }
            (pace::bar(extraction))
        }
        @if let Some(note) = extraction.note.as_ref().filter(|note| !note.is_empty()) {
            p.notice.bad[failed] { (words::capital(&crate::tongue::told(note.clone()))) }
        }
    }
}

fn figures(extraction: &Extraction) -> Markup {
    let counts = &extraction.counts;
    html! {
        ul.tiles.small-tiles.four aria-label=(t!("Figures")) {
            (tile(t!("Revisions read"), &words::count(counts.done)))
            (tile(t!("New"), &words::count(counts.new)))
            (tile(t!("Erased, for the wiki hides them"), &words::count(counts.erased)))
            (tile(t!("Requests"), &words::count(counts.requests)))
        }
    }
}
