//! Says in one plain sentence why there is no answer or no whole one, for a person who was not there.

use std::error::Error;
use std::io;

use malla_reach::Unreachable;
use rustls::CertificateError;

use crate::{Trouble, TroubleKind};

pub(super) fn trouble(what: TroubleKind, note: impl Into<String>) -> Trouble {
    Trouble { what, note: note.into() }
}

/// Why there is no way to the host.
pub(super) fn unreachable(why: &Unreachable) -> Trouble {
    let what = match why {
        Unreachable::NoAddress { .. } => TroubleKind::NoAddress,
        Unreachable::Refused { .. } | Unreachable::Address { .. } => TroubleKind::Refused,
    };
    trouble(what, why.to_string())
}

/// Why no connection came about.
pub(super) fn connection(error: &io::Error, host: &str) -> Trouble {
    use io::ErrorKind as Kind;
    let note = match error.kind() {
        Kind::ConnectionRefused => format!("connection refused: nothing listens there at {host}"),
        Kind::HostUnreachable | Kind::NetworkUnreachable => format!("there is no way to {host} from here"),
        Kind::TimedOut => format!("no connection to {host} could be made in time"),
        _ => format!("no connection to {host} could be made: {error}"),
    };
    trouble(TroubleKind::NoConnection, note)
}

/// Why there is no TLS on a connection.
pub(super) fn handshake(error: &io::Error, host: &str) -> Trouble {
    let note = tls(error, host).unwrap_or_else(|| format!("{host} broke off the TLS handshake: {error}"));
    trouble(TroubleKind::Tls, note)
}

/// Why there is no head of an answer.
pub(super) fn head(error: &hyper::Error, host: &str) -> Trouble {
    if error.is_parse_too_large() {
        return trouble(TroubleKind::TooLarge, format!("the headers of the answer from {host} are too large"));
    }
    if error.is_parse() {
        return trouble(TroubleKind::Garbled, format!("what {host} answered is not HTTP"));
    }
    if let Some(note) = error.source().and_then(|cause| tls(cause, host)) {
        return trouble(TroubleKind::Tls, note);
    }
    trouble(TroubleKind::BrokeOff, format!("{host} closed the connection before it had answered"))
}

/// Why a body has no end.
pub(super) fn body(error: &hyper::Error, host: &str) -> Trouble {
    let why = match error.source() {
        Some(cause) => format!("{host} broke off its answer: {cause}"),
        None => format!("{host} broke off its answer"),
    };
    trouble(TroubleKind::BrokeOff, why)
}

/// The TLS error inside another, if there is one.
fn tls(error: &(dyn Error + 'static), host: &str) -> Option<String> {
    // An I/O error skips what it holds when asked for its source.
    let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    if let Some(note) = held.and_then(|held| tls(held, host)) {
        return Some(note);
    }
    match error.downcast_ref::<rustls::Error>() {
        Some(rustls::Error::InvalidCertificate(why)) => {
            Some(format!("the certificate of {host} is not valid: {}", certificate(why)))
        }
        Some(other) => Some(format!("there is no TLS with {host}: {other}")),
        None => error.source().and_then(|cause| tls(cause, host)),
    }
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
