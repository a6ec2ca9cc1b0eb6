//! A request that changes something: its JSON body, and its `Idempotency-Key` bound to exactly this request.

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, FailedToBufferBody};
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use malla_access::Principal;
use malla_protocol::{
    AlertChange, Code, CrawlChange, DeviceChange, EndpointChange, IDEMPOTENCY_HEADER, LaneChange, NewAlert,
    NewComparison, NewCrawl, NewEndpoint, NewGroup, NewSubscription, NewToken, NewUser, NewWatch, SubmitTasks,
    SubscriptionChange, UserChange, WatchChange, WikiPageChange,
};
use malla_queue::{Act, Once};
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use sha2::{Digest as _, Sha256};

use crate::App;
use crate::problem::Refusal;

const KEY_CHARS_MAX: usize = 255;

/// What a body can be read as.
pub(crate) trait Input: Sized + Send {
    fn read(headers: &HeaderMap, bytes: &[u8]) -> Result<Self, Refusal>;

    /// The part of the body that the fingerprint covers. A quick hash of a password must never be stored.
    fn fingerprint_of(bytes: &Bytes) -> Bytes {
        bytes.clone()
    }
}

/// A write whose whole meaning is in its path and query. A body is not looked at.
pub(crate) struct NoBody;

impl Input for NoBody {
    fn read(_: &HeaderMap, _: &[u8]) -> Result<Self, Refusal> {
        Ok(Self)
    }
}

/// JSON whatever the content type says.
pub(crate) struct AnyJson<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> Input for AnyJson<T> {
    fn read(_: &HeaderMap, bytes: &[u8]) -> Result<Self, Refusal> {
        parse_json(bytes).map(Self)
    }
}

macro_rules! json_input {
    ($($name:ty),+) => {
        $(impl Input for $name {
            fn read(headers: &HeaderMap, bytes: &[u8]) -> Result<Self, Refusal> {
                read_json(headers, bytes)
            }
        })+
    };
}

json_input!(SubmitTasks, LaneChange, NewGroup, NewToken, DeviceChange, WikiPageChange);
json_input!(NewComparison, NewCrawl, CrawlChange, NewWatch, WatchChange);
json_input!(NewEndpoint, EndpointChange, NewSubscription, SubscriptionChange, NewAlert, AlertChange);

macro_rules! json_input_with_password {
    ($($name:ty),+) => {
        $(impl Input for $name {
            fn read(headers: &HeaderMap, bytes: &[u8]) -> Result<Self, Refusal> {
                read_json(headers, bytes)
            }

            fn fingerprint_of(bytes: &Bytes) -> Bytes {
                without_password(bytes)
            }
        })+
    };
}

json_input_with_password!(NewUser, UserChange);

/// The body and the key of a write. It stands last among a handler's arguments, after the permission.
pub(crate) struct Write<T> {
    pub(crate) body: T,
    once: Option<Once>,
}

impl<T> Write<T> {
    /// How this change is written down. The key is the caller's own: two callers may use the same word.
    pub(crate) fn act(&self, who: &Principal, action: &'static str, object: impl Into<String>) -> Act {
        let once = self.once.clone().map(|once| Once { scope: who.actor.clone(), ..once });
        Act { once, ..Act::new(who.actor.clone(), action, object) }
    }

    pub(crate) fn is_keyed(&self) -> bool {
        self.once.is_some()
    }
}

impl<T: Input> FromRequest<App> for Write<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refusal> {
        let key = idempotency_key(request.headers())?;
        let (method, uri, headers) = (request.method().clone(), request.uri().clone(), request.headers().clone());
        let bytes = Bytes::from_request(request, app).await.map_err(|error| unreadable(error, app))?;
        let body = T::read(&headers, &bytes)?;
        let once = key.map(|key| {
            let target = uri.path_and_query().map_or("/", |target| target.as_str());
            let parts = [method.as_str().as_bytes(), target.as_bytes(), &T::fingerprint_of(&bytes)];
            once(app, key, &parts)
        });
        Ok(Self { body, once })
    }
}

/// A request under its key. Whose key it is, is said later.
pub(crate) fn once(app: &App, key: String, request: &[&[u8]]) -> Once {
    let keep_for = app.settings.idempotency_keep;
    Once { scope: String::new(), key, fingerprint: fingerprint(request), keep_for }
}

pub(crate) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let Some(value) = headers.get(IDEMPOTENCY_HEADER) else {
        return Ok(None);
    };
    let fits = (1..=KEY_CHARS_MAX).contains(&value.len()) && value.as_bytes().iter().all(u8::is_ascii_graphic);
    match value.to_str() {
        Ok(key) if fits => Ok(Some(key.to_owned())),
        _ => Err(Refusal::invalid(format!(
            "the Idempotency-Key must have from 1 to {KEY_CHARS_MAX} visible ASCII characters, without spaces"
        ))),
    }
}

/// Each part is preceded by its length, so that no two requests run together into the same bytes.
fn fingerprint(request: &[&[u8]]) -> Vec<u8> {
    let mut hash = Sha256::new();
    for part in request {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().to_vec()
}

fn without_password(bytes: &Bytes) -> Bytes {
    match serde_json::from_slice::<serde_json::Value>(bytes) {
        Ok(serde_json::Value::Object(mut fields)) => {
            fields.remove("password");
            serde_json::Value::Object(fields).to_string().into()
        }
        _ => bytes.clone(),
    }
}

fn unreadable(error: BytesRejection, app: &App) -> Refusal {
    match error {
        BytesRejection::FailedToBufferBody(FailedToBufferBody::LengthLimitError(_)) => {
            let max = app.settings.body_bytes_max;
            Refusal::new(Code::TooLarge, format!("the body is too large: at most {max} bytes, unpacked"))
        }
        _ => Refusal::invalid("the body broke off or cannot be unpacked: send it again"),
    }
}

fn read_json<T: DeserializeOwned>(headers: &HeaderMap, bytes: &[u8]) -> Result<T, Refusal> {
    if !is_json(headers) {
        let detail = "the body must be JSON: send it with Content-Type: application/json";
        return Err(Refusal::new(Code::UnsupportedMediaType, detail));
    }
    parse_json(bytes)
}

pub(crate) fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        // A dot is the body as a whole.
        (if path == "." { String::new() } else { format!("{path}: ") }, error.into_inner())
    });
    let whole = read.and_then(|body| reader.end().map(|()| body).map_err(|error| (String::new(), error)));
    whole.map_err(|(place, error)| match error.classify() {
        Category::Data => Refusal::invalid(format!("the body does not fit: {place}{error}")),
        _ if bytes.is_empty() => Refusal::invalid("the body is empty: send JSON"),
        _ => Refusal::invalid(format!("the body is not JSON: {error}")),
    })
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_tells_requests_apart() {
        let of = |parts: [&str; 3]| fingerprint(&parts.map(str::as_bytes));
        let one = of(["POST", "/a", "bc"]);
        assert_eq!(one, of(["POST", "/a", "bc"]));
        for other in [["PUT", "/a", "bc"], ["POST", "/ab", "c"], ["POST", "/a", ""]] {
            assert_ne!(one, of(other));
        }
    }

    #[test]
    fn a_password_leaves_no_trace_in_the_fingerprint() {
        let one =
            NewUser::fingerprint_of(&Bytes::from_static(br#"{"name":"ana","role":"user","password":"one one one"}"#));
        let two =
            NewUser::fingerprint_of(&Bytes::from_static(br#"{"name":"ana","role":"user","password":"two two two"}"#));
        assert_eq!(one, two);
        assert!(!one.windows(3).any(|w| w == b"one"));
    }
}
