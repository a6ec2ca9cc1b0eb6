//! The pages whose histories are kept: listed, looked at, watched or not.

use std::str::FromStr;

use axum::Json;
use axum::extract::State;
use malla_protocol::{Page as Part, PageQuery, WikiPage, WikiPageChange, WikiPageQuery};
use malla_queue::{Act, Scope};
use malla_wiki::pipeline::{Collection, Column, Compare, Field, Literal, Plan, Predicate, Stage};
use malla_wiki::{Page, PageId, Value, WikiId};
use serde_json::json;

use super::LIMITS;
use crate::App;
use crate::auth::{Change, May, See};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{Path, Query, limit};
use crate::routes::page;
use crate::view;
use crate::write::Write;

/// Wikis that are looked at in one go for a page of the list.
const WIKIS_STEP: usize = 100;

/// List pages, in the order of the numbers of their wiki and their own.
#[utoipa::path(get, path = "/api/v1/wiki/pages", tag = "wiki", operation_id = "list_pages",
    params(WikiPageQuery, PageQuery), responses((status = 200, body = Part<WikiPage>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn list(
    State(app): State<App>,
    who: May<See>,
    Query(query, part): Query<WikiPageQuery, PageQuery>,
) -> Result<Json<Part<WikiPage>>, Refusal> {
    let (limit, scope) = (limit(&part)?, who.scope());
    let after: Option<Place> = cursor::read_as(List::WikiPages, part.cursor.as_deref())?;
    let found = match (&query.title, query.pageid) {
        (None, None) => walk(&app, &scope, query.wiki.map(WikiId), after, limit + 1).await?,
        _ => search(&app, &scope, &query, after, limit + 1).await?,
    };
    let place = |page: &Page| Place { wiki: page.wiki, pageid: page.pageid }.to_string();
    Ok(Json(page(List::WikiPages, found, limit, place, view::wiki::page)))
}

/// Where the list goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    wiki: WikiId,
    pageid: PageId,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.wiki.0, self.pageid.0)
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (wiki, pageid) = text.split_once('/').ok_or(())?;
        Ok(Self { wiki: WikiId(wiki.parse().map_err(drop)?), pageid: PageId(pageid.parse().map_err(drop)?) })
    }
}

/// One wiki after the other, from the one in which the list goes on.
async fn walk(
    app: &App,
    scope: &Scope,
    only: Option<WikiId>,
    after: Option<Place>,
    wanted: usize,
) -> Result<Vec<Page>, Refusal> {
    let mut found = Vec::new();
    if let Some(only) = only {
        let wiki = app.wikis.wiki(scope, only).await?;
        let after = after.filter(|place| place.wiki == wiki.id).map(|place| place.pageid);
        return Ok(app.wikis.pages(wiki.id, after, wanted).await?);
    }
    let mut before = after.map(|place| WikiId(place.wiki.0 - 1));
    loop {
        let wikis = app.wikis.wikis(scope, before, WIKIS_STEP).await?;
        for wiki in wikis.iter().filter(|wiki| wiki.pages > 0) {
            let after = after.filter(|place| place.wiki == wiki.id).map(|place| place.pageid);
            found.extend(app.wikis.pages(wiki.id, after, wanted - found.len()).await?);
            if found.len() >= wanted {
                return Ok(found);
            }
        }
        if wikis.len() < WIKIS_STEP {
            return Ok(found);
        }
        before = wikis.last().map(|wiki| wiki.id);
    }
}

/// Those with a title or a number.
async fn search(
    app: &App,
    scope: &Scope,
    query: &WikiPageQuery,
    after: Option<Place>,
    wanted: usize,
) -> Result<Vec<Page>, Refusal> {
    if let Some(wiki) = query.wiki {
        app.wikis.wiki(scope, WikiId(wiki)).await?;
    }
    let rows = app.wikis.ask(scope, &plan(query, after, wanted), LIMITS).await?;
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        let [Value::Whole(wiki), Value::Whole(pageid), ..] = *row.as_slice() else { return Err(Refusal::internal()) };
        found.extend(app.wikis.page(WikiId(wiki), PageId(pageid)).await?);
    }
    Ok(found)
}

