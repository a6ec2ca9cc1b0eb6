//! One revision: who made it of what, and its text.

use axum::extract::{Path, State as Shared};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use malla_wiki::{Page as Article, RevId, Revision, Wiki};
use maud::{Markup, html};

use super::lines::{change, user};
use super::places::{ARTICLES, article_path, compare_path, find, name, revision_path, revision_there};
use super::{size, titled};
use crate::Console;
use crate::frame::Page;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::words;

/// More than this is not shown, but can be had as it is.
const SHOWN_CHARS_MAX: usize = 1_000_000;
const COMMENT_MAX: usize = 5_000;

/// A revision with what it belongs to.
pub(super) struct Found {
    pub(super) wiki: Wiki,
    pub(super) article: Article,
    pub(super) revision: Revision,
}

impl Found {
    /// Of a wiki that this person may see.
    pub(super) async fn of(console: &Console, wiki: Wiki, revision: &str) -> Result<Self, Refusal> {
        let missing = || Refusal::not_found(&say!("Revision {revision} of {}", revision, name(&wiki)));
        let number = revision.parse().map_err(|_| missing())?;
        let revision = console.wikis.revision(wiki.id, RevId(number)).await?.ok_or_else(missing)?;
        let article = console.wikis.page(wiki.id, revision.pageid).await?.ok_or_else(missing)?;
        Ok(Self { wiki, article, revision })
    }

    pub(super) async fn text(&self, console: &Console) -> Result<Option<Vec<u8>>, Refusal> {
        Ok(console.reader.text(self.wiki.id, self.revision.revid).await?)
    }
}

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    Path((wiki, revision)): Path<(String, String)>,
    visitor: Visitor<See>,
) -> Result<Page, Refusal> {
    let found = Found::of(&console, find(&console, &visitor, &wiki).await?, &revision).await?;
    let text = found.text(&console).await?;
    let parent = parent(&console, &found).await?;
    let Found { wiki, article, revision } = &found;
    Ok(Page::new(ARTICLES, titled(&article.facts.title))
        .up(article_path(wiki.id, article.pageid), titled(&article.facts.title))
        .lead(html! { (rich!("Revision {}, {}", revision.revid.0, words::second(revision.at))) })
        .still(ways(&found, parent.as_ref()))
        .still(facts(&found, parent.as_ref()))
        .still(body(&found, text.as_deref())))
}

/// The revision that it was made of, if that is kept.
async fn parent(console: &Console, found: &Found) -> Result<Option<Revision>, Refusal> {
    match found.revision.parentid {
        RevId(0) => Ok(None),
        parent => Ok(console.wikis.revision(found.wiki.id, parent).await?),
    }
}

/// To its neighbours, to what it changed, and to the wiki itself.
fn ways(found: &Found, parent: Option<&Revision>) -> Markup {
    let Found { wiki, article, revision } = found;
    let newest = article.newest.map(|newest| newest.revid).filter(|newest| *newest != revision.revid);
    html! {
        div.buttons.ways {
            @if let Some(parent) = parent {
                a.button href=(compare_path(wiki.id, parent.revid, revision.revid)) { (t!("What it changed")) }
                a.button href=(revision_path(wiki.id, parent.revid)) { (t!("The one before")) }
            }
            @if let Some(newest) = newest {
                a.button href=(compare_path(wiki.id, revision.revid, newest)) { (t!("What has changed since")) }
            }
            @if let Some(there) = revision_there(wiki, revision.revid) {
                a.button.plain href=(there) rel="noreferrer" { (t!("At the wiki")) }
            }
        }
    }
}

fn facts(found: &Found, parent: Option<&Revision>) -> Markup {
    let Revision { comment, minor, tags, sha1, .. } = &found.revision;
    let revision = &found.revision;
    html! {
        section.card {
            div.card-head { h2 { (t!("About it")) } }
            dl.facts {
                dt { (t!("User")) } dd { (user(revision.user.as_deref(), revision.anon)) }
                dt { (t!("Comment")) }
                dd {
                    @match comment.as_deref() {
                        Some("") => span.quiet { (t!("none")) },
                        Some(comment) => (words::cut(comment, COMMENT_MAX)),
                        None => span.quiet { (t!("hidden")) },
                    }
                }
                dt { (t!("Size")) } dd { (counted!(revision.size, "byte", "bytes")) " (" (change(changed(revision, parent))) ")" }
                @if *minor { dt { (t!("Minor")) } dd { (t!("yes")) } }
                @if !tags.is_empty() { dt { (t!("Tags")) } dd { (tags.join(", ")) } }
                dt { "SHA-1" } dd { @match sha1 { Some(sha1) => span.key { (sha1) }, None => span.quiet { (t!("hidden")) } } }
                dt { (t!("Model")) } dd { (revision.model) }
            }
        }
    }
}

fn changed(revision: &Revision, parent: Option<&Revision>) -> Option<i64> {
    let before = match (revision.parentid, parent) {
        (RevId(0), _) => 0,
        (_, Some(parent)) => parent.size,
        (_, None) => return None,
    };
    Some(i64::try_from(revision.size).ok()? - i64::try_from(before).ok()?)
}

fn body(found: &Found, text: Option<&[u8]>) -> Markup {
    let raw = format!("{}/text", revision_path(found.wiki.id, found.revision.revid));
    html! {
        section.card {
            div.card-head { h2 { (t!("Text")) } @if text.is_some() { span.links { a href=(raw) { (t!("As it is")) } } } }
            @match text {
                Some([]) => p.quiet { (t!("Empty.")) },
                Some(text) => {
                    @let shown = String::from_utf8_lossy(text);
                    @let part = words::cut(&shown, SHOWN_CHARS_MAX);
                    p.quiet.size { (size(text.len() as u64)) @if part.len() < shown.len() { (t!(", the beginning")) } }
                    pre.content.whole-text tabindex="0" { code { (part) } }
                },
                None if found.revision.text_hidden => p.quiet { (t!("The wiki hides this text.")) },
                None => p.quiet { (t!("This text could not be had from the wiki.")) },
            }
        }
    }
}

/// The text byte for byte.
pub(crate) async fn raw(
    Shared(console): Shared<Console>,
    Path((wiki, revision)): Path<(String, String)>,
    visitor: Visitor<See>,
) -> Result<Response, Refusal> {
    let found = Found::of(&console, find(&console, &visitor, &wiki).await?, &revision).await?;
    let missing = || Refusal::not_found(&say!("The text of revision {revision}", revision));
    let text = found.text(&console).await?.ok_or_else(missing)?;
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
}
