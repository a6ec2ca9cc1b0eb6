//! Dumps that are read in, and how far.

use std::collections::HashMap;

use axum::extract::State as Shared;
use axum::response::Response;
use malla_access::Permission;
use malla_queue::{GroupId, UnixMs};
use malla_wiki::{Import, ImportId, Wiki, WikiId};
use maud::{Markup, html};

use super::places::{IMPORTS, find_all, wiki_link};
use crate::caller::Person;
use crate::frame::Page;
use crate::listing::{Listed, Order, ROWS};
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, export, groups, parts, words};

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
    let page = page.csv("/wiki/imports.csv".to_owned()).api(person, "/api/v1/wiki/imports");
    Ok(found.on(page, &params.only(&["cursor"]), Order::NewestFirst, "imports", rows))
}

pub(crate) async fn csv(Shared(console): Shared<Console>, visitor: Visitor<See>) -> Response {
    const COLUMNS: [&str; 9] =
        ["dump", "wiki", "state", "pages", "revisions", "batches", "group", "begun_at", "last_batch_at"];
    let scope = visitor.principal.scope();
    export::csv("imports", &COLUMNS, move |below: Option<ImportId>, most| {
        let (console, scope) = (console.clone(), scope.clone());
        async move {
            let found = console.wikis.imports(&scope, below, most).await?;
            let ids: Vec<GroupId> = found.iter().filter_map(|import| import.group).collect();
            let names = console.access.group_names(&ids).await?;
            let wikis = find_all(&console, &scope, found.iter().map(|import| import.wiki)).await?;
            let next = found.last().map(|import| import.id).filter(|_| found.len() == most);
            Ok((found.iter().map(|import| cells(import, &wikis, &names)).collect(), next))
        }
    })
}

fn cells(import: &Import, wikis: &HashMap<WikiId, Wiki>, groups: &HashMap<GroupId, String>) -> Vec<String> {
    vec![
        import.name.clone(),
        wikis.get(&import.wiki).map(|wiki| wiki.api.to_string()).unwrap_or_default(),
        if import.finished { "read in" } else { "in progress" }.to_owned(),
        import.pages.to_string(),
        import.revisions.to_string(),
        import.batches.to_string(),
        import.group.and_then(|group| groups.get(&group)).cloned().unwrap_or_default(),
        export::moment(Some(import.begun_at)),
        export::moment(Some(import.changed_at)),
    ]
}

async fn table(console: &Console, person: &Person, found: &[Import]) -> Result<Markup, Refusal> {
    let names = groups::names(console, found.iter().map(|import| import.group)).await?;
    let wikis = find_all(console, &person.principal.scope(), found.iter().map(|import| import.wiki)).await?;
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
