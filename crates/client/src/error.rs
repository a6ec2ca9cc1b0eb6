//! What can go wrong between a client and its server, in words for people.

use malla_protocol::Problem;

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
