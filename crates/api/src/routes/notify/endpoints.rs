//! Endpoints: list, make, show, change, delete.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use malla_notify::{Endpoint, EndpointOptions};
use malla_protocol::{EndpointChange, EndpointView, NewEndpoint, Page, PageQuery};
use malla_queue::Act;

use super::super::owner::owner;
use super::super::page;
use super::{endpoint_options, told};
use crate::App;
use crate::auth::{Change, May, See};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{NoParams, Path, Query, limit};
use crate::view::{self, GroupNames};
use crate::write::{NoBody, Write};

/// List endpoints in the order of their names.
#[utoipa::path(get, path = "/api/v1/endpoints", tag = "notify", operation_id = "list_endpoints",
    params(PageQuery), responses((status = 200, body = Page<EndpointView>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn list(
    State(app): State<App>,
    who: May<See>,
    Query(query, NoParams {}): Query<PageQuery, NoParams>,
) -> Result<Json<Page<EndpointView>>, Refusal> {
    let (limit, after) = (limit(&query)?, cursor::read(List::Endpoints, query.cursor.as_deref())?);
    let found = app.notify.endpoints(&who.scope(), after.as_deref(), limit + 1).await?;
    let names = GroupNames::of(&app, found.iter().map(|endpoint| endpoint.group)).await?;
    let place = |endpoint: &Endpoint| endpoint.name.clone();
    Ok(Json(page(List::Endpoints, found, limit, place, |endpoint| view::notify::endpoint(&endpoint, &names))))
}

/// Make an endpoint. Events are posted to `/in/` and its name.
#[utoipa::path(post, path = "/api/v1/endpoints", tag = "notify", operation_id = "create_endpoint",
    request_body = NewEndpoint, responses((status = 201, body = EndpointView)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn create(
    State(app): State<App>,
    who: May<Change>,
    write: Write<NewEndpoint>,
) -> Result<(StatusCode, Json<EndpointView>), Refusal> {
    let wanted = &write.body;
    let group = owner(&app, &who, wanted.group.as_deref()).await?.map(|owner| owner.id);
    let options = endpoint_options::changed(EndpointOptions::default(), wanted.clone().into())?;
    let new = malla_notify::NewEndpoint { name: wanted.name.clone(), group, options };
    new.check()?;
    let detail = told::without_secrets(wanted);
    let act = Act { group, detail, ..write.act(&who, "endpoint.create", &wanted.name) };
    let made = app.notify.create_endpoint(new, act).await?;
    Ok((StatusCode::CREATED, shown(&app, &made).await?))
}

/// Show one endpoint.
#[utoipa::path(get, path = "/api/v1/endpoints/{name}", tag = "notify", operation_id = "show_endpoint",
    params(("name" = String, Path)), responses((status = 200, body = EndpointView)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn show(
    State(app): State<App>,
    who: May<See>,
    Path(name): Path<String>,
) -> Result<Json<EndpointView>, Refusal> {
    shown(&app, &app.notify.endpoint(&who.scope(), &name).await?).await
}

/// Change an endpoint's options; null clears one.
#[utoipa::path(patch, path = "/api/v1/endpoints/{name}", tag = "notify", operation_id = "change_endpoint",
    params(("name" = String, Path)), request_body = EndpointChange, responses((status = 200, body = EndpointView)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn change(
    State(app): State<App>,
    who: May<Change>,
    Path(name): Path<String>,
    write: Write<EndpointChange>,
) -> Result<Json<EndpointView>, Refusal> {
    if write.body == EndpointChange::default() {
        let fields = "description, max_body, token, signature_secret, retention_days, mqtt or protocol";
        return Err(Refusal::invalid(format!("nothing to change: give {fields}")));
    }
    let _turn = app.edit_turn().await;
    let before = app.notify.endpoint(&who.scope(), &name).await?;
    let options = endpoint_options::changed(before.options, write.body.clone())?;
    let detail = told::without_secrets(&write.body);
    let act = Act { group: before.group, detail, ..write.act(&who, "endpoint.change", &name) };
    let change = malla_notify::EndpointChange { options: Some(options) };
    shown(&app, &app.notify.change_endpoint(&who.scope(), &name, change, act).await?).await
}

/// Delete an endpoint that has no subscriptions. Its events stay until they are old.
#[utoipa::path(delete, path = "/api/v1/endpoints/{name}", tag = "notify", operation_id = "delete_endpoint",
    params(("name" = String, Path)), responses((status = 204)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn delete(
    State(app): State<App>,
    who: May<Change>,
    Path(name): Path<String>,
    write: Write<NoBody>,
) -> Result<StatusCode, Refusal> {
    app.notify.delete_endpoint(&who.scope(), &name, write.act(&who, "endpoint.delete", &name)).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn shown(app: &App, endpoint: &Endpoint) -> Result<Json<EndpointView>, Refusal> {
    let names = GroupNames::of(app, [endpoint.group]).await?;
    Ok(Json(view::notify::endpoint(endpoint, &names)))
}
