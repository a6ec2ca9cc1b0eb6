//! Jobs: one page awaited, many started, looked at and cancelled.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use malla_fetch::{Job, JobId};
use malla_protocol::{Code, FetchPages, FetchQuery, FetchResult, JobView, Page, PageQuery};

use super::answers::Follow;
use super::ask;
use crate::App;
use crate::auth::{Change, May, See};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{NoParams, Path, Query, limit};
use crate::routes::owner::owner;
use crate::routes::page;
use crate::view::{self, GroupNames};
use crate::write::{AnyJson, NoBody, Write};

/// A little less than a request may take.
const WAIT_SHARE: f64 = 0.9;

/// Wait for one page.
///
/// If it takes longer than a request may, the problem names the job, whose results are at
/// `/api/v1/fetch/{job}/results`.
#[utoipa::path(get, path = "/api/v1/fetch", tag = "fetch", operation_id = "fetch_page",
    params(FetchQuery), responses((status = 200, body = FetchResult)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn wait(
    State(app): State<App>,
    who: May<Change>,
    Query(query, NoParams {}): Query<FetchQuery, NoParams>,
    write: Write<NoBody>,
) -> Result<Json<FetchResult>, Refusal> {
    let FetchQuery { url, cached, group, verified } = query;
    if url.is_empty() {
        return Err(Refusal::invalid("there is nothing to fetch: name the page with url="));
    }
    let group = owner(&app, &who, group.as_deref()).await?.map(|owner| owner.id);
    let pages = FetchPages { urls: vec![url], cached, group: None, verified };
    let job = ask(&app, &pages, group, write.act(&who, "fetch.ask", "a page")).await?.id;
    let wait: Duration = app.settings.request_timeout.mul_f64(WAIT_SHARE);
    let mut follow = Follow::new(app, job, 0);
    match tokio::time::timeout(wait, follow.next()).await {
        Ok(Ok(Some(answer))) => Ok(Json(view::fetch::result(job, answer))),
        Ok(Err(refusal)) => Err(refusal),
        Ok(Ok(None)) | Err(_) => {
            let detail = format!("the page is not there yet: its result will be at /api/v1/fetch/{job}/results");
            Err(Refusal::new(Code::Timeout, detail))
        }
    }
}

/// Start a job.
///
/// Its progress is at `/api/v1/fetch/{job}`, its results at `/api/v1/fetch/{job}/results`.
#[utoipa::path(post, path = "/api/v1/fetch", tag = "fetch", operation_id = "start_fetch",
    request_body = FetchPages, responses((status = 202, body = JobView)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn start(
    State(app): State<App>,
    who: May<Change>,
    write: Write<AnyJson<FetchPages>>,
) -> Result<(StatusCode, [(axum::http::HeaderName, String); 1], Json<JobView>), Refusal> {
    let pages = &write.body.0;
    let group = owner(&app, &who, pages.group.as_deref()).await?.map(|owner| owner.id);
    let job = ask(&app, pages, group, write.act(&who, "fetch.ask", "pages")).await?;
    let place = format!("/api/v1/fetch/{}", job.id);
    Ok((StatusCode::ACCEPTED, [(LOCATION, place)], shown(&app, &job).await?))
}

/// List jobs, newest first.
#[utoipa::path(get, path = "/api/v1/fetch/jobs", tag = "fetch", operation_id = "list_jobs",
    params(PageQuery), responses((status = 200, body = Page<JobView>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn list(
    State(app): State<App>,
    who: May<See>,
    Query(query, NoParams {}): Query<PageQuery, NoParams>,
) -> Result<Json<Page<JobView>>, Refusal> {
    let limit = limit(&query)?;
    let below = cursor::read(List::Jobs, query.cursor.as_deref())?;
    let below: Option<JobId> = below.map(|text| text.parse()).transpose()?;
    let found = app.fetch.jobs(&who.scope(), below, limit + 1).await?;
    let names = GroupNames::of(&app, found.iter().map(|job| job.group)).await?;
    let place = |job: &Job| job.id.to_string();
    Ok(Json(page(List::Jobs, found, limit, place, |job| view::fetch::job(&job, &names))))
}

/// Show how far a job is.
#[utoipa::path(get, path = "/api/v1/fetch/{job}", tag = "fetch", operation_id = "show_job",
    params(("job" = String, Path)), responses((status = 200, body = JobView)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn show(
    State(app): State<App>,
    who: May<See>,
    Path(job): Path<String>,
) -> Result<Json<JobView>, Refusal> {
    let job = app.fetch.job(&who.scope(), job.parse()?).await?;
    shown(&app, &job).await
}

/// Cancel a job: nothing more is fetched for it.
///
/// What came stays readable; a page that others wait for too is fetched all the same.
#[utoipa::path(delete, path = "/api/v1/fetch/{job}", tag = "fetch", operation_id = "cancel_job",
    params(("job" = String, Path)), responses((status = 200, body = JobView)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn cancel(
    State(app): State<App>,
    who: May<Change>,
    Path(job): Path<String>,
    write: Write<NoBody>,
) -> Result<Json<JobView>, Refusal> {
    let act = write.act(&who, "fetch.cancel", &job);
    let job = app.fetch.cancel(&who.scope(), job.parse()?, act).await?;
    shown(&app, &job).await
}

async fn shown(app: &App, job: &Job) -> Result<Json<JobView>, Refusal> {
    let names = GroupNames::of(app, [job.group]).await?;
    Ok(Json(view::fetch::job(job, &names)))
}
