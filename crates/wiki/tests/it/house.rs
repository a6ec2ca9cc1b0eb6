//! A store in memory that keeps the promises of [`Wikis`], and a hand that takes one task after the other.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use malla_queue::worker::Work as _;
use malla_queue::{
    Act, Ending, Error, Event, GroupId, LeaseToken, Leased, ManualClock, NewTask, Result, Scope, State, TaskId, UnixMs,
};
use malla_reach::Guard;
use malla_wiki::metrics::{ArticleCount, KeptTally, MonthEdits, WikiCounts, month_of};
use malla_wiki::pipeline::Plan;
use malla_wiki::*;

pub(crate) const START: UnixMs = UnixMs(1_800_000_000_000);

#[derive(Default)]
pub(crate) struct Kept {
    tasks: VecDeque<(NewTask, u32)>,
    /// The lease that is out.
    lease: Option<LeaseToken>,
    next: i64,
    pub(crate) wikis: Vec<Wiki>,
    pub(crate) pages: BTreeMap<(WikiId, PageId), Page>,
    pub(crate) revisions: BTreeMap<(WikiId, RevId), Revision>,
    pub(crate) blocks: HashMap<(WikiId, PageId, u32), Block>,
    tallies: HashMap<(WikiId, PageId), KeptTally>,
    pub(crate) extractions: BTreeMap<ExtractionId, Extraction>,
    pub(crate) events: Vec<Event>,
    pub(crate) endings: Vec<Ending>,
    pub(crate) visited: Vec<Visited>,
    /// Changes a page behind the back of the next commit, so often.
    pub(crate) meddle: u32,
    pub(crate) stale: u32,
}

#[derive(Clone)]
pub(crate) struct House {
    kept: Arc<Mutex<Kept>>,
    pub(crate) clock: Arc<ManualClock>,
}

/// The parts of the house that a test changes.
pub(crate) struct Settings {
    pub(crate) answer_bytes_max: usize,
    pub(crate) guard: Guard,
}

impl Default for Settings {
    fn default() -> Self {
        Self { answer_bytes_max: 64 << 20, guard: Guard::new(true, Vec::new()) }
    }
}

impl House {
    pub(crate) fn new() -> Self {
        Self { kept: Arc::default(), clock: Arc::new(ManualClock::at(START)) }
    }

