//! The wikis that something is kept of.

use axum::Json;
use axum::extract::State;
use malla_protocol::{Page, PageQuery, WikiDetail, WikiView};
use malla_wiki::{Wiki, WikiId};

use super::wiki;
use crate::App;
use crate::auth::{May, See};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{NoParams, Path, Query, limit};
use crate::routes::page;
use crate::view::{self, GroupNames};

/// List wikis, in the order of their numbers.
#[utoipa::path(get, path = "/api/v1/wiki/wikis", tag = "wiki", operation_id = "list_wikis",
    params(PageQuery), responses((status = 200, body = Page<WikiView>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn list(
    State(app): State<App>,
    who: May<See>,
    Query(query, NoParams {}): Query<PageQuery, NoParams>,
) -> Result<Json<Page<WikiView>>, Refusal> {
    let limit = limit(&query)?;
    let after = cursor::read_as(List::Wikis, query.cursor.as_deref())?.map(WikiId);
    let found = app.wikis.wikis(&who.scope(), after, limit + 1).await?;
    let names = GroupNames::of(&app, found.iter().map(|wiki| wiki.group)).await?;
    let place = |wiki: &Wiki| wiki.id.to_string();
    Ok(Json(page(List::Wikis, found, limit, place, |one| view::wiki::wiki(&one, &names))))
}

/// Show one wiki with what it said about itself.
#[utoipa::path(get, path = "/api/v1/wiki/wikis/{wiki}", tag = "wiki", operation_id = "show_wiki",
    params(("wiki" = i64, Path)), responses((status = 200, body = WikiDetail)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn show(
    State(app): State<App>,
    who: May<See>,
    Path(number): Path<String>,
) -> Result<Json<WikiDetail>, Refusal> {
    let found = wiki(&app, &who, &number).await?;
    let names = GroupNames::of(&app, [found.group]).await?;
    Ok(Json(WikiDetail { wiki: view::wiki::wiki(&found, &names), about: found.about }))
}
