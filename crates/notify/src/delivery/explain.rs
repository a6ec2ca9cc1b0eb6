//! Says in one plain sentence why there was no answer, for a person who was not there.

use std::error::Error;
use std::io;

use rustls::CertificateError;

use malla_reach::Unreachable;

/// Looks through what caused the error for something a person can act on.
pub(super) fn explain(error: &reqwest::Error, host: &str) -> String {
    if let Some(said) = search(error, host) {
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

fn search(error: &(dyn Error + 'static), host: &str) -> Option<String> {
    // An I/O error skips what it holds when asked for its source.
    let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    held.and_then(|held| search(held, host))
        .or_else(|| known(error, host))
        .or_else(|| error.source().and_then(|cause| search(cause, host)))
}

fn known(error: &(dyn Error + 'static), host: &str) -> Option<String> {
    if let Some(unreachable) = error.downcast_ref::<Unreachable>() {
        return Some(unreachable.to_string());
    }
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return Some(match tls {
            rustls::Error::InvalidCertificate(why) => {
                format!("the certificate of {host} is not valid: {}", certificate(why))
            }
            other => format!("there is no TLS with {host}: {other}"),
        });
    }
    if let Some(http) = error.downcast_ref::<hyper::Error>() {
        return hyper(http, host);
    }
    error.downcast_ref::<io::Error>().and_then(|error| transport(error, host))
}

fn certificate(why: &CertificateError) -> String {
    match why {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired".into(),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "it is not valid yet".into(),
        CertificateError::UnknownIssuer => "no authority known here has signed it".into(),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for another name".into()
        }
        CertificateError::Revoked => "it was revoked".into(),
        other => other.to_string(),
    }
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
        Kind::ConnectionRefused => Some(format!("connection refused: nothing listens there at {host}")),
        Kind::ConnectionReset | Kind::ConnectionAborted | Kind::BrokenPipe => {
            Some(format!("{host} reset the connection before it had answered"))
        }
        Kind::UnexpectedEof => Some(format!("{host} closed the connection before it had answered")),
        Kind::HostUnreachable | Kind::NetworkUnreachable => Some(format!("there is no way to {host} from here")),
        Kind::TimedOut => Some(format!("no connection to {host} could be made in time")),
        _ => None,
    }
}