const WIKI: usize = 0;
const PAGEID: usize = 1;
const TITLE: usize = 2;

fn plan(query: &WikiPageQuery, after: Option<Place>, wanted: usize) -> Plan {
    let is = |column, compare, value| Predicate::Is { column, compare, value };
    let mut all = Vec::new();
    all.extend(query.title.clone().map(|title| is(TITLE, Compare::Eq, Literal::Text(title))));
    all.extend(query.pageid.map(|pageid| is(PAGEID, Compare::Eq, Literal::Whole(pageid))));
    all.extend(query.wiki.map(|wiki| is(WIKI, Compare::Eq, Literal::Whole(wiki))));
    all.extend(after.map(|Place { wiki, pageid }| {
        let later = is(PAGEID, Compare::Gt, Literal::Whole(pageid.0));
        let same = Predicate::All(vec![is(WIKI, Compare::Eq, Literal::Whole(wiki.0)), later]);
        Predicate::Any(vec![is(WIKI, Compare::Gt, Literal::Whole(wiki.0)), same])
    }));
    let source = vec![Field::Wiki, Field::PageId, Field::Title];
    let names = ["wiki", "pageid", "title"];
    let columns =
        names.iter().zip(&source).map(|(name, field)| Column { path: vec![(*name).into()], kind: field.kind() });
    Plan {
        collection: Collection::Articles,
        columns: columns.collect(),
        source,
        stages: vec![
            Stage::Match(Predicate::All(all)),
            Stage::Sort(vec![(WIKI, false), (PAGEID, false)]),
            Stage::Limit(wanted as u64),
        ],
    }
}

/// Show one page.
#[utoipa::path(get, path = "/api/v1/wiki/pages/{wiki}/{pageid}", tag = "wiki", operation_id = "show_page",
    params(("wiki" = i64, Path), ("pageid" = i64, Path)), responses((status = 200, body = WikiPage)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn show(
    State(app): State<App>,
    who: May<See>,
    Path((wiki, pageid)): Path<(String, String)>,
) -> Result<Json<WikiPage>, Refusal> {
    let (_, page) = super::page(&app, &who, &wiki, &pageid).await?;
    Ok(Json(view::wiki::page(page)))
}

/// Watch a page, or no longer.
///
/// A page that is watched is visited again without anybody asking; one that is not is read anew only when it is extracted.
#[utoipa::path(patch, path = "/api/v1/wiki/pages/{wiki}/{pageid}", tag = "wiki", operation_id = "change_page",
    params(("wiki" = i64, Path), ("pageid" = i64, Path)), request_body = WikiPageChange,
    responses((status = 200, body = WikiPage)), extensions(("x-permission" = json!("change"))))]
pub(crate) async fn change(
    State(app): State<App>,
    who: May<Change>,
    Path((wiki, pageid)): Path<(String, String)>,
    write: Write<WikiPageChange>,
) -> Result<Json<WikiPage>, Refusal> {
    let (wiki, page) = super::page(&app, &who, &wiki, &pageid).await?;
    let watched = write.body.watched;
    let act = write.act(&who, "wiki.watch", page.facts.title);
    let act = Act { group: wiki.group, detail: json!({ "wiki": wiki.id.0, "watched": watched }), ..act };
    let page = app.wikis.watch(&who.scope(), wiki.id, page.pageid, watched, act).await?;
    Ok(Json(view::wiki::page(page)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_reads_back() {
        let place = Place { wiki: WikiId(3), pageid: PageId(17) };
        assert_eq!(place.to_string().parse::<Place>(), Ok(place));
        assert!("3".parse::<Place>().is_err());
    }
}
