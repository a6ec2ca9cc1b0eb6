//! Revisions of all articles, found by their filters, with how many there are.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::Response;
use malla_queue::{Error, Scope};
use malla_wiki::questions;
use maud::{Markup, html};

use super::places::{REVISIONS, WIKI};
use super::{LIMITS, lines};
use crate::caller::Person;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::{Refusal, mendable};
use crate::visitor::{See, Visitor};
use crate::{Console, export, parts, words};

/// Wikis whose revisions are added up.
const WIKIS_MAX: usize = 500;
/// The filters of the page. Others that the API takes are taken as well, if they stand in the address.
const NAMES: &[&str] = &[
    "title",
    "pageid",
    "user",
    "userid",
    "tag",
    "date",
    "datestart",
    "dateend",
    "size",
    "sizematch",
    "locale",
    "wiki",
    "sort",
];
const ROWS: usize = 50;
/// Rows of a file that are read at once: the most that the room gives.
const FILE_STEP: usize = 200;
/// Further pages take longer and longer to reach: filters find it sooner.
const PAGES_MAX: u64 = 10_000;

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    let page = Page::new(REVISIONS, t!("Revisions"))
        .lead(html! { (t!("Every version of every article that is kept.")) })
        .csv(params.only(NAMES).link("/wiki/revisions.csv"))
        .still(filters(&params));
    match found(&console, &visitor, &params).await {
        Ok(blocks) => Ok(blocks.into_iter().fold(page, Page::still)),
        Err(error) => {
            let sentence = mendable(error)?;
            Ok(page.status(StatusCode::BAD_REQUEST).still(parts::error_line(Some(&sentence))))
        }
    }
}

fn filters(params: &Params) -> Markup {
    let order = [("", t!("newest first")), ("asc", t!("oldest first"))];
    let compared = [("1", t!("larger than")), ("-1", t!("smaller than")), ("0", t!("exactly"))];
    html! {
        form.filters method="get" action=(REVISIONS) role="search" {
            label.wide { span.label { (t!("Title")) }
                input type="search" name="title" value=(params.typed("title")) placeholder=(t!("the whole title")); }
            (parts::text_filter(params, t!("User"), "user", t!("the whole name")))
            (parts::text_filter(params, t!("Tag"), "tag", "mobile edit"))
            (day(params, t!("From (UTC)"), "datestart"))
            (day(params, t!("To, included"), "dateend"))
            label { span.label { (t!("Size is")) } (parts::select("sizematch", &compared, params.get("sizematch").unwrap_or("1"))) }
            (parts::text_filter(params, t!("Bytes"), "size", "10000"))
            (parts::text_filter(params, t!("Locale"), "locale", "en"))
            label { span.label { (t!("Order")) } (parts::select("sort", &order, params.typed("sort"))) }
            // What came with a link from elsewhere stays.
            (params.only(&["pageid", "userid", "wiki", "date"]).hidden())
            div.buttons {
                button { (t!("Filter")) }
                @if !params.only(NAMES).is_empty() { a.button.plain href=(REVISIONS) { (t!("Clear")) } }
            }
        }
    }
}

fn day(params: &Params, label: &str, name: &str) -> Markup {
    html! { label.time { span.label { (label) } input type="date" name=(name) value=[params.get(name)]; } }
}

async fn found(console: &Console, person: &Person, params: &Params) -> Result<Vec<Markup>, Error> {
    let scope = person.principal.scope();
    let number = page_number(params)?;
    let lines = lines::find(console, &scope, paged(params, number, ROWS)).await?;
    let total = count(console, &scope, params).await?;
    let more = match total {
        Some(total) => number * (ROWS as u64) < total,
        None => lines.len() == ROWS,
    };
    let sizes = lines::sizes(console, &lines).await?;
    let rows = match lines.as_slice() {
        [] => nothing(params),
        lines => html! { section.card { (lines::table(lines, &sizes, true, None)) } },
    };
    let api = params.only(NAMES).with("sort", order(params)).link("/api/v1/revisions");
    let told = html! {
        @if let Some(total) = total.filter(|total| *total > 0) {
            p.quiet { (counted!(total, "revision", "revisions")) " · " a href=(api) { "JSON" } }
        }
    };
    Ok(vec![told, rows, number_pager(REVISIONS, &params.only(NAMES), number, more)])
}

