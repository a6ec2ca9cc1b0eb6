//! What a refused request gets: a problem document (RFC 9457).

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Why a request was refused. Programs go by `code`, people read `detail`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// `urn:malla:problem:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// The code in words.
    pub title: String,
    /// The HTTP status once more.
    pub status: u16,
    /// One sentence that says what is wrong and what to do.
    pub detail: String,
    pub code: Code,
    /// When to come back, as `Retry-After` says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_s: Option<u32>,
    /// To find this request in the server's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

/// The stable names of what can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// 400: a field, parameter, header or name that cannot be taken.
    Invalid,
    /// 401: no token or session, or one that is wrong, expired or deleted.
    Unauthorized,
    /// 403: the caller's role is too small.
    Forbidden,
    /// 403: a session's write without its `x-csrf-token`.
    Csrf,
    /// 404: no such thing, or it belongs to another group.
    NotFound,
    /// 405
    MethodNotAllowed,
    /// 409: the thing is in a state in which this makes no sense.
    WrongState,
    /// 409: somebody else has this name or key, or it is in use.
    Taken,
    /// 409: it contradicts what came before.
    Conflict,
    /// 409: the lease ran out.
    LeaseLost,
    /// 409: a repeat of a request whose secret was shown only once.
    ShownOnce,
    /// 413
    TooLarge,
    /// 415
    UnsupportedMediaType,
    /// 422: the `Idempotency-Key` came with another request before.
    KeyReused,
    /// 402: the account is empty.
    CreditUsedUp,
    /// 429: the client asks for more than it may. `Retry-After` says when to come back.
    TooMany,
    /// 500
    Internal,
    /// 503: too much is waiting. `Retry-After` says when to come back.
    Full,
    /// 503: it is not there yet, or all places are taken. `Retry-After` says when to come back.
    NotAvailable,
    /// 503: the store or the server cannot answer now. `Retry-After` says when to come back.
    Unavailable,
    /// 503: it took too long. It may have been carried out all the same.
    Timeout,
    /// Never sent: how a client reads a code that is newer than itself.
    #[serde(other)]
    Other,
}

impl Code {
    /// As it stands in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Code::Invalid => "invalid",
            Code::Unauthorized => "unauthorized",
            Code::Forbidden => "forbidden",
            Code::Csrf => "csrf",
            Code::NotFound => "not_found",
            Code::MethodNotAllowed => "method_not_allowed",
            Code::WrongState => "wrong_state",
            Code::Taken => "taken",
            Code::Conflict => "conflict",
            Code::LeaseLost => "lease_lost",
            Code::ShownOnce => "shown_once",
            Code::TooLarge => "too_large",
            Code::UnsupportedMediaType => "unsupported_media_type",
            Code::KeyReused => "key_reused",
            Code::CreditUsedUp => "credit_used_up",
            Code::TooMany => "too_many",
            Code::Internal => "internal",
            Code::Full => "full",
            Code::NotAvailable => "not_available",
            Code::Unavailable => "unavailable",
            Code::Timeout => "timeout",
            Code::Other => "other",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_named_as_it_travels_and_a_newer_one_can_be_read() {
        for code in [Code::Invalid, Code::NotFound, Code::UnsupportedMediaType, Code::KeyReused, Code::ShownOnce] {
            assert_eq!(serde_json::to_value(code).expect("a code"), code.name());
        }
        assert_eq!(serde_json::from_str::<Code>("\"teapot\"").expect("reads"), Code::Other);
    }
}
