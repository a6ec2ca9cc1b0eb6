//! The list of articles, found by their title, with its filters in the address.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use malla_access::Permission;
use malla_queue::{Error, Scope, UnixMs};
use malla_wiki::pipeline::{Collection, Column, Compare, Field, Literal, Plan, Predicate, Stage};
use malla_wiki::{Page as Article, PageId, Row, Value, Wiki, WikiId};
use maud::{Markup, html};

use super::places::{ARTICLES, WIKI, article_link, article_path, find_all, wiki_link};
use super::search::{number_pager, page_number};
use super::{LIMITS, article};
use crate::caller::Person;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::{Refusal, mendable};
use crate::visitor::{See, Visitor};
use crate::{Console, export, parts, words};

const NAMES: &[&str] = &["title", "locale", "wiki", "sort"];
const ROWS: u64 = 50;
/// Articles that are looked up at the same time.
const AT_ONCE: usize = 8;

/// The columns that are asked for.
const SOURCE: [Field; 5] = [Field::Wiki, Field::PageId, Field::Title, Field::Locale, Field::LastExtraction];
const OF_WIKI: usize = 0;
const OF_NUMBER: usize = 1;
const OF_TITLE: usize = 2;
const OF_LOCALE: usize = 3;
const OF_EXTRACTION: usize = 4;

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let page = Page::new(ARTICLES, t!("Articles"))
        .lead(html! { (t!("Pages whose history is kept. Those that are watched are visited again by themselves.")) })
        .csv(params.only(NAMES).link("/wiki/articles.csv"))
        .still(filters(params));
    let (wanted, number) = match read(params) {
        Ok(read) => read,
        Err(error) => return wrong(page, error),
    };
    let scope = person.principal.scope();
    let skip = (number - 1).saturating_mul(ROWS);
    let (articles, more) = match find(console, &scope, params, &wanted, (skip, ROWS)).await {
        Ok(found) => found,
        Err(error) => return wrong(page, error),
    };
    let wikis = find_all(console, &scope, articles.iter().map(|article| article.wiki)).await?;
    let rows = match articles.as_slice() {
        [] => nothing(params, number),
        articles => html! { section.card { (table(person, console.now(), articles, &wikis)) } },
    };
    let total = count(console, person, wanted).await;
    Ok(page
        .live("total", how_many(total))
        .live("articles", rows)
        .live("pager", number_pager(ARTICLES, &params.only(NAMES), number, more)))
}

