//! One spelling for a URL, so that a page is asked for once: escapes, parameters that only follow people around, sessions.

use std::borrow::Cow;

use crate::PageUrl;

/// Parameters that tell where a visitor came from.
const TRACKING: &[&str] = &[
    "fbclid",
    "gclid",
    "gclsrc",
    "dclid",
    "gbraid",
    "wbraid",
    "msclkid",
    "yclid",
    "twclid",
    "ttclid",
    "igshid",
    "li_fat_id",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "vero_id",
    "_hsenc",
    "_hsmi",
    "oly_anon_id",
    "oly_enc_id",
    "_ga",
    "_gl",
    "s_cid",
    "wickedid",
    "rb_clickid",
];
const TRACKING_STARTS: &[&str] = &["utm_", "pk_", "piwik_", "mtm_", "matomo_", "hsa_"];
/// Parameters that name a visit.
const SESSIONS: &[&str] = &[
    "phpsessid",
    "jsessionid",
    "sid",
    "session",
    "sessionid",
    "session_id",
    "sessid",
    "s_id",
    "cfid",
    "cftoken",
    "oscsid",
    "zenid",
    "xtc",
    "xtcsid",
    "aspsessionid",
    "asp.net_sessionid",
];
/// Parameters of a path that name a visit: `/a;jsessionid=1`.
const PATH_SESSIONS: &[&str] = &["jsessionid", "phpsessid", "sid", "sessionid"];

/// How URLs are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spelling {
    /// Parameters in another order are the same page.
    pub sort_query: bool,
}

/// The URL in its one spelling, and whether a session's name was taken out of it.
pub fn normal(url: &PageUrl, spelling: Spelling) -> (PageUrl, bool) {
    let (path, session) = path(url.as_url().path());
    let mut sessions = session;
    let query = url.as_url().query().and_then(|query| {
        let mut kept: Vec<Cow<'_, str>> = Vec::new();
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let name = part.split('=').next().unwrap_or_default().to_ascii_lowercase();
            if SESSIONS.contains(&name.as_str()) || name.starts_with("aspsessionid") {
                sessions = true;
            } else if !TRACKING.contains(&name.as_str()) && !TRACKING_STARTS.iter().any(|with| name.starts_with(with)) {
                kept.push(escapes(part));
            }
        }
        if spelling.sort_query {
            kept.sort();
        }
        (!kept.is_empty()).then(|| kept.join("&"))
    });
    let text = match query {
        Some(query) => format!("{}{path}?{query}", url.site()),
        None => format!("{}{path}", url.site()),
    };
    // What only loses parts and escapes stays a URL; if not, it stays as it is.
    (PageUrl::parse(&text).unwrap_or_else(|_| url.clone()), sessions)
}

fn path(path: &str) -> (String, bool) {
    let mut session = false;
    let segments: Vec<Cow<'_, str>> = path
        .split('/')
        .map(|segment| match segment.split_once(';') {
            None => escapes(segment),
            Some((name, parameters)) => {
                let is_session = |part: &&str| {
                    let name = part.split('=').next().unwrap_or_default().to_ascii_lowercase();
                    PATH_SESSIONS.contains(&name.as_str())
                };
                let kept: Vec<&str> = parameters.split(';').filter(|part| !is_session(part)).collect();
                session |= kept.len() < parameters.split(';').count();
                let kept = std::iter::once(name).chain(kept).collect::<Vec<_>>().join(";");
                Cow::Owned(escapes(&kept).into_owned())
            }
        })
        .collect();
    (segments.join("/"), session)
}

/// Escapes of what needs none are undone, the others are in capitals: RFC 3986, 6.2.2.
fn escapes(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = |n: usize| bytes.get(n).and_then(|byte| char::from(*byte).to_digit(16));
        match (bytes[at], hex(at + 1), hex(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                let byte = u8::try_from(high * 16 + low).unwrap_or(b'%');
                if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
                    out.push(char::from(byte));
                } else {
                    out.push_str(&format!("%{byte:02X}"));
                }
                at += 3;
            }
            _ => {
                let next = text[at..].chars().next().unwrap_or('%');
                out.push(next);
                at += next.len_utf8();
            }
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_one_spelling() {
        for (url, expected, session) in [
            ("HTTP://Example.org:80/a/./b/../c#x", "http://example.org/a/c", false),
            ("http://example.org/%7euser/%41?b=%2f&a=%7E", "http://example.org/~user/A?b=%2F&a=~", false),
            ("http://example.org/a?utm_source=x&id=1&fbclid=2", "http://example.org/a?id=1", false),
            ("http://example.org/a?utm_source=x", "http://example.org/a", false),
            ("http://example.org/a?", "http://example.org/a", false),
            ("http://example.org/a?PHPSESSID=0123&b=1", "http://example.org/a?b=1", true),
            ("http://example.org/a;jsessionid=12;v=2/b", "http://example.org/a;v=2/b", true),
            ("http://example.org/a;JSESSIONID=12", "http://example.org/a", true),
            ("http://example.org/%C3%bc?q=%zz", "http://example.org/%C3%BC?q=%zz", false),
            ("http://example.org/a?b=2&a=1", "http://example.org/a?b=2&a=1", false),
        ] {
            let page = PageUrl::parse(url).expect("a URL");
            let (normal, was_session) = normal(&page, Spelling { sort_query: false });
            assert_eq!((normal.as_str(), was_session), (expected, session), "{url}");
        }
    }

    #[test]
    fn the_order_of_parameters_may_mean_nothing() {
        let page = PageUrl::parse("http://example.org/a?c=3&b=2&a=1").expect("a URL");
        let (sorted, _) = normal(&page, Spelling { sort_query: true });
        assert_eq!(sorted.as_str(), "http://example.org/a?a=1&b=2&c=3");
    }
}
