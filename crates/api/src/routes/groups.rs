//! Groups: members see their own, an admin changes them.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use malla_access::check_name;
use malla_protocol::{GroupView, NewGroup, Page, PageQuery};
use malla_queue::Act;
use serde_json::json;

use super::page;
use crate::App;
use crate::auth::{Administer, May, See};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{NoParams, Path, Query, limit};
use crate::view;
use crate::write::{NoBody, Write};

/// List groups in the order of their names: an admin sees all, others their own.
#[utoipa::path(get, path = "/api/v1/groups", tag = "access", operation_id = "list_groups",
    params(PageQuery), responses((status = 200, body = Page<GroupView>)),
    extensions(("x-permission" = json!("see"))))]
pub(super) async fn list(
    State(app): State<App>,
    who: May<See>,
    Query(query, NoParams {}): Query<PageQuery, NoParams>,
) -> Result<Json<Page<GroupView>>, Refusal> {
    let (limit, after) = (limit(&query)?, cursor::read(List::Groups, query.cursor.as_deref())?);
    let groups = app.access.groups(&who.scope(), after.as_deref(), limit + 1).await?;
    Ok(Json(page(List::Groups, groups, limit, |group| group.name.clone(), view::group)))
}

/// Make a group.
#[utoipa::path(post, path = "/api/v1/groups", tag = "access", operation_id = "create_group",
    request_body = NewGroup, responses((status = 201, body = GroupView)),
    extensions(("x-permission" = json!("administer"))))]
pub(super) async fn create(
    State(app): State<App>,
    who: May<Administer>,
    write: Write<NewGroup>,
) -> Result<(StatusCode, Json<GroupView>), Refusal> {
    let name = &write.body.name;
    check_name("group", name)?;
    let group = app.access.create_group(name, write.act(&who, "group.create", name)).await?;
    Ok((StatusCode::CREATED, Json(view::group(group))))
}

/// Show one group.
#[utoipa::path(get, path = "/api/v1/groups/{name}", tag = "access", operation_id = "show_group",
    params(("name" = String, Path)), responses((status = 200, body = GroupView)),
    extensions(("x-permission" = json!("see"))))]
pub(super) async fn show(
    State(app): State<App>,
    who: May<See>,
    Path(name): Path<String>,
) -> Result<Json<GroupView>, Refusal> {
    Ok(Json(view::group(app.access.group(&who.scope(), &name).await?)))
}

/// Delete a group that owns nothing.
#[utoipa::path(delete, path = "/api/v1/groups/{name}", tag = "access", operation_id = "delete_group",
    params(("name" = String, Path)), responses((status = 204)),
    extensions(("x-permission" = json!("administer"))))]
pub(super) async fn delete(
    State(app): State<App>,
    who: May<Administer>,
    Path(name): Path<String>,
    write: Write<NoBody>,
) -> Result<StatusCode, Refusal> {
    app.access.delete_group(&name, write.act(&who, "group.delete", &name)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Add a user to a group.
#[utoipa::path(put, path = "/api/v1/groups/{name}/members/{user}", tag = "access", operation_id = "add_member",
    params(("name" = String, Path), ("user" = String, Path)), responses((status = 200, body = GroupView)),
    extensions(("x-permission" = json!("administer"))))]
pub(super) async fn add_member(
    State(app): State<App>,
    who: May<Administer>,
    Path((name, user)): Path<(String, String)>,
    write: Write<NoBody>,
) -> Result<Json<GroupView>, Refusal> {
    let act = Act { detail: json!({ "user": user }), ..write.act(&who, "group.add", &name) };
    Ok(Json(view::group(app.access.set_member(&name, &user, true, act).await?)))
}

/// Take a user out of a group.
#[utoipa::path(delete, path = "/api/v1/groups/{name}/members/{user}", tag = "access",
    operation_id = "remove_member", params(("name" = String, Path), ("user" = String, Path)),
    responses((status = 200, body = GroupView)), extensions(("x-permission" = json!("administer"))))]
pub(super) async fn remove_member(
    State(app): State<App>,
    who: May<Administer>,
    Path((name, user)): Path<(String, String)>,
    write: Write<NoBody>,
) -> Result<Json<GroupView>, Refusal> {
    let act = Act { detail: json!({ "user": user }), ..write.act(&who, "group.remove", &name) };
    Ok(Json(view::group(app.access.set_member(&name, &user, false, act).await?)))
}
