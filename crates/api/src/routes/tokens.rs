//! Bearer tokens. Nobody can make one that may do more than they may.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use malla_access::{Principal, Role, Secret, check_name};
use malla_protocol::{Code, NewToken, Page, PageQuery, TokenMade, TokenView};
use malla_queue::{Act, UnixMs};
use serde_json::json;

use super::owner::{Owner, owner};
use super::page;
use crate::App;
use crate::auth::{Change, May, See};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{NoParams, Path, Query, limit};
use crate::view;
use crate::write::{NoBody, Write};

const PREFIX: &str = "malla_";
/// A hundred years.
const EXPIRES_S_MAX: u64 = 100 * 365 * 24 * 3600;

/// List tokens in the order of their names, without their secrets.
#[utoipa::path(get, path = "/api/v1/tokens", tag = "access", operation_id = "list_tokens",
    params(PageQuery), responses((status = 200, body = Page<TokenView>)),
    extensions(("x-permission" = json!("see"))))]
pub(super) async fn list(
    State(app): State<App>,
    who: May<See>,
    Query(query, NoParams {}): Query<PageQuery, NoParams>,
) -> Result<Json<Page<TokenView>>, Refusal> {
    let (limit, after) = (limit(&query)?, cursor::read(List::Tokens, query.cursor.as_deref())?);
    let tokens = app.access.tokens(&who.scope(), after.as_deref(), limit + 1).await?;
    Ok(Json(page(List::Tokens, tokens, limit, |token| token.name.clone(), view::token)))
}

/// Make a token. Its secret is in this answer and is not kept.
#[utoipa::path(post, path = "/api/v1/tokens", tag = "access", operation_id = "create_token",
    request_body = NewToken, responses((status = 201, body = TokenMade)),
    extensions(("x-permission" = json!("change"))))]
pub(super) async fn create(
    State(app): State<App>,
    who: May<Change>,
    write: Write<NewToken>,
) -> Result<(StatusCode, Json<TokenMade>), Refusal> {
    let wanted = &write.body;
    check_name("token", &wanted.name)?;
    let owner = token_owner(&app, &who, wanted.group.as_deref()).await?;
    let role = token_role(&who, wanted, owner.as_ref())?;
    let secret = Secret::random(PREFIX)?;
    let token = malla_access::NewToken {
        name: wanted.name.clone(),
        hash: secret.hash(),
        role,
        group: owner.as_ref().map(|owner| owner.name.clone()),
        expires_at: expires_at(&app, wanted.expires_in_s)?,
    };
    let act = Act {
        group: owner.map(|owner| owner.id),
        detail: json!({ "role": role, "group": token.group, "expires_in_s": wanted.expires_in_s }),
        ..write.act(&who, "token.create", &wanted.name)
    };
    let made = app.access.create_token(token, act).await?;
    let made = TokenMade { token: secret.reveal().to_owned(), view: view::token(made) };
    Ok((StatusCode::CREATED, Json(made)))
}

/// Delete a token. It stops working at once.
#[utoipa::path(delete, path = "/api/v1/tokens/{name}", tag = "access", operation_id = "delete_token",
    params(("name" = String, Path)), responses((status = 204)),
    extensions(("x-permission" = json!("change"))))]
pub(super) async fn delete(
    State(app): State<App>,
    who: May<Change>,
    Path(name): Path<String>,
    write: Write<NoBody>,
) -> Result<StatusCode, Refusal> {
    app.access.delete_token(&who.scope(), &name, write.act(&who, "token.delete", &name)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// An admin who names no group means the whole house.
async fn token_owner(app: &App, who: &Principal, named: Option<&str>) -> Result<Option<Owner>, Refusal> {
    match (who.role, named) {
        (Role::Admin, None) => Ok(None),
        _ => owner(app, who, named).await,
    }
}

fn token_role(who: &Principal, wanted: &NewToken, owner: Option<&Owner>) -> Result<Role, Refusal> {
    let usual = if owner.is_some() { Role::User } else { who.role };
    let role = wanted.role.map_or(usual, view::role_of);
    if role > who.role {
        let own = who.role;
        return Err(Refusal::new(Code::Forbidden, format!("the role {own} cannot make a token with the role {role}")));
    }
    if owner.is_none() && role != Role::Admin {
        return Err(Refusal::invalid(format!("a token with the role {role} sees nothing without a group: name one")));
    }
    Ok(role)
}

fn expires_at(app: &App, expires_in_s: Option<u64>) -> Result<Option<UnixMs>, Refusal> {
    match expires_in_s {
        None => Ok(None),
        Some(seconds @ 1..=EXPIRES_S_MAX) => Ok(Some(app.clock.now().plus(Duration::from_secs(seconds)))),
        Some(_) => Err(Refusal::invalid(format!("expires_in_s is from 1 to {EXPIRES_S_MAX}"))),
    }
}
