//! What devices say to their server: join, lease, results, give back, heartbeat, leave.
//!
//! A device sees URLs and nothing of who asked. After it has joined it is known by a secret of its own, which opens
//! these routes and no others.

use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::{ConnectInfo, FromRequestParts, State};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::http::{Response, StatusCode};
use axum::{Extension, Json};
use futures_util::StreamExt as _;
use malla_access::{Role, Secret};
use malla_fetch::{About, BLOCKED, Brought, Device, DispatchError, NewDevice, Wish};
use malla_protocol::{
    BlockView, Code, DEVICE_SECRET, FLEET_VERSION, FrameError, FrameReader, GiveBack, JoinFleet, Joined, LeaseBlock,
    ResultsTaken,
};
use malla_queue::LeaseToken;

use super::delivery::carry;
use crate::App;
use crate::auth::{Change, May, bearer};
use crate::problem::Refusal;
use crate::routes::owner::owner;
use crate::view::fetch as view;
use crate::write::{AnyJson, Write};

const CHALLENGE: &str = "Bearer realm=\"fleet\"";
/// Letters of a device's secret after its beginning.
const SECRET_LENGTHS: std::ops::RangeInclusive<usize> = 32..=200;
/// A device says that it is there at least this often.
const HEARTBEAT_S: u64 = 30;
/// Bytes of results in one request.
const RESULTS_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Results that are taken in together.
const STEP: usize = 256;
/// And their bytes.
const STEP_BYTES: usize = 8 * 1024 * 1024;

/// A device that has joined and is not blocked.
pub(crate) struct OfDevice(Device);

impl FromRequestParts<App> for OfDevice {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        let given = parts.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).and_then(bearer);
        let unknown = || Refusal::unauthorized("this device is not known here: join first", CHALLENGE);
        let secret = given.ok_or_else(unknown)?;
        let device = app.fetch.device_by_secret(&Secret::from_text(secret).hash().0).await?.ok_or_else(unknown)?;
        if device.blocked {
            return Err(Refusal::new(Code::Forbidden, BLOCKED));
        }
        Ok(Self(device))
    }
}

/// Join the fleet.
///
/// Takes the token of a user; the answer holds the device's own secret for all that follows. While a device is at work,
/// another cannot join under its name.
#[utoipa::path(post, path = "/api/v1/fleet/join", tag = "fleet", operation_id = "join_fleet",
    request_body = JoinFleet, responses((status = 201, body = Joined)),
    extensions(("x-permission" = json!("change"))))]
pub(crate) async fn join(
    State(app): State<App>,
    who: May<Change>,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    write: Write<AnyJson<JoinFleet>>,
) -> Result<(StatusCode, Json<Joined>), Refusal> {
    let wanted = write.body.0;
    if wanted.version != FLEET_VERSION {
        let (theirs, ours) = (wanted.version, FLEET_VERSION);
        let detail =
            format!("this device speaks version {theirs} and this server version {ours}: upgrade the older one");
        return Err(Refusal::invalid(detail));
    }
    let secret = match wanted.secret {
        Some(text) => read_secret(text)?,
        None => Secret::random(DEVICE_SECRET)?,
    };
    let device = NewDevice {
        name: wanted.name,
        owner: who.actor.clone(),
        group: owner(&app, &who, None).await?.map(|owner| owner.id),
        about: About {
            system: wanted.system,
            version: wanted.program,
            hostname: wanted.hostname,
            address: peer.map(|Extension(ConnectInfo(address))| address.ip().to_string()).unwrap_or_default(),
            country: wanted.country,
            own: who.role == Role::Admin,
        },
        secret_hash: secret.hash().0.to_vec(),
    };
    device.check()?;
    let device = app.fetch.join(device).await?;
    if device.blocked {
        return Err(Refusal::new(Code::Forbidden, BLOCKED));
    }
    tracing::info!(device = device.name, owner = device.owner, "a device joined");
    let backups = app.fetching.backups.clone();
    let joined = Joined { device: device.id.0, secret: secret.reveal().to_owned(), backups, heartbeat_s: HEARTBEAT_S };
    Ok((StatusCode::CREATED, Json(joined)))
}

/// A secret that the device made itself. Only its form can be seen, not whether it is random.
fn read_secret(text: String) -> Result<Secret, Refusal> {
    let own = text.strip_prefix(DEVICE_SECRET).unwrap_or_default();
    let plain = own.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if !(SECRET_LENGTHS.contains(&own.len()) && plain) {
        let (prefix, least) = (DEVICE_SECRET, SECRET_LENGTHS.start());
        let detail = format!("a device's secret is \"{prefix}\" and at least {least} random letters, digits, - and _");
        return Err(Refusal::invalid(detail));
    }
    Ok(Secret::from_text(text))
}

/// Get work, waiting for it a while. Without any the block is empty.
#[utoipa::path(post, path = "/api/v1/fleet/lease", tag = "fleet", operation_id = "lease_block",
    request_body = LeaseBlock, responses((status = 200, body = BlockView)),
    extensions(("x-permission" = json!("device"))))]
