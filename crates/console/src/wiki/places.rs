//! The addresses of this room's pages, and of what they are about at the wikis themselves.

use std::collections::HashMap;

use malla_queue::{Error, Scope};
use malla_wiki::{ExtractionId, Page, PageId, RevId, Wiki, WikiId};
use maud::{Markup, html};

use super::titled;
use crate::Console;
use crate::caller::Person;
use crate::params::Params;
use crate::refusal::Refusal;

pub(crate) const WIKI: &str = "/wiki";
pub(super) const EXTRACT: &str = "/wiki/extract";
pub(super) const ARTICLES: &str = "/wiki/articles";
pub(super) const REVISIONS: &str = "/wiki/revisions";
pub(super) const QUERY: &str = "/wiki/query";
pub(crate) const EXTRACTIONS: &str = "/wiki/extractions";
pub(super) const IMPORTS: &str = "/wiki/imports";

pub(super) fn extraction_path(id: ExtractionId) -> String {
    format!("{EXTRACTIONS}/{id}")
}

pub(super) fn wiki_path(wiki: WikiId) -> String {
    format!("/wiki/wikis/{wiki}")
}

pub(super) fn article_path(wiki: WikiId, page: PageId) -> String {
    format!("{}/pages/{}", wiki_path(wiki), page.0)
}

pub(super) fn revision_path(wiki: WikiId, revision: RevId) -> String {
    format!("{}/revisions/{}", wiki_path(wiki), revision.0)
}

pub(super) fn compare_path(wiki: WikiId, from: RevId, to: RevId) -> String {
    let (from, to) = (from.0.to_string(), to.0.to_string());
    Params::from([("from", from.as_str()), ("to", to.as_str())]).link(&format!("{}/compare", wiki_path(wiki)))
}

pub(super) fn wiki_link(wiki: &Wiki) -> Markup {
    html! { a href=(wiki_path(wiki.id)) { (name(wiki)) } }
}

/// `Wikipedia (en)`; what says nothing of itself is called by its host.
pub(super) fn name(wiki: &Wiki) -> String {
    let name = match wiki.name.trim() {
        "" => wiki.api.host_str().unwrap_or("wiki"),
        name => name,
    };
    match wiki.locale.trim() {
        "" => name.to_owned(),
        locale => format!("{name} ({locale})"),
    }
}

pub(super) fn article_link(wiki: WikiId, page: PageId, title: &str) -> Markup {
    html! { a href=(article_path(wiki, page)) { (titled(title)) } }
}

/// The page at the wiki, by its number: that stays when it is moved.
pub(super) fn there(wiki: &Wiki, page: PageId) -> Option<String> {
    at(wiki, "curid", page.0)
}

/// The revision at the wiki.
pub(super) fn revision_there(wiki: &Wiki, revision: RevId) -> Option<String> {
    at(wiki, "oldid", revision.0)
}

/// Only where a browser may safely go.
fn at(wiki: &Wiki, name: &str, number: i64) -> Option<String> {
    let mut url = wiki.api.join("index.php").ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    url.query_pairs_mut().clear().append_pair(name, &number.to_string());
    Some(url.into())
}

/// The wiki of this number, if this person may see it.
pub(super) async fn find(console: &Console, person: &Person, id: &str) -> Result<Wiki, Refusal> {
    let number = id.parse().map_err(|_| Refusal::not_found(&say!("Wiki {id}", id)))?;
    Ok(console.wikis.wiki(&person.principal.scope(), WikiId(number)).await?)
}

/// The wiki, if this person may see it, and its page of this number.
pub(super) async fn find_page(
    console: &Console,
    person: &Person,
    wiki: &str,
    page: &str,
) -> Result<(Wiki, Page), Refusal> {
    let wiki = find(console, person, wiki).await?;
    let missing = || Refusal::not_found(&say!("Page {page} of {}", page, name(&wiki)));
    let number = page.parse().map_err(|_| missing())?;
    let found = console.wikis.page(wiki.id, PageId(number)).await?.ok_or_else(missing)?;
    Ok((wiki, found))
}

/// Wikis by their numbers, as far as they are in sight.
pub(super) async fn find_all(
    console: &Console,
    scope: &Scope,
    ids: impl Iterator<Item = WikiId>,
) -> Result<HashMap<WikiId, Wiki>, Error> {
    let mut found = HashMap::new();
    for id in ids {
        if found.contains_key(&id) {
            continue;
        }
        match console.wikis.wiki(scope, id).await {
            Ok(wiki) => drop(found.insert(id, wiki)),
            Err(Error::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}
