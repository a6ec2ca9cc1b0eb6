//! The caller as the server sees it, and the store's check of itself.

use axum::Json;
use axum::extract::State;
use malla_protocol::{Me, Verification};

use crate::App;
use crate::auth::{Administer, May, See};
use crate::problem::Refusal;
use crate::view::{self, GroupNames};

/// Say who the caller is.
#[utoipa::path(get, path = "/api/v1/me", tag = "access", operation_id = "me",
    responses((status = 200, body = Me)), extensions(("x-permission" = json!("see"))))]
pub(super) async fn me(State(app): State<App>, who: May<See>) -> Result<Json<Me>, Refusal> {
    let names = GroupNames::of(&app, who.groups.iter().copied().map(Some)).await?;
    Ok(Json(Me { actor: who.actor.clone(), role: view::role(who.role), groups: names.sorted() }))
}

/// Compare every counter with what it counts, and say what is wrong.
///
/// This reads everything: it is for an operator with a doubt.
#[utoipa::path(get, path = "/api/v1/verify", tag = "house", operation_id = "verify",
    responses((status = 200, body = Verification)), extensions(("x-permission" = json!("administer"))))]
pub(super) async fn verify(State(app): State<App>, _: May<Administer>) -> Result<Json<Verification>, Refusal> {
    Ok(Json(Verification { problems: app.queue.verify().await? }))
}
