//! What is known about a request from outside: its id (in and out), a span in the log, and the metrics.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use malla_protocol::REQUEST_ID_HEADER;
use metrics::{Unit, counter, describe_counter, describe_histogram, histogram};
use tracing::Instrument as _;

const REQUESTS: &str = "malla_http_requests_total";
const SECONDS: &str = "malla_http_request_seconds";
const ID_BYTES_MAX: usize = 128;

/// How a request is called in answers and in the log.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) String);

pub(crate) fn describe() {
    describe_counter!(REQUESTS, "HTTP requests by route, method and status");
    describe_histogram!(SECONDS, Unit::Seconds, "Time until an answer began, by route and method");
}

/// The outermost layer of all.
pub(crate) async fn observe(mut request: Request, next: Next) -> Response {
    let id = incoming_id(request.headers()).unwrap_or_else(new_id);
    request.extensions_mut().insert(RequestId(id.clone()));
    let route = request.extensions().get::<MatchedPath>().map_or("unmatched", MatchedPath::as_str).to_owned();
    let method = known_method(request.method());
    let span = tracing::info_span!("request", method, path = request.uri().path(), request_id = id);
    let began = Instant::now();
    let mut response = next.run(request).instrument(span.clone()).await;
    let (status, took) = (response.status(), began.elapsed());
    span.in_scope(|| {
        let took_ms = took.as_millis();
        if status.is_server_error() {
            tracing::warn!(status = status.as_u16(), took_ms, "answered");
        } else {
            tracing::debug!(status = status.as_u16(), took_ms, "answered");
        }
    });
    counter!(REQUESTS, "route" => route.clone(), "method" => method, "status" => status.as_u16().to_string())
        .increment(1);
    histogram!(SECONDS, "route" => route, "method" => method).record(took.as_secs_f64());
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(HeaderName::from_static(REQUEST_ID_HEADER), value);
    }
    response
}

/// The caller's own id, if it can stand in a log line.
fn incoming_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(REQUEST_ID_HEADER)?.to_str().ok()?;
    let fits = (1..=ID_BYTES_MAX).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte));
    fits.then(|| id.to_owned())
}

fn new_id() -> String {
    let mut bytes = [0u8; 12];
    match getrandom::fill(&mut bytes) {
        Ok(()) => URL_SAFE_NO_PAD.encode(bytes),
        Err(_) => "no-randomness".to_owned(),
    }
}

/// Methods are the caller's words, and a metric must not grow with them.
fn known_method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sane_id_is_taken_over() {
        check("build-17.retry_2", true);
        check("", false);
        check("two words", false);
        check("a\"b", false);
        check(&"x".repeat(129), false);
    }

    fn check(id: &str, taken: bool) {
        let mut headers = HeaderMap::new();
        headers.insert(REQUEST_ID_HEADER, HeaderValue::from_str(id).unwrap());
        assert_eq!(incoming_id(&headers).is_some(), taken, "{id}");
    }

    #[test]
    fn new_ids_differ_and_could_come_back_in() {
        let (one, two) = (new_id(), new_id());
        assert_ne!(one, two);
        check(&one, true);
    }
}