    pub(crate) fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("not poisoned")
    }

    pub(crate) fn asking(&self, template: &str) -> Asking {
        Asking {
            wikis: Arc::new(self.clone()),
            contact: "https://malla.test/".into(),
            template: template.into(),
            gap_ms: 1_000,
            extractions_max: 100,
        }
    }

    pub(crate) async fn ask_title(&self, template: &str, title: &str) -> ExtractionId {
        let target = Target::Title { title: title.into(), locale: None };
        self.asking(template).extract(None, target, Act::new("test", "extract", title)).await.expect("taken in").id
    }

    pub(crate) async fn ask_url(&self, template: &str, url: &str) -> ExtractionId {
        let target = Target::Url(url.into());
        self.asking(template).extract(None, target, Act::new("test", "extract", url)).await.expect("taken in").id
    }

    /// Extracts to the end.
    pub(crate) async fn extract(&self, template: &str, title: &str) -> Extraction {
        let id = self.ask_title(template, title).await;
        self.work(template, Settings::default(), usize::MAX).await;
        self.extraction_of(id)
    }

    pub(crate) fn extraction_of(&self, id: ExtractionId) -> Extraction {
        self.kept().extractions[&id].clone()
    }

    pub(crate) fn submit(&self, task: NewTask) {
        self.kept().tasks.push_back((task, 0));
    }

    pub(crate) fn waiting(&self) -> usize {
        self.kept().tasks.len()
    }

    /// Works on tasks until none is left, or so many were worked on. Nobody waits for a delay here.
    pub(crate) async fn work(&self, template: &str, settings: Settings, tasks: usize) {
        let options = WalkerOptions {
            contact: "https://malla.test/".into(),
            gap_ms: 1_000,
            template: template.into(),
            timeout: Duration::from_secs(5),
            answer_bytes_max: settings.answer_bytes_max,
            maxlag: 5,
            guard: settings.guard,
        };
        let walker = Walker::new(Arc::new(self.clone()), self.clock.clone(), options).expect("a walker");
        for _ in 0..tasks {
            let Some(leased) = self.lease() else { return };
            if let Some(verdict) = walker.work(&leased).await {
                let ending = verdict.ending(&leased, START);
                self.kept().end(&leased.token, ending).expect("the lease is ours");
            }
        }
    }

    fn lease(&self) -> Option<Leased> {
        let mut kept = self.kept();
        let (task, failures) = kept.tasks.pop_front()?;
        kept.next += 1;
        let token = LeaseToken { task: TaskId(kept.next), nonce: kept.next };
        kept.lease = Some(token);
        let leased = Leased {
            token,
            lane: task.lane.clone(),
            kind: task.kind.clone(),
            group: task.group,
            priority: task.priority,
            payload: task.payload.clone(),
            retry: task.retry.clone(),
            failures,
            started_at: START,
            expires_at: START.plus(Duration::from_secs(30)),
            holder: "member:test".into(),
            awaited: true,
        };
        // Kept until the lease has ended.
        kept.tasks.push_front((task, failures));
        Some(leased)
    }

    /// The texts of a page's revisions in the order of its history.
    pub(crate) fn texts(&self, title: &str) -> Vec<(i64, Option<String>)> {
        let kept = self.kept();
        let page = kept.pages.values().find(|page| page.facts.title == title).expect("the page is kept").clone();
        let mut revisions: Vec<_> = kept.revisions.values().filter(|one| one.pageid == page.pageid).collect();
        revisions.sort_by_key(|revision| revision.mark());
        let text = |revision: &Revision| {
            let hash = revision.text?;
            let mut blocks = kept.blocks.iter().filter(|((wiki, id, _), _)| (*wiki, *id) == (page.wiki, page.pageid));
            let found =
                blocks.find_map(|(_, block)| Some((block, block.texts.iter().find(|(known, _)| *known == hash)?.1)));
            let (block, place) = found.expect("a text that a revision names is kept");
            let bytes = texts::read(&block.packed, block.bytes, place).expect("it reads back");
            Some(String::from_utf8(bytes).expect("text"))
        };
        revisions.into_iter().map(|revision| (revision.revid.0, text(revision))).collect()
    }

    pub(crate) fn page(&self, title: &str) -> Page {
        self.kept().pages.values().find(|page| page.facts.title == title).expect("the page is kept").clone()
    }
}

impl Kept {
    fn end(&mut self, token: &LeaseToken, ending: Ending) -> Result<()> {
        if self.lease != Some(*token) {
            return Err(Error::LeaseLost(token.task));
        }
        self.lease = None;
        let (task, _) = self.tasks.pop_front().expect("the leased one is in front");
        if ending.state == State::Queued {
            self.tasks.push_front((task, ending.failures));
        }
        self.tasks.extend(ending.follow_ups.iter().map(|task| (task.clone(), 0)));
        self.events.extend(ending.events.iter().cloned());
        self.endings.push(ending);
        Ok(())
    }

