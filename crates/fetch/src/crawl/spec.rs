//! What somebody wants of a crawl.

use malla_queue::{Error, Result};
use serde::{Deserialize, Serialize};

use super::{Bounds, Scope, Spelling, normal};
use crate::PageUrl;
use crate::tour::Found;

/// Pages a crawl may ask for at most, whatever it is told.
const PAGES_MAX: u64 = 10_000_000;
const SEEDS_MAX: usize = 1_000;
const DEPTH_MAX: u32 = 1_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CrawlSpec {
    pub seeds: Vec<String>,
    pub scope: Scope,
    /// Steps from a seed; 0 fetches the seeds alone.
    pub depth: u32,
    /// Pages, sitemaps apart.
    pub pages: u64,
    /// Bytes of all bodies together; 0: no limit.
    pub bytes: u64,
    /// Whether sitemaps are read.
    pub sitemaps: bool,
    /// Whether the page that a copy names is taken in its place.
    pub canonical: bool,
    /// Parameters in another order are the same page.
    pub sort_query: bool,
    /// Whether links to pictures, films, programs and the like are followed.
    pub files: bool,
    /// Whether fresh pages in the cache will do.
    pub cached: bool,
    /// Pages of one making, as `/thread/0`, on a site; 0: no limit.
    pub pages_per_shape: u64,
    /// The same for those with a date.
    pub pages_per_calendar: u64,
}

impl Default for CrawlSpec {
    fn default() -> Self {
        Self {
            seeds: Vec::new(),
            scope: Scope::Host,
            depth: 10,
            pages: 10_000,
            bytes: 0,
            sitemaps: true,
            canonical: true,
            sort_query: false,
            files: false,
            cached: true,
            pages_per_shape: 10_000,
            pages_per_calendar: 400,
        }
    }
}

impl CrawlSpec {
    pub fn check(&self) -> Result<()> {
        let wrong = |why: String| Err(Error::Invalid(why));
        if self.seeds.is_empty() {
            return wrong("a crawl starts somewhere: give at least one seed".into());
        }
        if self.seeds.len() > SEEDS_MAX {
            return wrong(format!("a crawl has at most {SEEDS_MAX} seeds: make several"));
        }
        if self.depth > DEPTH_MAX {
            return wrong(format!("a crawl goes at most {DEPTH_MAX} steps deep"));
        }
        if self.pages == 0 || self.pages > PAGES_MAX {
            return wrong(format!("a crawl asks for 1 to {PAGES_MAX} pages: change its limit"));
        }
        self.seed_urls().map(drop)
    }

    /// In their one spelling.
    pub fn seed_urls(&self) -> Result<Vec<PageUrl>> {
        let read = |seed: &String| {
            let url = PageUrl::parse(seed)
                .map_err(|why| Error::Invalid(format!("the seed {seed} cannot be fetched: {why}")))?;
            if let Some(what) = crate::suspicious(&url) {
                return Err(Error::Invalid(format!("the seed {seed} looks like an attack ({what})")));
            }
            Ok(normal(&url, self.spelling()).0)
        };
        self.seeds.iter().map(read).collect()
    }

    pub fn spelling(&self) -> Spelling {
        Spelling { sort_query: self.sort_query }
    }

    pub fn bounds(&self) -> Result<Bounds> {
        Ok(Bounds::new(self.scope, &self.seed_urls()?))
    }

    /// Where it starts: the seeds, and the sitemaps of their sites.
    pub fn start(&self) -> Result<Vec<Found>> {
        let seeds = self.seed_urls()?;
        let mut found: Vec<Found> =
            seeds.iter().map(|url| Found { url: url.clone(), depth: 0, sitemap: false, shape: None }).collect();
        if self.sitemaps && self.depth > 0 {
            let mut sites: Vec<_> = seeds.iter().map(PageUrl::site).collect();
            sites.sort();
            sites.dedup();
            for site in sites {
                let url =
                    PageUrl::parse(&format!("{site}/sitemap.xml")).map_err(|why| Error::Invalid(why.to_string()))?;
                found.push(Found { url, depth: 0, sitemap: true, shape: None });
            }
        }
        let mut known = std::collections::HashSet::new();
        found.retain(|found| known.insert(found.key()));
        Ok(found)
    }
}
