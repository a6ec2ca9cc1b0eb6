//! Says in one plain sentence why there is no connection, for a person who was not there.

use std::error::Error;
use std::io;

use rustls::CertificateError;

/// What is wrong with TLS, if that is somewhere among the causes of an error.
pub fn tls(error: &(dyn Error + 'static), host: &str) -> Option<String> {
    among(error, &|cause| {
        Some(match cause.downcast_ref::<rustls::Error>()? {
            rustls::Error::InvalidCertificate(why) => {
                format!("the certificate of {host} is not valid: {}", certificate(why))
            }
            other => format!("there is no TLS with {host}: {other}"),
        })
    })
}

/// Why a connection did not come about, where that is plain.
pub fn connection(error: &io::Error, host: &str) -> Option<String> {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::ConnectionRefused => Some(format!("connection refused: nothing listens there at {host}")),
        Kind::HostUnreachable | Kind::NetworkUnreachable => Some(format!("there is no way to {host} from here")),
        Kind::TimedOut => Some(format!("no connection to {host} could be made in time")),
        _ => None,
    }
}

/// The first that `known` has something to say about: what an error holds, the error itself, what caused it.
pub fn among(
    error: &(dyn Error + 'static),
    known: &dyn Fn(&(dyn Error + 'static)) -> Option<String>,
) -> Option<String> {
    // An I/O error skips what it holds when asked for its source.
    let held = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    held.and_then(|held| among(held, known))
        .or_else(|| known(error))
        .or_else(|| error.source().and_then(|cause| among(cause, known)))
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
        CertificateError::BadSignature => "the authority that it names has not signed it".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As errors come from a library: with the cause as their source.
    #[derive(Debug)]
    struct Outer(io::Error);

    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("it did not work")
        }
    }

    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn a_bad_certificate_is_named_however_deep_it_lies() {
        for (why, said) in [
            (CertificateError::Expired, "it has expired"),
            (CertificateError::NotValidYet, "it is not valid yet"),
            (CertificateError::UnknownIssuer, "no authority known here has signed it"),
            (CertificateError::NotValidForName, "it is for another name"),
            (CertificateError::Revoked, "it was revoked"),
            (CertificateError::BadSignature, "the authority that it names has not signed it"),
        ] {
            let said = Some(format!("the certificate of example.org is not valid: {said}"));
            let bare = rustls::Error::InvalidCertificate(why);
            assert_eq!(tls(&bare, "example.org"), said);
            let held = io::Error::new(io::ErrorKind::InvalidData, bare);
            let deep = Outer(io::Error::other(Outer(held)));
            assert_eq!(tls(&deep, "example.org"), said);
        }
    }

    #[test]
    fn other_trouble_with_tls_is_told_and_what_is_none_is_not() {
        let other = rustls::Error::PeerIncompatible(rustls::PeerIncompatible::NoKxGroupsInCommon);
        let said = tls(&Outer(io::Error::other(other)), "example.org").expect("known");
        assert!(said.starts_with("there is no TLS with example.org: "), "{said}");
        assert_eq!(tls(&Outer(io::ErrorKind::ConnectionReset.into()), "example.org"), None);
    }

    #[test]
    fn a_connection_that_did_not_come_about_is_explained() {
        use io::ErrorKind as Kind;
        for (kind, said) in [
            (Kind::ConnectionRefused, Some("connection refused: nothing listens there at example.org")),
            (Kind::HostUnreachable, Some("there is no way to example.org from here")),
            (Kind::NetworkUnreachable, Some("there is no way to example.org from here")),
            (Kind::TimedOut, Some("no connection to example.org could be made in time")),
            (Kind::PermissionDenied, None),
        ] {
            assert_eq!(connection(&kind.into(), "example.org").as_deref(), said, "{kind}");
        }
    }
}
