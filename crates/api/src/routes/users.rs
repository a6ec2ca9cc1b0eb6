//! Users: an admin's business.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use malla_access::check_name;
use malla_protocol::{NewUser, Page, PageQuery, UserChange, UserView};
use malla_queue::Act;
use serde_json::json;

use super::page;
use crate::App;
use crate::auth::{Administer, May};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{NoParams, Path, Query, limit};
use crate::view;
use crate::write::{NoBody, Write};

/// List users in the order of their names.
#[utoipa::path(get, path = "/api/v1/users", tag = "access", operation_id = "list_users",
    params(PageQuery), responses((status = 200, body = Page<UserView>)),
    extensions(("x-permission" = json!("administer"))))]
pub(super) async fn list(
    State(app): State<App>,
    _: May<Administer>,
    Query(query, NoParams {}): Query<PageQuery, NoParams>,
) -> Result<Json<Page<UserView>>, Refusal> {
    let (limit, after) = (limit(&query)?, cursor::read(List::Users, query.cursor.as_deref())?);
    let users = app.access.users(after.as_deref(), limit + 1).await?;
    Ok(Json(page(List::Users, users, limit, |user| user.name.clone(), view::user)))
}

/// Make a user.
#[utoipa::path(post, path = "/api/v1/users", tag = "access", operation_id = "create_user",
    request_body = NewUser, responses((status = 201, body = UserView)),
    extensions(("x-permission" = json!("administer"))))]
pub(super) async fn create(
    State(app): State<App>,
    who: May<Administer>,
    write: Write<NewUser>,
) -> Result<(StatusCode, Json<UserView>), Refusal> {
    let NewUser { name, role, password, groups } = &write.body;
    check_name("user", name)?;
    let password_hash = hash(&app, password.as_deref()).await?;
    let act = Act { detail: json!({ "role": role, "groups": groups }), ..write.act(&who, "user.create", name) };
    let new =
        malla_access::NewUser { name: name.clone(), role: view::role_of(*role), password_hash, groups: groups.clone() };
    let user = app.access.create_user(new, act).await?;
    Ok((StatusCode::CREATED, Json(view::user(user))))
}

/// Show one user.
#[utoipa::path(get, path = "/api/v1/users/{name}", tag = "access", operation_id = "show_user",
    params(("name" = String, Path)), responses((status = 200, body = UserView)),
    extensions(("x-permission" = json!("administer"))))]
pub(super) async fn show(
    State(app): State<App>,
    _: May<Administer>,
    Path(name): Path<String>,
) -> Result<Json<UserView>, Refusal> {
    Ok(Json(view::user(app.access.user(&name).await?)))
}

/// Change a user's role, password or groups, or keep the user out.
#[utoipa::path(patch, path = "/api/v1/users/{name}", tag = "access", operation_id = "change_user",
    params(("name" = String, Path)), request_body = UserChange, responses((status = 200, body = UserView)),
    extensions(("x-permission" = json!("administer"))))]
pub(super) async fn change(
    State(app): State<App>,
    who: May<Administer>,
    Path(name): Path<String>,
    write: Write<UserChange>,
) -> Result<Json<UserView>, Refusal> {
    let UserChange { role, disabled, password, groups } = &write.body;
    if write.body == UserChange::default() {
        return Err(Refusal::invalid("nothing to change: give role, disabled, password or groups"));
    }
    let detail = json!({ "role": role, "disabled": disabled, "password": password.is_some(), "groups": groups });
    let change = malla_access::UserChange {
        role: role.map(view::role_of),
        disabled: *disabled,
        password_hash: hash(&app, password.as_deref()).await?,
        groups: groups.clone(),
    };
    let act = Act { detail, ..write.act(&who, "user.change", &name) };
    Ok(Json(view::user(app.access.change_user(&name, change, act).await?)))
}

/// Delete a user. Its sessions end at once.
#[utoipa::path(delete, path = "/api/v1/users/{name}", tag = "access", operation_id = "delete_user",
    params(("name" = String, Path)), responses((status = 204)),
    extensions(("x-permission" = json!("administer"))))]
pub(super) async fn delete(
    State(app): State<App>,
    who: May<Administer>,
    Path(name): Path<String>,
    write: Write<NoBody>,
) -> Result<StatusCode, Refusal> {
    app.access.delete_user(&name, write.act(&who, "user.delete", &name)).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn hash(app: &App, password: Option<&str>) -> Result<Option<String>, Refusal> {
    match password {
        Some(password) => Ok(Some(app.passwords.hash(password).await?)),
        None => Ok(None),
    }
}
