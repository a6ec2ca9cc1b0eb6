//! Which pages are kept, by host and title: what a stream of changes is compared with.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use malla_queue::{Result, Scope};

use crate::page::PageId;
use crate::site::{Wiki, WikiId};
use crate::verbs::Wikis;

/// Wikis and pages read from the store at once.
const READ: usize = 1_000;
/// Pages remembered: some megabytes.
const PAGES_MAX: usize = 1_000_000;

#[derive(Default)]
pub(super) struct Titles {
    /// Sorted. A title is told by its hash; who finds one makes sure.
    pages: Vec<(u64, WikiId, PageId)>,
    wikis: HashMap<WikiId, Wiki>,
}

impl Titles {
    /// Everything that is kept and watched now.
    pub(super) async fn read(wikis: &dyn Wikis) -> Result<Self> {
        let mut titles = Self::default();
        let mut after = None;
        loop {
            let some = wikis.wikis(&Scope::All, after, READ).await?;
            after = some.last().map(|wiki| wiki.id);
            let at_end = some.len() < READ;
            for wiki in some.into_iter().filter(|wiki| !wiki.scraped) {
                titles.read_wiki(wikis, &wiki).await?;
                titles.wikis.insert(wiki.id, wiki);
            }
            if at_end || titles.pages.len() >= PAGES_MAX {
                titles.pages.sort_unstable();
                return Ok(titles);
            }
        }
    }

    async fn read_wiki(&mut self, wikis: &dyn Wikis, wiki: &Wiki) -> Result<()> {
        let host = wiki.api.host_str().unwrap_or_default();
        let mut after = None;
        while self.pages.len() < PAGES_MAX {
            let pages = wikis.pages(wiki.id, after, READ).await?;
            after = pages.last().map(|page| page.pageid);
            let watched = pages.iter().filter(|page| page.watched);
            self.pages.extend(watched.map(|page| (hash(host, &page.facts.title), wiki.id, page.pageid)));
            if pages.len() < READ {
                break;
            }
        }
        Ok(())
    }

    /// The pages that may have this title, each with its wiki. The same wiki may be kept by several groups.
    pub(super) fn find(&self, host: &str, title: &str) -> impl Iterator<Item = (&Wiki, PageId)> {
        let hash = hash(host, title);
        let from = self.pages.partition_point(|(known, ..)| *known < hash);
        let same = self.pages[from..].iter().take_while(move |(known, ..)| *known == hash);
        same.filter_map(|(_, wiki, pageid)| Some((self.wikis.get(wiki)?, *pageid)))
    }

    pub(super) fn wiki(&self, id: WikiId) -> Option<&Wiki> {
        self.wikis.get(&id)
    }
}

fn hash(host: &str, title: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (host, title).hash(&mut hasher);
    hasher.finish()
}
