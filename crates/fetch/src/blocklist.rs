//! Sites that are never fetched: the operator's list, and owners who asked to be left alone.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use malla_queue::{Act, Error, Result, UnixMs};
use serde::{Deserialize, Serialize};

use crate::{PageUrl, Site, Trouble, TroubleKind, Wanted};

/// Patterns in the list at most.
pub const PATTERNS_MAX: usize = 10_000;
const TEXT_BYTES_MAX: usize = 1_000;

/// A host (with all below it), and perhaps the beginning of a path: `example.org`, `example.org/private`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pattern(String);

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for Pattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong =
            || Error::Invalid(format!("\"{text}\" is not a site: give a host, as in example.org or example.org/path"));
        let rest = text.trim().trim_start_matches("*.");
        let rest = rest.split_once("://").map_or(rest, |(_, rest)| rest);
        let (host, path) = rest.split_once('/').map_or((rest, ""), |(host, path)| (host, path));
        if host.is_empty() || text.len() > TEXT_BYTES_MAX || text.contains(char::is_whitespace) {
            return Err(wrong());
        }
        // As a URL has it: lower case, names of other scripts encoded.
        let url = PageUrl::parse(&format!("http://{host}/{path}")).map_err(|_| wrong())?;
        let site = url.as_url();
        let port = site.port().map(|port| format!(":{port}")).unwrap_or_default();
        let path = if path.is_empty() { "" } else { site.path() };
        Ok(Self(format!("{}{port}{path}", site.host_str().ok_or_else(wrong)?)))
    }
}

impl Pattern {
    fn parts(&self) -> (&str, &str) {
        let at = self.0.find('/').unwrap_or(self.0.len());
        self.0.split_at(at)
    }

    /// The host, and its port if one is said.
    fn host(&self) -> (&str, Option<u16>) {
        let (host, _) = self.parts();
        let with_port = host.rsplit_once(':').and_then(|(name, port)| Some((name, Some(port.parse().ok()?))));
        with_port.unwrap_or((host, None))
    }

    fn covers_host(&self, url: &url::Url) -> bool {
        let (name, port) = self.host();
        let theirs = url.host_str().is_some_and(|theirs| below(theirs, name));
        theirs && port.is_none_or(|port| url.port_or_known_default() == Some(port))
    }

    pub fn covers(&self, url: &PageUrl) -> bool {
        self.covers_host(url.as_url()) && url.path_and_query().starts_with(self.parts().1)
    }
}

/// Whether the name is this one or below it.
fn below(name: &str, top: &str) -> bool {
    name.strip_suffix(top).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    pub pattern: Pattern,
    /// For those who asked for a page there.
    pub why: String,
    /// Its owner asked for it: who that was.
    pub contact: Option<String>,
    pub by: String,
    pub at: UnixMs,
}

impl Blocked {
    pub fn check(&self) -> Result<()> {
        if self.why.len() > TEXT_BYTES_MAX || self.contact.as_ref().is_some_and(|text| text.len() > TEXT_BYTES_MAX) {
            return Err(Error::Invalid(format!("a reason or contact has at most {TEXT_BYTES_MAX} bytes")));
        }
        Ok(())
    }
}

/// The list as a process knows it.
#[derive(Debug, Clone, Default)]
pub struct Blocklist {
    /// From the configuration.
    fixed: Arc<Vec<Blocked>>,
    /// All of it, by host: a look costs as many steps as the host has labels, however long the list is.
    by_host: Arc<RwLock<Arc<ByHost>>>,
}

type ByHost = HashMap<String, Vec<Blocked>>;

fn by_host(all: impl Iterator<Item = Blocked>) -> Arc<ByHost> {
    let mut by_host = ByHost::new();
    for blocked in all {
        by_host.entry(blocked.pattern.host().0.to_owned()).or_default().push(blocked);
    }
    Arc::new(by_host)
}

impl Blocklist {
    pub fn new(fixed: Vec<Blocked>) -> Self {
        let all = Arc::new(RwLock::new(by_host(fixed.iter().cloned())));
        Self { fixed: Arc::new(fixed), by_host: all }
    }

    pub fn set(&self, listed: Vec<Blocked>) {
        let all = by_host(self.fixed.iter().cloned().chain(listed));
        *self.by_host.write().unwrap_or_else(PoisonError::into_inner) = all;
    }

