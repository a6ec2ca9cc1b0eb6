//! Sites: how fast they are asked, what their robots.txt says, what waits.

use axum::Json;
use axum::extract::State;
use malla_fetch::{PageUrl, ROOM, Site};
use malla_protocol::{Page, PageQuery, SiteView};
use malla_queue::{Lane, LaneFilter, LaneKey, Scope};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::App;
use crate::auth::{May, See};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{Query, limit};
use crate::view;

#[derive(Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SiteQuery {
    /// Part of the site's address.
    #[serde(default)]
    search: Option<String>,
}

/// List the sites of the fleet in the order of their addresses.
#[utoipa::path(get, path = "/api/v1/fetch/sites", tag = "fetch", operation_id = "list_sites",
    params(SiteQuery, PageQuery), responses((status = 200, body = Page<SiteView>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn list(
    State(app): State<App>,
    _: May<See>,
    Query(query, paging): Query<SiteQuery, PageQuery>,
) -> Result<Json<Page<SiteView>>, Refusal> {
    let limit = limit(&paging)?;
    let after = cursor::read(List::Sites, paging.cursor.as_deref())?;
    let after: Option<LaneKey> = after.map(|text| text.parse()).transpose()?;
    let filter = LaneFilter { room: Some(ROOM.to_owned()), paused: None, search: query.search };
    // Sites belong to nobody: what waits there is told, not for whom.
    let found = app.queue.lanes(&Scope::All, &filter, after.as_ref(), limit).await?;
    let mut items = Vec::with_capacity(found.lanes.len());
    for lane in &found.lanes {
        items.extend(shown(&app, lane).await?);
    }
    let next_cursor = found.next.map(|key| cursor::write(List::Sites, key.as_str()));
    Ok(Json(Page { items, next_cursor }))
}

#[derive(Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct OneSite {
    /// The site's address, or that of any page of it.
    #[serde(default)]
    #[param(required = true)]
    url: String,
}

/// Show one site, with its robots.txt.
#[utoipa::path(get, path = "/api/v1/fetch/site", tag = "fetch", operation_id = "show_site",
    params(OneSite), responses((status = 200, body = SiteView)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn show(
    State(app): State<App>,
    _: May<See>,
    Query(query, crate::query::NoParams {}): Query<OneSite, crate::query::NoParams>,
) -> Result<Json<SiteView>, Refusal> {
    let url = PageUrl::parse(&query.url).map_err(|why| Refusal::invalid(format!("url: {why}")))?;
    let lane = app.queue.lane(&Scope::All, &url.site().lane()).await?;
    let site = shown(&app, &lane).await?;
    site.map(Json).ok_or_else(|| Refusal::new(malla_protocol::Code::NotFound, "no such site"))
}

async fn shown(app: &App, lane: &Lane) -> Result<Option<SiteView>, Refusal> {
    let Some(site) = Site::of_lane(&lane.key) else { return Ok(None) };
    let known = app.fetch.site(&site).await?;
    Ok(Some(view::fetch::site(lane, &site, known)))
}
