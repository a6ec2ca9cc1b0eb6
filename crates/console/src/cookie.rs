//! Cookies: reading the request's, writing ours.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
pub(crate) use malla_protocol::SESSION_COOKIE as SESSION;

pub(crate) const THEME: &str = "malla_theme";
pub(crate) const LANGUAGE: &str = "malla_language";
/// One sentence from a form to the page after it.
pub(crate) const NOTICE: &str = "malla_notice";

pub(crate) fn read<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(key, value)| (key == name).then_some(value))
}

/// A cookie for the whole site that scripts cannot read. `Lax`, so that a link in a mail finds its reader signed in;
/// forms of other sites never carry it.
pub(crate) fn set(name: &str, value: &str, lasts: Duration, secure: bool) -> HeaderValue {
    let secure = if secure { "; Secure" } else { "" };
    let seconds = lasts.as_secs();
    let cookie = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
    HeaderValue::try_from(cookie).expect("names and values are plain ASCII")
}

pub(crate) fn clear(name: &str, secure: bool) -> HeaderValue {
    set(name, "", Duration::ZERO, secure)
}

/// Any text as a cookie's value.
pub(crate) fn pack(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

pub(crate) fn unpack(value: &str) -> Option<String> {
    form_urlencoded::parse(value.as_bytes()).next().map(|(text, _)| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(header::COOKIE, HeaderValue::from_static("a=1; malla_session=s3cret;b = 2"));
        headers.append(header::COOKIE, HeaderValue::from_static("malla_theme=dark"));
        assert_eq!(read(&headers, SESSION), Some("s3cret"));
        assert_eq!(read(&headers, THEME), Some("dark"));
        assert_eq!(read(&headers, "session"), None);
    }

    #[test]
    fn cookies_are_kept_from_scripts_and_other_sites() {
        let cookie = set(SESSION, "x", Duration::from_secs(60), true);
        assert_eq!(cookie, "malla_session=x; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure");
        assert_eq!(clear(SESSION, false), "malla_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax");
    }

    #[test]
    fn any_text_survives_in_a_cookie() {
        for text in ["Discarded 3 tasks.", "a=b&c; d\r\ne", "é – ü"] {
            assert_eq!(unpack(&pack(text)).as_deref(), Some(text));
        }
    }
}
