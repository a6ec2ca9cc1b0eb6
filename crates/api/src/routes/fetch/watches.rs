//! Watches: pages that are fetched again and again, their versions and what differs between them.

use axum::Json;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderName, StatusCode};
use malla_fetch::text::{similarity, unified};
use malla_fetch::tour::{Tour, TourChange, TourId, TourKind, Version};
use malla_fetch::watch::{WatchSpec, new_watch};
use malla_protocol::{Code, NewWatch, Page, PageDiff, PageDiffQuery, PageQuery, PageVersion, WatchChange, WatchView};

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

/// Watch a page.
///
/// It is fetched at once, and again as often as it changes, within its own intervals and the budget of the house. Its
/// versions are kept, and each change is the event `fetch.changed` with what differs.
#[utoipa::path(post, path = "/api/v1/watches", tag = "fetch", operation_id = "create_watch",
    request_body = NewWatch, responses((status = 201, body = WatchView)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn create(
    State(app): State<App>,
    who: May<Change>,
    write: Write<NewWatch>,
) -> Result<(StatusCode, [(HeaderName, String); 1], Json<WatchView>), Refusal> {
    let new = &write.body;
    let group = owner(&app, &who, new.group.as_deref()).await?.map(|owner| owner.id);
    let usual = WatchSpec::default();
    let spec = WatchSpec {
        url: new.url.clone(),
        selector: new.selector.clone(),
        ignore: new.ignore.clone().unwrap_or_default(),
        interval_min_s: new.interval_min_s.unwrap_or(usual.interval_min_s),
        interval_max_s: new.interval_max_s.unwrap_or(usual.interval_max_s),
        versions: new.versions.unwrap_or(usual.versions),
        bytes: new.bytes.unwrap_or(usual.bytes),
    };
    let watch = new_watch(&spec, group, app.clock.now())?;
    app.door.admit(group, 1).await?;
    let act = write.act(&who, "watch.begin", &new.url);
    let watch = app.tours.begin(watch, malla_queue::Act { group, ..act }).await?;
    app.door.took_in(group, 1).await;
    let place = format!("/api/v1/watches/{}", watch.id);
    Ok((StatusCode::CREATED, [(LOCATION, place)], shown(&app, &watch).await?))
}

/// List watches, newest first.
#[utoipa::path(get, path = "/api/v1/watches", tag = "fetch", operation_id = "list_watches",
    params(PageQuery), responses((status = 200, body = Page<WatchView>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn list(
    State(app): State<App>,
    who: May<See>,
    Query(query, NoParams {}): Query<PageQuery, NoParams>,
) -> Result<Json<Page<WatchView>>, Refusal> {
    let limit = limit(&query)?;
    let below: Option<TourId> = cursor::read_as(List::Watches, query.cursor.as_deref())?;
    let found = app.tours.tours(&who.scope(), TourKind::Watch, below, limit + 1).await?;
    let names = GroupNames::of(&app, found.iter().map(|watch| watch.group)).await?;
    let (place, now) = (|watch: &Tour| watch.id.to_string(), app.clock.now());
    Ok(Json(page(List::Watches, found, limit, place, |watch| view::tours::watch(&watch, &names, now))))
}

/// Show a watch.
#[utoipa::path(get, path = "/api/v1/watches/{id}", tag = "fetch", operation_id = "show_watch",
    params(("id" = String, Path)), responses((status = 200, body = WatchView)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn show(
    State(app): State<App>,
    who: May<See>,
    Path(id): Path<String>,
) -> Result<Json<WatchView>, Refusal> {
    shown(&app, &find(&app, &who, &id).await?).await
}

/// Change a watch: pause it, let it go on, look at another part.
#[utoipa::path(patch, path = "/api/v1/watches/{id}", tag = "fetch", operation_id = "change_watch",
    params(("id" = String, Path)), request_body = WatchChange, responses((status = 200, body = WatchView)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn change(
    State(app): State<App>,
    who: May<Change>,
    Path(id): Path<String>,
    write: Write<WatchChange>,
) -> Result<Json<WatchView>, Refusal> {
    let _turn = app.edit_turn().await;
    let watch = app.tours.tour(&who.scope(), TourKind::Watch, id.parse()?).await?;
    let wanted = &write.body;
    let before: WatchSpec = watch.spec()?;
    let selector = match &wanted.selector {
        None => before.selector.clone(),
        Some(selector) => Some(selector.clone()).filter(|selector| !selector.is_empty()),
    };
    let spec = WatchSpec {
        url: before.url.clone(),
        selector,
        ignore: wanted.ignore.clone().unwrap_or_else(|| before.ignore.clone()),
        interval_min_s: wanted.interval_min_s.unwrap_or(before.interval_min_s),
        interval_max_s: wanted.interval_max_s.unwrap_or(before.interval_max_s),
        versions: wanted.versions.unwrap_or(before.versions),
        bytes: wanted.bytes.unwrap_or(before.bytes),
    };
    spec.check()?;
    let text = serde_json::to_string(&spec).expect("plain data is JSON");
    let change =
        TourChange { state: wanted.state.as_deref().map(state).transpose()?, spec: (spec != before).then_some(text) };
    let act = write.act(&who, "watch.change", &id);
    shown(&app, &app.tours.change(&who.scope(), TourKind::Watch, watch.id, change, act).await?).await
}

/// End a watch and forget its versions.
#[utoipa::path(delete, path = "/api/v1/watches/{id}", tag = "fetch", operation_id = "delete_watch",
    params(("id" = String, Path)), responses((status = 204)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn delete(
    State(app): State<App>,
    who: May<Change>,
    Path(id): Path<String>,
    write: Write<NoBody>,
) -> Result<StatusCode, Refusal> {
    let act = write.act(&who, "watch.delete", &id);
    app.tours.forget_tour(&who.scope(), TourKind::Watch, id.parse()?, act).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the versions of a watched page, newest first, without their texts.
#[utoipa::path(get, path = "/api/v1/watches/{id}/versions", tag = "fetch", operation_id = "list_versions",
    params(("id" = String, Path), PageQuery), responses((status = 200, body = Page<PageVersion>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn versions(
    State(app): State<App>,
    who: May<See>,
    Path(id): Path<String>,
    Query(query, NoParams {}): Query<PageQuery, NoParams>,
) -> Result<Json<Page<PageVersion>>, Refusal> {
    let limit = limit(&query)?;
    let watch = find(&app, &who, &id).await?;
    let below: Option<u64> = cursor::read_as(List::Versions, query.cursor.as_deref())?;
    let found = app.tours.versions(watch.id, below, limit + 1).await?;
    let place = |version: &Version| version.n.to_string();
    Ok(Json(page(List::Versions, found, limit, place, |version| view::tours::version(&version, false))))
}

/// Show a version of a watched page with its text.
#[utoipa::path(get, path = "/api/v1/watches/{id}/versions/{n}", tag = "fetch", operation_id = "show_version",
    params(("id" = String, Path), ("n" = u64, Path)), responses((status = 200, body = PageVersion)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn version(
    State(app): State<App>,
    who: May<See>,
    Path((id, n)): Path<(String, String)>,
) -> Result<Json<PageVersion>, Refusal> {
    let watch = find(&app, &who, &id).await?;
    let n = n.parse().map_err(|_| Refusal::invalid(format!("\"{n}\" is not the number of a version")))?;
    Ok(Json(view::tours::version(&kept(&app, &watch, n).await?, true)))
}

/// What differs between two versions of a watched page.
#[utoipa::path(get, path = "/api/v1/watches/{id}/diff", tag = "fetch", operation_id = "diff_versions",
    params(("id" = String, Path), PageDiffQuery), responses((status = 200, body = PageDiff)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn diff(
    State(app): State<App>,
    who: May<See>,
    Path(id): Path<String>,
    Query(query, NoParams {}): Query<PageDiffQuery, NoParams>,
) -> Result<Json<PageDiff>, Refusal> {
    let watch = find(&app, &who, &id).await?;
    let to = query.to.unwrap_or(watch.versions);
    let from = query.from.unwrap_or(to.saturating_sub(1));
    let (old, new) = (kept(&app, &watch, from).await?, kept(&app, &watch, to).await?);
    let work = move || (similarity(&old.text, &new.text), unified(&old.text, &new.text));
    let compared = tokio::task::spawn_blocking(work).await;
    let (similarity, diff) =
        compared.map_err(|error| Refusal::new(Code::Internal, format!("comparing failed: {error}")))?;
    Ok(Json(PageDiff { from, to, similarity, diff }))
}

async fn find(app: &App, who: &May<See>, id: &str) -> Result<Tour, Refusal> {
    Ok(app.tours.tour(&who.scope(), TourKind::Watch, id.parse()?).await?)
}

async fn kept(app: &App, watch: &Tour, n: u64) -> Result<Version, Refusal> {
    let gone = || Refusal::new(Code::NotFound, format!("version {n} of watch {} is not kept", watch.id));
    app.tours.version(watch.id, n).await?.ok_or_else(gone)
}

async fn shown(app: &App, watch: &Tour) -> Result<Json<WatchView>, Refusal> {
    let names = GroupNames::of(app, [watch.group]).await?;
    Ok(Json(view::tours::watch(watch, &names, app.clock.now())))
}