pub(crate) async fn csv(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Response, Refusal> {
    const COLUMNS: [&str; 11] = [
        "article",
        "wiki",
        "locale",
        "page",
        "revisions",
        "newest_revision_at",
        "first_extraction_at",
        "last_extraction_at",
        "complete_at",
        "watched",
        "deleted",
    ];
    let (wanted, scope, params) = (read(&params)?.0, visitor.principal.scope(), params.only(NAMES));
    Ok(export::csv("articles", &COLUMNS, move |skip: Option<u64>, most| {
        let (console, scope, params, wanted) = (console.clone(), scope.clone(), params.clone(), wanted.clone());
        async move {
            let (skip, rows) = (skip.unwrap_or(0), most as u64);
            let (articles, more) = find(&console, &scope, &params, &wanted, (skip, rows)).await?;
            let wikis = find_all(&console, &scope, articles.iter().map(|article| article.wiki)).await?;
            let cells = articles.iter().map(|article| cells(article, wikis.get(&article.wiki))).collect();
            Ok((cells, more.then_some(skip + rows)))
        }
    }))
}

fn cells(article: &Article, wiki: Option<&Wiki>) -> Vec<String> {
    let yes = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    vec![
        article.facts.title.clone(),
        wiki.map(|wiki| wiki.api.to_string()).unwrap_or_default(),
        wiki.map(|wiki| wiki.locale.clone()).unwrap_or_default(),
        article.pageid.0.to_string(),
        article.revisions.to_string(),
        export::moment(article.newest.map(|newest| newest.at)),
        export::moment(Some(article.first_extraction)),
        export::moment(Some(article.last_extraction)),
        export::moment(article.complete_at),
        yes(article.watched),
        yes(article.facts.deleted),
    ]
}

/// The filters stay, with what is wrong with them.
fn wrong(page: Page, error: Error) -> Result<Page, Refusal> {
    let sentence = mendable(error)?;
    Ok(page.status(StatusCode::BAD_REQUEST).still(parts::error_line(Some(&sentence))))
}

fn filters(params: &Params) -> Markup {
    let orders =
        [("", t!("by title")), ("newest", t!("newest extraction first")), ("oldest", t!("oldest extraction first"))];
    html! {
        form.filters method="get" action=(ARTICLES) role="search" {
            label.wide { span.label { (t!("Title")) }
                input type="search" name="title" value=(params.typed("title")) placeholder=(t!("part of a title")); }
            (parts::text_filter(params, t!("Locale"), "locale", "en"))
            (parts::text_filter(params, t!("Wiki's number"), "wiki", "1"))
            label { span.label { (t!("Order")) } (parts::select("sort", &orders, params.typed("sort"))) }
            div.buttons {
                button { (t!("Filter")) }
                @if !params.only(NAMES).is_empty() { a.button.plain href=(ARTICLES) { (t!("Clear")) } }
            }
        }
    }
}

/// What is wanted of the articles, and which page of them.
fn read(params: &Params) -> Result<(Predicate, u64), Error> {
    let mut wanted = Vec::new();
    if let Some(title) = params.get("title") {
        wanted.push(Predicate::Matches { column: OF_TITLE, regex: format!("(?i){}", literally(title)) });
    }
    if let Some(locale) = params.get("locale") {
        let value = Literal::Text(locale.to_owned());
        wanted.push(Predicate::Is { column: OF_LOCALE, compare: Compare::Eq, value });
    }
    if let Some(wiki) = params.get("wiki") {
        let number = wiki.parse().map_err(|_| Error::Invalid(say!("\"{wiki}\" is not the number of a wiki", wiki)))?;
        wanted.push(Predicate::Is { column: OF_WIKI, compare: Compare::Eq, value: Literal::Whole(number) });
    }
    Ok((Predicate::All(wanted), page_number(params)?))
}

/// A regular expression for this very text.
fn literally(text: &str) -> String {
    let mut regex = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(c) {
            regex.push('\\');
        }
        regex.push(c);
    }
    regex
}

fn plan(stages: Vec<Stage>, columns: Vec<Column>) -> Plan {
    Plan { collection: Collection::Articles, source: SOURCE.to_vec(), stages, columns }
}

/// `rows` of them after so many, and whether there are more.
async fn find(
    console: &Console,
    scope: &Scope,
    params: &Params,
    wanted: &Predicate,
    (skip, rows): (u64, u64),
) -> Result<(Vec<Article>, bool), Error> {
    let mut order = match params.get("sort") {
        Some("newest") => vec![(OF_EXTRACTION, true)],
        Some("oldest") => vec![(OF_EXTRACTION, false)],
        _ => vec![],
    };
    order.extend([(OF_TITLE, false), (OF_WIKI, false), (OF_NUMBER, false)]);
    let stages =
        vec![Stage::Match(wanted.clone()), Stage::Sort(order), Stage::Skip(skip), Stage::Limit(rows.saturating_add(1))];
    let column = |field: Field| Column { path: vec![field.name().to_owned()], kind: field.kind() };
    let columns = SOURCE.into_iter().map(column).collect();
    let mut found = console.wikis.ask(scope, &plan(stages, columns), LIMITS).await?;
    let more = found.len() as u64 > rows;
    found.truncate(rows as usize);
    let found = stream::iter(found.iter().filter_map(place)).map(|(wiki, page)| console.wikis.page(wiki, page));
    let found: Vec<Option<Article>> = found.buffered(AT_ONCE).try_collect().await?;
    Ok((found.into_iter().flatten().collect(), more))
}

