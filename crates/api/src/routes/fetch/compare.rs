//! Comparisons: the same pages from several places, once or again and again.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderName, StatusCode};
use malla_fetch::compare::{CompareSpec, new_comparison};
use malla_fetch::tour::{Tour, TourChange, TourId, TourKind};
use malla_protocol::{Code, ComparisonReport, ComparisonView, CrawlChange, NewComparison, Page, PageQuery};
use malla_queue::Scope;

use super::crawls::state;
use crate::App;
use crate::auth::{Change, May, See};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{NoParams, Path, Query, limit};
use crate::routes::owner::owner;
use crate::routes::page;
use crate::view::{self, GroupNames};
use crate::write::{NoBody, Write};

/// A little less than a request may take.
const WAIT_SHARE: f64 = 0.9;
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Compare pages from several countries or devices.
///
/// Each page is fetched by a device of each place, one after the other as its site allows, and the answers are held against
/// what most places got: status, final URL, text. The answer is 200 with the report if it is there within the time of a
/// request, else 202; the report is then at `/api/v1/comparisons/{id}`. With `every_s` it is repeated, and `compare.changed` is
/// emitted whenever a round differs from the one before.
#[utoipa::path(post, path = "/api/v1/fetch/compare", tag = "fetch", operation_id = "compare",
    request_body = NewComparison,
    responses((status = 200, body = ComparisonView), (status = 202, body = ComparisonView)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn start(
    State(app): State<App>,
    who: May<Change>,
    write: Write<NewComparison>,
) -> Result<(StatusCode, [(HeaderName, String); 1], Json<ComparisonView>), Refusal> {
    let new = &write.body;
    let group = owner(&app, &who, new.group.as_deref()).await?.map(|owner| owner.id);
    let usual = CompareSpec::default();
    let spec = CompareSpec {
        urls: new.urls.clone(),
        countries: new.countries.clone().unwrap_or_default(),
        devices: new.devices.unwrap_or(0),
        every_s: new.every_s.unwrap_or(usual.every_s),
        wait_s: new.wait_s.unwrap_or(usual.wait_s),
    };
    let comparison = new_comparison(&spec, group)?;
    let pages = spec.asks_for();
    app.door.admit(group, pages).await?;
    let act = write.act(&who, "compare.begin", "a comparison");
    let detail = serde_json::json!({ "urls": spec.urls, "countries": spec.countries, "devices": spec.devices });
    let begun = app.tours.begin(comparison, malla_queue::Act { group, detail, ..act }).await?;
    app.door.took_in(group, pages).await;
    let place = format!("/api/v1/comparisons/{}", begun.id);
    let share = if new.wait.unwrap_or(true) { WAIT_SHARE } else { 0.0 };
    let until = tokio::time::Instant::now() + app.settings.request_timeout.mul_f64(share);
    let mut tour = begun;
    while tour.versions == 0 && !tour.state.is_over() && tokio::time::Instant::now() < until && (app.ready)().is_ok() {
        tokio::time::sleep(LOOK_EVERY).await;
        tour = app.tours.tour(&Scope::All, TourKind::Compare, tour.id).await?;
    }
    let status = if tour.versions > 0 { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, [(LOCATION, place)], shown(&app, &tour).await?))
}

/// List comparisons, newest first.
#[utoipa::path(get, path = "/api/v1/comparisons", tag = "fetch", operation_id = "list_comparisons",
    params(PageQuery), responses((status = 200, body = Page<ComparisonView>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn list(
    State(app): State<App>,
    who: May<See>,
    Query(query, NoParams {}): Query<PageQuery, NoParams>,
) -> Result<Json<Page<ComparisonView>>, Refusal> {
    let limit = limit(&query)?;
    let below: Option<TourId> = cursor::read_as(List::Comparisons, query.cursor.as_deref())?;
    let found = app.tours.tours(&who.scope(), TourKind::Compare, below, limit + 1).await?;
    let names = GroupNames::of(&app, found.iter().map(|tour| tour.group)).await?;
    let place = |tour: &Tour| tour.id.to_string();
    Ok(Json(page(List::Comparisons, found, limit, place, |tour| view::tours::comparison(&tour, &names, None))))
}

/// Show a comparison with the report of its last round.
#[utoipa::path(get, path = "/api/v1/comparisons/{id}", tag = "fetch", operation_id = "show_comparison",
    params(("id" = String, Path)), responses((status = 200, body = ComparisonView)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn show(
    State(app): State<App>,
    who: May<See>,
    Path(id): Path<String>,
) -> Result<Json<ComparisonView>, Refusal> {
    shown(&app, &app.tours.tour(&who.scope(), TourKind::Compare, id.parse()?).await?).await
}

/// Show the report of a round.
#[utoipa::path(get, path = "/api/v1/comparisons/{id}/rounds/{n}", tag = "fetch", operation_id = "show_round",
    params(("id" = String, Path), ("n" = u64, Path)), responses((status = 200, body = ComparisonReport)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn round(
    State(app): State<App>,
    who: May<See>,
    Path((id, n)): Path<(String, String)>,
) -> Result<Json<ComparisonReport>, Refusal> {
    let tour = app.tours.tour(&who.scope(), TourKind::Compare, id.parse()?).await?;
    let n = n.parse().map_err(|_| Refusal::invalid(format!("\"{n}\" is not the number of a round")))?;
    let gone = || Refusal::new(Code::NotFound, format!("round {n} of comparison {id} is not kept"));
    let report = app.tours.version(tour.id, n).await?.and_then(|version| view::tours::report(&version));
    report.map(Json).ok_or_else(gone)
}

/// Pause a comparison that is repeated, or let it go on.
#[utoipa::path(patch, path = "/api/v1/comparisons/{id}", tag = "fetch", operation_id = "change_comparison",
    params(("id" = String, Path)), request_body = CrawlChange, responses((status = 200, body = ComparisonView)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn change(
    State(app): State<App>,
    who: May<Change>,
    Path(id): Path<String>,
    write: Write<CrawlChange>,
) -> Result<Json<ComparisonView>, Refusal> {
    let change = TourChange { state: Some(state(&write.body.state)?), spec: None };
    let act = write.act(&who, "compare.change", &id);
    shown(&app, &app.tours.change(&who.scope(), TourKind::Compare, id.parse()?, change, act).await?).await
}

/// End a comparison and forget its reports.
#[utoipa::path(delete, path = "/api/v1/comparisons/{id}", tag = "fetch", operation_id = "delete_comparison",
    params(("id" = String, Path)), responses((status = 204)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn delete(
    State(app): State<App>,
    who: May<Change>,
    Path(id): Path<String>,
    write: Write<NoBody>,
) -> Result<StatusCode, Refusal> {
    let act = write.act(&who, "compare.delete", &id);
    app.tours.forget_tour(&who.scope(), TourKind::Compare, id.parse()?, act).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn shown(app: &App, tour: &Tour) -> Result<Json<ComparisonView>, Refusal> {
    let names = GroupNames::of(app, [tour.group]).await?;
    let last = if tour.versions > 0 { app.tours.version(tour.id, tour.versions).await? } else { None };
    Ok(Json(view::tours::comparison(tour, &names, last.as_ref())))
}
