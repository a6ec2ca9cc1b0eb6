//! How a request is refused: a code, its HTTP status and one sentence, as a problem document.
//! The only place that knows which error of a room becomes which status.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use malla_protocol::{Code, Problem};
use malla_queue::Error;
use serde::Serialize;

pub(crate) const PROBLEM_JSON: &str = "application/problem+json";

/// When to come back after a limit, and after the store was away.
const FULL_RETRY_S: u32 = 5;
const UNAVAILABLE_RETRY_S: u32 = 2;

/// A refused request, on its way to become a [`Problem`].
#[derive(Debug)]
pub(crate) struct Refusal {
    code: Code,
    detail: String,
    retry_after_s: Option<u32>,
    www_authenticate: Option<&'static str>,
}

impl Refusal {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        let retry_after_s = match code {
            Code::Full | Code::NotAvailable => Some(FULL_RETRY_S),
            Code::Unavailable | Code::Timeout => Some(UNAVAILABLE_RETRY_S),
            _ => None,
        };
        Self { code, detail: detail.into(), retry_after_s, www_authenticate: None }
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(Code::Invalid, detail)
    }

    /// A 401, with the challenge that RFC 6750 asks for.
    pub(crate) fn unauthorized(detail: impl Into<String>, challenge: &'static str) -> Self {
        Self { www_authenticate: Some(challenge), ..Self::new(Code::Unauthorized, detail) }
    }

    pub(crate) fn internal() -> Self {
        let detail = "something went wrong on the server: tell its operator the request_id of this answer";
        Self::new(Code::Internal, detail)
    }

    /// When to come back, to the second above.
    pub(crate) fn retry_after_ms(self, after_ms: u64) -> Self {
        Self { retry_after_s: Some(u32::try_from(after_ms.div_ceil(1_000)).unwrap_or(u32::MAX)), ..self }
    }

    /// Says which part of the request it is about.
    pub(crate) fn within(self, place: &str) -> Self {
        Self { detail: format!("{place}: {}", self.detail), ..self }
    }

    /// Whether the same request may well succeed in a moment.
    pub(crate) fn is_passing(&self) -> bool {
        self.retry_after_s.is_some()
    }

    fn problem(&self) -> Problem {
        Problem {
            kind: format!("urn:malla:problem:{}", self.code),
            title: title(self.code).into(),
            status: status(self.code).as_u16(),
            detail: self.detail.clone(),
            code: self.code,
            retry_after_s: self.retry_after_s,
            request_id: None,
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::LeaseLost(_) => Code::LeaseLost,
            Error::NotFound(_) => Code::NotFound,
            Error::WrongState { .. } => Code::WrongState,
            Error::Taken(_) => Code::Taken,
            Error::Conflict(_) => Code::Conflict,
            Error::NotAvailable(_) => Code::NotAvailable,
            Error::Invalid(_) => Code::Invalid,
            Error::Full { .. } => Code::Full,
            Error::KeyReused => Code::KeyReused,
            Error::ShownOnce => Code::ShownOnce,
            Error::Deposed => {
                return Self::new(Code::Unavailable, "another member leads now: try again in a moment");
            }
            Error::Unavailable(why) => {
                tracing::warn!(why, "the store is not available");
                return Self::new(Code::Unavailable, "the store is not available: try again in a moment");
            }
            Error::Internal(why) => {
                tracing::error!(why, "internal error");
                return Self::internal();
            }
        };
        Self::new(code, error.to_string())
    }
}

