//! What is fetched and from where: URLs in one spelling, and the sites they belong to.

use std::fmt;

use malla_queue::{LaneKey, Limits, Room};
use url::Url;

use crate::ROOM;

/// The longest URL that is taken.
pub(crate) const URL_BYTES_MAX: usize = 8_192;

/// An http or https URL in its one spelling: no fragment, no user name or password.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageUrl(Url);

/// So much of a URL's key is its site's.
const SITE_BYTES: usize = 4;

/// Names a URL in the store, whatever its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UrlKey(pub [u8; 16]);

/// Scheme, host and port: `https://example.org`, `http://127.0.0.3:8080`. Its lane is `fetch/` and this.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site(String);

/// Why a text is not a URL that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrongUrl {
    #[error("a URL has at most {URL_BYTES_MAX} bytes")]
    TooLong,
    #[error("this is not a URL: {0}")]
    Unreadable(String),
    #[error("only http and https are fetched, not {0}")]
    Scheme(String),
    #[error("a URL with a user name or password is not fetched")]
    Credentials,
    #[error("the host's name is too long")]
    Host,
}

impl PageUrl {
    pub fn parse(text: &str) -> Result<Self, WrongUrl> {
        let text = text.trim();
        if text.len() > URL_BYTES_MAX {
            return Err(WrongUrl::TooLong);
        }
        Self::from_url(Url::parse(text).map_err(|error| WrongUrl::Unreadable(error.to_string()))?)
    }

    /// What `link` on this page leads to.
    pub fn join(&self, link: &str) -> Result<Self, WrongUrl> {
        if link.len() > URL_BYTES_MAX {
            return Err(WrongUrl::TooLong);
        }
        Self::from_url(self.0.join(link.trim()).map_err(|error| WrongUrl::Unreadable(error.to_string()))?)
    }

    fn from_url(mut url: Url) -> Result<Self, WrongUrl> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(WrongUrl::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(WrongUrl::Credentials);
        }
        url.set_fragment(None);
        // A parser may lengthen what it encodes.
        if url.as_str().len() > URL_BYTES_MAX {
            return Err(WrongUrl::TooLong);
        }
        // The lane's key must hold the site.
        if url.host_str().map_or(0, str::len) > Limits::NAME_BYTES_MAX / 2 {
            return Err(WrongUrl::Host);
        }
        Ok(Self(url))
    }

    pub fn as_url(&self) -> &Url {
        &self.0
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub fn site(&self) -> Site {
        Site(self.0.origin().ascii_serialization())
    }

    /// Path and query, as robots.txt and the request line have it.
    pub fn path_and_query(&self) -> &str {
        &self.0[url::Position::BeforePath..url::Position::AfterQuery]
    }

    /// URLs of one site have keys beside each other, so that what is done to several of them touches few pages of the
    /// store.
    pub fn key(&self) -> UrlKey {
        let mut key = UrlKey::of(self.as_str());
        let site = UrlKey::of(&self.0[..url::Position::BeforePath]);
        key.0[..SITE_BYTES].copy_from_slice(&site.0[..SITE_BYTES]);
        key
    }
}

impl UrlKey {
    pub(crate) fn of(text: &str) -> Self {
        Self::of_bytes(text.as_bytes())
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        let hash = blake3::hash(bytes);
        Self(hash.as_bytes()[..16].try_into().expect("16 of 32 bytes"))
    }
}

impl fmt::Display for PageUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for UrlKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Site {
    /// The site whose lane this is, if it is one.
    pub fn of_lane(lane: &LaneKey) -> Option<Self> {
        (lane.room() == ROOM).then(|| Self(lane.name().to_owned()))
    }

    pub fn lane(&self) -> LaneKey {
        let room = Room::new(ROOM).expect("it is a room");
        LaneKey::new(&room, &self.0).expect("a host is short and has no control characters")
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn robots(&self) -> PageUrl {
        PageUrl(Url::parse(&format!("{}/robots.txt", self.0)).expect("a site is an origin"))
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_one_spelling() {
        check("HTTP://Example.ORG:80/a/../b?x#top", Ok("http://example.org/b?x"));
        check(" https://example.org ", Ok("https://example.org/"));
        check("https://bücher.example/ü", Ok("https://xn--bcher-kva.example/%C3%BC"));
        check("ftp://example.org/", Err(WrongUrl::Scheme("ftp".into())));
        check("javascript:alert(1)", Err(WrongUrl::Scheme("javascript".into())));
        check("http://a:b@example.org/", Err(WrongUrl::Credentials));
        check(&format!("http://example.org/{}", "a".repeat(URL_BYTES_MAX)), Err(WrongUrl::TooLong));
        check(&format!("http://example.org/{}", "ü".repeat(URL_BYTES_MAX / 3)), Err(WrongUrl::TooLong));
        check(&format!("http://{}.example/", "a.".repeat(200)), Err(WrongUrl::Host));
        assert!(PageUrl::parse("no url").is_err());
        assert!(PageUrl::parse("http://").is_err());
    }

    fn check(text: &str, expected: Result<&str, WrongUrl>) {
        let parsed = PageUrl::parse(text);
        assert_eq!(parsed.as_ref().map(PageUrl::as_str), expected.as_ref().map(|text| *text), "{text}");
    }

    #[test]
    fn a_site_is_scheme_host_and_port() {
        for (url, site) in [
            ("https://example.org/a", "https://example.org"),
            ("http://127.0.0.3:8080/a?b", "http://127.0.0.3:8080"),
            ("http://[::1]:81/", "http://[::1]:81"),
        ] {
            let url = PageUrl::parse(url).expect("a URL");
            assert_eq!(url.site().as_str(), site);
            assert_eq!(Site::of_lane(&url.site().lane()), Some(url.site()));
            assert_eq!(url.site().robots().as_str(), format!("{site}/robots.txt"));
        }
    }

    #[test]
    fn keys_of_a_site_lie_together() {
        let key = |text: &str| PageUrl::parse(text).expect("a URL").key();
        let [a, b, c] = ["https://example.org/a", "https://example.org/b", "http://example.org/a"].map(key);
        assert_eq!(a, key("https://EXAMPLE.org:443/a#top"));
        assert_eq!(a.0[..SITE_BYTES], b.0[..SITE_BYTES]);
        assert_ne!(a.0[..SITE_BYTES], c.0[..SITE_BYTES]);
        assert_ne!(a, b);
        assert_ne!(a.0[SITE_BYTES..], c.0[SITE_BYTES..]);
    }

    #[test]
    fn links_lead_somewhere() {
        let page = PageUrl::parse("https://example.org/a/b").expect("a URL");
        assert_eq!(page.join("../c#x").expect("a link").as_str(), "https://example.org/c");
        assert_eq!(page.join("//other.example/").expect("a link").as_str(), "https://other.example/");
        assert!(page.join("mailto:a@example.org").is_err());
        assert_eq!(page.path_and_query(), "/a/b");
    }
}
