//! Live views of arrivals and of deliveries.

use std::convert::Infallible;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, Sse};
use futures_util::Stream;
use malla_notify::{EventFilter, EventSummary, Notification, NotificationFilter, PageMark};
use malla_protocol::{EventTailQuery, EventView, NotificationTailQuery, NotificationView};
use malla_queue::{EventId, Scope, State as TaskState, TaskId, UnixMs};

use super::super::watch::{Look, Watched, watch};
use crate::App;
use crate::auth::{May, See};
use crate::problem::Refusal;
use crate::query::{NoParams, Query};
use crate::view::{self, GroupNames};

/// Watch events as they arrive, as server-sent events.
///
/// An event `ready` says that watching has begun; then comes one event `event` for each of the 200 newest that
/// arrives, with the event but not its body as its data. The view ends when the token does, or the server.
#[utoipa::path(get, path = "/api/v1/events/tail", tag = "notify", operation_id = "tail_events",
    params(EventTailQuery), responses((status = 200, body = EventView, content_type = "text/event-stream")),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn events(
    State(app): State<App>,
    who: May<See>,
    headers: HeaderMap,
    Query(EventTailQuery { endpoint }, NoParams {}): Query<EventTailQuery, NoParams>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    let filter = EventFilter { scope: who.scope(), endpoint, content: None, from: None, to: None };
    watch(app, headers, filter).await
}

/// Watch notifications as they are made and change state, as server-sent events.
///
/// An event `ready` says that watching has begun; then comes one event `notification` whenever one of the 200 newest
/// that match appears or changes, with the notification as its data. The view ends when the token does, or the server.
#[utoipa::path(get, path = "/api/v1/notifications/tail", tag = "notify", operation_id = "tail_notifications",
    params(NotificationTailQuery),
    responses((status = 200, body = NotificationView, content_type = "text/event-stream")),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn notifications(
    State(app): State<App>,
    who: May<See>,
    headers: HeaderMap,
    Query(query, NoParams {}): Query<NotificationTailQuery, NoParams>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refusal> {
    let NotificationTailQuery { subscription, endpoint } = query;
    let filter = NotificationFilter { subscription, endpoint, ..NotificationFilter::all(who.scope()) };
    watch(app, headers, filter).await
}

impl Watched for EventFilter {
    type Item = EventSummary;
    type Id = EventId;
    type Mark = EventId;
    /// An event never changes.
    type Seen = ();
    type View = EventView;
    const EVENT: &'static str = "event";

    fn set_scope(&mut self, scope: Scope) {
        self.scope = scope;
    }

    async fn page(&self, app: &App, below: Option<EventId>, limit: usize) -> Look<Self> {
        let page = app.notify.events(self, below, limit).await?;
        Ok((page.events, page.next))
    }

    fn id(event: &EventSummary) -> EventId {
        event.id
    }

    fn seen(_: &EventSummary) {}

    async fn views(_: &App, events: &[&EventSummary]) -> Result<Vec<EventView>, Refusal> {
        Ok(events.iter().map(|event| view::notify::event_summary(event)).collect())
    }
}

impl Watched for NotificationFilter {
    type Item = Notification;
    type Id = TaskId;
    type Mark = PageMark;
    type Seen = (TaskState, u32, Option<UnixMs>);
    type View = NotificationView;
    const EVENT: &'static str = "notification";

    fn set_scope(&mut self, scope: Scope) {
        self.scope = scope;
    }

    async fn page(&self, app: &App, below: Option<PageMark>, limit: usize) -> Look<Self> {
        let page = app.notify.notifications(self, below, limit).await?;
        Ok((page.notifications, page.next))
    }

    fn id(notification: &Notification) -> TaskId {
        notification.id
    }

    fn seen(notification: &Notification) -> Self::Seen {
        (notification.state, notification.failures, notification.finished_at)
    }

    async fn views(app: &App, notifications: &[&Notification]) -> Result<Vec<NotificationView>, Refusal> {
        let names = GroupNames::of(app, notifications.iter().map(|one| one.group)).await?;
        Ok(notifications.iter().map(|one| view::notify::notification(one, &names)).collect())
    }
}