impl IntoResponse for Refusal {
    /// The problem also travels beside the body, so that the outer layers can add the request's id.
    fn into_response(self) -> Response<Body> {
        let problem = self.problem();
        let mut response = render(&problem, None);
        if let Some(seconds) = self.retry_after_s {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(challenge) = self.www_authenticate {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        response.extensions_mut().insert(problem);
        response
    }
}

/// Travels beside a problem that shall also say `error` and `message`: its title and detail, under the names that some
/// clients look for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedTwice;

#[derive(Serialize)]
struct Rendered<'a> {
    #[serde(flatten)]
    problem: &'a Problem,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

pub(crate) fn render(problem: &Problem, twice: Option<NamedTwice>) -> Response<Body> {
    let (error, message) = (twice.map(|_| problem.title.as_str()), twice.map(|_| problem.detail.as_str()));
    let body = serde_json::to_vec(&Rendered { problem, error, message }).expect("a problem has only string keys");
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status(problem.code);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
    response
}

/// What a bare status stands for when something below the handlers refused the request (an unknown route, a wrong
/// method, an encoding nobody knows).
pub(crate) fn of_bare_status(status: StatusCode, method: &str, path: &str) -> Refusal {
    match status {
        StatusCode::NOT_FOUND => {
            Refusal::new(Code::NotFound, format!("{path} does not exist: /docs lists every route"))
        }
        StatusCode::METHOD_NOT_ALLOWED => {
            let detail = format!("{path} does not take {method}: the Allow header says what it takes");
            Refusal::new(Code::MethodNotAllowed, detail)
        }
        StatusCode::PAYLOAD_TOO_LARGE => Refusal::new(Code::TooLarge, "the body is too large"),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            let detail = "this content encoding is not known: send the body plain, with gzip or with zstd";
            Refusal::new(Code::UnsupportedMediaType, detail)
        }
        status if status.is_client_error() => Refusal::invalid(format!("the request cannot be read ({status})")),
        StatusCode::SERVICE_UNAVAILABLE => Refusal::new(Code::Unavailable, "not available now: try again in a moment"),
        _ => Refusal::internal(),
    }
}

pub(crate) fn status(code: Code) -> StatusCode {
    match code {
        Code::Invalid => StatusCode::BAD_REQUEST,
        Code::Unauthorized => StatusCode::UNAUTHORIZED,
        Code::Forbidden | Code::Csrf => StatusCode::FORBIDDEN,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        Code::WrongState | Code::Taken | Code::Conflict | Code::LeaseLost | Code::ShownOnce => StatusCode::CONFLICT,
        Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Code::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
        Code::CreditUsedUp => StatusCode::PAYMENT_REQUIRED,
        Code::TooMany => StatusCode::TOO_MANY_REQUESTS,
        Code::Internal | Code::Other => StatusCode::INTERNAL_SERVER_ERROR,
        Code::Full | Code::NotAvailable | Code::Unavailable | Code::Timeout => StatusCode::SERVICE_UNAVAILABLE,
    }
}

fn title(code: Code) -> &'static str {
    match code {
        Code::Invalid => "Invalid request",
        Code::Unauthorized => "Not known",
        Code::Forbidden => "Not allowed",
        Code::Csrf => "Token of the session missing",
        Code::NotFound => "Not found",
        Code::MethodNotAllowed => "Wrong method",
        Code::WrongState => "Wrong state",
        Code::Taken => "Taken",
        Code::Conflict => "Conflict",
        Code::LeaseLost => "Lease lost",
        Code::ShownOnce => "Shown once",
        Code::TooLarge => "Too large",
        Code::UnsupportedMediaType => "Unknown content type",
        Code::KeyReused => "Idempotency key reused",
        Code::CreditUsedUp => "Credit used up",
        Code::TooMany => "Too much asked for",
        Code::Internal | Code::Other => "Internal error",
        Code::Full => "Full",
        Code::NotAvailable => "Not available yet",
        Code::Unavailable => "Not available",
        Code::Timeout => "Took too long",
    }
}

#[cfg(test)]
mod tests {
    use malla_queue::{State, TaskId};

    use super::*;

    #[test]
    fn each_error_has_its_status_and_code() {
        check(Error::LeaseLost(TaskId(1)), 409, "lease_lost");
        check(Error::NotFound("task x".into()), 404, "not_found");
        check(Error::WrongState { state: State::Queued, verb: "resumed" }, 409, "wrong_state");
        check(Error::Taken("the name is taken".into()), 409, "taken");
        check(Error::Conflict("it differs".into()), 409, "conflict");
        check(Error::NotAvailable("not yet".into()), 503, "not_available");
        check(Error::Invalid("no".into()), 400, "invalid");
        check(Error::Full { waiting: 2, limit: 1 }, 503, "full");
        check(Error::KeyReused, 422, "key_reused");
        check(Error::ShownOnce, 409, "shown_once");
        check(Error::Deposed, 503, "unavailable");
        check(Error::Unavailable("disk".into()), 503, "unavailable");
        check(Error::Internal("secret path".into()), 500, "internal");
    }

    fn check(error: Error, status: u16, code: &str) {
        let refusal = Refusal::from(error);
        let problem = refusal.problem();
        assert_eq!((problem.status, problem.code.name()), (status, code));
        assert_eq!(problem.kind, format!("urn:malla:problem:{code}"));
        let response = refusal.into_response();
        assert_eq!(response.headers().contains_key(RETRY_AFTER), status == 503, "{code}");
    }

    #[test]
    fn what_went_wrong_inside_stays_inside() {
        for error in [Error::Internal("/secret/path".into()), Error::Unavailable("/secret/path".into())] {
            assert!(!Refusal::from(error).detail.contains("secret"));
        }
    }
}
