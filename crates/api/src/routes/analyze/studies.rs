//! Analyses themselves: begun, listed, looked at, completed, cancelled.

use axum::Json;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderName, StatusCode};
use malla_analyze::{NewStudy, Only, Study, StudyId};
use malla_protocol::{Analysis, Complete, NewAnalysis, Page, PageQuery};
use malla_queue::Act;
use serde_json::json;

use super::shown;
use crate::App;
use crate::auth::{Change, May, See};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{NoParams, Path, Query, limit};
use crate::routes::owner::owner;
use crate::routes::page;
use crate::view::{self, GroupNames};
use crate::write::{AnyJson, NoBody, Write};

/// Begin an analysis.
///
/// Its batches go to `/api/v1/analyses/{id}/{input}/{city}/{seq}`; its answers are at
/// `/api/v1/analyses/{id}/results/{name}`. While as many as may be are under way, this is refused with `not_available`.
#[utoipa::path(post, path = "/api/v1/analyses", tag = "analyze", operation_id = "begin_analysis",
    request_body = NewAnalysis, responses((status = 201, body = Analysis)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn begin(
    State(app): State<App>,
    who: May<Change>,
    write: Write<AnyJson<NewAnalysis>>,
) -> Result<(StatusCode, [(HeaderName, String); 1], Json<Analysis>), Refusal> {
    let NewAnalysis { kind, params, group } = &write.body.0;
    let group = owner(&app, &who, group.as_deref()).await?.map(|owner| owner.id);
    let new = NewStudy::new(group, kind, params, app.analyzing.studies_max)?;
    let detail = json!({ "params": new.params });
    let act = Act { group, detail, ..write.act(&who, "analysis.begin", new.kind) };
    let study = app.analyze.begin(new, act).await?;
    let place = format!("/api/v1/analyses/{}", study.id);
    Ok((StatusCode::CREATED, [(LOCATION, place)], shown(&app, study).await?))
}

/// List analyses, newest first.
#[utoipa::path(get, path = "/api/v1/analyses", tag = "analyze", operation_id = "list_analyses",
    params(PageQuery), responses((status = 200, body = Page<Analysis>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn list(
    State(app): State<App>,
    who: May<See>,
    Query(query, NoParams {}): Query<PageQuery, NoParams>,
) -> Result<Json<Page<Analysis>>, Refusal> {
    let limit = limit(&query)?;
    let below: Option<StudyId> = cursor::read_as(List::Analyses, query.cursor.as_deref())?;
    let found = app.analyze.studies(&who.scope(), below, limit + 1).await?;
    let names = GroupNames::of(&app, found.iter().map(|study| study.group)).await?;
    let (place, now) = (|study: &Study| study.id.to_string(), app.clock.now());
    Ok(Json(page(List::Analyses, found, limit, place, |study| view::analyze::analysis(study, &names, now))))
}

/// Show how far an analysis is.
#[utoipa::path(get, path = "/api/v1/analyses/{id}", tag = "analyze", operation_id = "show_analysis",
    params(("id" = String, Path)), responses((status = 200, body = Analysis)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn show(
    State(app): State<App>,
    who: May<See>,
    Path(id): Path<String>,
) -> Result<Json<Analysis>, Refusal> {
    let study = app.analyze.study(&who.scope(), id.parse()?).await?;
    shown(&app, study).await
}

/// Say that all batches were sent, and how many.
///
/// If another number came, this is refused with `conflict`: send what is missing, then complete it again.
#[utoipa::path(post, path = "/api/v1/analyses/{id}/complete", tag = "analyze", operation_id = "complete_analysis",
    params(("id" = String, Path)), request_body = Complete, responses((status = 200, body = Analysis)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn complete(
    State(app): State<App>,
    who: May<Change>,
    Path(id): Path<String>,
    write: Write<AnyJson<Complete>>,
) -> Result<Json<Analysis>, Refusal> {
    let AnyJson(Complete { batches }) = write.body;
    let act = Act { detail: json!({ "batches": batches }), ..write.act(&who, "analysis.complete", &id) };
    let study = app.analyze.complete(&who.scope(), id.parse()?, batches, act).await?;
    shown(&app, study).await
}

/// Cancel an analysis and free what it holds. One that is over is forgotten, answers included.
#[utoipa::path(delete, path = "/api/v1/analyses/{id}", tag = "analyze", operation_id = "cancel_analysis",
    params(("id" = String, Path)), responses((status = 204)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn cancel(
    State(app): State<App>,
    who: May<Change>,
    Path(id): Path<String>,
    write: Write<NoBody>,
) -> Result<StatusCode, Refusal> {
    let act = write.act(&who, "analysis.cancel", &id);
    app.analyze.cancel(&who.scope(), id.parse()?, Only::Either, act).await?;
    Ok(StatusCode::NO_CONTENT)
}
