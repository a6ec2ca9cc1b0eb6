//! One article: what is known of it, its history in charts, its newest revisions, and what can be done with it.

mod charts;
mod figures;
mod week;

use std::time::Duration;

pub(super) use self::charts::of_wiki;
use axum::extract::{Path, State as Shared};
use axum::response::Response;
use malla_access::Permission;
use malla_queue::{Act, Error, UnixMs};
use malla_wiki::metrics::{self, ArticleMetrics};
use malla_wiki::{Extraction, ExtractionState, Page as Article, Target, Wiki};
use maud::{Markup, html};

use super::lines::{self, Line, Sizes};
use super::places::{ARTICLES, REVISIONS, article_path, find_page, name, there, wiki_link, wiki_path};
use super::{articles, extract, extraction, titled};
use crate::caller::{Notice, Person};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, See, Visitor, go};
use crate::{Console, parts, words};

/// Revisions on the page: the others are in the list of revisions.
const NEWEST: usize = 30;
/// For the figures of a history.
const PATIENCE: Duration = Duration::from_secs(10);
/// Extractions that are looked through for one of this article.
const SEEN: usize = 200;

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    Path((wiki, page)): Path<(String, String)>,
    visitor: Visitor<See>,
) -> Result<Page, Refusal> {
    let (wiki, article) = find_page(&console, &visitor, &wiki, &page).await?;
    let newest = newest(&console, &visitor, &article).await?;
    let sizes = lines::sizes(&console, &newest).await?;
    let measured = measure(&console, &wiki, &article).await?;
    let week = week::of(&console, &visitor.principal.scope(), &article).await?;
    let page = page_of(&console, &visitor, &wiki, &article).await?;
    Ok(page
        .still(figures::tiles(measured.as_ref()))
        .still(charts::cards(measured.as_ref(), week.as_ref()))
        .still(revisions(&article, &newest, &sizes))
        .still(figures::cards(console.now(), wiki.id, measured.as_ref())))
}

/// The page for somebody who has it open: what is dear to make stays as it was.
pub(crate) async fn live(console: &Console, person: &Person, wiki: &str, page: &str) -> Result<Page, Refusal> {
    let (wiki, article) = find_page(console, person, wiki, page).await?;
    page_of(console, person, &wiki, &article).await
}

async fn page_of(console: &Console, person: &Person, wiki: &Wiki, article: &Article) -> Result<Page, Refusal> {
    let seen = console.wikis.extractions(&person.principal.scope(), None, SEEN).await?;
    let of_this = |one: &&Extraction| one.wiki == Some(wiki.id) && one.pageid == Some(article.pageid);
    let latest = seen.iter().find(of_this);
    let now = console.now();
    Ok(Page::new(ARTICLES, titled(&article.facts.title))
        .up(ARTICLES, t!("Articles"))
        .lead(html! {
            (rich!("{}, page {}", wiki_link(wiki), article.pageid.0))
            @if article.facts.deleted { " " (deleted()) }
        })
        .live("progress", under_way(now, latest))
        .still(actions(console, person, wiki, article))
        .live("facts", facts(now, article)))
}

pub(super) fn deleted() -> Markup {
    html! { span.badge.s-failed title=(t!("The wiki no longer has it; what was kept stays")) { (t!("deleted")) } }
}

/// Whether all of the history is here.
pub(super) fn completeness(article: &Article) -> Markup {
    html! {
        @match article.complete_at {
            Some(_) => span.badge.s-succeeded { (t!("complete")) },
            None => span.badge.s-paused title=(t!("The walk has not reached the end of the history yet")) { (t!("in part")) },
        }
    }
}

/// An extraction that goes on, or that failed last.
fn under_way(now: UnixMs, latest: Option<&Extraction>) -> Markup {
    let told = latest.filter(|one| one.state != ExtractionState::Succeeded);
    html! { @if let Some(one) = told { (extraction::progress(now, one)) } }
}

fn actions(console: &Console, person: &Person, wiki: &Wiki, article: &Article) -> Markup {
    let extract = format!("{}/extract", article_path(wiki.id, article.pageid));
    let api = format!("/api/v1/wiki/pages/{}/{}", wiki.id, article.pageid.0);
    let name = format!("{}-{}.csv", wiki.id, article.pageid.0);
    html! {
        div.buttons.ways {
            @if person.may(Permission::Change) && extract::may_leave(console) {
                form method="post" action=(extract) { (parts::form_secret(person)) button.primary { (t!("Extract again")) } }
            }
            @if person.may(Permission::Change) { (articles::switch(person, article)) }
            @if let Some(there) = there(wiki, article.pageid) { a.button.plain href=(there) rel="noreferrer" { (t!("At the wiki")) } }
            a.button.plain href={ (api) "/revisions?format=csv" } download=(name) { (t!("History as CSV")) }
            a.button.plain href={ (api) "/revisions" } { (t!("as JSON")) }
            a.button.plain href={ (api) "/metrics" } { (t!("Figures as JSON")) }
        }
    }
}

