//! The routes that existing clients know run in browsers, on pages from elsewhere: CORS, and errors under the names that
//! such a page looks for. A token travels in `Authorization`, never in a cookie, so any origin may ask.

use axum::extract::Request;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, CONTENT_LENGTH, CONTENT_TYPE,
};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use malla_protocol::Problem;

use crate::problem::{NamedTwice, PROBLEM_JSON, of_bare_status};

const METHODS: &str = "GET, POST, OPTIONS";
const HEADERS: &str = "authorization, content-type, idempotency-key, x-request-id";
const EXPOSED: &str = "location, retry-after, x-request-id";
/// A day, in seconds.
const PREFLIGHT_KEEP: &str = "86400";

pub(crate) async fn open_to_browsers(request: Request, next: Next) -> Response {
    let mut response = match *request.method() {
        Method::OPTIONS => preflight(),
        _ => answered(request, next).await,
    };
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    response
}

/// Whether a browser may send the request at all. It comes without a token, so it says nothing about who may what.
fn preflight() -> Response {
    let allowed = [
        (ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (ACCESS_CONTROL_ALLOW_HEADERS, HEADERS),
        (ACCESS_CONTROL_MAX_AGE, PREFLIGHT_KEEP),
    ];
    (StatusCode::NO_CONTENT, allowed).into_response()
}

async fn answered(request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let mut response = next.run(request).await;
    let status = response.status();
    let refused = status.is_client_error() || status.is_server_error();
    if refused && !response.headers().contains_key(CONTENT_TYPE) {
        // The outer layers write the body from the problem.
        let problem =
            of_bare_status(status, method.as_str(), &path).into_response().extensions_mut().remove::<Problem>();
        if let Some(problem) = problem {
            response.headers_mut().remove(CONTENT_LENGTH);
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
            response.extensions_mut().insert(problem);
        }
    }
    response.extensions_mut().insert(NamedTwice);
    response
}
