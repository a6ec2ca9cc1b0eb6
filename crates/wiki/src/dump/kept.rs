//! Pages in memory, for tests: what a store would keep of them, without tasks and extractions.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use malla_queue::{Act, Error, GroupId, Result, Scope, TaskId, UnixMs};

use crate::extraction::{Extraction, ExtractionId, NewExtraction};
use crate::metrics::{ArticleCount, KeptTally, MonthEdits, WikiCounts, month_of};
use crate::page::{Mark, Page, PageFacts, PageId, Pulse};
use crate::pipeline::Plan;
use crate::revision::{Known, RevId, Revision};
use crate::revisit::pulse_length;
use crate::site::{NewWiki, Wiki, WikiId};
use crate::texts::{self, Block, TextHash, TextPlace};
use crate::verbs::{Committed, Import, ImportId, Imported, Limits, NewImport, PageChange, Row, Settled, Wikis};

/// When everything happens that needs a time.
pub(crate) const NOW: UnixMs = UnixMs(1_700_000_000_000);

#[derive(Default)]
pub(crate) struct Kept(Mutex<Inside>);

#[derive(Default)]
pub(crate) struct Inside {
    pub(crate) wikis: Vec<Wiki>,
    pub(crate) pages: BTreeMap<PageId, Page>,
    pub(crate) revisions: BTreeMap<Mark, Revision>,
    blocks: BTreeMap<(PageId, u32), Block>,
    imports: Vec<Import>,
    pub(crate) tallies: BTreeMap<PageId, KeptTally>,
    /// Revisions that were read of histories.
    pub(crate) read: usize,
    /// So many commits find that a page has changed meanwhile.
    pub(crate) stale: usize,
}

pub(crate) fn wiki(id: i64) -> Wiki {
    Wiki {
        id: WikiId(id),
        group: None,
        api: "https://w.test/api.php".parse().expect("a URL"),
        locale: "en".into(),
        name: "Test".into(),
        about: serde_json::json!({ "bots": ["Tidy bot"] }),
        scraped: false,
        found_at: NOW,
        pages: 1,
        revisions: 0,
        visits_day: 0,
        visits: 0,
    }
}

pub(crate) fn page(pageid: i64) -> Page {
    Page {
        wiki: WikiId(1),
        pageid: PageId(pageid),
        facts: PageFacts { title: format!("Page {pageid}"), ns: 0, deleted: false },
        first_extraction: NOW,
        last_extraction: NOW,
        newest: None,
        mark: None,
        complete_at: None,
        reconciled_at: None,
        visited_at: None,
        pulse: None,
        revisions: 0,
        version: 1,
        last_block: None,
        watched: true,
    }
}

impl Kept {
    pub(crate) fn with(change: impl FnOnce(&mut Inside)) -> Self {
        let kept = Self::default();
        change(&mut kept.inside());
        kept
    }

    pub(crate) fn inside(&self) -> std::sync::MutexGuard<'_, Inside> {
        self.0.lock().expect("no test panics while it holds this")
    }

    /// The text of a revision, read as a user would.
    pub(crate) fn text(&self, revid: i64) -> Option<String> {
        let inside = self.inside();
        let revision = inside.revisions.values().find(|revision| revision.revid.0 == revid)?;
        let mut blocks = inside.blocks.iter().filter(|((of, _), _)| *of == revision.pageid).map(|(_, block)| block);
        let (block, place) = blocks.find_map(|block| {
            let found = block.texts.iter().find(|(hash, _)| Some(*hash) == revision.text)?;
            Some((block, found.1))
        })?;
        let text = texts::read(&block.packed, block.bytes, place).expect("it reads back");
        Some(String::from_utf8(text).expect("text"))
    }
}

impl Inside {
    pub(crate) fn apply(&mut self, change: PageChange) {
        let (pageid, new) = (change.pageid, page(change.pageid.0));
        for revision in change.revisions {
            let before = self.revisions.values().find(|kept| kept.revid == revision.revid).cloned();
            if before.as_ref() != Some(&revision) {
                before.iter().chain([&revision]).for_each(|one| self.forget(one));
            }
            self.revisions.retain(|_, kept| kept.revid != revision.revid);
            self.revisions.insert(revision.mark(), revision);
        }
        let last_block = change.blocks.iter().map(|block| block.number).max();
        self.blocks.extend(change.blocks.into_iter().map(|block| ((pageid, block.number), block)));
        let marks: Vec<Mark> =
            self.revisions.values().filter(|kept| kept.pageid == pageid).map(Revision::mark).collect();
        let page = self.pages.entry(pageid).or_insert(Page { version: 0, ..new });
        page.version += 1;
        page.facts = change.facts;
        page.mark = change.mark.or(page.mark);
        page.newest = marks.last().copied();
        page.revisions = marks.len() as u64;
        page.last_block = page.last_block.max(last_block);
        if change.complete {
            page.complete_at = page.complete_at.or(Some(NOW));
            let newest = &marks[marks.len() - pulse_length(marks.len())..];
            let pulse =
                |first: &Mark, last: &Mark| Pulse { edits: newest.len() as u64, first: first.at, last: last.at };
            page.pulse = newest.first().zip(newest.last()).map(|(first, last)| pulse(first, last));
        }
    }

