//! What can go wrong between a client and its server, in words for people.

use std::time::Duration;

use malla_protocol::{Code, Problem};

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Which server, and why. With several servers it is the last one tried.
    #[error("cannot reach {0}: {1}")]
    Unreachable(String, String),

    /// The server refused, and says why.
    #[error("{0}")]
    Problem(Problem),

    /// What came back is not what a Malla server says, or the client was set up wrongly.
    #[error("{0}")]
    Protocol(String),
}

impl Error {
    /// The server's own words, if it was the server that refused.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Error::Problem(problem) => Some(problem),
            _ => None,
        }
    }

    /// How long to wait before the same may well succeed: as the server says, else `otherwise`. `None` if it is of no use.
    pub(crate) fn passes_after(&self, otherwise: Duration) -> Option<Duration> {
        match self {
            Error::Unreachable(..) => Some(otherwise),
            Error::Problem(problem) if is_passing(problem.code) => {
                Some(problem.retry_after_s.map_or(otherwise, |seconds| Duration::from_secs(seconds.into())))
            }
            _ => None,
        }
    }
}

fn is_passing(code: Code) -> bool {
    matches!(code, Code::Full | Code::NotAvailable | Code::Unavailable | Code::Timeout)
}

/// The innermost reason: what reqwest says first ("error sending request") helps nobody.
pub(crate) fn reason(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it does not answer in time".to_owned();
    }
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
