//! The room at a glance: what is being collected, what came of it, from which wikis, and a form to ask for more.

use axum::extract::State as Shared;
use malla_access::Permission;
use malla_queue::UnixMs;
use malla_wiki::{Extraction, Wiki, WikiId};
use maud::{Markup, html};

use super::places::{EXTRACTIONS, WIKI, wiki_link};
use super::{extract, extractions};
use crate::caller::Person;
use crate::form::Form;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, groups, parts, words};

const WIKIS: usize = 50;
/// Extractions that are looked through for those under way.
const SEEN: usize = 200;
/// Of those that are over.
const RECENT: usize = 8;
const UNDER_WAY: usize = 25;

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params, &Form::default()).await
}

pub(crate) async fn page(
    console: &Console,
    person: &Person,
    params: &Params,
    form: &Form<'_>,
) -> Result<Page, Refusal> {
    let scope = person.principal.scope();
    let after = params.get("cursor").map(read_cursor).transpose()?;
    let (mut wikis, seen) =
        tokio::try_join!(console.wikis.wikis(&scope, after, WIKIS + 1), console.wikis.extractions(&scope, None, SEEN))?;
    let more = wikis.len() > WIKIS;
    wikis.truncate(WIKIS);
    let next = wikis.last().filter(|_| more).map(|wiki| wiki.id.to_string());
    let now = console.now();
    let page = Page::new(WIKI, t!("Wiki"))
        .lead(html! { (t!("Histories of wiki pages: every revision with its text, complete and kept fresh.")) })
        .still(no_contact(console, person))
        .still(extract::card(console, person, form).await?);
    if wikis.is_empty() && seen.is_empty() && after.is_none() {
        return Ok(page.live("under-way", nothing(console, person)).live("recent", html! {}).live("wikis", html! {}));
    }
    let table = wikis_table(console, now, &wikis).await?;
    let pager = parts::pager(WIKI, &params.only(&["cursor"]), next, (t!("First"), t!("Further")));
    let (over, under_way): (Vec<_>, Vec<_>) = seen.into_iter().partition(|extraction| extraction.state.is_over());
    Ok(page
        .live("under-way", going_on(now, &under_way))
        .live("recent", recent(now, &over))
        .live("wikis", html! { (table) (pager) }))
}

fn read_cursor(text: &str) -> Result<WikiId, Refusal> {
    text.parse().map(WikiId).map_err(|_| Refusal::bad(say!("\"{text}\" is not a place in this list", text)))
}

/// Which setting is missing, for those who can do something about it and those who can ask for it.
fn no_contact(console: &Console, person: &Person) -> Markup {
    html! {
        @if !extract::may_leave(console) {
            section.card.question {
                p {
                    strong { (t!("No request leaves yet.")) " " }
                    @let (name, variable) = (html! { code { "wiki.contact" } }, html! { code { "MALLA_WIKI_CONTACT" } });
                    (rich!("Wikis want to know whom to turn to: set {} ({}) to an address of yours, and start again.", name, variable))
                    @if !person.may(Permission::Administer) { " " (t!("That is for who runs this server.")) }
                }
                @if person.may(Permission::Administer) {
                    (parts::command_line("MALLA_WIKI_CONTACT=you@example.org malla up"))
                }
            }
        }
    }
}

fn nothing(console: &Console, person: &Person) -> Markup {
    if !person.may(Permission::Change) {
        return parts::empty(t!("No history is kept yet. What your groups extract will be shown here."), None);
    }
    if !extract::may_leave(console) {
        return parts::empty_with_command(
            t!("No history is kept yet. Until a contact is set, read in a dump that you have:"),
            "malla wiki import dump.xml.bz2",
        );
    }
    parts::empty_with_command(
        t!("No history is kept yet. Write the title of an article above, or from a terminal:"),
        "malla wiki extract \"House sparrow\"",
    )
}

fn going_on(now: UnixMs, under_way: &[Extraction]) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { (t!("Under way")) } @if !under_way.is_empty() { span.quiet.note { (words::count(under_way.len() as u64)) } } }
            @if under_way.is_empty() { p.all-well { (t!("Nothing is being extracted.")) } }
            @else { (extractions::table(now, &under_way[..under_way.len().min(UNDER_WAY)], None)) }
            @if under_way.len() > UNDER_WAY { p.quiet.note { (rich!("The newest {}: {}.", UNDER_WAY, html! { a href=(EXTRACTIONS) { (t!("all extractions")) } })) } }
        }
    }
}

fn recent(now: UnixMs, over: &[Extraction]) -> Markup {
    html! {
        @if !over.is_empty() {
            section.card {
                div.card-head { h2 { (t!("Recent extractions")) } a href=(EXTRACTIONS) { (t!("All extractions")) } }
                (extractions::table(now, &over[..over.len().min(RECENT)], None))
            }
        }
    }
}

async fn wikis_table(console: &Console, now: UnixMs, wikis: &[Wiki]) -> Result<Markup, Refusal> {
    let names = groups::names(console, wikis.iter().map(|wiki| wiki.group)).await?;
    Ok(html! {
        section.card {
            div.card-head { h2 { (t!("Wikis")) } }
            @if wikis.is_empty() { p.all-well { (t!("None is known yet: the first answer of one makes it known.")) } }
            @else {
                table.rows {
                    thead { tr {
                        th { (t!("Wiki")) } th { (t!("Address")) } th.num { (t!("Articles")) } th.num { (t!("Revisions")) } th { (t!("Group")) } th { (t!("Found")) }
                    } }
                    tbody { @for wiki in wikis { tr {
                        td data-label=(t!("Wiki")) { (wiki_link(wiki)) @if wiki.scraped { " " (scraped()) } }
                        td data-label=(t!("Address")) { span.key { (wiki.api) } }
                        td.num data-label=(t!("Articles")) { (words::count(wiki.pages)) }
                        td.num data-label=(t!("Revisions")) { (words::count(wiki.revisions)) }
                        td data-label=(t!("Group")) { (parts::group_name(wiki.group, &names)) }
                        td data-label=(t!("Found")) { (words::time(now, wiki.found_at)) }
                    } } }
                }
            }
        }
    })
}

pub(super) fn scraped() -> Markup {
    html! { span.badge.s-paused title=(t!("Its API is off: histories are read from its pages")) { (t!("without API")) } }
}
