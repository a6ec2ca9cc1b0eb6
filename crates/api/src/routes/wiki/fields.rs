//! Parameters as existing clients send them: in the query string, as a form or as JSON. Unknown ones are ignored.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::HOST;
use axum::http::request::Parts;
use serde_json::{Map, Value};

use crate::App;
use crate::problem::Refusal;
use crate::write::{Input, parse_json};

/// More than any client sends.
const PAIRS_MAX: usize = 1_000;

/// The query string, decoded. A percent sign that begins no code stays what it is.
pub(crate) struct Pairs(pub(crate) Vec<(String, String)>);

impl FromRequestParts<App> for Pairs {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Refusal> {
        decoded(parts.uri.query().unwrap_or_default().as_bytes()).map(Self)
    }
}

fn decoded(text: &[u8]) -> Result<Vec<(String, String)>, Refusal> {
    let pairs: Vec<_> = form_urlencoded::parse(text).into_owned().take(PAIRS_MAX + 1).collect();
    match pairs.len() {
        0..=PAIRS_MAX => Ok(pairs),
        _ => Err(Refusal::invalid(format!("there are over {PAIRS_MAX} parameters: send fewer"))),
    }
}

/// The value of a parameter; one that is empty was not given. The last one counts.
pub(crate) fn given(pairs: &[(String, String)], name: &str) -> Option<String> {
    let own = pairs.iter().rev().filter(|(known, _)| known == name).map(|(_, value)| value.trim());
    own.into_iter().find(|value| !value.is_empty()).map(str::to_owned)
}

/// A body with parameters: a form, or a JSON object.
pub(crate) struct Fields(pub(crate) Vec<(String, String)>);

impl Input for Fields {
    fn read(_: &HeaderMap, bytes: &[u8]) -> Result<Self, Refusal> {
        // Clients that send JSON do not always say so, and no form begins like this.
        match bytes.trim_ascii_start().first() {
            Some(b'{') => of_json(parse_json(bytes)?).map(Self),
            _ => decoded(bytes).map(Self),
        }
    }
}

fn of_json(object: Map<String, Value>) -> Result<Vec<(String, String)>, Refusal> {
    let text = |(name, value): (String, Value)| match value {
        Value::Null => None,
        Value::String(text) => Some(Ok((name, text))),
        Value::Number(number) => Some(Ok((name, number.to_string()))),
        Value::Bool(flag) => Some(Ok((name, flag.to_string()))),
        Value::Array(_) | Value::Object(_) => Some(Err(Refusal::invalid(format!("{name} must be a text")))),
    };
    object.into_iter().filter_map(text).collect()
}

/// This server's address as the caller knows it; empty if the caller did not say.
pub(crate) struct Here(pub(crate) String);

impl FromRequestParts<App> for Here {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        let named = parts.uri.authority().map(|authority| authority.as_str());
        let host = named.or_else(|| parts.headers.get(HOST)?.to_str().ok()).filter(|host| !host.is_empty());
        let scheme = if app.settings.secure_cookies { "https" } else { "http" };
        Ok(Self(host.map(|host| format!("{scheme}://{host}")).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_percent_signs_stay() {
        let pairs = decoded(b"date_format=%Y-%m-%d&title=C%2B%2B&x=a+b").expect("reads");
        assert_eq!(given(&pairs, "date_format").as_deref(), Some("%Y-%m-%d"));
        assert_eq!(given(&pairs, "title").as_deref(), Some("C++"));
        assert_eq!(given(&pairs, "x").as_deref(), Some("a b"));
        let pairs = decoded(b"date_format=%25Y%25m").expect("reads");
        assert_eq!(given(&pairs, "date_format").as_deref(), Some("%Y%m"));
    }

    #[test]
    fn a_body_is_a_form_or_json() {
        let read = |text: &str| Fields::read(&HeaderMap::new(), text.as_bytes()).map(|Fields(pairs)| pairs);
        assert_eq!(read("title=A&locale=").expect("reads").len(), 2);
        assert_eq!(
            given(&read(" {\"title\":\"A b\",\"locale\":null}").expect("reads"), "title").as_deref(),
            Some("A b")
        );
        assert_eq!(read("").expect("reads"), []);
        assert!(read("{\"title\":[1]}").is_err());
        assert!(read("{\"title\":").is_err());
    }

    #[test]
    fn an_empty_value_is_none() {
        let pairs = decoded(b"title=&url=http%3A%2F%2Fa&title=+").expect("reads");
        assert_eq!((given(&pairs, "title"), given(&pairs, "url").as_deref()), (None, Some("http://a")));
    }
}
