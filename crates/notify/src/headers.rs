//! Which of a publisher's headers are kept with an event, which go on to subscribers, and which a subscription may add.

use malla_queue::{Error, Result};
use reqwest::header::{HeaderName, HeaderValue};

/// About one connection, not about the event.
const OF_CONNECTION: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Between the publisher and Malla.
const SECRET: &[&str] = &["authorization", "cookie", "proxy-authenticate", "proxy-authorization"];
/// Malla says these itself, or the answer would come in a form that nobody asked for.
const OWN: &[&str] = &["accept-encoding", "content-encoding", "content-type", "user-agent"];
const SIGNATURE_PREFIX: &str = "webhook-";
const VALUE_BYTES_MAX: usize = 4_096;

/// Takes out what must not be stored with an event.
pub(crate) fn strip(headers: &mut Vec<(String, String)>) {
    let named = named_by_connection(headers);
    headers.retain(|(name, _)| {
        let name = name.to_ascii_lowercase();
        !OF_CONNECTION.contains(&name.as_str()) && !SECRET.contains(&name.as_str()) && !named.contains(&name)
    });
}

/// The headers that go on to a subscriber that asked for them.
pub(crate) fn forwarded(headers: &[(String, String)]) -> Vec<(String, String)> {
    let mut passing = headers.to_vec();
    strip(&mut passing);
    passing.retain(|(name, _)| {
        let name = name.to_ascii_lowercase();
        !OWN.contains(&name.as_str()) && !name.starts_with(SIGNATURE_PREFIX)
    });
    passing
}

/// `Connection: x-hop` makes `x-hop` a header of the connection, too.
fn named_by_connection(headers: &[(String, String)]) -> Vec<String> {
    let values = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("connection"));
    values.flat_map(|(_, value)| value.split(',')).map(|name| name.trim().to_ascii_lowercase()).collect()
}

/// Whether a subscription may add this header to what it sends.
pub(crate) fn check_added(name: &str, value: &str) -> Result<()> {
    let wrong = |why: &str| Err(Error::Invalid(format!("\"{name}\" cannot be a header to add: {why}")));
    let lower = name.to_ascii_lowercase();
    if HeaderName::from_bytes(name.as_bytes()).is_err() {
        return wrong("a name has letters, digits and -");
    }
    if OF_CONNECTION.contains(&lower.as_str()) || lower.starts_with(SIGNATURE_PREFIX) {
        return wrong("Malla sets it itself");
    }
    if value.len() > VALUE_BYTES_MAX || HeaderValue::from_str(value).is_err() {
        return wrong("its value is text without line breaks, at most 4096 bytes");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(names: &[&str]) -> Vec<(String, String)> {
        names.iter().map(|name| ((*name).to_owned(), "x".to_owned())).collect()
    }

    #[test]
    fn secrets_and_the_connection_stay_behind() {
        let mut came = headers(&["Host", "Authorization", "cookie", "X-Tenant", "x-hop", "Webhook-Id", "User-Agent"]);
        came.push(("Connection".into(), "close, X-Hop".into()));
        let went = forwarded(&came);
        assert_eq!(went, headers(&["X-Tenant"]));
        strip(&mut came);
        assert_eq!(came, headers(&["X-Tenant", "Webhook-Id", "User-Agent"]));
    }

    #[test]
    fn some_headers_cannot_be_added() {
        check("x-api-key", "abc", true);
        check("Authorization", "Token abc", true);
        check("x-note", "é", true);
        check("Host", "example.org", false);
        check("content-length", "3", false);
        check("Transfer-Encoding", "chunked", false);
        check("connection", "close", false);
        check("Webhook-Signature", "v1,x", false);
        check("", "x", false);
        check("a b", "x", false);
        check("x-break", "a\r\nb: c", false);
        check("x-long", &"x".repeat(4_097), false);
    }

    fn check(name: &str, value: &str, fits: bool) {
        assert_eq!(check_added(name, value).is_ok(), fits, "{name}: {value}");
    }
}