    fn apply(&mut self, change: &PageChange) {
        let key = (change.wiki, change.pageid);
        let fresh = Page {
            wiki: change.wiki,
            pageid: change.pageid,
            facts: change.facts.clone(),
            first_extraction: START,
            last_extraction: START,
            newest: None,
            mark: None,
            complete_at: None,
            reconciled_at: None,
            visited_at: None,
            pulse: None,
            revisions: 0,
            version: 0,
            last_block: None,
            watched: true,
        };
        for revision in &change.revisions {
            let before = self.revisions.insert((change.wiki, revision.revid), revision.clone());
            if before.as_ref() != Some(revision) {
                before.iter().chain([revision]).for_each(|one| self.forget(change.wiki, one));
            }
        }
        for block in &change.blocks {
            self.blocks.insert((change.wiki, change.pageid, block.number), block.clone());
        }
        let of_page = |revision: &&Revision| revision.pageid == change.pageid;
        let newest = self.revisions.values().filter(of_page).map(Revision::mark).max();
        let count = self.revisions.values().filter(of_page).count() as u64;
        let last_block = self.blocks.keys().filter(|(wiki, page, _)| (*wiki, *page) == key).map(|key| key.2).max();
        let page = self.pages.entry(key).or_insert(fresh);
        page.facts = change.facts.clone();
        page.mark = change.mark.or(page.mark);
        (page.newest, page.revisions, page.last_block) = (newest, count, last_block);
        page.version += 1;
        page.complete_at = page.complete_at.or(change.complete.then_some(START));
        page.reconciled_at = if change.reconciled { Some(START) } else { page.reconciled_at };
        page.visited_at = if change.visited { Some(START) } else { page.visited_at };
    }

    /// Forgets what was counted if this is in it.
    fn forget(&mut self, wiki: WikiId, revision: &Revision) {
        let of_page = (wiki, revision.pageid);
        if self.tallies.get(&of_page).is_some_and(|tally| tally.mark >= revision.mark()) {
            self.tallies.remove(&of_page);
        }
    }

    fn counts(&self, wiki: WikiId, top: usize) -> WikiCounts {
        let revisions: Vec<_> = self.revisions.iter().filter(|((of, _), _)| *of == wiki).map(|(_, one)| one).collect();
        let mut counts = WikiCounts { revisions: revisions.len() as u64, ..WikiCounts::default() };
        let mut months: BTreeMap<i64, MonthEdits> = BTreeMap::new();
        let mut editors: BTreeMap<String, u64> = BTreeMap::new();
        for one in &revisions {
            let none = MonthEdits { month: month_of(one.at), edits: 0, minor: 0, anonymous: 0 };
            let month = months.entry(none.month).or_insert(none);
            month.edits += 1;
            month.minor += u64::from(one.minor);
            month.anonymous += u64::from(one.anon);
            one.user.iter().for_each(|name| *editors.entry(name.clone()).or_default() += 1);
        }
        counts.months = months.into_values().collect();
        counts.editors = editors.len() as u64;
        counts.top_editors = editors.into_iter().collect();
        counts.top_editors.sort_by_key(|(_, edits)| std::cmp::Reverse(*edits));
        for ((_, pageid), page) in self.pages.iter().filter(|((of, _), _)| *of == wiki) {
            counts.pages += 1;
            let edits = revisions.iter().filter(|one| one.pageid == *pageid).count() as u64;
            counts.top_pages.push(ArticleCount { pageid: *pageid, title: page.facts.title.clone(), edits });
        }
        counts.top_pages.retain(|page| page.edits > 0);
        counts.top_pages.sort_by_key(|page| std::cmp::Reverse(page.edits));
        counts.top_editors.truncate(top);
        counts.top_pages.truncate(top);
        counts
    }

    fn step(&mut self, step: &Step) {
        let Some(extraction) = self.extractions.get_mut(&step.extraction) else { return };
        extraction.state = step.state;
        extraction.wiki = step.wiki.or(extraction.wiki);
        extraction.pageid = step.pageid.or(extraction.pageid);
        extraction.title = step.title.clone().or(extraction.title.take());
        (extraction.counts, extraction.note) = (step.counts, step.note.clone());
    }
}

fn nothing_like_that<T>() -> Result<T> {
    Err(Error::Internal("this test has nothing like that".into()))
}

