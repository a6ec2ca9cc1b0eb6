//! Crawls: started, looked at, paused and cancelled.

use axum::Json;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::Response;
use malla_fetch::crawl::{CrawlSpec, Scope, new_crawl};
use malla_fetch::tour::{Tour, TourChange, TourId, TourKind, TourState};
use malla_protocol::{CrawlChange, CrawlView, FetchResult, NewCrawl, Page, PageQuery};

use super::results::{ResultsQuery, stream};
use crate::App;
use crate::auth::{Change, May, See};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{NoParams, Path, Query, limit};
use crate::routes::owner::owner;
use crate::routes::page;
use crate::view::{self, GroupNames};
use crate::write::{NoBody, Write};

/// Start a crawl.
///
/// It follows links within its scope and limits, each page once and no faster than its sites allow. Its progress is at
/// `/api/v1/crawls/{id}`, its pages at `/api/v1/crawls/{id}/results`. When it is over, the event `crawl.finished` is emitted.
#[utoipa::path(post, path = "/api/v1/crawls", tag = "fetch", operation_id = "start_crawl",
    request_body = NewCrawl, responses((status = 202, body = CrawlView)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn start(
    State(app): State<App>,
    who: May<Change>,
    write: Write<NewCrawl>,
) -> Result<(StatusCode, [(HeaderName, String); 1], Json<CrawlView>), Refusal> {
    let new = &write.body;
    let group = owner(&app, &who, new.group.as_deref()).await?.map(|owner| owner.id);
    let spec = spec(new)?;
    let crawl = new_crawl(&spec, group)?;
    app.door.admit(group, spec.pages).await?;
    let act = write.act(&who, "crawl.begin", "a crawl");
    let detail = serde_json::json!({ "seeds": spec.seeds, "limit": spec.pages });
    let crawl = app.tours.begin(crawl, malla_queue::Act { group, detail, ..act }).await?;
    app.door.took_in(group, spec.pages).await;
    let place = format!("/api/v1/crawls/{}", crawl.id);
    Ok((StatusCode::ACCEPTED, [(LOCATION, place)], shown(&app, &crawl).await?))
}

fn spec(new: &NewCrawl) -> Result<CrawlSpec, Refusal> {
    let usual = CrawlSpec::default();
    let scope = match new.scope.as_deref() {
        None => usual.scope,
        Some(name) => Scope::from_name(name)
            .ok_or_else(|| Refusal::invalid(format!("\"{name}\" is not a scope: host, domain or prefix")))?,
    };
    Ok(CrawlSpec {
        seeds: new.seeds.clone(),
        scope,
        depth: new.depth.unwrap_or(usual.depth),
        pages: new.limit.unwrap_or(usual.pages),
        bytes: new.bytes.unwrap_or(usual.bytes),
        sitemaps: new.sitemaps.unwrap_or(usual.sitemaps),
        canonical: new.canonical.unwrap_or(usual.canonical),
        sort_query: new.sort_query.unwrap_or(usual.sort_query),
        files: new.files.unwrap_or(usual.files),
        cached: new.cached.unwrap_or(usual.cached),
        pages_per_shape: new.pages_per_shape.unwrap_or(usual.pages_per_shape),
        pages_per_calendar: new.pages_per_calendar.unwrap_or(usual.pages_per_calendar),
    })
}

/// List crawls, newest first.
#[utoipa::path(get, path = "/api/v1/crawls", tag = "fetch", operation_id = "list_crawls",
    params(PageQuery), responses((status = 200, body = Page<CrawlView>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn list(
    State(app): State<App>,
    who: May<See>,
    Query(query, NoParams {}): Query<PageQuery, NoParams>,
) -> Result<Json<Page<CrawlView>>, Refusal> {
    let limit = limit(&query)?;
    let below: Option<TourId> = cursor::read_as(List::Crawls, query.cursor.as_deref())?;
    let found = app.tours.tours(&who.scope(), TourKind::Crawl, below, limit + 1).await?;
    let names = GroupNames::of(&app, found.iter().map(|crawl| crawl.group)).await?;
    let place = |crawl: &Tour| crawl.id.to_string();
    Ok(Json(page(List::Crawls, found, limit, place, |crawl| view::tours::crawl(&crawl, &names))))
}

/// Show how far a crawl is.
#[utoipa::path(get, path = "/api/v1/crawls/{id}", tag = "fetch", operation_id = "show_crawl",
    params(("id" = String, Path)), responses((status = 200, body = CrawlView)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn show(
    State(app): State<App>,
    who: May<See>,
    Path(id): Path<String>,
) -> Result<Json<CrawlView>, Refusal> {
    shown(&app, &app.tours.tour(&who.scope(), TourKind::Crawl, id.parse()?).await?).await
}

/// Pause a crawl, or let it go on.
#[utoipa::path(patch, path = "/api/v1/crawls/{id}", tag = "fetch", operation_id = "change_crawl",
    params(("id" = String, Path)), request_body = CrawlChange, responses((status = 200, body = CrawlView)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn change(
    State(app): State<App>,
    who: May<Change>,
    Path(id): Path<String>,
    write: Write<CrawlChange>,
) -> Result<Json<CrawlView>, Refusal> {
    let state = state(&write.body.state)?;
    let act = write.act(&who, if state == TourState::Paused { "crawl.pause" } else { "crawl.resume" }, &id);
    let change = TourChange { state: Some(state), spec: None };
    shown(&app, &app.tours.change(&who.scope(), TourKind::Crawl, id.parse()?, change, act).await?).await
}

/// What a caller may make of a tour.
pub(super) fn state(text: &str) -> Result<TourState, Refusal> {
    match text {
        "paused" => Ok(TourState::Paused),
        "running" => Ok(TourState::Running),
        _ => Err(Refusal::invalid(format!("\"{text}\" is not a state to be asked for: paused or running"))),
    }
}

/// Cancel a crawl: nothing more is fetched for it.
///
/// What came stays readable.
#[utoipa::path(delete, path = "/api/v1/crawls/{id}", tag = "fetch", operation_id = "cancel_crawl",
    params(("id" = String, Path)), responses((status = 200, body = CrawlView)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn cancel(
    State(app): State<App>,
    who: May<Change>,
    Path(id): Path<String>,
    write: Write<NoBody>,
) -> Result<Json<CrawlView>, Refusal> {
    let act = write.act(&who, "crawl.cancel", &id);
    let crawl = app.tours.tour(&who.scope(), TourKind::Crawl, id.parse()?).await?;
    let state = (!crawl.state.is_over()).then_some(TourState::Cancelled);
    let change = TourChange { state, spec: None };
    shown(&app, &app.tours.change(&who.scope(), TourKind::Crawl, crawl.id, change, act).await?).await
}

/// Get the pages of a crawl, those that are there and those that come.
///
/// `Accept` chooses the form, as for the results of a job. The answer ends when the crawl is over.
#[utoipa::path(get, path = "/api/v1/crawls/{id}/results", tag = "fetch", operation_id = "crawl_results",
    params(("id" = String, Path), ResultsQuery),
    responses((status = 200, content(
        (FetchResult = "application/x-ndjson"), (FetchResult = "text/event-stream"), (Vec<u8> = "application/warc")))),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn results(
    State(app): State<App>,
    who: May<See>,
    Path(id): Path<String>,
    Query(query, NoParams {}): Query<ResultsQuery, NoParams>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let crawl = app.tours.tour(&who.scope(), TourKind::Crawl, id.parse()?).await?;
    stream(app, crawl.id.job(), &query, &headers)
}

async fn shown(app: &App, crawl: &Tour) -> Result<Json<CrawlView>, Refusal> {
    let names = GroupNames::of(app, [crawl.group]).await?;
    Ok(Json(view::tours::crawl(crawl, &names)))
}