    /// Forgets what was counted if this is in it.
    fn forget(&mut self, revision: &Revision) {
        if self.tallies.get(&revision.pageid).is_some_and(|tally| tally.mark >= revision.mark()) {
            self.tallies.remove(&revision.pageid);
        }
    }

    fn counts(&self, top: usize) -> WikiCounts {
        let mut months: BTreeMap<i64, MonthEdits> = BTreeMap::new();
        let mut editors: BTreeMap<&str, u64> = BTreeMap::new();
        for revision in self.revisions.values() {
            let month = month_of(revision.at);
            let none = MonthEdits { month, edits: 0, minor: 0, anonymous: 0 };
            let counts = months.entry(month).or_insert(none);
            counts.edits += 1;
            counts.minor += u64::from(revision.minor);
            counts.anonymous += u64::from(revision.anon);
            if let Some(user) = &revision.user {
                *editors.entry(user).or_default() += 1;
            }
        }
        let mut top_editors: Vec<_> = editors.iter().map(|(name, edits)| ((*name).to_owned(), *edits)).collect();
        top_editors.sort_by_key(|(_, edits)| std::cmp::Reverse(*edits));
        top_editors.truncate(top);
        let edits = |pageid| self.revisions.values().filter(|revision| revision.pageid == pageid).count() as u64;
        let count = |page: &Page| ArticleCount {
            pageid: page.pageid,
            title: page.facts.title.clone(),
            edits: edits(page.pageid),
        };
        let mut top_pages: Vec<_> = self.pages.values().map(count).filter(|page| page.edits > 0).collect();
        top_pages.sort_by_key(|page| std::cmp::Reverse(page.edits));
        top_pages.truncate(top);
        WikiCounts {
            pages: self.pages.len() as u64,
            revisions: self.revisions.len() as u64,
            editors: editors.len() as u64,
            months: months.into_values().collect(),
            top_editors,
            top_pages,
        }
    }
}

