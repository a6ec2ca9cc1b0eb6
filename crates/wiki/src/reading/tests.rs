//! Documents made of rows and packed texts.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use malla_queue::{Act, GroupId};

use super::*;
use crate::extraction::{Extraction, ExtractionId, NewExtraction};
use crate::metrics::{KeptTally, WikiCounts};
use crate::page::{Mark, Page};
use crate::pipeline::{self, Collection};
use crate::revision::{Known, Revision};
use crate::site::{NewWiki, Wiki};
use crate::texts::{Packer, TextPlace, erase};
use crate::verbs::{Committed, Import, ImportId, Imported, NewImport, Settled};

const LIMITS: Limits = Limits { rows: 4, time: Duration::from_secs(10) };
const WIKI: WikiId = WikiId(1);
const PAGE: PageId = PageId(2);

/// Gives the rows that it was told to, at most as many as the plan's last limit, and keeps the texts of one page.
#[derive(Default)]
struct Shelf {
    rows: Vec<Row>,
    places: Vec<(TextHash, TextPlace)>,
    blocks: Vec<Block>,
    blocks_read: AtomicUsize,
    revision: Option<Revision>,
}

impl Shelf {
    fn with_texts(texts: &[&[u8]]) -> (Self, Vec<TextHash>) {
        let mut packer = Packer::new();
        let hashes = texts.iter().map(|text| packer.add(text).expect("added")).collect();
        let blocks = packer.finish().expect("packed");
        let places = blocks.iter().flat_map(|block| block.texts.clone()).collect();
        (Self { places, blocks, ..Self::default() }, hashes)
    }

    async fn documents(self: &Arc<Self>, stages: Json, dates: Dates) -> Result<Vec<Json>> {
        let plan = pipeline::parse(&stages, Collection::Revisions, None).expect("a plan");
        Reader::new(self.clone()).documents(&Scope::All, &plan, dates, LIMITS).await
    }
}

fn content(hash: TextHash) -> Value {
    Value::Content { wiki: WIKI, pageid: PAGE, hash }
}

#[tokio::test]
async fn what_is_not_there_is_left_out_and_in_groups_it_is_null() {
    let row = vec![Value::Null, Value::Null, Value::Null, Value::Text("Cat".into())];
    let shelf = Arc::new(Shelf { rows: vec![row], ..Shelf::default() });
    let shown = json!([{"$project": {"minor": 1, "sha1": 1, "tags": 1, "title": 1}}]);
    assert_eq!(shelf.documents(shown, Dates::Iso).await, Ok(vec![json!({"tags": [], "title": "Cat"})]));
    let grouped = vec![Value::Null, Value::Whole(2018), Value::Whole(3), Value::Real(0.5)];
    let shelf = Arc::new(Shelf { rows: vec![grouped], ..Shelf::default() });
    let stages = json!([{"$group": {"_id": {"m": "$minor", "y": {"$year": "$timestamp"}}, "n": {"$sum": 1}, "o": {"$avg": "$size"}}}]);
    let expected = json!({"_id": {"m": null, "y": 2018}, "n": 3, "o": 0.5});
    assert_eq!(shelf.documents(stages, Dates::Iso).await, Ok(vec![expected]));
}

#[tokio::test]
async fn dates_come_in_both_forms() {
    let noon = Value::Date(UnixMs(1_520_596_800_000));
    let shelf = Arc::new(Shelf { rows: vec![vec![Value::Flag(true), noon]], ..Shelf::default() });
    let stages = json!([{"$project": {"anon": 1, "timestamp": 1}}]);
    let iso = json!({"anon": true, "timestamp": "2018-03-09T12:00:00Z"});
    assert_eq!(shelf.documents(stages.clone(), Dates::Iso).await, Ok(vec![iso]));
    let extended = json!({"anon": true, "timestamp": {"$date": 1_520_596_800_000_i64}});
    assert_eq!(shelf.documents(stages, Dates::Extended).await, Ok(vec![extended]));
}

