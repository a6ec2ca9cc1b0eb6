//! Lanes: list, show, change.

use axum::Json;
use axum::extract::State;
use malla_protocol::{LaneChange, LaneQuery, LaneView, Page, PageQuery};
use malla_queue::{Act, LaneFilter, LaneKey, Room};

use crate::App;
use crate::auth::{Change, May, See};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{Path, Query, limit};
use crate::view::{self, GroupNames};
use crate::write::Write;

/// List lanes in the order of their keys.
#[utoipa::path(get, path = "/api/v1/lanes", tag = "lanes", operation_id = "list_lanes",
    params(LaneQuery, PageQuery), responses((status = 200, body = Page<LaneView>)),
    extensions(("x-permission" = json!("see"))))]
pub(super) async fn list(
    State(app): State<App>,
    who: May<See>,
    Query(query, page): Query<LaneQuery, PageQuery>,
) -> Result<Json<Page<LaneView>>, Refusal> {
    if let Some(room) = &query.room {
        Room::new(room)?;
    }
    let filter = LaneFilter { room: query.room, paused: query.paused, search: query.search };
    let after = cursor::read_as::<LaneKey>(List::Lanes, page.cursor.as_deref())?;
    let found = app.queue.lanes(&who.scope(), &filter, after.as_ref(), limit(&page)?).await?;
    let names = GroupNames::of(&app, found.lanes.iter().map(|lane| lane.group)).await?;
    Ok(Json(Page {
        items: found.lanes.iter().map(|lane| view::lane(lane, &names)).collect(),
        next_cursor: found.next.map(|key| cursor::write(List::Lanes, key.as_str())),
    }))
}

/// Show one lane.
#[utoipa::path(get, path = "/api/v1/lanes/{key}", tag = "lanes", operation_id = "show_lane",
    params(("key" = String, Path, description = "The lane's key, percent-encoded: `drill%2Ffirst`")),
    responses((status = 200, body = LaneView)), extensions(("x-permission" = json!("see"))))]
pub(super) async fn show(
    State(app): State<App>,
    who: May<See>,
    Path(key): Path<String>,
) -> Result<Json<LaneView>, Refusal> {
    let lane = app.queue.lane(&who.scope(), &key.parse()?).await?;
    let names = GroupNames::of(&app, [lane.group]).await?;
    Ok(Json(view::lane(&lane, &names)))
}

/// Pause or resume a lane, change its ceiling or gap.
#[utoipa::path(patch, path = "/api/v1/lanes/{key}", tag = "lanes", operation_id = "change_lane",
    params(("key" = String, Path, description = "The lane's key, percent-encoded: `drill%2Ffirst`")),
    request_body = LaneChange, responses((status = 200, body = LaneView)),
    extensions(("x-permission" = json!("change"))))]
pub(super) async fn change(
    State(app): State<App>,
    who: May<Change>,
    Path(key): Path<String>,
    write: Write<LaneChange>,
) -> Result<Json<LaneView>, Refusal> {
    let key: LaneKey = key.parse()?;
    let LaneChange { paused, ceiling, gap_ms } = write.body;
    let change = malla_queue::LaneChange { paused, ceiling, gap_ms };
    change.check()?;
    let act = Act { detail: serde_json::json!(write.body), ..write.act(&who, "lane.change", key.as_str()) };
    let lane = app.queue.change_lane(&who.scope(), &key, change, act).await?;
    let names = GroupNames::of(&app, [lane.group]).await?;
    Ok(Json(view::lane(&lane, &names)))
}