pub(crate) async fn lease(
    State(app): State<App>,
    OfDevice(device): OfDevice,
    write: Write<AnyJson<LeaseBlock>>,
) -> Result<Response<Body>, Refusal> {
    let LeaseBlock { pages, measures } = write.body.0;
    let wish = Wish { pages, measures: view::read_measures(measures) };
    carry(app.dispatcher.deliver(device, wish).await.map_err(refusal)?)
}

/// Hand over results: frames, one after the other.
///
/// A frame is the length of its head and of its body (four bytes each, network order), the head in JSON, and the body packed
/// with zstd.
#[utoipa::path(post, path = "/api/v1/fleet/results", tag = "fleet", operation_id = "bring_results",
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, body = ResultsTaken)),
    extensions(("x-permission" = json!("device"))))]
pub(crate) async fn results(
    State(app): State<App>,
    OfDevice(device): OfDevice,
    body: Body,
) -> Result<Json<ResultsTaken>, Refusal> {
    let mut chunks = body.into_data_stream();
    let mut reader = FrameReader::new(usize::try_from(app.fetching.body_bytes_max).unwrap_or(usize::MAX));
    let (mut total, mut step, mut brought, mut lost) = (0, 0, Vec::new(), Vec::new());
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| frame_refusal(&device, &FrameError::BrokeOff))?;
        total += chunk.len();
        step += chunk.len();
        if total > RESULTS_BYTES_MAX {
            return Err(frame_refusal(&device, &FrameError::TooLarge));
        }
        reader.push(&chunk);
        while let Some(frame) = reader.next_frame().map_err(|error| frame_refusal(&device, &error))? {
            brought.push(view::brought(frame).map_err(|why| {
                tracing::warn!(device = device.name, why, "a device sent results that cannot be read");
                Refusal::invalid(why)
            })?);
        }
        if brought.len() >= STEP || step >= STEP_BYTES {
            step = 0;
            lost.extend(take(&app, &device, std::mem::take(&mut brought)).await?);
        }
    }
    // What is whole counts, whatever comes after it.
    lost.extend(take(&app, &device, brought).await?);
    reader.finish().map_err(|error| frame_refusal(&device, &error))?;
    Ok(Json(ResultsTaken { lost: lost.iter().map(LeaseToken::to_string).collect() }))
}

async fn take(app: &App, device: &Device, brought: Vec<Brought>) -> Result<Vec<LeaseToken>, Refusal> {
    if brought.is_empty() {
        return Ok(Vec::new());
    }
    app.dispatcher.results(device, brought).await.map_err(refusal)
}

fn frame_refusal(device: &Device, error: &FrameError) -> Refusal {
    tracing::warn!(device = device.name, %error, "a device sent results that cannot be taken");
    let code = if *error == FrameError::TooLarge { Code::TooLarge } else { Code::Invalid };
    Refusal::new(code, error.to_string())
}

/// Give work back undone.
#[utoipa::path(post, path = "/api/v1/fleet/give-back", tag = "fleet", operation_id = "give_back",
    request_body = GiveBack, responses((status = 204)),
    extensions(("x-permission" = json!("device"))))]
pub(crate) async fn give_back(
    State(app): State<App>,
    OfDevice(device): OfDevice,
    write: Write<AnyJson<GiveBack>>,
) -> Result<StatusCode, Refusal> {
    let items = write.body.0.items.into_iter();
    let items: Option<Vec<_>> = items.map(|item| Some((item.token.parse().ok()?, item.quiet_ms))).collect();
    let items = items.ok_or_else(|| Refusal::invalid("a token is not one that this server gave out"))?;
    app.dispatcher.give_back(&device, items).await.map_err(refusal)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Say that the device is there.
#[utoipa::path(post, path = "/api/v1/fleet/heartbeat", tag = "fleet", operation_id = "heartbeat",
    responses((status = 204)),
    extensions(("x-permission" = json!("device"))))]
pub(crate) async fn heartbeat(State(app): State<App>, OfDevice(device): OfDevice) -> Result<StatusCode, Refusal> {
    app.fetch.device_seen(device.id, device.measures).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Leave the fleet for now. What the device still holds goes back to the lanes.
#[utoipa::path(post, path = "/api/v1/fleet/leave", tag = "fleet", operation_id = "leave_fleet",
    responses((status = 204)),
    extensions(("x-permission" = json!("device"))))]
pub(crate) async fn leave(State(app): State<App>, OfDevice(device): OfDevice) -> Result<StatusCode, Refusal> {
    app.fetch.device_left(device.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn refusal(error: DispatchError) -> Refusal {
    let detail = error.to_string();
    match error {
        DispatchError::Later { after_ms } => Refusal::new(Code::Full, detail).retry_after_ms(after_ms),
        DispatchError::Away(why) => {
            tracing::warn!(why, "a device could not be served");
            Refusal::new(Code::Unavailable, "the fleet's store is not available: try again in a moment")
        }
        DispatchError::Unknown(_) => Refusal::unauthorized(detail, CHALLENGE),
        DispatchError::Refused(_) => Refusal::new(Code::Forbidden, detail),
    }
}
