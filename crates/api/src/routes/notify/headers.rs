//! The headers of an event on its way in.

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue};

use crate::problem::Refusal;

const COUNT_MAX: usize = 100;
const BYTES_MAX: usize = 32 * 1024;

/// Has done its duty when the event is taken in, and would only mislead a subscriber.
pub(super) const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// What is kept beside the body and the content type, which has its own place. The intake takes out what concerns the
/// connection or shows who the publisher is.
pub(super) fn kept(headers: &HeaderMap) -> Result<Vec<(String, String)>, Refusal> {
    let kept: Vec<_> = headers
        .iter()
        .filter(|(name, _)| ![CONTENT_TYPE, SIGNATURE].contains(name))
        .map(|(name, value)| (name.as_str().to_owned(), text(value)))
        .collect();
    let bytes: usize = kept.iter().map(|(name, value)| name.len() + value.len()).sum();
    if kept.len() > COUNT_MAX || bytes > BYTES_MAX {
        let most = format!("{COUNT_MAX} headers of {BYTES_MAX} bytes in all");
        return Err(Refusal::invalid(format!("an event has at most {most}: send fewer")));
    }
    Ok(kept)
}

/// Headers are text for all who send sensible ones.
pub(super) fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_kept_as_often_as_they_came() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("content-type", "text/plain"),
            ("webhook-signature", "v1,x"),
            ("webhook-id", "msg_1"),
            ("content-encoding", "gzip"),
            ("x-tenant", "acme"),
            ("x-tenant", "other"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let expected =
            [("webhook-id", "msg_1"), ("content-encoding", "gzip"), ("x-tenant", "acme"), ("x-tenant", "other")];
        assert_eq!(kept(&headers).expect("few"), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn an_event_with_too_much_in_its_headers_is_refused() {
        let mut headers = HeaderMap::new();
        headers.append("x-long", HeaderValue::from_str(&"x".repeat(BYTES_MAX - 6)).expect("visible"));
        assert!(kept(&headers).is_ok());
        headers.append("x-more", HeaderValue::from_static("1"));
        assert!(kept(&headers).is_err());
        let mut headers = HeaderMap::new();
        for _ in 0..=COUNT_MAX {
            headers.append("x-a", HeaderValue::from_static("1"));
        }
        assert!(kept(&headers).is_err());
    }
}