fn facts(now: UnixMs, article: &Article) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { (t!("What is kept")) } span { (completeness(article)) } }
            dl.facts.two {
                dt { (t!("Revisions")) } dd { (words::count(article.revisions)) }
                dt { (t!("Watched")) } dd { @if article.watched { (t!("yes: it is visited again by itself")) } @else { (t!("no")) } }
                dt { (t!("First extraction")) } dd { (words::time(now, article.first_extraction)) }
                dt { (t!("Last extraction")) } dd { (words::time(now, article.last_extraction)) }
                dt { (t!("Newest revision")) } dd { (parts::moment(now, article.newest.map(|newest| newest.at))) }
                dt { (t!("Last visit")) } dd { (parts::moment(now, article.visited_at)) }
                dt { (t!("Compared with the wiki's list")) } dd { (parts::moment(now, article.reconciled_at)) }
                dt { (t!("Namespace")) } dd { (article.facts.ns) }
            }
        }
    }
}

async fn newest(console: &Console, person: &Person, article: &Article) -> Result<Vec<Line>, Refusal> {
    let pairs = [
        ("wiki", article.wiki.to_string()),
        ("pageid", article.pageid.0.to_string()),
        ("sort", "desc".into()),
        ("page_size", NEWEST.to_string()),
    ];
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value)).into();
    Ok(lines::find(console, &person.principal.scope(), pairs).await?)
}

/// Takes a while for a long history: a few at a time, and nothing if it would take longer than somebody waits.
async fn measure(console: &Console, wiki: &Wiki, article: &Article) -> Result<Option<ArticleMetrics>, Refusal> {
    let measuring = async {
        let _turn = console.measuring.acquire().await;
        metrics::of_page(console.wikis.as_ref(), wiki, article.pageid).await
    };
    Ok(tokio::time::timeout(PATIENCE, measuring).await.ok().transpose()?)
}

/// The newest ones, with a choice of two to compare: it works without a script.
fn revisions(article: &Article, lines: &[Line], sizes: &Sizes) -> Markup {
    let shown = &lines[..lines.len().min(NEWEST)];
    let (wiki, page) = (article.wiki.to_string(), article.pageid.0.to_string());
    let all = Params::from([("wiki", wiki.as_str()), ("pageid", page.as_str())]).link(REVISIONS);
    let choice = |nth: usize, line: &Line| {
        html! {
            span.pick {
                input type="radio" name="from" value=(line.revid.0) checked[nth == 1] aria-label=(say!("From revision {}", line.revid.0));
                input type="radio" name="to" value=(line.revid.0) checked[nth == 0] aria-label=(say!("To revision {}", line.revid.0));
            }
        }
    };
    html! {
        section.card {
            form method="get" action={ (wiki_path(article.wiki)) "/compare" } {
                div.card-head {
                    h2 { (t!("Newest revisions")) }
                    span.links {
                        @if shown.len() > 1 { button.small { (t!("Compare the two chosen")) } }
                        a href=(all) { (t!("All revisions")) }
                    }
                }
                @if shown.is_empty() { p.quiet { (t!("None is kept yet.")) } }
                @else { (lines::table(shown, sizes, false, (shown.len() > 1).then_some(&choice))) }
            }
        }
    }
}

pub(crate) async fn extract(
    Shared(console): Shared<Console>,
    Path((wiki, page)): Path<(String, String)>,
    posted: Posted<Change>,
) -> Result<Response, Refusal> {
    let (wiki, article) = find_page(&console, &posted.visitor, &wiki, &page).await?;
    let url = there(&wiki, article.pageid)
        .ok_or_else(|| Error::Invalid(format!("{} has no address that can be asked", name(&wiki))))?;
    match extract::ask(&console, &posted.visitor, wiki.group, Target::Url(url.clone()), &url).await {
        Ok(extraction) => Ok(extract::begun(&console, &extraction)),
        Err(trouble) => {
            let notice = Notice::bad(trouble.mend()?.into_sentence());
            Ok(go(&console, &article_path(wiki.id, article.pageid), notice))
        }
    }
}

pub(crate) async fn watch(
    Shared(console): Shared<Console>,
    Path((wiki, page)): Path<(String, String)>,
    posted: Posted<Change>,
) -> Result<Response, Refusal> {
    let (wiki, article) = find_page(&console, &posted.visitor, &wiki, &page).await?;
    let watched = posted.fields.typed("watched") == "yes";
    let principal = &posted.visitor.principal;
    let title = titled(&article.facts.title);
    let detail = serde_json::json!({ "watched": watched });
    let act = Act { group: wiki.group, detail, ..Act::new(&principal.actor, "wiki.watch", title) };
    console.wikis.watch(&principal.scope(), wiki.id, article.pageid, watched, act).await?;
    let sentence = match watched {
        true => say!("\"{title}\" is watched: it is visited again by itself.", title),
        false => say!("\"{title}\" is not watched any more: it stays as it is until somebody asks.", title),
    };
    let back = posted.back(&article_path(wiki.id, article.pageid));
    Ok(go(&console, &back, Notice::good(sentence)))
}
