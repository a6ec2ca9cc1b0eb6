//! For whoever keeps an eye on the process: is it alive, is it ready, what has it counted.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method};
use axum::response::IntoResponse;
use malla_access::Permission;
use malla_protocol::{Code, Health};

use crate::App;
use crate::auth::{identify, permit};
use crate::problem::Refusal;

/// How long the store may take to say that it is there.
const PING_TIME_MAX: Duration = Duration::from_secs(5);

/// Whether the process lives.
#[utoipa::path(get, path = "/livez", tag = "house", operation_id = "livez", responses((status = 200, body = Health)))]
pub(super) async fn livez() -> Json<Health> {
    Json(Health { status: "ok".into() })
}

/// Whether it takes work: started, not stopping, and the store can write.
#[utoipa::path(get, path = "/readyz", tag = "house", operation_id = "readyz",
    responses((status = 200, body = Health)))]
pub(super) async fn readyz(State(app): State<App>) -> Result<Json<Health>, Refusal> {
    (app.ready)().map_err(|why| Refusal::new(Code::Unavailable, format!("not ready: {why}")))?;
    match tokio::time::timeout(PING_TIME_MAX, app.queue.ping()).await {
        Ok(answer) => answer?,
        Err(_) => return Err(Refusal::new(Code::Unavailable, "not ready: the store does not answer in time")),
    }
    Ok(Json(Health { status: "ok".into() }))
}

/// What has been counted, as Prometheus text. It may be set up to need a token.
#[utoipa::path(get, path = "/metrics", tag = "house", operation_id = "metrics",
    responses((status = 200, body = String, content_type = "text/plain")))]
pub(super) async fn metrics(State(app): State<App>, headers: HeaderMap) -> Result<impl IntoResponse, Refusal> {
    if !app.settings.metrics_public {
        permit(&identify(&app, &headers, &Method::GET).await?, Permission::See)?;
    }
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], (app.metrics)()))
}
