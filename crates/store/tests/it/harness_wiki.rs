//! Wikis, pages and extractions for tests.

use std::time::Duration;

use malla_queue::{Kind, LaneKey, LaneSettings, Leased, NewTask, Outcome, Result, Scope, UnixMs, Verdict};
use malla_wiki::texts::Packer;
use malla_wiki::{
    Block, Committed, Counts, EXTRACT, Extraction, ExtractionId, ExtractionState, Mark, NewExtraction, NewWiki, Page,
    PageChange, PageFacts, PageId, ROOM, RevId, Revision, Settled, Step, TextHash, VISIT, Wiki, WikiId,
};
use serde_json::json;

use crate::harness::{House, act};

pub(crate) const API: &str = "https://en.example.org/w/api.php";
pub(crate) const LANE: &str = "wiki/https://en.example.org:443";
/// How long extractions that are over are kept.
pub(crate) const KEEP: Duration = Duration::from_secs(24 * 3_600);
/// The page that tests are about.
pub(crate) const PAGE: PageId = PageId(7);

pub(crate) fn new_wiki(api: &str) -> NewWiki {
    NewWiki {
        group: None,
        api: api.parse().expect("a URL"),
        locale: "en".into(),
        name: "Example".into(),
        about: json!({ "general": { "sitename": "Example" } }),
        scraped: false,
    }
}

pub(crate) fn new_task(kind: &str) -> NewTask {
    let lane: LaneKey = LANE.parse().expect("a lane");
    NewTask {
        lane_settings: LaneSettings { ceiling: 20, gap_ms: 0 },
        ..NewTask::new(lane, Kind::new(kind), json!({ "step": "first" }).to_string())
    }
}

pub(crate) fn new_extraction(key: &str) -> NewExtraction {
    NewExtraction {
        group: None,
        asked: format!("the page {key}"),
        key: key.into(),
        first: new_task(EXTRACT),
        extractions_max: 100,
    }
}

/// A revision of [`PAGE`] by Ana, so many seconds after 2018 began.
pub(crate) fn revision(revid: i64, second: i64) -> Revision {
    Revision {
        revid: RevId(revid),
        parentid: RevId(revid - 1),
        pageid: PAGE,
        at: at(second),
        user: Some("Ana".into()),
        userid: Some(5),
        anon: false,
        minor: revid % 2 == 0,
        size: 10 * u64::try_from(revid).unwrap_or(0),
        sha1: Some(format!("{revid:040x}")),
        model: "wikitext".into(),
        format: "text/x-wiki".into(),
        comment: Some(format!("edit {revid}")),
        parsed_comment: Some(format!("<b>edit</b> {revid}")),
        tags: vec!["visualeditor".into()],
        text: None,
        text_hidden: false,
    }
}

pub(crate) fn at(second: i64) -> UnixMs {
    UnixMs(1_514_764_800_000 + second * 1_000)
}

pub(crate) fn mark(revid: i64, second: i64) -> Mark {
    Mark { at: at(second), revid: RevId(revid) }
}

/// A change of [`PAGE`], which is new.
pub(crate) fn change(wiki: WikiId, revisions: Vec<Revision>) -> PageChange {
    PageChange {
        wiki,
        pageid: PAGE,
        version: 0,
        facts: PageFacts { title: "Mesh".into(), ns: 0, deleted: false },
        revisions,
        blocks: Vec::new(),
        mark: None,
        complete: false,
        reconciled: false,
        visited: true,
    }
}

/// A change with these texts in its blocks, and a revision for each.
pub(crate) fn change_with_texts(wiki: WikiId, texts: &[&str]) -> PageChange {
    let mut packer = Packer::new();
    let with_text = |(n, text): (i64, &&str)| Revision {
        text: Some(packer.add(text.as_bytes()).expect("packed")),
        ..revision(n, n)
    };
    let revisions = (1..).zip(texts).map(with_text).collect();
    PageChange { blocks: packer.finish().expect("packed"), ..change(wiki, revisions) }
}

pub(crate) fn text_of(block: &Block, hash: TextHash) -> Option<String> {
    let (_, place) = block.texts.iter().find(|(known, _)| *known == hash)?;
    let text = malla_wiki::texts::read(&block.packed, block.bytes, *place).expect("it reads back");
    Some(String::from_utf8(text).expect("text"))
}

pub(crate) fn step(extraction: ExtractionId, state: ExtractionState) -> Step {
    Step {
        extraction,
        state,
        wiki: None,
        pageid: Some(PAGE),
        title: Some("Mesh".into()),
        counts: Counts { requests: 3, done: 100, total: Some(250), new: 90, erased: 1 },
        note: Some("reading the history".into()),
    }
}

impl House {
    pub(crate) async fn wiki(&self) -> WikiId {
        self.wikis.found(new_wiki(API)).await.expect("noted").id
    }

    pub(crate) async fn read_wiki(&self, id: WikiId) -> Wiki {
        self.wikis.wiki(&Scope::All, id).await.expect("the wiki is there")
    }

    pub(crate) async fn page(&self, wiki: WikiId) -> Page {
        self.page_if_any(wiki, PAGE).await.expect("the page is there")
    }

    pub(crate) async fn page_if_any(&self, wiki: WikiId, pageid: PageId) -> Option<Page> {
        self.wikis.page(wiki, pageid).await.expect("the store answers")
    }

    pub(crate) async fn history(&self, wiki: WikiId, pageid: PageId) -> Vec<Revision> {
        self.wikis.history(wiki, pageid, None, 10_000).await.expect("the store answers")
    }

    pub(crate) async fn extract(&self, key: &str) -> Extraction {
        self.wikis.extract(new_extraction(key), act("wiki.extract")).await.expect("taken")
    }

    pub(crate) async fn extraction(&self, id: ExtractionId) -> Extraction {
        self.wikis.extraction(&Scope::All, id).await.expect("the extraction is there")
    }

    pub(crate) async fn lease_wikis(&self) -> Vec<Leased> {
        self.lease_from(ROOM, "worker", 1_000).await
    }

    pub(crate) async fn lease_wiki(&self) -> Leased {
        let mut leased = self.lease_wikis().await;
        assert_eq!(leased.len(), 1, "{leased:?}");
        leased.remove(0)
    }

    /// A task of this room, leased.
    pub(crate) async fn leased_visit(&self) -> Leased {
        self.submit(new_task(VISIT)).await;
        self.lease_wiki().await
    }

    /// The work of this task, done, with these changes and follow-ups.
    pub(crate) fn walked(&self, leased: &Leased, changes: Vec<PageChange>, follow_ups: Vec<NewTask>) -> Settled {
        let ending = self.ending(leased, Verdict::Done(Outcome { follow_ups, ..Outcome::default() }));
        Settled { token: leased.token, ending, step: None, changes, visited: None }
    }

    /// Writes a change as a visit does.
    pub(crate) async fn put(&self, change: PageChange) -> Result<Committed> {
        let leased = self.leased_visit().await;
        self.wikis.commit(self.walked(&leased, vec![change], Vec::new())).await
    }

    /// Writes a change of what is kept now.
    pub(crate) async fn change(&self, change: PageChange) {
        let version = self.page_if_any(change.wiki, change.pageid).await.map_or(0, |page| page.version);
        assert_eq!(self.put(PageChange { version, ..change }).await, Ok(Committed::Done));
    }
}
