//! Dumps that are read in, and how far.

use axum::extract::State as Shared;
use malla_access::Permission;
use malla_queue::UnixMs;
use malla_wiki::{Import, ImportId};
use maud::{Markup, html};

use super::places::{IMPORTS, find_all, wiki_link};
use crate::caller::Person;
use crate::frame::Page;
use crate::listing::{Listed, Order, ROWS};
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, groups, parts, words};

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let below: Option<ImportId> = params.get("cursor").map(str::parse).transpose()?;
    let found = console.wikis.imports(&person.principal.scope(), below, ROWS + 1).await?;
    let found = Listed::of(found, |import| import.id.to_string());
    let rows = if found.items.is_empty() { nothing(person) } else { table(console, person, &found.items).await? };
    let page = Page::new(IMPORTS, t!("Imports"))
        .lead(html! { (t!("Dumps that are read in from a terminal. One that was interrupted goes on where it was.")) });
    Ok(found.on(page, params, Order::NewestFirst, "imports", rows))
}

async fn table(console: &Console, person: &Person, found: &[Import]) -> Result<Markup, Refusal> {
    let names = groups::names(console, found.iter().map(|import| import.group)).await?;
    let wikis = find_all(console, person, found.iter().map(|import| import.wiki)).await?;
    let now = console.now();
    Ok(html! {
        section.card {
            table.rows {
                thead { tr {
                    th { (t!("Dump")) } th { (t!("Wiki")) } th { (t!("State")) } th.num { (t!("Pages")) } th.num { (t!("Revisions")) } th.num { (t!("Batches")) }
                    th { (t!("Pace")) } th { (t!("Group")) } th { (t!("Begun")) } th { (t!("Last batch")) }
                } }
                tbody { @for import in found { tr {
                    td data-label=(t!("Dump")) { (import.name) }
                    td data-label=(t!("Wiki")) {
                        @match wikis.get(&import.wiki) { Some(wiki) => (wiki_link(wiki)), None => span.quiet { "–" } }
                    }
                    td data-label=(t!("State")) { (badge(import)) }
                    td.num data-label=(t!("Pages")) { (words::count(import.pages)) }
                    td.num data-label=(t!("Revisions")) { (words::count(import.revisions)) }
                    td.num data-label=(t!("Batches")) { (words::count(import.batches)) }
                    td data-label=(t!("Pace")) { span.quiet { (pace(now, import)) } }
                    td data-label=(t!("Group")) { (parts::group_name(import.group, &names)) }
                    td data-label=(t!("Begun")) { (words::time(now, import.begun_at)) }
                    td data-label=(t!("Last batch")) { (words::time(now, import.changed_at)) }
                } } }
            }
        }
    })
}

fn badge(import: &Import) -> Markup {
    html! {
        @if import.finished { span.badge.s-succeeded { (t!("read in")) } }
        @else { span.badge.s-running { (t!("in progress")) } }
    }
}

/// How many pages a dump has is known at its end only: so the pace is told, and not what is left.
fn pace(now: UnixMs, import: &Import) -> String {
    let until = if import.finished { import.changed_at } else { now };
    let took = import.begun_at.until(until);
    if import.finished {
        return say!("took {}", words::lasted(took));
    }
    match import.begun_at.until(import.changed_at).as_secs_f64() {
        seconds if seconds >= 1.0 => {
            say!("{} revisions a second", words::count((import.revisions as f64 / seconds).round() as u64))
        }
        _ => t!("just begun").into(),
    }
}

fn nothing(person: &Person) -> Markup {
    if !person.may(Permission::Change) {
        return parts::empty(t!("No dump has been read in. Those of your groups will be shown here."), None);
    }
    parts::empty_with_command(
        t!("No dump has been read in. A wiki's XML dump, packed or not, is read in from a terminal:"),
        "malla wiki import dump.xml.bz2",
    )
}
