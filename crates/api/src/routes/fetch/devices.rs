//! The devices of the fleet, for those who look after them.

use axum::Json;
use axum::extract::State;
use malla_fetch::{Device, DeviceId};
use malla_protocol::{DeviceChange, DeviceView, Page};

use crate::App;
use crate::auth::{Change, May, See};
use crate::problem::Refusal;
use crate::query::Path;
use crate::view::{self, GroupNames};
use crate::write::Write;

/// List the devices of your groups, by owner and name.
#[utoipa::path(get, path = "/api/v1/devices", tag = "fetch", operation_id = "list_devices",
    responses((status = 200, body = Page<DeviceView>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn list(State(app): State<App>, who: May<See>) -> Result<Json<Page<DeviceView>>, Refusal> {
    let found = app.fetch.devices(&who.scope()).await?;
    let names = GroupNames::of(&app, found.iter().map(|device| device.group)).await?;
    let now = app.clock.now();
    let items = found.iter().map(|device| view::fetch::device(device, &names, now)).collect();
    Ok(Json(Page { items, next_cursor: None }))
}

/// Block a device, or let it work again.
#[utoipa::path(patch, path = "/api/v1/devices/{id}", tag = "fetch", operation_id = "change_device",
    params(("id" = i64, Path)), request_body = DeviceChange, responses((status = 200, body = DeviceView)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn change(
    State(app): State<App>,
    who: May<Change>,
    Path(id): Path<String>,
    write: Write<DeviceChange>,
) -> Result<Json<DeviceView>, Refusal> {
    let number = id.parse().map_err(|_| Refusal::new(malla_protocol::Code::NotFound, format!("device {id}")))?;
    let action = if write.body.blocked { "device.block" } else { "device.unblock" };
    let act = write.act(&who, action, &id);
    let device = app.fetch.block_device(&who.scope(), DeviceId(number), write.body.blocked, act).await?;
    shown(&app, &device).await
}

async fn shown(app: &App, device: &Device) -> Result<Json<DeviceView>, Refusal> {
    let names = GroupNames::of(app, [device.group]).await?;
    Ok(Json(view::fetch::device(device, &names, app.clock.now())))
}
