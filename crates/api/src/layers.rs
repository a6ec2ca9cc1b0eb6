//! What every request passes on its way in and out, whoever answers it. Put around all routers at once.

use std::any::Any;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use malla_protocol::{Code, Problem};
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;

use crate::Settings;
use crate::linger::linger;
use crate::observe::{self, RequestId};
use crate::problem::{NamedTwice, PROBLEM_JSON, Refusal, of_bare_status, render};

/// Wraps a router, outermost first: reading on after an answer; the request's id, span and metrics; packing of answers; security headers;
/// problems whole; panics; the time limit; the size limit of bodies (which counts unpacked bytes: the API's own routes
/// unpack them, all but those that take events, results and batches in).
pub fn layers(router: Router, settings: &Settings) -> Router {
    observe::describe();
    router.layer(
        ServiceBuilder::new()
            .layer(from_fn(linger))
            .layer(from_fn(observe::observe))
            .layer(CompressionLayer::new())
            .layer(from_fn(secure))
            .layer(from_fn(complete_problems))
            .layer(CatchPanicLayer::custom(panicked))
            .layer(from_fn_with_state(settings.request_timeout, limit_time))
            .layer(DefaultBodyLimit::max(settings.body_bytes_max)),
    )
}

/// Gives each problem the request's id, and makes problems of errors that have no body at all: unknown routes,
/// wrong methods, unknown encodings.
async fn complete_problems(request: Request, next: Next) -> Response {
    let id = request.extensions().get::<RequestId>().cloned();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let mut response = next.run(request).await;
    let bare = response.status().is_client_error() || response.status().is_server_error();
    if bare && !response.headers().contains_key(CONTENT_TYPE) {
        let (original, _) = response.into_parts();
        response = of_bare_status(original.status, method.as_str(), &path).into_response();
        for (name, value) in &original.headers {
            if name != CONTENT_LENGTH && !response.headers().contains_key(name) {
                response.headers_mut().append(name, value.clone());
            }
        }
    }
    match response.extensions_mut().remove::<Problem>() {
        Some(problem) => {
            let twice = response.extensions_mut().remove::<NamedTwice>();
            let (parts, _) = response.into_parts();
            let body = render(&Problem { request_id: id.map(|RequestId(id)| id), ..problem }, twice).into_body();
            Response::from_parts(parts, body)
        }
        None => response,
    }
}

/// Headers that make a browser careful with what it gets, unless the handler knows better.
async fn secure(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    set_if_absent(headers, X_CONTENT_TYPE_OPTIONS, "nosniff");
    set_if_absent(headers, X_FRAME_OPTIONS, "DENY");
    set_if_absent(headers, REFERRER_POLICY, "same-origin");
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    if kind.starts_with(b"application/json") || kind.starts_with(PROBLEM_JSON.as_bytes()) {
        set_if_absent(headers, CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'");
        set_if_absent(headers, CACHE_CONTROL, "no-store");
    }
    response
}

fn set_if_absent(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.entry(name).or_insert(HeaderValue::from_static(value));
}

fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let why = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    tracing::error!(why = why.unwrap_or("unknown"), "a handler panicked");
    Refusal::internal().into_response()
}

/// Bounds the time until an answer begins; what streams after that is not cut.
async fn limit_time(State(limit): State<Duration>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let detail = "this took too long and may have been carried out all the same: look, or repeat it with the \
                          same Idempotency-Key";
            Refusal::new(Code::Timeout, detail).into_response()
        }
    }
}
