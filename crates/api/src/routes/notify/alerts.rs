//! Alerts: list, make, show, change, delete, test.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use malla_notify::{Alert, AlertSpec, check_subject, test_notices};
use malla_protocol::{AlertChange, AlertTested, AlertView, NewAlert, Page, PageQuery};
use malla_queue::Act;

use super::super::owner::owner;
use super::super::page;
use super::{alert_spec, told};
use crate::App;
use crate::auth::{Change, May, See};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{NoParams, Path, Query, limit};
use crate::view::{self, GroupNames};
use crate::write::{NoBody, Write};

/// List alerts in the order of their names.
#[utoipa::path(get, path = "/api/v1/alerts", tag = "notify", operation_id = "list_alerts",
    params(PageQuery), responses((status = 200, body = Page<AlertView>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn list(
    State(app): State<App>,
    who: May<See>,
    Query(query, NoParams {}): Query<PageQuery, NoParams>,
) -> Result<Json<Page<AlertView>>, Refusal> {
    let (limit, after) = (limit(&query)?, cursor::read(List::Alerts, query.cursor.as_deref())?);
    let found = app.alerts.alerts(&who.scope(), after.as_deref(), limit + 1).await?;
    let names = GroupNames::of(&app, found.iter().map(|alert| alert.group)).await?;
    let place = |alert: &Alert| alert.name.clone();
    Ok(Json(page(List::Alerts, found, limit, place, |alert| view::alerts::alert(&alert, &names))))
}

/// Make an alert.
///
/// It looks at the subscriptions of its group, or at the one that its rule names, every ten seconds. It fires at most
/// once in its quiet period, and says once when all is well again.
#[utoipa::path(post, path = "/api/v1/alerts", tag = "notify", operation_id = "create_alert",
    request_body = NewAlert, responses((status = 201, body = AlertView)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn create(
    State(app): State<App>,
    who: May<Change>,
    write: Write<NewAlert>,
) -> Result<(StatusCode, Json<AlertView>), Refusal> {
    let wanted = &write.body;
    let group = owner(&app, &who, wanted.group.as_deref()).await?.map(|owner| owner.id);
    let spec = AlertSpec {
        rule: alert_spec::rule(wanted.rule.clone()),
        to: alert_spec::channels(&[], wanted.to.clone()),
        quiet_s: wanted.quiet_s.unwrap_or(AlertSpec::QUIET_S_DEFAULT),
        enabled: wanted.enabled.unwrap_or(true),
    };
    let new = malla_notify::NewAlert { name: wanted.name.clone(), group, spec };
    new.check()?;
    check_subject(&*app.notify, group, &new.spec.rule).await?;
    let detail = told::without_secrets(wanted);
    let act = Act { group, detail, ..write.act(&who, "alert.create", &wanted.name) };
    let made = app.alerts.create_alert(new, act).await?;
    Ok((StatusCode::CREATED, shown(&app, &made).await?))
}

/// Show one alert.
#[utoipa::path(get, path = "/api/v1/alerts/{name}", tag = "notify", operation_id = "show_alert",
    params(("name" = String, Path)), responses((status = 200, body = AlertView)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn show(
    State(app): State<App>,
    who: May<See>,
    Path(name): Path<String>,
) -> Result<Json<AlertView>, Refusal> {
    shown(&app, &app.alerts.alert(&who.scope(), &name).await?).await
}

/// Change an alert: its rule, its addresses, its quiet period, or switch it on and off.
#[utoipa::path(patch, path = "/api/v1/alerts/{name}", tag = "notify", operation_id = "change_alert",
    params(("name" = String, Path)), request_body = AlertChange, responses((status = 200, body = AlertView)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn change(
    State(app): State<App>,
    who: May<Change>,
    Path(name): Path<String>,
    write: Write<AlertChange>,
) -> Result<Json<AlertView>, Refusal> {
    if write.body == AlertChange::default() {
        return Err(Refusal::invalid("nothing to change: give rule, to, quiet_s or enabled"));
    }
    let _turn = app.edit_turn().await;
    let before = app.alerts.alert(&who.scope(), &name).await?;
    let spec = alert_spec::changed(before.spec, write.body.clone());
    spec.check()?;
    check_subject(&*app.notify, before.group, &spec.rule).await?;
    let detail = told::without_secrets(&write.body);
    let act = Act { group: before.group, detail, ..write.act(&who, "alert.change", &name) };
    shown(&app, &app.alerts.change_alert(&who.scope(), &name, spec, act).await?).await
}

/// Delete an alert. Notices that are on their way still arrive.
#[utoipa::path(delete, path = "/api/v1/alerts/{name}", tag = "notify", operation_id = "delete_alert",
    params(("name" = String, Path)), responses((status = 204)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn delete(
    State(app): State<App>,
    who: May<Change>,
    Path(name): Path<String>,
    write: Write<NoBody>,
) -> Result<StatusCode, Refusal> {
    app.alerts.delete_alert(&who.scope(), &name, write.act(&who, "alert.delete", &name)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Send a test notice to every address of an alert, now.
///
/// The answer names the tasks that carry them: their history says whether they arrived.
#[utoipa::path(post, path = "/api/v1/alerts/{name}/test", tag = "notify", operation_id = "test_alert",
    params(("name" = String, Path)), responses((status = 202, body = AlertTested)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn test(
    State(app): State<App>,
    who: May<Change>,
    Path(name): Path<String>,
    write: Write<NoBody>,
) -> Result<(StatusCode, Json<AlertTested>), Refusal> {
    let alert = app.alerts.alert(&who.scope(), &name).await?;
    let act = Act { group: alert.group, ..write.act(&who, "alert.test", &name) };
    let sent = app.queue.submit(test_notices(&alert, app.clock.now())?, Some(act)).await?;
    let tasks = sent.iter().map(|task| task.id.to_string()).collect();
    Ok((StatusCode::ACCEPTED, Json(AlertTested { tasks })))
}

async fn shown(app: &App, alert: &Alert) -> Result<Json<AlertView>, Refusal> {
    let names = GroupNames::of(app, [alert.group]).await?;
    Ok(Json(view::alerts::alert(alert, &names)))
}
