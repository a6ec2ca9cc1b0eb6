//! Says in one plain sentence why there is no answer or no whole one, for a person who was not there.

use std::error::Error;
use std::io;

use malla_reach::{Unreachable, explain};

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
    let plain = explain::connection(error, host);
    let note = plain.unwrap_or_else(|| format!("no connection to {host} could be made: {error}"));
    trouble(TroubleKind::NoConnection, note)
}

/// Why there is no TLS on a connection.
pub(super) fn handshake(error: &io::Error, host: &str) -> Trouble {
    let note = explain::tls(error, host).unwrap_or_else(|| format!("{host} broke off the TLS handshake: {error}"));
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
    if let Some(note) = error.source().and_then(|cause| explain::tls(cause, host)) {
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
