//! The list of extractions, newest first.

use std::collections::HashMap;

use axum::extract::State as Shared;
use axum::response::Response;
use malla_queue::{GroupId, UnixMs};
use malla_wiki::{Extraction, ExtractionId, ExtractionState};
use maud::{Markup, html};

use super::places::{EXTRACTIONS, WIKI, article_path, extraction_path};
use super::{pace, state_badge, titled};
use crate::caller::Person;
use crate::frame::Page;
use crate::listing::{Listed, Order, ROWS};
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, export, groups, parts, tongue, words};

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let below: Option<ExtractionId> = params.get("cursor").map(str::parse).transpose()?;
    let found = console.wikis.extractions(&person.principal.scope(), below, ROWS + 1).await?;
    let found = Listed::of(found, |extraction| extraction.id.to_string());
    let rows = rows(console, &found.items).await?;
    let page = Page::new(EXTRACTIONS, t!("Extractions")).lead(
        html! { (t!("Each walks a page's history from the oldest revision to the newest, and goes on after any crash.")) },
    );
    let page = page.csv("/wiki/extractions.csv".to_owned()).api(person, "/api/v1/wiki/extractions");
    Ok(found.on(page, &params.only(&["cursor"]), Order::NewestFirst, "extractions", rows))
}

pub(crate) async fn csv(Shared(console): Shared<Console>, visitor: Visitor<See>) -> Response {
    const COLUMNS: [&str; 8] = ["extraction", "asked", "title", "state", "revisions", "new", "asked_at", "finished_at"];
    let scope = visitor.principal.scope();
    export::csv("extractions", &COLUMNS, move |below: Option<ExtractionId>, most| {
        let (console, scope) = (console.clone(), scope.clone());
        async move {
            let found = console.wikis.extractions(&scope, below, most).await?;
            let next = found.last().map(|one| one.id).filter(|_| found.len() == most);
            Ok((found.iter().map(cells).collect(), next))
        }
    })
}

fn cells(one: &Extraction) -> Vec<String> {
    vec![
        one.id.to_string(),
        one.asked.clone(),
        one.title.clone().unwrap_or_default(),
        one.state.name().to_owned(),
        one.counts.done.to_string(),
        one.counts.new.to_string(),
        export::moment(Some(one.asked_at)),
        export::moment(one.finished_at),
    ]
}

async fn rows(console: &Console, found: &[Extraction]) -> Result<Markup, Refusal> {
    if found.is_empty() {
        let sentence = t!("Nothing has been extracted yet, or it is forgotten: what it brought stays.");
        return Ok(parts::empty(sentence, Some((WIKI, t!("Go to the overview")))));
    }
    let names = groups::names(console, found.iter().map(|extraction| extraction.group)).await?;
    Ok(html! { section.card { (table(console.now(), found, Some(&names))) } })
}

/// Extractions as rows; with the names of groups where it matters whose they are.
pub(super) fn table(now: UnixMs, found: &[Extraction], groups: Option<&HashMap<GroupId, String>>) -> Markup {
    html! {
        table.rows {
            thead { tr {
                th { (t!("Extraction")) } th { (t!("Article")) } th { (t!("State")) } th { (t!("Progress")) } th.num { (t!("Revisions")) } th.num { (t!("New")) }
                th { (t!("Pace")) } @if groups.is_some() { th { (t!("Group")) } } th { (t!("Asked")) }
            } }
            tbody { @for extraction in found { tr {
                td data-label=(t!("Extraction")) { a.id href=(extraction_path(extraction.id)) { (extraction.id) } }
                td data-label=(t!("Article")) { (article(extraction)) }
                td data-label=(t!("State")) { (state_badge(extraction.state)) }
                td.bar data-label=(t!("Progress")) { (pace::bar(extraction)) }
                td.num data-label=(t!("Revisions")) { (pace::so_far(extraction)) }
                td.num data-label=(t!("New")) { (words::count(extraction.counts.new)) }
                td data-label=(t!("Pace")) { (note(now, extraction)) }
                @if let Some(groups) = groups { td data-label=(t!("Group")) { (parts::group_name(extraction.group, groups)) } }
                td data-label=(t!("Asked")) { (words::time(now, extraction.asked_at)) }
            } } }
        }
    }
}

/// The article, once it is known; before, what was asked for.
pub(super) fn article(extraction: &Extraction) -> Markup {
    let title = extraction.title.as_deref().unwrap_or(&extraction.asked);
    html! {
        @match (extraction.wiki, extraction.pageid) {
            (Some(wiki), Some(page)) => a href=(article_path(wiki, page)) { (titled(title)) },
            _ => (titled(title)),
        }
    }
}

/// Its pace, or why it failed.
fn note(now: UnixMs, extraction: &Extraction) -> Markup {
    html! {
        @match &extraction.note {
            Some(why) if extraction.state == ExtractionState::Failed => span { (words::capital(&tongue::told(why.clone()))) },
            _ => span.quiet { (pace::told(now, extraction)) },
        }
    }
}
