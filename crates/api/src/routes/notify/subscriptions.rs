//! Subscriptions: list, make, show, change, delete.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use malla_access::Principal;
use malla_notify::{Subscription, SubscriptionSpec, SubscriptionState};
use malla_protocol::{
    NewSubscription, Page, PageQuery, SubscriptionChange, SubscriptionMade, SubscriptionQuery, SubscriptionView,
};
use malla_queue::{Act, GroupId};

use super::super::owner::owner;
use super::super::page;
use super::{subscription_spec, told};
use crate::App;
use crate::auth::{Change, May, See};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{Path, Query, limit};
use crate::view::{self, GroupNames};
use crate::write::{NoBody, Write};

/// List subscriptions in the order of their names.
#[utoipa::path(get, path = "/api/v1/subscriptions", tag = "notify", operation_id = "list_subscriptions",
    params(SubscriptionQuery, PageQuery), responses((status = 200, body = Page<SubscriptionView>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn list(
    State(app): State<App>,
    who: May<See>,
    Query(query, paging): Query<SubscriptionQuery, PageQuery>,
) -> Result<Json<Page<SubscriptionView>>, Refusal> {
    let (limit, after) = (limit(&paging)?, cursor::read(List::Subscriptions, paging.cursor.as_deref())?);
    let endpoint = query.endpoint.as_deref();
    let found = app.notify.subscriptions(&who.scope(), endpoint, after.as_deref(), limit + 1).await?;
    let names = GroupNames::of(&app, found.iter().map(|subscription| subscription.group)).await?;
    let place = |subscription: &Subscription| subscription.name.clone();
    let view = |subscription| view::notify::subscription(&subscription, &names);
    Ok(Json(page(List::Subscriptions, found, limit, place, view)))
}

/// Make a subscription: from now on it gets the events of its endpoint.
///
/// With `"secret": "generate"` the new secret is in this answer and in no other.
#[utoipa::path(post, path = "/api/v1/subscriptions", tag = "notify", operation_id = "create_subscription",
    request_body = NewSubscription, responses((status = 201, body = SubscriptionMade)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn create(
    State(app): State<App>,
    who: May<Change>,
    write: Write<NewSubscription>,
) -> Result<(StatusCode, Json<SubscriptionMade>), Refusal> {
    let wanted = &write.body;
    let spec = subscription_spec::changed(SubscriptionSpec::default(), wanted.clone().into(), app.clock.now())?;
    let group = group_of_new(&app, &who, wanted).await?;
    let new = malla_notify::NewSubscription {
        name: wanted.name.clone(),
        endpoint: wanted.endpoint.clone(),
        group,
        state: wanted.state.map_or(SubscriptionState::Active, subscription_spec::state),
        spec,
    };
    new.check()?;
    let detail = told::without_secrets(wanted);
    let act = Act { group, detail, ..write.act(&who, "subscription.create", &wanted.name) };
    let made = app.notify.create_subscription(&who.scope(), new, act).await?;
    let shows_secret = wanted.secret.as_deref() == Some(subscription_spec::GENERATE);
    Ok((StatusCode::CREATED, made_known(&app, made, shows_secret).await?))
}

/// Show one subscription, without its secrets.
#[utoipa::path(get, path = "/api/v1/subscriptions/{name}", tag = "notify", operation_id = "show_subscription",
    params(("name" = String, Path)), responses((status = 200, body = SubscriptionView)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn show(
    State(app): State<App>,
    who: May<See>,
    Path(name): Path<String>,
) -> Result<Json<SubscriptionView>, Refusal> {
    let subscription = app.notify.subscription(&who.scope(), &name).await?;
    let names = GroupNames::of(&app, [subscription.group]).await?;
    Ok(Json(view::notify::subscription(&subscription, &names)))
}

/// Change a subscription; null sets a field back to its default.
///
/// `suspended` holds its notifications until it is `active` again; `disabled` discards those that wait. A replaced
/// secret goes on signing beside the new one for a day.
#[utoipa::path(patch, path = "/api/v1/subscriptions/{name}", tag = "notify", operation_id = "change_subscription",
    params(("name" = String, Path)), request_body = SubscriptionChange,
    responses((status = 200, body = SubscriptionMade)), extensions(("x-permission" = json!("change"))))]
pub(crate) async fn change(
    State(app): State<App>,
    who: May<Change>,
    Path(name): Path<String>,
    write: Write<SubscriptionChange>,
) -> Result<Json<SubscriptionMade>, Refusal> {
    let wanted = &write.body;
    if *wanted == SubscriptionChange::default() {
        return Err(Refusal::invalid("nothing to change: give state, target, secret, or another field to change"));
    }
    let _turn = app.edit_turn().await;
    let before = app.notify.subscription(&who.scope(), &name).await?;
    let spec = match *wanted == (SubscriptionChange { state: wanted.state, ..SubscriptionChange::default() }) {
        true => None,
        false => Some(subscription_spec::changed(before.spec, wanted.clone(), app.clock.now())?),
    };
    let change = malla_notify::SubscriptionChange { state: wanted.state.map(subscription_spec::state), spec };
    let detail = told::without_secrets(wanted);
    let act = Act { group: before.group, detail, ..write.act(&who, "subscription.change", &name) };
    let changed = app.notify.change_subscription(&who.scope(), &name, change, act).await?;
    let shows_secret = wanted.secret == Some(Some(subscription_spec::GENERATE.to_owned()));
    made_known(&app, changed, shows_secret).await
}

/// Delete a disabled subscription that has nothing left waiting. Its finished notifications stay until they are old.
#[utoipa::path(delete, path = "/api/v1/subscriptions/{name}", tag = "notify", operation_id = "delete_subscription",
    params(("name" = String, Path)), responses((status = 204)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn delete(
    State(app): State<App>,
    who: May<Change>,
    Path(name): Path<String>,
    write: Write<NoBody>,
) -> Result<StatusCode, Refusal> {
    app.notify.delete_subscription(&who.scope(), &name, write.act(&who, "subscription.delete", &name)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// An admin who names no group means the endpoint's, so that its people see what becomes of their events.
async fn group_of_new(app: &App, who: &Principal, wanted: &NewSubscription) -> Result<Option<GroupId>, Refusal> {
    match owner(app, who, wanted.group.as_deref()).await? {
        Some(owner) => Ok(Some(owner.id)),
        None => Ok(app.notify.endpoint(&who.scope(), &wanted.endpoint).await?.group),
    }
}

/// The answer to a change. The stored secret is shown, not the one made for this request: a repeat with the same
/// `Idempotency-Key` must tell the same.
async fn made_known(app: &App, made: Subscription, shows_secret: bool) -> Result<Json<SubscriptionMade>, Refusal> {
    let names = GroupNames::of(app, [made.group]).await?;
    let view = view::notify::subscription(&made, &names);
    Ok(Json(SubscriptionMade { view, secret: made.spec.secret.filter(|_| shows_secret) }))
}
