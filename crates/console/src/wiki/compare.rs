//! Two revisions side by side in one text: what went and what came, word by word.

use axum::extract::{Path, State as Shared};
use malla_queue::UnixMs;
use maud::{Markup, html};

use super::lines::{change, user};
use super::places::{ARTICLES, article_link, article_path, compare_path, find, revision_path};
use super::revision::Found;
use super::titled;
use crate::Console;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{difference, words};

const COMMENT_MAX: usize = 300;

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    Path(wiki): Path<String>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    let both = params.get("from").zip(params.get("to"));
    let (from, to) = both.ok_or_else(|| Refusal::bad(t!("Choose two revisions to compare: from and to")))?;
    let wiki = find(&console, &visitor, &wiki).await?;
    let from = Found::of(&console, wiki.clone(), from).await?;
    let to = Found::of(&console, wiki, to).await?;
    let title = titled(&to.article.facts.title).to_owned();
    let page = Page::new(ARTICLES, title.clone())
        .up(article_path(to.wiki.id, to.article.pageid), title)
        .lead(html! { (rich!("What changed from revision {} to {}", from.revision.revid.0, to.revision.revid.0)) })
        .still(heads(console.now(), &from, &to));
    Ok(match (from.text(&console).await?, to.text(&console).await?) {
        (Some(old), Some(new)) => page.still(difference::card(&difference::pieces(&console, old, new).await?)),
        (None, _) => page.still(missing(&from)),
        (_, None) => page.still(missing(&to)),
    })
}

fn heads(now: UnixMs, from: &Found, to: &Found) -> Markup {
    let grown = i64::try_from(to.revision.size).ok().zip(i64::try_from(from.revision.size).ok());
    html! {
        div.columns { (head(now, t!("From"), from)) (head(now, t!("To"), to)) }
        div.task-head {
            span.quiet { (t!("Size:")) " " } (change(grown.map(|(to, from)| to - from))) span.quiet { " " (t!("bytes")) }
            a.button.plain.push href=(compare_path(from.wiki.id, to.revision.revid, from.revision.revid)) { (t!("The other way round")) }
        }
    }
}

fn head(now: UnixMs, which: &str, found: &Found) -> Markup {
    let revision = &found.revision;
    html! {
        section.card {
            div.card-head {
                h2 { (which) " " a href=(revision_path(found.wiki.id, revision.revid)) { (rich!("revision {}", revision.revid.0)) } }
                span.quiet.note { (words::time(now, revision.at)) }
            }
            dl.facts {
                dt { (t!("Article")) } dd { (article_link(found.wiki.id, found.article.pageid, &found.article.facts.title)) }
                dt { (t!("User")) } dd { (user(revision.user.as_deref(), revision.anon)) }
                dt { (t!("Comment")) }
                dd {
                    @match revision.comment.as_deref() {
                        Some("") => span.quiet { (t!("none")) },
                        Some(comment) => (words::cut(comment, COMMENT_MAX)),
                        None => span.quiet { (t!("hidden")) },
                    }
                }
            }
        }
    }
}

fn missing(found: &Found) -> Markup {
    html! {
        p.notice {
            @if found.revision.text_hidden {
                (rich!("The text of revision {} is hidden by the wiki: there is nothing to compare.", found.revision.revid.0))
            } @else {
                (rich!("The text of revision {} could not be had: there is nothing to compare.", found.revision.revid.0))
            }
        }
    }
}
