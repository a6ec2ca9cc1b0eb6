//! Says in one plain sentence why there was no answer, for a person who was not there.

use std::error::Error;
use std::io;

use malla_reach::{Unreachable, explain};

/// Looks through what caused the error for something a person can act on.
pub(super) fn explain(error: &reqwest::Error, host: &str) -> String {
    let tls = explain::tls(error, host);
    if let Some(said) = tls.or_else(|| explain::among(error, &|cause| known(cause, host))) {
        return said;
    }
    if error.is_timeout() {
        return format!("no connection to {host} could be made in time");
    }
    let mut last: &dyn Error = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    format!("the exchange with {host} failed: {last}")
}

fn known(error: &(dyn Error + 'static), host: &str) -> Option<String> {
    if let Some(unreachable) = error.downcast_ref::<Unreachable>() {
        return Some(unreachable.to_string());
    }
    if let Some(http) = error.downcast_ref::<hyper::Error>() {
        return hyper(http, host);
    }
    error.downcast_ref::<io::Error>().and_then(|error| transport(error, host))
}

fn hyper(error: &hyper::Error, host: &str) -> Option<String> {
    if error.is_parse_too_large() {
        return Some(format!("the headers of the answer from {host} are too large"));
    }
    if error.is_parse() {
        return Some(format!("what {host} answered is not HTTP"));
    }
    error.is_incomplete_message().then(|| format!("{host} closed the connection before it had answered"))
}

fn transport(error: &io::Error, host: &str) -> Option<String> {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::ConnectionReset | Kind::ConnectionAborted | Kind::BrokenPipe => {
            Some(format!("{host} reset the connection before it had answered"))
        }
        Kind::UnexpectedEof => Some(format!("{host} closed the connection before it had answered")),
        _ => explain::connection(error, host),
    }
}
