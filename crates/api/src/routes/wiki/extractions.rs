//! Extractions: those under way, and those that are over.

use axum::Json;
use axum::extract::State;
use malla_protocol::{ExtractionStatus, ExtractionView, Page, PageQuery};
use malla_wiki::{Extraction, ExtractionId};

use crate::App;
use crate::auth::{May, See};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{NoParams, Path, Query, limit};
use crate::routes::page;
use crate::view::{self, GroupNames};

/// List extractions, newest first.
#[utoipa::path(get, path = "/api/v1/wiki/extractions", tag = "wiki", operation_id = "list_extractions",
    params(PageQuery), responses((status = 200, body = Page<ExtractionView>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn list(
    State(app): State<App>,
    who: May<See>,
    Query(query, NoParams {}): Query<PageQuery, NoParams>,
) -> Result<Json<Page<ExtractionView>>, Refusal> {
    let limit = limit(&query)?;
    let below: Option<ExtractionId> = cursor::read_as(List::Extractions, query.cursor.as_deref())?;
    let found = app.wikis.extractions(&who.scope(), below, limit + 1).await?;
    let names = GroupNames::of(&app, found.iter().map(|extraction| extraction.group)).await?;
    let (place, now) = (|extraction: &Extraction| extraction.id.to_string(), app.clock.now());
    Ok(Json(page(List::Extractions, found, limit, place, |one| view::wiki::extraction(one, &names, now))))
}

/// Show one extraction.
#[utoipa::path(get, path = "/api/v1/wiki/extractions/{id}", tag = "wiki", operation_id = "show_extraction",
    params(("id" = String, Path)), responses((status = 200, body = ExtractionStatus)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn show(
    State(app): State<App>,
    who: May<See>,
    Path(id): Path<String>,
) -> Result<Json<ExtractionStatus>, Refusal> {
    let extraction = app.wikis.extraction(&who.scope(), id.parse()?).await?;
    let names = GroupNames::of(&app, [extraction.group]).await?;
    Ok(Json(view::wiki::status(extraction, &names, app.clock.now())))
}
