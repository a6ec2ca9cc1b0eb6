//! The cluster: who is there, who leads, what runs where, and a restart of it all. An operator's business.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use malla_cluster::{Overview, restart as begin};
use malla_protocol::{ClusterView, NewestQuery, Page, PageQuery, RestartView, RollingView, TermView};

use crate::App;
use crate::auth::{Administer, May};
use crate::problem::Refusal;
use crate::query::{NoParams, Query, limit};
use crate::view;
use crate::write::{NoBody, Write};

/// Restarts that are shown with the cluster; there is a list of them all.
const RESTARTS_SHOWN: usize = 20;

/// Show members, leader, term, roles, recent restarts and the last rolling restart.
#[utoipa::path(get, path = "/api/v1/cluster", tag = "cluster", operation_id = "show_cluster",
    responses((status = 200, body = ClusterView)), extensions(("x-permission" = json!("administer"))))]
pub(super) async fn show(State(app): State<App>, _: May<Administer>) -> Result<Json<ClusterView>, Refusal> {
    let overview = Overview::of(&*app.cluster, RESTARTS_SHOWN, app.clock.now(), app.dead_after).await?;
    Ok(Json(view::cluster::cluster(&overview)))
}

/// List the terms of leaders, newest first.
#[utoipa::path(get, path = "/api/v1/cluster/terms", tag = "cluster", operation_id = "list_terms",
    params(NewestQuery), responses((status = 200, body = Page<TermView>)),
    extensions(("x-permission" = json!("administer"))))]
pub(super) async fn terms(
    State(app): State<App>,
    _: May<Administer>,
    Query(query, NoParams {}): Query<NewestQuery, NoParams>,
) -> Result<Json<Page<TermView>>, Refusal> {
    let found = app.cluster.terms(newest(query)?).await?;
    Ok(Json(Page { items: found.into_iter().map(view::cluster::term).collect(), next_cursor: None }))
}

/// List the processes that medics started again, newest first.
#[utoipa::path(get, path = "/api/v1/cluster/restarts", tag = "cluster", operation_id = "list_restarts",
    params(NewestQuery), responses((status = 200, body = Page<RestartView>)),
    extensions(("x-permission" = json!("administer"))))]
pub(super) async fn restarts(
    State(app): State<App>,
    _: May<Administer>,
    Query(query, NoParams {}): Query<NewestQuery, NoParams>,
) -> Result<Json<Page<RestartView>>, Refusal> {
    let found = app.cluster.restarts(newest(query)?).await?;
    Ok(Json(Page { items: found.iter().map(view::cluster::restart).collect(), next_cursor: None }))
}

fn newest(query: NewestQuery) -> Result<usize, Refusal> {
    limit(&PageQuery { limit: query.limit, cursor: None })
}

/// Restart every supervised process, one after the other.
///
/// The next one goes when the one before is replaced and every role runs as often as it shall. 409 while one is under way,
/// and if nothing is supervised.
#[utoipa::path(post, path = "/api/v1/cluster/restart", tag = "cluster", operation_id = "restart_cluster",
    responses((status = 202, body = RollingView)), extensions(("x-permission" = json!("administer"))))]
pub(super) async fn restart(
    State(app): State<App>,
    who: May<Administer>,
    write: Write<NoBody>,
) -> Result<(StatusCode, Json<RollingView>), Refusal> {
    let act = write.act(&who, "cluster.restart", "cluster");
    let rolling = begin(&*app.cluster, act, app.clock.now(), app.dead_after).await?;
    Ok((StatusCode::ACCEPTED, Json(view::cluster::rolling(&rolling))))
}
