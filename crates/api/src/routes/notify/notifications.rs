//! Notifications: list, show with all that happened, and a person's verb on one of them.

use axum::Json;
use axum::extract::State;
use malla_access::Principal;
use malla_notify::{NotificationFilter, PageMark};
use malla_protocol::{Code, NotificationDetail, NotificationQuery, NotificationView, Page, PageQuery};
use malla_queue::{Move, TaskId};

use crate::App;
use crate::auth::{Change, May, See};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{Path, Query, limit, time};
use crate::view::{self, GroupNames};
use crate::write::{NoBody, Write};

/// What people do to notifications. To hold them, they suspend the subscription.
const VERBS: [Move; 3] = [Move::Resend, Move::Discard, Move::Confirm];

/// List notifications, newest first.
#[utoipa::path(get, path = "/api/v1/notifications", tag = "notify", operation_id = "list_notifications",
    params(NotificationQuery, PageQuery), responses((status = 200, body = Page<NotificationView>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn list(
    State(app): State<App>,
    who: May<See>,
    Query(query, page): Query<NotificationQuery, PageQuery>,
) -> Result<Json<Page<NotificationView>>, Refusal> {
    let filter = filter(&who, &query)?;
    let below = mark(&filter, page.cursor.as_deref())?;
    let found = app.notify.notifications(&filter, below, limit(&page)?).await?;
    let names = GroupNames::of(&app, found.notifications.iter().map(|one| one.group)).await?;
    Ok(Json(Page {
        items: found.notifications.iter().map(|one| view::notify::notification(one, &names)).collect(),
        next_cursor: found.next.map(|mark| cursor_of(&filter, mark)),
    }))
}

/// Show one notification with every attempt: its times, who made it and what came back.
#[utoipa::path(get, path = "/api/v1/notifications/{id}", tag = "notify", operation_id = "show_notification",
    params(("id" = String, Path, description = "The notification's id")),
    responses((status = 200, body = NotificationDetail)), extensions(("x-permission" = json!("see"))))]
pub(crate) async fn show(
    State(app): State<App>,
    who: May<See>,
    Path(id): Path<String>,
) -> Result<Json<NotificationDetail>, Refusal> {
    let (scope, id) = (who.scope(), id.parse()?);
    let notification = app.notify.notification(&scope, id).await?;
    let task = app.queue.task(&scope, id).await?;
    let names = GroupNames::of(&app, [notification.group]).await?;
    Ok(Json(view::notify::notification_detail(&notification, task, &names)))
}

/// Resend, discard or confirm one notification.
///
/// A verb that makes no sense in its state is refused with `wrong_state`.
#[utoipa::path(post, path = "/api/v1/notifications/{id}/{verb}", tag = "notify",
    operation_id = "act_on_notification",
    params(
        ("id" = String, Path, description = "The notification's id"),
        ("verb" = String, Path, description = "resend, discard or confirm"),
    ),
    responses((status = 200, body = NotificationView)), extensions(("x-permission" = json!("change"))))]
pub(crate) async fn act(
    State(app): State<App>,
    who: May<Change>,
    Path((id, verb)): Path<(String, String)>,
    write: Write<NoBody>,
) -> Result<Json<NotificationView>, Refusal> {
    let verb = verb_named(&verb)?;
    let (scope, id): (_, TaskId) = (who.scope(), id.parse()?);
    // Another room's task does not exist here.
    let group = app.notify.notification(&scope, id).await?.group;
    app.queue.act_on(&scope, id, verb, write.act(&who, action(verb), id.to_string())).await?;
    let notification = app.notify.notification(&scope, id).await?;
    let names = GroupNames::of(&app, [group]).await?;
    Ok(Json(view::notify::notification(&notification, &names)))
}

fn verb_named(name: &str) -> Result<Move, Refusal> {
    VERBS.into_iter().find(|verb| verb.name() == name).ok_or_else(|| {
        let verbs = "resend, discard and confirm";
        Refusal::new(Code::NotFound, format!("\"{name}\" cannot be done to a notification: there are {verbs}"))
    })
}

/// How the audit log calls it.
pub(super) fn action(verb: Move) -> &'static str {
    match verb {
        Move::Pause => "notification.pause",
        Move::Resume => "notification.resume",
        Move::Discard => "notification.discard",
        Move::Resend => "notification.resend",
        Move::Confirm => "notification.confirm",
    }
}

/// The filter that a query stands for, within what the caller may see.
pub(super) fn filter(who: &Principal, query: &NotificationQuery) -> Result<NotificationFilter, Refusal> {
    let states = query.state.iter().flat_map(|list| list.split(',')).map(|state| state.trim().parse());
    Ok(NotificationFilter {
        scope: who.scope(),
        states: states.collect::<Result<_, _>>()?,
        subscription: query.subscription.clone(),
        endpoint: query.endpoint.clone(),
        event: query.event.as_deref().map(str::parse).transpose()?,
        content: query.content.clone(),
        from: query.from.as_deref().map(|text| time("from", text, false)).transpose()?,
        to: query.to.as_deref().map(|text| time("to", text, true)).transpose()?,
    })
}

/// A list by content goes on below an event, any other below a notification: their cursors must not be mixed up.
fn list_of(filter: &NotificationFilter) -> List {
    if filter.content.is_some() { List::NotificationsByContent } else { List::Notifications }
}

pub(super) fn mark(filter: &NotificationFilter, cursor: Option<&str>) -> Result<Option<PageMark>, Refusal> {
    Ok(cursor::read_as(list_of(filter), cursor)?.map(PageMark))
}

pub(super) fn cursor_of(filter: &NotificationFilter, PageMark(place): PageMark) -> String {
    cursor::write(list_of(filter), &place.to_string())
}
