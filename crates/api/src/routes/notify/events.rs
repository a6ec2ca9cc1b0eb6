//! Events: list, show, and the body as it came.

use axum::Json;
use axum::extract::State;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue};
use malla_notify::EventFilter;
use malla_protocol::{EventDetail, EventQuery, EventView, Page, PageQuery};
use malla_queue::EventId;

use crate::App;
use crate::auth::{May, See};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{Path, Query, limit, time};
use crate::view::{self, GroupNames};

/// List events, newest first.
#[utoipa::path(get, path = "/api/v1/events", tag = "notify", operation_id = "list_events",
    params(EventQuery, PageQuery), responses((status = 200, body = Page<EventView>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn list(
    State(app): State<App>,
    who: May<See>,
    Query(query, page): Query<EventQuery, PageQuery>,
) -> Result<Json<Page<EventView>>, Refusal> {
    let filter = EventFilter {
        scope: who.scope(),
        from: query.from.as_deref().map(|text| time("from", text, false)).transpose()?,
        to: query.to.as_deref().map(|text| time("to", text, true)).transpose()?,
        endpoint: query.endpoint,
        content: query.content,
    };
    let below = cursor::read_as::<EventId>(List::Events, page.cursor.as_deref())?;
    let found = app.notify.events(&filter, below, limit(&page)?).await?;
    Ok(Json(Page {
        items: found.events.iter().map(view::notify::event_summary).collect(),
        next_cursor: found.next.map(|id| cursor::write(List::Events, &id.to_string())),
    }))
}

/// Show one event whole: what came, with its headers and its body.
#[utoipa::path(get, path = "/api/v1/events/{id}", tag = "notify", operation_id = "show_event",
    params(("id" = String, Path, description = "The event's id")),
    responses((status = 200, body = EventDetail)), extensions(("x-permission" = json!("see"))))]
pub(crate) async fn show(
    State(app): State<App>,
    who: May<See>,
    Path(id): Path<String>,
) -> Result<Json<EventDetail>, Refusal> {
    let event = app.notify.event(&who.scope(), id.parse()?).await?;
    let names = GroupNames::of(&app, [event.group]).await?;
    Ok(Json(view::notify::event(event, &names)))
}

/// Get an event's body byte for byte, under its own content type.
#[utoipa::path(get, path = "/api/v1/events/{id}/body", tag = "notify", operation_id = "event_body",
    params(("id" = String, Path, description = "The event's id")),
    responses((status = 200, body = Vec<u8>, content_type = "application/octet-stream")),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn body(
    State(app): State<App>,
    who: May<See>,
    Path(id): Path<String>,
) -> Result<(HeaderMap, Vec<u8>), Refusal> {
    let event = app.notify.event(&who.scope(), id.parse()?).await?;
    let kind = event.content.content_type.and_then(|kind| HeaderValue::from_str(&kind).ok());
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, kind.unwrap_or(HeaderValue::from_static("application/octet-stream")));
    // Whoever posted it must not get to run it in a visitor's browser.
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok((headers, event.content.body))
}
