//! What a visitor gets instead of a page: a redirect to the login, or one sentence with its status.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use malla_queue::Error;

use crate::{tongue, words};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// To the login, and from there on to `next`.
    SignIn {
        next: String,
    },
    Sentence {
        status: StatusCode,
        sentence: String,
    },
}

impl Refusal {
    pub(crate) fn not_found(what: &str) -> Self {
        let what = tongue::told(what.to_owned());
        Self::new(StatusCode::NOT_FOUND, say!("{what} does not exist, or it belongs to a group you are not in.", what))
    }

    pub(crate) fn bad(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, sentence)
    }

    pub(crate) fn forbidden(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, sentence)
    }

    pub(crate) fn new(status: StatusCode, sentence: impl Into<String>) -> Self {
        Self::Sentence { status, sentence: as_sentence(sentence.into()) }
    }

    /// The page's headline for a status.
    pub(crate) fn headline(status: StatusCode) -> &'static str {
        match status {
            StatusCode::BAD_REQUEST => t!("That cannot be read"),
            StatusCode::FORBIDDEN => t!("Not allowed"),
            StatusCode::NOT_FOUND => t!("Not found"),
            StatusCode::METHOD_NOT_ALLOWED => t!("Not this way"),
            StatusCode::CONFLICT => t!("That is not possible now"),
            StatusCode::PAYLOAD_TOO_LARGE => t!("Too large"),
            StatusCode::TOO_MANY_REQUESTS => t!("Too many tries"),
            StatusCode::SERVICE_UNAVAILABLE => t!("Not available"),
            _ => t!("Something went wrong"),
        }
    }

    /// What to say when a handler gave a status and no words.
    pub(crate) fn of_status(status: StatusCode) -> Self {
        let sentence = match status {
            StatusCode::METHOD_NOT_ALLOWED => t!("This address does not take that kind of request."),
            StatusCode::PAYLOAD_TOO_LARGE => t!("The form is too large: shorten what you typed."),
            StatusCode::NOT_FOUND => t!("There is no such page."),
            _ if status.is_client_error() => t!("The request cannot be read: go back and try again."),
            _ => t!("The console could not answer: the server's log says why."),
        };
        Self::new(status, sentence)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::NotFound(what) => return Self::not_found(what),
            Error::Invalid(_) => StatusCode::BAD_REQUEST,
            Error::LeaseLost(_)
            | Error::WrongState { .. }
            | Error::Taken(_)
            | Error::Conflict(_)
            | Error::KeyReused
            | Error::ShownOnce => StatusCode::CONFLICT,
            Error::Full { .. } | Error::NotAvailable(_) | Error::Deposed => StatusCode::SERVICE_UNAVAILABLE,
            Error::Unavailable(why) => {
                tracing::warn!(why, "the console cannot reach the store");
                let sentence = t!(
                    "The store is not available: nothing was changed that you were not told of; try again in a moment."
                );
                return Self::new(StatusCode::SERVICE_UNAVAILABLE, sentence);
            }
            Error::Internal(why) => {
                tracing::error!(why, "the console failed");
                return Self::of_status(StatusCode::INTERNAL_SERVER_ERROR);
            }
        };
        Self::new(status, tongue::told(error.to_string()))
    }
}

impl IntoResponse for Refusal {
    /// The sentence travels beside an empty body; the frame is put around it on the way out.
    fn into_response(self) -> Response {
        match &self {
            Refusal::SignIn { next } => {
                let params = crate::params::Params::from([("next", next.as_str())]);
                Redirect::to(&params.link("/login")).into_response()
            }
            Refusal::Sentence { status, .. } => {
                let mut response = status.into_response();
                response.extensions_mut().insert(Arc::new(self));
                response
            }
        }
    }
}

/// The sentence of an error that the person at the form can mend; the others are for the error page.
pub(crate) fn mendable(error: Error) -> Result<String, Refusal> {
    match error {
        Error::Invalid(_) | Error::Taken(_) | Error::NotFound(_) | Error::WrongState { .. } | Error::ShownOnce => {
            Ok(as_sentence(tongue::told(error.to_string())))
        }
        other => Err(other.into()),
    }
}

/// A capital at the beginning, a full stop at the end.
pub(crate) fn as_sentence(text: String) -> String {
    let stop = if text.is_empty() || text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{}{stop}", words::capital(&text))
}

#[cfg(test)]
mod tests {
    use malla_queue::State;

    use super::*;

    #[test]
    fn each_error_has_its_status_and_a_whole_sentence() {
        check(Error::NotFound("task x".into()), 404, "Task x does not exist, or it belongs to a group you are not in.");
        let wrong = Error::WrongState { state: State::Running, verb: "paused" };
        check(wrong, 409, "A task that is running cannot be paused.");
        check(Error::Invalid("use digits".into()), 400, "Use digits.");
        check(Error::Internal("secret".into()), 500, "The console could not answer: the server's log says why.");
    }

    fn check(error: Error, expected: u16, words: &str) {
        let Refusal::Sentence { status, sentence } = Refusal::from(error) else { panic!("a sentence") };
        assert_eq!((status.as_u16(), sentence.as_str()), (expected, words));
    }
}