#[async_trait]
impl Wikis for House {
    async fn extract(&self, mut new: NewExtraction, _: Act) -> Result<Extraction> {
        let mut kept = self.kept();
        kept.next += 1;
        let id = ExtractionId(TaskId(kept.next));
        let mut payload: serde_json::Value = serde_json::from_slice(&new.first.payload).expect("JSON");
        payload["extraction"] = serde_json::json!(id);
        new.first.payload = serde_json::to_vec(&payload).expect("JSON");
        let extraction = Extraction {
            id,
            group: new.group,
            asked: new.asked,
            state: ExtractionState::Pending,
            wiki: None,
            pageid: None,
            title: None,
            counts: Counts::default(),
            note: None,
            asked_at: START,
            started_at: None,
            changed_at: START,
            finished_at: None,
        };
        kept.tasks.push_back((new.first, 0));
        kept.extractions.insert(id, extraction.clone());
        Ok(extraction)
    }

    async fn extraction(&self, _: &Scope, id: ExtractionId) -> Result<Extraction> {
        Ok(self.extraction_of(id))
    }

    async fn extractions(&self, _: &Scope, _: Option<ExtractionId>, _: usize) -> Result<Vec<Extraction>> {
        Ok(self.kept().extractions.values().rev().cloned().collect())
    }

    async fn found(&self, new: NewWiki) -> Result<Wiki> {
        let mut kept = self.kept();
        let known = kept.wikis.iter().position(|wiki| wiki.api == new.api && wiki.group == new.group);
        let wiki = Wiki {
            id: WikiId(known.unwrap_or(kept.wikis.len()) as i64 + 1),
            group: new.group,
            api: new.api,
            locale: new.locale,
            name: new.name,
            about: new.about,
            scraped: new.scraped,
            found_at: START,
            pages: 0,
            revisions: 0,
            visits_day: 0,
            visits: 0,
        };
        match known {
            Some(at) => kept.wikis[at] = wiki.clone(),
            None => kept.wikis.push(wiki.clone()),
        }
        Ok(wiki)
    }

    async fn wiki(&self, _: &Scope, id: WikiId) -> Result<Wiki> {
        let kept = self.kept();
        let found = kept.wikis.iter().find(|wiki| wiki.id == id).cloned();
        found.ok_or_else(|| Error::NotFound(format!("the wiki {id}")))
    }

    async fn wikis(&self, _: &Scope, _: Option<WikiId>, _: usize) -> Result<Vec<Wiki>> {
        Ok(self.kept().wikis.clone())
    }

    async fn wikis_at(&self, group: Option<GroupId>, origin: &str) -> Result<Vec<Wiki>> {
        let at = |wiki: &&Wiki| {
            let port = wiki.api.port_or_known_default().unwrap_or(0);
            let host = wiki.api.host_str().unwrap_or_default();
            wiki.group == group && format!("{}://{host}:{port}", wiki.api.scheme()) == origin
        };
        Ok(self.kept().wikis.iter().filter(at).cloned().collect())
    }

    async fn page(&self, wiki: WikiId, pageid: PageId) -> Result<Option<Page>> {
        Ok(self.kept().pages.get(&(wiki, pageid)).cloned())
    }

    async fn pages(&self, _: WikiId, _: Option<PageId>, _: usize) -> Result<Vec<Page>> {
        Ok(self.kept().pages.values().cloned().collect())
    }

    async fn watch(&self, _: &Scope, _: WikiId, _: PageId, _: bool, _: Act) -> Result<Page> {
        nothing_like_that()
    }

    async fn known(&self, wiki: WikiId, revids: &[RevId]) -> Result<Vec<Known>> {
        let kept = self.kept();
        let found = revids.iter().filter_map(|revid| kept.revisions.get(&(wiki, *revid)));
        let known = found.map(|revision| Known {
            revid: revision.revid,
            pageid: revision.pageid,
            at: revision.at,
            size: revision.size,
            user_hidden: revision.user.is_none(),
            comment_hidden: revision.comment.is_none(),
            sha1: revision.sha1.clone(),
            text: revision.text,
            text_hidden: revision.text_hidden,
        });
        Ok(known.collect())
    }

    async fn history(&self, _: WikiId, _: PageId, _: Option<Mark>, _: usize) -> Result<Vec<Revision>> {
        nothing_like_that()
    }

    async fn revision(&self, wiki: WikiId, revid: RevId) -> Result<Option<Revision>> {
        Ok(self.kept().revisions.get(&(wiki, revid)).cloned())
    }

