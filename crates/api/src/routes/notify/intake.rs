//! Where events come in. Whoever gets a 200 may forget the event: it is safe.

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName};
use futures_util::StreamExt as _;
use malla_notify::{Credentials, IntakeError, NewEvent};
use malla_protocol::{Accepted, Code};
use malla_queue::Once;

use super::headers;
use crate::App;
use crate::auth::bearer;
use crate::problem::Refusal;
use crate::query::Path;
use crate::write::{idempotency_key, once};

const CHALLENGE: &str = "Bearer realm=\"endpoint\"";

macro_rules! takes {
    ($name:ident, $method:ident, $id:literal) => {
        #[utoipa::path($method, path = "/in/{endpoint}", tag = "notify", operation_id = $id,
                    summary = "Post an event to an endpoint.",
                    description = "Any body of any content type, up to the endpoint's `max_body`. A 200 means that the \
                                   event is safe and will reach every subscriber or be seen to fail; a 503 means that \
                                   it is not: come back after `Retry-After`. An endpoint may ask for a bearer token \
                                   or a Standard Webhooks signature of its own. A publisher that did not get its \
                                   answer repeats the event under the same `Idempotency-Key`: it is taken in once, \
                                   and both answers are the first event's id. Another method, query, content type or \
                                   body under a key that is in use is refused with `key_reused`. Keys are the \
                                   endpoint's: publishers to the same endpoint choose different ones.",
                    params(("endpoint" = String, Path, description = "The endpoint's name")),
                    request_body(content = Vec<u8>, content_type = "*/*"),
                    responses((status = 200, body = Accepted)))]
        pub(crate) async fn $name(
            State(app): State<App>,
            Path(endpoint): Path<String>,
            request: Request,
        ) -> Result<Json<Accepted>, Refusal> {
            take(&app, &endpoint, request).await
        }
    };
}

takes!(post, post, "post_event");
takes!(put, put, "put_event");
takes!(patch, patch, "patch_event");

async fn take(app: &App, endpoint: &str, request: Request) -> Result<Json<Accepted>, Refusal> {
    let max_body = app.intake.admits(endpoint).await.map_err(|error| refusal(endpoint, error))?.max_body;
    let (parts, body) = request.into_parts();
    let declared = content_length(&parts.headers);
    if declared.is_some_and(|bytes| bytes > max_body) {
        return Err(refusal(endpoint, IntakeError::TooLarge { max: max_body }));
    }
    let key = idempotency_key(&parts.headers)?;
    let kept = headers::kept(&parts.headers)?;
    let _room = app
        .intake_room(declared.unwrap_or(max_body))
        .ok_or_else(|| Refusal::new(Code::Full, "too many events are on their way in: try again in a moment"))?;
    let event = NewEvent {
        method: parts.method.to_string(),
        query: parts.uri.query().filter(|query| !query.is_empty()).map(str::to_owned),
        content_type: parts.headers.get(CONTENT_TYPE).map(headers::text),
        headers: kept,
        topic: None,
        body: whole(body, endpoint, max_body).await?,
    };
    let once = key.map(|key| keyed(app, key, &event));
    let id = app.intake.take(endpoint, credentials(&parts.headers), event, once, app.clock.now()).await;
    let id = id.map_err(|error| refusal(endpoint, error))?;
    Ok(Json(Accepted { id: id.to_string() }))
}

/// The event under its publisher's key. Headers may differ when it is sent again: a signature has its time.
fn keyed(app: &App, key: String, event: &NewEvent) -> Once {
    let (query, content_type) = (event.query.as_deref(), event.content_type.as_deref());
    let texts = [&*event.method, query.unwrap_or_default(), content_type.unwrap_or_default()].map(str::as_bytes);
    once(app, key, &[texts[0], texts[1], texts[2], &event.body])
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// The body as it came, counted while it comes: its sender need not have said how long it is.
async fn whole(body: Body, endpoint: &str, max: u64) -> Result<Vec<u8>, Refusal> {
    let mut chunks = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| Refusal::invalid("the body broke off: send it again"))?;
        if (bytes.len() + chunk.len()) as u64 > max {
            return Err(refusal(endpoint, IntakeError::TooLarge { max }));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn credentials(headers: &HeaderMap) -> Credentials {
    let of = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    Credentials {
        bearer: of(AUTHORIZATION).as_deref().and_then(bearer).map(str::to_owned),
        webhook_id: of(HeaderName::from_static("webhook-id")),
        webhook_timestamp: of(HeaderName::from_static("webhook-timestamp")),
        webhook_signature: of(headers::SIGNATURE),
    }
}

fn refusal(endpoint: &str, error: IntakeError) -> Refusal {
    match error {
        IntakeError::Unknown => Refusal::new(Code::NotFound, format!("the endpoint {endpoint} does not exist")),
        IntakeError::TooLarge { max } => {
            Refusal::new(Code::TooLarge, format!("the endpoint {endpoint} takes bodies of at most {max} bytes"))
        }
        IntakeError::Unauthorized(why) => Refusal::unauthorized(why, CHALLENGE),
        IntakeError::Full(why) => Refusal::new(Code::Full, why),
        IntakeError::Invalid(why) => Refusal::invalid(why),
        IntakeError::KeyReused(why) => Refusal::new(Code::KeyReused, why),
        IntakeError::Unavailable(why) => {
            tracing::warn!(why, endpoint, "an event could not be stored");
            Refusal::new(Code::Unavailable, "the event could not be stored: send it again in a moment")
        }
    }
}