fn place(row: &Row) -> Option<(WikiId, PageId)> {
    match (row.get(OF_WIKI)?, row.get(OF_NUMBER)?) {
        (Value::Whole(wiki), Value::Whole(page)) => Some((WikiId(*wiki), PageId(*page))),
        _ => None,
    }
}

/// Nothing if that takes too long to be counted.
async fn count(console: &Console, person: &Person, wanted: Predicate) -> Option<u64> {
    let columns = vec![Column { path: vec!["count".into()], kind: malla_wiki::pipeline::Type::Whole }];
    let plan = plan(vec![Stage::Match(wanted), Stage::Count], columns);
    let rows = console.wikis.ask(&person.principal.scope(), &plan, LIMITS).await.ok()?;
    match rows.first().and_then(|row| row.first()) {
        Some(Value::Whole(count)) => u64::try_from(*count).ok(),
        _ => Some(0),
    }
}

fn how_many(total: Option<u64>) -> Markup {
    html! { @if let Some(total) = total.filter(|total| *total > 0) { p.quiet { (counted!(total, "article", "articles")) } } }
}

fn nothing(params: &Params, number: u64) -> Markup {
    if number > 1 || !params.only(NAMES).is_empty() {
        return parts::empty(t!("No article matches."), Some((ARTICLES, t!("Show all articles"))));
    }
    parts::empty(t!("No history is kept yet: extract a first article."), Some((WIKI, t!("Go to the overview"))))
}

/// Articles as rows, each with the switch that watches it.
pub(super) fn table(
    person: &Person,
    now: UnixMs,
    articles: &[Article],
    wikis: &std::collections::HashMap<WikiId, Wiki>,
) -> Markup {
    html! {
        table.rows {
            thead { tr {
                th { (t!("Article")) } th { (t!("Wiki")) } th.num { (t!("Revisions")) } th { (t!("Newest revision")) } th { (t!("Last extraction")) }
                th { (t!("History")) } th { (t!("Watched")) } th {}
            } }
            tbody { @for article in articles { tr {
                td data-label=(t!("Article")) {
                    (article_link(article.wiki, article.pageid, &article.facts.title))
                    @if article.facts.deleted { " " (article::deleted()) }
                }
                td data-label=(t!("Wiki")) {
                    @match wikis.get(&article.wiki) { Some(wiki) => (wiki_link(wiki)), None => span.quiet { "–" } }
                }
                td.num data-label=(t!("Revisions")) { (words::count(article.revisions)) }
                td data-label=(t!("Newest revision")) { (parts::moment(now, article.newest.map(|newest| newest.at))) }
                td data-label=(t!("Last extraction")) { (words::time(now, article.last_extraction)) }
                td data-label=(t!("History")) { (article::completeness(article)) }
                td data-label=(t!("Watched")) { @if article.watched { (t!("yes")) } @else { span.quiet { (t!("no")) } } }
                td.end { @if person.may(Permission::Change) { (switch(person, article)) } }
            } } }
        }
    }
}

/// The button that turns watching on or off.
pub(super) fn switch(person: &Person, article: &Article) -> Markup {
    let action = format!("{}/watch", article_path(article.wiki, article.pageid));
    html! {
        form.actions method="post" action=(action) {
            (parts::form_secret(person)) (parts::back(person))
            @if article.watched { button.small name="watched" value="no" { (t!("Unwatch")) } }
            @else { button.small name="watched" value="yes" { (t!("Watch")) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_searched_as_it_is_written() {
        assert_eq!(literally("C++ (language)"), r"C\+\+ \(language\)");
        assert_eq!(literally("Ñandú"), "Ñandú");
    }

    #[test]
    fn a_wiki_is_a_number() {
        let wrong = read(&Params::from([("wiki", "en")])).expect_err("a number");
        assert_eq!(wrong, Error::Invalid("\"en\" is not the number of a wiki".into()));
    }
}