    async fn places(&self, wiki: WikiId, pageid: PageId, hashes: &[TextHash]) -> Result<Vec<(TextHash, TextPlace)>> {
        let kept = self.kept();
        let blocks = kept.blocks.iter().filter(|((of, page, _), _)| (*of, *page) == (wiki, pageid));
        let texts = blocks.flat_map(|(_, block)| block.texts.clone());
        Ok(texts.filter(|(hash, _)| hashes.contains(hash)).collect())
    }

    async fn uses(&self, wiki: WikiId, pageid: PageId, hashes: &[TextHash]) -> Result<Vec<(TextHash, u64)>> {
        let kept = self.kept();
        let of_page = |((of, _), revision): &(&(WikiId, RevId), &Revision)| *of == wiki && revision.pageid == pageid;
        let uses = |hash: &TextHash| {
            kept.revisions.iter().filter(of_page).filter(|(_, revision)| revision.text == Some(*hash)).count() as u64
        };
        Ok(hashes.iter().map(|hash| (*hash, uses(hash))).collect())
    }

    async fn block(&self, wiki: WikiId, pageid: PageId, number: u32) -> Result<Option<Block>> {
        Ok(self.kept().blocks.get(&(wiki, pageid, number)).cloned())
    }

    async fn commit(&self, settled: Settled) -> Result<Committed> {
        let mut kept = self.kept();
        if kept.lease != Some(settled.token) {
            return Err(Error::LeaseLost(settled.token.task));
        }
        if kept.meddle > 0 {
            kept.meddle -= 1;
            let pages: Vec<_> = settled.changes.iter().map(|change| (change.wiki, change.pageid)).collect();
            pages.iter().filter_map(|key| kept.pages.get_mut(key).map(|page| page.version += 1)).for_each(drop);
        }
        let version =
            |change: &PageChange| kept.pages.get(&(change.wiki, change.pageid)).map_or(0, |page| page.version);
        if settled.changes.iter().any(|change| version(change) != change.version) {
            kept.stale += 1;
            return Ok(Committed::Stale);
        }
        kept.end(&settled.token, settled.ending)?;
        settled.changes.iter().for_each(|change| kept.apply(change));
        settled.step.iter().for_each(|step| kept.step(step));
        kept.visited.extend(settled.visited);
        Ok(Committed::Done)
    }

    async fn begin_import(&self, _: &Scope, _: NewImport, _: Act) -> Result<Import> {
        nothing_like_that()
    }

    async fn import(&self, _: &Scope, _: ImportId) -> Result<Import> {
        nothing_like_that()
    }

    async fn imports(&self, _: &Scope, _: Option<ImportId>, _: usize) -> Result<Vec<Import>> {
        nothing_like_that()
    }

    async fn take_batch(&self, _: Imported) -> Result<Committed> {
        nothing_like_that()
    }

    async fn tally(&self, wiki: WikiId, pageid: PageId) -> Result<Option<(Page, Option<KeptTally>)>> {
        let kept = self.kept();
        let of_page = (wiki, pageid);
        Ok(kept.pages.get(&of_page).map(|page| (page.clone(), kept.tallies.get(&of_page).cloned())))
    }

    async fn keep_tally(&self, wiki: WikiId, pageid: PageId, version: u64, tally: KeptTally) -> Result<()> {
        let mut kept = self.kept();
        if kept.pages.get(&(wiki, pageid)).is_some_and(|page| page.version == version) {
            kept.tallies.insert((wiki, pageid), tally);
        }
        Ok(())
    }

    async fn wiki_counts(&self, wiki: WikiId, top: usize) -> Result<WikiCounts> {
        Ok(self.kept().counts(wiki, top))
    }

    async fn ask(&self, _: &Scope, _: &Plan, _: Limits) -> Result<Vec<Row>> {
        nothing_like_that()
    }

    async fn sweep(&self, _: Duration, _: usize) -> Result<u64> {
        Ok(0)
    }
}
