//! How devices stand, checks, reports of bad results, appeals, and our own control site.

use axum::Json;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use malla_fetch::trust::{Check, CheckId, Claim, DeviceRepute};
use malla_fetch::{Device, DeviceId};
use malla_protocol::{CheckQuery, CheckView, ClaimView, Code, Page, PageQuery, StandingView};

use crate::App;
use crate::auth::{Administer, Change, May, See};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{Path, Query, limit};
use crate::routes::page;
use crate::view::time;
use crate::write::{NoBody, Write};

/// List how the devices of your groups stand.
#[utoipa::path(get, path = "/api/v1/devices/standing", tag = "fetch", operation_id = "list_standing",
    responses((status = 200, body = Page<StandingView>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn standing(State(app): State<App>, who: May<See>) -> Result<Json<Page<StandingView>>, Refusal> {
    let (devices, reputes) = (app.fetch.devices(&who.scope()).await?, app.trust.reputes(&who.scope()).await?);
    let of = |repute: &DeviceRepute| {
        let device = devices.iter().find(|device| device.id == repute.device)?;
        Some(shown(&app, device, repute))
    };
    Ok(Json(Page { items: reputes.iter().filter_map(of).collect(), next_cursor: None }))
}

fn shown(app: &App, device: &Device, repute: &DeviceRepute) -> StandingView {
    let DeviceRepute { own, owner, .. } = repute;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // from 0 to a million
    let checked_per_million = match device.is_trusted() || !app.fetching.trust.enabled {
        true => 0,
        false => (app.fetching.trust.chance(repute.cv()) * 1e6) as u32,
    };
    StandingView {
        device: device.id.0,
        name: device.name.clone(),
        owner: device.owner.clone(),
        valid: own.cv,
        owner_valid: owner.cv,
        checked_per_million,
        checked: own.checked,
        strikes: own.strikes,
        doubts: own.doubts,
        convicted: own.convicted,
        reason: own.reason.clone(),
    }
}

/// Let a convicted device in again, and give back what it lost.
#[utoipa::path(post, path = "/api/v1/devices/{id}/acquit", tag = "fetch", operation_id = "acquit_device",
    params(("id" = i64, Path)), responses((status = 200, body = StandingView)),
    extensions(("x-permission" = json!("administer"))))]
pub(crate) async fn acquit(
    State(app): State<App>,
    who: May<Administer>,
    Path(id): Path<String>,
    write: Write<NoBody>,
) -> Result<Json<StandingView>, Refusal> {
    let number = id.parse().map_err(|_| Refusal::new(Code::NotFound, format!("device {id} does not exist")))?;
    let act = write.act(&who, "device.acquit", &id);
    let repute = app.trust.acquit(&who.scope(), DeviceId(number), app.fetching.trust, act).await?;
    let devices = app.fetch.devices(&who.scope()).await?;
    let device = devices.iter().find(|device| device.id == repute.device);
    let device = device.ok_or_else(|| Refusal::new(Code::NotFound, format!("device {id} does not exist")))?;
    Ok(Json(shown(&app, device, &repute)))
}

/// List checks, newest first.
#[utoipa::path(get, path = "/api/v1/fetch/checks", tag = "fetch", operation_id = "list_checks",
    params(CheckQuery, PageQuery), responses((status = 200, body = Page<CheckView>)),
    extensions(("x-permission" = json!("administer"))))]
pub(crate) async fn checks(
    State(app): State<App>,
    _: May<Administer>,
    Query(query, paging): Query<CheckQuery, PageQuery>,
) -> Result<Json<Page<CheckView>>, Refusal> {
    let (limit, after) = (limit(&paging)?, cursor::read(List::Checks, paging.cursor.as_deref())?);
    let below = after.map(|text| text.parse::<CheckId>()).transpose()?;
    let device = match query.device.as_deref().map(str::parse) {
        None => None,
        Some(Ok(id)) => Some(DeviceId(id)),
        Some(Err(_)) => return Err(Refusal::invalid("the parameter device is a device's number")),
    };
    let found = app.trust.checks(device, below, limit + 1).await?;
    Ok(Json(page(List::Checks, found, limit, |check: &Check| check.id.to_string(), |check| view(&check))))
}

fn view(check: &Check) -> CheckView {
    let claim = |claim: &Option<Claim>| {
        claim.as_ref().map(|claim| ClaimView {
            device: claim.by.device,
            name: claim.by.name.clone(),
            owner: claim.by.owner.clone(),
            country: claim.by.country.clone(),
            status: claim.status,
            location: claim.location.clone(),
            unchanged: claim.unchanged,
        })
    };
    CheckView {
        id: check.id.to_string(),
        kind: check.kind.name().into(),
        state: check.state.name().into(),
        url: check.url.clone(),
        first: claim(&check.first),
        second: claim(&check.second),
        third: claim(&check.third),
        guilty: check.guilty.map(|device| device.0),
        at: time(check.at),
        ended_at: check.ended_at.map(time),
    }
}

/// Say that a result is bad. A trusted device fetches the page and decides.
///
/// A result's `id` stands in it; it is the job's and the number of the result.
#[utoipa::path(post, path = "/api/v1/fetch/results/{id}/report", tag = "fetch", operation_id = "report_result",
    params(("id" = String, Path)), responses((status = 202, body = CheckView)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn report(
    State(app): State<App>,
    who: May<Change>,
    Path(id): Path<String>,
    write: Write<NoBody>,
) -> Result<(StatusCode, Json<CheckView>), Refusal> {
    let missing =
        || Refusal::new(Code::NotFound, format!("there is no result {id}: its id stands in it, as in 06a6tgfq30000:1"));
    let (job, n) = id.split_once(':').ok_or_else(missing)?;
    let (job, n) = (job.parse().map_err(|_| missing())?, n.parse().map_err(|_| missing())?);
    if !app.fetching.trust.enabled {
        return Err(Refusal::new(Code::Conflict, "results are not checked here: the operator can turn trust on"));
    }
    let act = write.act(&who, "fetch.report", format!("result {id}"));
    let check = app.trust.report(&who.scope(), job, n, app.fetching.lanes, act).await?;
    Ok((StatusCode::ACCEPTED, Json(view(&check))))
}

/// A page of this server's control site.
///
/// Devices are sent here now and then, as to any other site; what a page says only this server knows.
#[utoipa::path(get, path = "/pages/{name}", tag = "fleet", operation_id = "control_page",
    params(("name" = String, Path)), responses((status = 200, body = String, content_type = "text/html")))]
pub(crate) async fn control(State(app): State<App>, uri: Uri) -> Response {
    match &app.fetching.control_key {
        Some(key) => {
            let headers = [(CONTENT_TYPE, "text/html; charset=utf-8"), (CACHE_CONTROL, "no-store")];
            (headers, malla_fetch::control::page(key, uri.path())).into_response()
        }
        None => Refusal::new(Code::NotFound, format!("{} does not exist", uri.path())).into_response(),
    }
}