#[async_trait]
impl Wikis for Kept {
    async fn wikis(&self, _: &Scope, after: Option<WikiId>, limit: usize) -> Result<Vec<Wiki>> {
        let inside = self.inside();
        Ok(inside.wikis.iter().filter(|wiki| after.is_none_or(|after| wiki.id > after)).take(limit).cloned().collect())
    }
    async fn wikis_at(&self, _: Option<GroupId>, _: &str) -> Result<Vec<Wiki>> {
        Ok(self.inside().wikis.clone())
    }
    async fn page(&self, _: WikiId, pageid: PageId) -> Result<Option<Page>> {
        Ok(self.inside().pages.get(&pageid).cloned())
    }
    async fn pages(&self, _: WikiId, after: Option<PageId>, limit: usize) -> Result<Vec<Page>> {
        let inside = self.inside();
        let pages = inside.pages.values().filter(|page| after.is_none_or(|after| page.pageid > after));
        Ok(pages.take(limit).cloned().collect())
    }
    async fn known(&self, _: WikiId, revids: &[RevId]) -> Result<Vec<Known>> {
        let inside = self.inside();
        let known = |kept: &Revision| Known {
            revid: kept.revid,
            pageid: kept.pageid,
            at: kept.at,
            size: kept.size,
            user_hidden: kept.user.is_none(),
            comment_hidden: kept.comment.is_none(),
            sha1: kept.sha1.clone(),
            text: kept.text,
            text_hidden: kept.text_hidden,
        };
        Ok(inside.revisions.values().filter(|kept| revids.contains(&kept.revid)).map(known).collect())
    }
    async fn history(&self, _: WikiId, pageid: PageId, after: Option<Mark>, limit: usize) -> Result<Vec<Revision>> {
        let mut inside = self.inside();
        let of_page = inside
            .revisions
            .iter()
            .filter(|(mark, kept)| kept.pageid == pageid && after.is_none_or(|after| **mark > after));
        let history: Vec<_> = of_page.map(|(_, kept)| kept.clone()).take(limit).collect();
        inside.read += history.len();
        Ok(history)
    }
    async fn revision(&self, _: WikiId, revid: RevId) -> Result<Option<Revision>> {
        Ok(self.inside().revisions.values().find(|kept| kept.revid == revid).cloned())
    }
    async fn places(&self, _: WikiId, pageid: PageId, hashes: &[TextHash]) -> Result<Vec<(TextHash, TextPlace)>> {
        let inside = self.inside();
        let blocks = inside.blocks.iter().filter(|((of, _), _)| *of == pageid);
        let texts = blocks.flat_map(|(_, block)| block.texts.iter().copied());
        Ok(texts.filter(|(hash, _)| hashes.contains(hash)).collect())
    }
    async fn uses(&self, _: WikiId, pageid: PageId, hashes: &[TextHash]) -> Result<Vec<(TextHash, u64)>> {
        let inside = self.inside();
        let of = |hash: TextHash| {
            let uses = inside.revisions.values().filter(|kept| kept.pageid == pageid && kept.text == Some(hash));
            (hash, uses.count() as u64)
        };
        Ok(hashes.iter().map(|hash| of(*hash)).collect())
    }
    async fn block(&self, _: WikiId, pageid: PageId, number: u32) -> Result<Option<Block>> {
        Ok(self.inside().blocks.get(&(pageid, number)).cloned())
    }
    async fn begin_import(&self, _: &Scope, new: NewImport, _: Act) -> Result<Import> {
        let mut inside = self.inside();
        if let Some(import) = inside.imports.iter().find(|import| import.name == new.name) {
            return Ok(import.clone());
        }
        let import = Import {
            id: ImportId(TaskId(inside.imports.len() as i64)),
            wiki: new.wiki,
            group: None,
            name: new.name,
            batches: 0,
            pages: 0,
            revisions: 0,
            finished: false,
            begun_at: NOW,
            changed_at: NOW,
        };
        inside.imports.push(import.clone());
        Ok(import)
    }
    async fn import(&self, _: &Scope, id: ImportId) -> Result<Import> {
        Ok(self.inside().imports.iter().find(|import| import.id == id).expect("an import").clone())
    }
    async fn take_batch(&self, imported: Imported) -> Result<Committed> {
        let mut inside = self.inside();
        let import = inside.imports.iter_mut().find(|import| import.id == imported.import).expect("an import");
        match imported.batch.cmp(&import.batches) {
            std::cmp::Ordering::Less => return Ok(Committed::Done),
            std::cmp::Ordering::Greater => return Err(Error::Conflict("a batch is missing".into())),
            std::cmp::Ordering::Equal => {}
        }
        let version = |pageid| inside.pages.get(pageid).map_or(0, |page: &Page| page.version);
        let stale = imported.changes.iter().any(|change| version(&change.pageid) != change.version);
        if stale || inside.stale > 0 {
            inside.stale = inside.stale.saturating_sub(1);
            return Ok(Committed::Stale);
        }
        let import = inside.imports.iter_mut().find(|import| import.id == imported.import).expect("an import");
        import.batches += 1;
        import.finished |= imported.last;
        imported.changes.into_iter().for_each(|change| inside.apply(change));
        Ok(Committed::Done)
    }
    async fn tally(&self, _: WikiId, pageid: PageId) -> Result<Option<(Page, Option<KeptTally>)>> {
        let inside = self.inside();
        Ok(inside.pages.get(&pageid).map(|page| (page.clone(), inside.tallies.get(&pageid).cloned())))
    }
    async fn keep_tally(&self, _: WikiId, pageid: PageId, version: u64, tally: KeptTally) -> Result<()> {
        let mut inside = self.inside();
        if inside.pages.get(&pageid).is_some_and(|page| page.version == version) {
            inside.tallies.insert(pageid, tally);
        }
        Ok(())
    }
    async fn wiki_counts(&self, _: WikiId, top: usize) -> Result<WikiCounts> {
        Ok(self.inside().counts(top))
    }

    async fn ask(&self, _: &Scope, _: &Plan, _: Limits) -> Result<Vec<Row>> {
        unreachable!("nobody asks here")
    }
    async fn extract(&self, _: NewExtraction, _: Act) -> Result<Extraction> {
        unreachable!("nobody extracts here")
    }
    async fn extraction(&self, _: &Scope, _: ExtractionId) -> Result<Extraction> {
        unreachable!("nobody extracts here")
    }
    async fn extractions(&self, _: &Scope, _: Option<ExtractionId>, _: usize) -> Result<Vec<Extraction>> {
        unreachable!("nobody extracts here")
    }
    async fn found(&self, _: NewWiki) -> Result<Wiki> {
        unreachable!("nobody extracts here")
    }
    async fn wiki(&self, _: &Scope, _: WikiId) -> Result<Wiki> {
        unreachable!("nobody extracts here")
    }
    async fn watch(&self, _: &Scope, _: WikiId, _: PageId, _: bool, _: Act) -> Result<Page> {
        unreachable!("nobody extracts here")
    }
    async fn commit(&self, _: Settled) -> Result<Committed> {
        unreachable!("nobody extracts here")
    }
    async fn imports(&self, _: &Scope, _: Option<ImportId>, _: usize) -> Result<Vec<Import>> {
        unreachable!("nobody extracts here")
    }
    async fn sweep(&self, _: Duration, _: usize) -> Result<u64> {
        unreachable!("nobody extracts here")
    }
}