#[tokio::test]
async fn texts_are_read_once_a_block() {
    let (mut shelf, hashes) = Shelf::with_texts(&[b"one", "dós".as_bytes(), b""]);
    shelf.rows = [hashes[0], hashes[1], hashes[2], hashes[0]].map(|hash| vec![content(hash)]).into();
    let shelf = Arc::new(shelf);
    let documents = shelf.documents(json!([{"$project": {"*": 1}}]), Dates::Iso).await.expect("documents");
    assert_eq!(documents, ["one", "dós", "", "one"].map(|text| json!({ "*": text })));
    assert_eq!(shelf.blocks_read.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_text_erased_meanwhile_is_left_out_and_the_others_are_right() {
    let (mut shelf, hashes) = Shelf::with_texts(&[b"a secret", b"known"]);
    // The places are those from before.
    shelf.blocks[0] = erase(&shelf.blocks[0], &hashes[..1]).expect("erased");
    shelf.rows = hashes.iter().map(|hash| vec![content(*hash)]).collect();
    let documents = Arc::new(shelf).documents(json!([{"$project": {"*": 1}}]), Dates::Iso).await.expect("documents");
    assert_eq!(documents, [json!({}), json!({"*": "known"})]);
}

#[tokio::test]
async fn too_many_bytes_of_texts_are_refused_before_any_is_read() {
    let large = vec![b'x'; 17 << 20];
    let (mut shelf, hashes) = Shelf::with_texts(&[&large]);
    shelf.rows = vec![vec![content(hashes[0])]; 4];
    let shelf = Arc::new(shelf);
    let refused = shelf.documents(json!([{"$project": {"*": 1}}]), Dates::Iso).await.expect_err("too much").to_string();
    assert!(refused.starts_with("the texts of this answer are more than 64 MiB: ask for fewer revisions"), "{refused}");
    assert_eq!(shelf.blocks_read.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_count_of_nothing_is_zero() {
    let plan = crate::questions::count(&[]).expect("a plan");
    for (rows, expected) in [(vec![], 0), (vec![vec![Value::Whole(12)]], 12)] {
        let reader = Reader::new(Arc::new(Shelf { rows, ..Shelf::default() }));
        assert_eq!(reader.count(&Scope::All, &plan, LIMITS).await, Ok(expected));
    }
}

#[tokio::test]
async fn a_mode_has_all_that_tie() {
    let (plan, _) = crate::questions::mode(&[("attribute".into(), "user".into())]).expect("a plan");
    let rows = |counts: &[i64]| -> Vec<Row> {
        counts
            .iter()
            .zip(["a", "b", "c", "d", "e"])
            .map(|(n, user)| vec![Value::Text(user.into()), Value::Whole(*n)])
            .collect()
    };
    for (counts, expected) in [
        (vec![5, 5, 3], Ok(vec![json!("a"), json!("b")])),
        (vec![], Ok(vec![])),
        (vec![2, 1, 1, 1, 1], Ok(vec![json!("a")])),
        (vec![1; 5], Err(Error::Invalid("4 values or more are the most frequent ones: filter more".into()))),
    ] {
        let reader = Reader::new(Arc::new(Shelf { rows: rows(&counts), ..Shelf::default() }));
        assert_eq!(reader.mode(&Scope::All, &plan, LIMITS).await, expected, "{counts:?}");
    }
}

#[tokio::test]
async fn a_revision_s_text_reads_back_byte_by_byte() {
    let bytes = [0xff, 0x00, b'x'];
    let (mut shelf, hashes) = Shelf::with_texts(&[b"before", &bytes]);
    shelf.revision = Some(revision(Some(hashes[1])));
    assert_eq!(Reader::new(Arc::new(shelf)).text(WIKI, RevId(7)).await, Ok(Some(bytes.to_vec())));
    let hidden = Shelf { revision: Some(revision(None)), ..Shelf::default() };
    assert_eq!(Reader::new(Arc::new(hidden)).text(WIKI, RevId(7)).await, Ok(None));
    assert_eq!(Reader::new(Arc::new(Shelf::default())).text(WIKI, RevId(7)).await, Ok(None));
}

fn revision(text: Option<TextHash>) -> Revision {
    Revision {
        revid: RevId(7),
        parentid: RevId(0),
        pageid: PAGE,
        at: UnixMs(0),
        user: None,
        userid: None,
        anon: false,
        minor: false,
        size: 3,
        sha1: None,
        model: "wikitext".into(),
        format: "text/x-wiki".into(),
        comment: None,
        parsed_comment: None,
        tags: Vec::new(),
        text,
        text_hidden: false,
    }
}

#[async_trait]
impl Wikis for Shelf {
    async fn ask(&self, _: &Scope, plan: &Plan, _: Limits) -> Result<Vec<Row>> {
        let limit = match plan.stages.last() {
            Some(Stage::Limit(limit)) => usize::try_from(*limit).expect("a small limit"),
            _ => usize::MAX,
        };
        Ok(self.rows.iter().take(limit).cloned().collect())
    }

    async fn places(&self, _: WikiId, _: PageId, hashes: &[TextHash]) -> Result<Vec<(TextHash, TextPlace)>> {
        Ok(self.places.iter().filter(|(hash, _)| hashes.contains(hash)).copied().collect())
    }

    async fn block(&self, _: WikiId, _: PageId, number: u32) -> Result<Option<Block>> {
        self.blocks_read.fetch_add(1, Ordering::SeqCst);
        Ok(self.blocks.iter().find(|block| block.number == number).cloned())
    }

    async fn revision(&self, _: WikiId, revid: RevId) -> Result<Option<Revision>> {
        Ok(self.revision.clone().filter(|revision| revision.revid == revid))
    }

    async fn extract(&self, _: NewExtraction, _: Act) -> Result<Extraction> {
        unreachable!("a reader only reads")
    }
    async fn extraction(&self, _: &Scope, _: ExtractionId) -> Result<Extraction> {
        unreachable!("a reader only reads")
    }
    async fn extractions(&self, _: &Scope, _: Option<ExtractionId>, _: usize) -> Result<Vec<Extraction>> {
        unreachable!("a reader only reads")
    }
    async fn found(&self, _: NewWiki) -> Result<Wiki> {
        unreachable!("a reader only reads")
    }
    async fn wiki(&self, _: &Scope, _: WikiId) -> Result<Wiki> {
        unreachable!("a reader only reads")
    }
    async fn wikis(&self, _: &Scope, _: Option<WikiId>, _: usize) -> Result<Vec<Wiki>> {
        unreachable!("a reader only reads")
    }
    async fn wikis_at(&self, _: Option<GroupId>, _: &str) -> Result<Vec<Wiki>> {
        unreachable!("a reader only reads")
    }
    async fn page(&self, _: WikiId, _: PageId) -> Result<Option<Page>> {
        unreachable!("a reader only reads")
    }
    async fn pages(&self, _: WikiId, _: Option<PageId>, _: usize) -> Result<Vec<Page>> {
        unreachable!("a reader only reads")
    }
    async fn watch(&self, _: &Scope, _: WikiId, _: PageId, _: bool, _: Act) -> Result<Page> {
        unreachable!("a reader only reads")
    }
    async fn known(&self, _: WikiId, _: &[RevId]) -> Result<Vec<Known>> {
        unreachable!("a reader only reads")
    }
    async fn history(&self, _: WikiId, _: PageId, _: Option<Mark>, _: usize) -> Result<Vec<Revision>> {
        unreachable!("a reader only reads")
    }
    async fn uses(&self, _: WikiId, _: PageId, _: &[TextHash]) -> Result<Vec<(TextHash, u64)>> {
        unreachable!("a reader only reads")
    }
    async fn commit(&self, _: Settled) -> Result<Committed> {
        unreachable!("a reader only reads")
    }
    async fn begin_import(&self, _: &Scope, _: NewImport, _: Act) -> Result<Import> {
        unreachable!("a reader only reads")
    }
    async fn import(&self, _: &Scope, _: ImportId) -> Result<Import> {
        unreachable!("a reader only reads")
    }
    async fn imports(&self, _: &Scope, _: Option<ImportId>, _: usize) -> Result<Vec<Import>> {
        unreachable!("a reader only reads")
    }
    async fn take_batch(&self, _: Imported) -> Result<Committed> {
        unreachable!("a reader only reads")
    }
    async fn tally(&self, _: WikiId, _: PageId) -> Result<Option<(Page, Option<KeptTally>)>> {
        unreachable!("a reader only reads")
    }
    async fn keep_tally(&self, _: WikiId, _: PageId, _: u64, _: KeptTally) -> Result<()> {
        unreachable!("a reader only reads")
    }
    async fn wiki_counts(&self, _: WikiId, _: usize) -> Result<WikiCounts> {
        unreachable!("a reader only reads")
    }
    async fn sweep(&self, _: Duration, _: usize) -> Result<u64> {
        unreachable!("a reader only reads")
    }
}