    pub fn fixed(&self) -> &[Blocked] {
        &self.fixed
    }

    fn all(&self) -> Option<Arc<ByHost>> {
        let all = self.by_host.read().unwrap_or_else(PoisonError::into_inner);
        (!all.is_empty()).then(|| all.clone())
    }

    fn find(&self, url: &PageUrl, applies: impl Fn(&Pattern) -> bool) -> Option<Trouble> {
        let (all, host) = (self.all()?, url.as_url().host_str()?);
        let parents = host.match_indices('.').map(|(at, _)| &host[at + 1..]);
        let found = std::iter::once(host).chain(parents).filter_map(|name| all.get(name)).flatten();
        found.into_iter().find(|blocked| applies(&blocked.pattern)).map(trouble)
    }

    /// Why this page is not fetched, if it is not.
    pub fn refuse(&self, url: &PageUrl) -> Option<Trouble> {
        self.find(url, |pattern| pattern.covers(url))
    }

    /// What a client wants, refused if it is not fetched.
    pub fn apply(&self, wanted: Wanted) -> Wanted {
        match wanted {
            Wanted::Page { text, url, cached } => match self.refuse(&url) {
                Some(why) => Wanted::Refused { url: text, why },
                None => Wanted::Page { text, url, cached },
            },
            refused => refused,
        }
    }

    /// Why nothing of this site is fetched.
    pub fn refuse_site(&self, site: &Site) -> Option<Trouble> {
        self.all()?;
        let url = site.robots();
        self.find(&url, |pattern| pattern.parts().1.is_empty() && pattern.covers_host(url.as_url()))
    }
}

fn trouble(blocked: &Blocked) -> Trouble {
    let reason = if blocked.why.is_empty() { String::new() } else { format!(": {}", blocked.why) };
    let note = match &blocked.contact {
        Some(_) => format!("the owner of {} asked not to be fetched{reason}", blocked.pattern),
        None => format!("the operator of this fleet does not fetch {}{reason}", blocked.pattern),
    };
    Trouble { what: TroubleKind::Refused, note }
}

/// The verbs of the list.
#[async_trait]
pub trait Blocking: Send + Sync + 'static {
    /// In the order of their patterns.
    async fn blocked_sites(&self) -> Result<Vec<Blocked>>;
    /// Puts a site onto the list, or changes what is said about it.
    async fn block_site(&self, blocked: Blocked, act: Act) -> Result<Blocked>;
    async fn unblock_site(&self, pattern: &Pattern, act: Act) -> Result<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(patterns: &[&str]) -> Blocklist {
        let blocked = |text: &&str| Blocked {
            pattern: text.parse().expect("a pattern"),
            why: "they asked".into(),
            contact: None,
            by: "user:ana".into(),
            at: UnixMs(0),
        };
        let list = Blocklist::default();
        list.set(patterns.iter().map(blocked).collect());
        list
    }

    #[test]
    fn a_host_stands_for_all_below_it_and_a_path_for_all_behind_it() {
        let list = list(&["Example.org", "*.news.example/private", "127.0.0.1:8080", "https://bücher.example/"]);
        for (url, refused) in [
            ("https://example.org/", true),
            ("http://www.example.org:81/a?b", true),
            ("https://notexample.org/", false),
            ("https://example.org.evil.example/", false),
            ("https://news.example/private/a", true),
            ("https://news.example/public", false),
            ("http://127.0.0.1:8080/x", true),
            ("http://127.0.0.1:8081/x", false),
            ("https://xn--bcher-kva.example/a", true),
        ] {
            let url = PageUrl::parse(url).expect("a URL");
            assert_eq!(list.refuse(&url).is_some(), refused, "{url}");
        }
        let site = |url: &str| PageUrl::parse(url).expect("a URL").site();
        assert!(list.refuse_site(&site("https://a.example.org/")).is_some());
        assert!(list.refuse_site(&site("https://news.example/")).is_none(), "only a part of it is blocked");
    }

    #[test]
    fn what_is_no_site_is_refused() {
        for text in ["", "/", "a b", "http:///x"] {
            assert!(text.parse::<Pattern>().is_err(), "{text}");
        }
    }
}