/// How many match; `None` if they take too long to be counted. How many there are in all, each wiki knows.
async fn count(console: &Console, scope: &Scope, params: &Params) -> Result<Option<u64>, Error> {
    let counting = questions::count(&pairs(params))?;
    if params.without("sort").without("page").is_empty() {
        let wikis = console.wikis.wikis(scope, None, WIKIS_MAX).await?;
        if wikis.len() < WIKIS_MAX {
            return Ok(Some(wikis.iter().map(|wiki| wiki.revisions).sum()));
        }
    }
    Ok(console.reader.count(scope, &counting, LIMITS).await.ok())
}

/// All that match as a file, without their texts.
pub(crate) async fn csv(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Response, Refusal> {
    let (scope, params) = (visitor.principal.scope(), params.only(NAMES));
    // What cannot be read is said before the file begins.
    questions::count(&pairs(&params))?;
    Ok(export::csv("revisions", &lines::COLUMNS, move |number: Option<u64>, most| {
        let (console, scope, params) = (console.clone(), scope.clone(), params.clone());
        async move {
            let (number, rows) = (number.unwrap_or(1), most.min(FILE_STEP));
            let lines = lines::find(&console, &scope, paged(&params, number, rows)).await?;
            let more = lines.len() == rows;
            Ok((lines.iter().map(lines::Line::cells).collect(), more.then_some(number + 1)))
        }
    }))
}

fn order(params: &Params) -> &'static str {
    if params.get("sort") == Some("asc") { "asc" } else { "desc" }
}

/// The filters with the page that is wanted.
fn paged(params: &Params, number: u64, rows: usize) -> Vec<(String, String)> {
    let page = [("sort", order(params).to_owned()), ("page", number.to_string()), ("page_size", rows.to_string())];
    pairs(params).into_iter().chain(page.map(|(name, value)| (name.to_owned(), value))).collect()
}

/// The filters as the room reads them. How a size is compared means nothing without one.
fn pairs(params: &Params) -> Vec<(String, String)> {
    let names = NAMES.iter().filter(|name| **name != "sort");
    let names = names.filter(|name| **name != "sizematch" || params.get("size").is_some());
    let pair = |name: &&str| Some(((*name).to_owned(), params.get(name)?.to_owned()));
    names.filter_map(pair).collect()
}

fn nothing(params: &Params) -> Markup {
    if !params.only(NAMES).is_empty() || params.get("page").is_some() {
        return parts::empty(t!("No revision matches these filters."), Some((REVISIONS, t!("Show all revisions"))));
    }
    parts::empty(t!("No history is kept yet: extract a first article."), Some((WIKI, t!("Go to the overview"))))
}

/// Pages are counted from one.
pub(super) fn page_number(params: &Params) -> Result<u64, Error> {
    let Some(text) = params.get("page") else { return Ok(1) };
    let number = text.parse().ok().filter(|number| (1..=PAGES_MAX).contains(number));
    number.ok_or_else(|| Error::Invalid(say!("page: \"{text}\" is not a number from 1 to {}", text, PAGES_MAX)))
}

pub(super) fn number_pager(path: &str, params: &Params, number: u64, more: bool) -> Markup {
    let to = |number: u64| match number {
        1 => params.link(path),
        number => params.with("page", number.to_string()).link(path),
    };
    html! {
        nav.pager aria-label=(t!("More")) {
            @if number > 1 {
                a.button href=(to(number - 1)) { (t!("← Back")) }
                span.quiet { (rich!("page {}", words::count(number))) }
            }
            @if more && number < PAGES_MAX { a.button href=(to(number + 1)) { (t!("Further →")) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_size_is_compared_needs_a_size() {
        let told = |params: Params| pairs(&params).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(told(Params::from([("sizematch", "1"), ("user", " ")])), [""; 0]);
        assert_eq!(told(Params::from([("sizematch", "1"), ("size", "9"), ("other", "x")])), ["size", "sizematch"]);
    }

    #[test]
    fn pages_are_counted_from_one() {
        assert_eq!(page_number(&Params::default()), Ok(1));
        assert_eq!(page_number(&Params::from([("page", "7")])), Ok(7));
        for text in ["0", "-1", "x", "10001"] {
            assert!(page_number(&Params::from([("page", text)])).is_err(), "{text}");
        }
        let text = number_pager("/x", &Params::from([("title", "a")]), 2, true).into_string();
        assert!(text.contains("href=\"/x?title=a\"") && text.contains("href=\"/x?title=a&amp;page=3\""), "{text}");
    }
}
