//! How far a crawl may go from where it started.

use serde::{Deserialize, Serialize};

use crate::PageUrl;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The hosts of the seeds.
    #[default]
    Host,
    /// The registrable domains of the seeds: `example.co.uk` with all that is below it.
    Domain,
    /// What begins as the seeds do, up to their last slash.
    Prefix,
}

impl Scope {
    pub const ALL: [Scope; 3] = [Scope::Host, Scope::Domain, Scope::Prefix];

    pub fn name(self) -> &'static str {
        match self {
            Scope::Host => "host",
            Scope::Domain => "domain",
            Scope::Prefix => "prefix",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// The places that a crawl may go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    scope: Scope,
    /// Hosts with their ports, domains, or beginnings of URLs.
    places: Vec<String>,
}

impl Bounds {
    pub fn new(scope: Scope, seeds: &[PageUrl]) -> Self {
        let mut places: Vec<String> = seeds.iter().map(|seed| place(scope, seed)).collect();
        places.sort();
        places.dedup();
        Self { scope, places }
    }

    pub fn holds(&self, url: &PageUrl) -> bool {
        match self.scope {
            Scope::Host | Scope::Domain => self.places.binary_search(&place(self.scope, url)).is_ok(),
            Scope::Prefix => {
                let text = without_scheme(url);
                self.places.iter().any(|place| text.starts_with(place))
            }
        }
    }
}

fn place(scope: Scope, url: &PageUrl) -> String {
    let host = url.as_url().host_str().unwrap_or_default();
    match scope {
        Scope::Host => without_scheme(url).split(['/', '?']).next().unwrap_or_default().to_owned(),
        // An address, or a name of one word, is its own domain.
        Scope::Domain => match url.as_url().domain().and_then(psl::domain_str) {
            Some(domain) => domain.to_owned(),
            None => host.to_owned(),
        },
        Scope::Prefix => {
            let text = without_scheme(url);
            let path_end = text.find('?').unwrap_or(text.len());
            let slash = text[..path_end].rfind('/').map_or(path_end, |at| at + 1);
            text[..slash].to_owned()
        }
    }
}

/// A page is the same place over http and https; another port is another place.
fn without_scheme(url: &PageUrl) -> &str {
    url.as_str().split_once("://").map_or(url.as_str(), |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(scope: Scope, seed: &str, inside: &[&str], outside: &[&str]) {
        let page = |text: &str| PageUrl::parse(text).expect("a URL");
        let bounds = Bounds::new(scope, &[page(seed)]);
        inside.iter().for_each(|url| assert!(bounds.holds(&page(url)), "{url} is within {seed}"));
        outside.iter().for_each(|url| assert!(!bounds.holds(&page(url)), "{url} is outside of {seed}"));
    }

    #[test]
    fn a_crawl_stays_where_it_was_sent() {
        check(
            Scope::Host,
            "https://www.example.co.uk/a/b",
            &["https://www.example.co.uk/", "http://www.example.co.uk/x?y"],
            &["https://example.co.uk/", "https://a.www.example.co.uk/", "https://www.example.co.uk:81/"],
        );
        check(
            Scope::Domain,
            "https://www.example.co.uk/a/b",
            &["https://example.co.uk/", "https://a.b.example.co.uk/x"],
            &["https://other.co.uk/", "https://example.com/", "https://notexample.co.uk/"],
        );
        check(Scope::Domain, "http://127.0.0.1:81/", &["http://127.0.0.1:82/a"], &["http://127.0.0.2:81/"]);
        check(
            Scope::Prefix,
            "https://example.org/docs/intro.html?x",
            &["https://example.org/docs/", "http://example.org/docs/a/b", "https://example.org/docs/intro.html"],
            &["https://example.org/", "https://example.org/doc", "https://example.org/documents/"],
        );
    }
}
