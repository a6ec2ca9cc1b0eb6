//! The verbs of this room. Each is one whole transaction.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use async_trait::async_trait;
use malla_queue::{Act, Ending, Error, GroupId, LeaseToken, Result, Scope, TaskId, UnixMs};
use serde::{Deserialize, Serialize};

use crate::extraction::{Counts, Extraction, ExtractionId, ExtractionState, NewExtraction};
use crate::metrics::{KeptTally, WikiCounts};
use crate::page::{Mark, Page, PageFacts, PageId};
use crate::pipeline::Plan;
use crate::revision::{Known, RevId, Revision};
use crate::site::{NewWiki, Wiki, WikiId};
use crate::texts::{Block, TextHash, TextPlace};

/// What becomes of a page: decided outside from a copy, and written only if the page's version is still the copy's.
#[derive(Debug, Clone, PartialEq)]
pub struct PageChange {
    pub wiki: WikiId,
    pub pageid: PageId,
    /// The version that this was made from; 0 if the page was not kept yet.
    pub version: u64,
    pub facts: PageFacts,
    /// Written over what is kept under the same number, except for the date of the extraction; a revision that was another
    /// page's moves here.
    pub revisions: Vec<Revision>,
    /// Written over the blocks of the same number, together with the places of their texts.
    pub blocks: Vec<Block>,
    /// Everything up to here is kept from now on; `None` leaves it.
    pub mark: Option<Mark>,
    /// The end of the history was reached. The page's pulse is taken anew, from the larger of 20 and a tenth of its revisions.
    pub complete: bool,
    /// Every revision was compared with the wiki's list.
    pub reconciled: bool,
    /// The wiki was asked just now: that is a visit and an extraction of this moment. (A dump is not.)
    pub visited: bool,
}

/// What a step means to its extraction.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub extraction: ExtractionId,
    pub state: ExtractionState,
    pub wiki: Option<WikiId>,
    pub pageid: Option<PageId>,
    pub title: Option<String>,
    /// The counts from now on, not what comes on top.
    pub counts: Counts,
    pub note: Option<String>,
}

/// Pages that were asked about without anybody wanting it: they count against the wiki's day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visited {
    pub wiki: WikiId,
    pub pages: Vec<PageId>,
}

/// What becomes of a leased task of this room. Its follow-up, with its cursor, is in the ending.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    pub token: LeaseToken,
    pub ending: Ending,
    pub step: Option<Step>,
    pub changes: Vec<PageChange>,
    pub visited: Option<Visited>,
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Committed {
    Done,
    /// A page has changed since the copy was made: nothing was written, and the lease is still held.
    Stale,
}

/// A dump that is read in, by its number from the same sequence as the tasks'.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ImportId(pub TaskId);

impl fmt::Display for ImportId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ImportId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        text.parse().map(Self)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct NewImport {
    pub wiki: WikiId,
    /// What tells this dump from others of the wiki: asked for again, the import goes on.
    pub name: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    pub id: ImportId,
    pub wiki: WikiId,
    pub group: Option<GroupId>,
    pub name: String,
    /// Batches taken in: the next one has this number.
    pub batches: u64,
    /// Those that were not kept before.
    pub pages: u64,
    pub revisions: u64,
    pub finished: bool,
    pub begun_at: UnixMs,
    pub changed_at: UnixMs,
}

/// A batch of a dump, made ready.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    pub import: ImportId,
    /// Its number. One that was taken in before changes nothing; one too high is refused with [`Error::Conflict`].
    pub batch: u64,
    pub changes: Vec<PageChange>,
    /// It was the last.
    pub last: bool,
}

/// A value of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Flag(bool),
    Whole(i64),
    Real(f64),
    Text(String),
    Date(UnixMs),
    Tags(Vec<String>),
    /// A revision's text by what is needed to read it with [`Wikis::places`]; it is not unpacked yet.
    Content {
        wiki: WikiId,
        pageid: PageId,
        hash: TextHash,
    },
}

/// The values of an answer's row, in the order of its columns.
pub type Row = Vec<Value>;

/// What an answer may cost.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// More rows are refused with [`Error::Invalid`].
    pub rows: usize,
    /// What takes longer is given up, with [`Error::Invalid`] that says so.
    pub time: Duration,
}

#[async_trait]
pub trait Wikis: Send + Sync + 'static {
    /// Takes an extraction in and submits its first task. If one with the same group and key is under way, that one is the answer.
    /// [`Error::NotAvailable`] if as many as may be are under way.
    async fn extract(&self, new: NewExtraction, act: Act) -> Result<Extraction>;
    async fn extraction(&self, scope: &Scope, id: ExtractionId) -> Result<Extraction>;
    /// Newest first.
    async fn extractions(&self, scope: &Scope, below: Option<ExtractionId>, limit: usize) -> Result<Vec<Extraction>>;

    /// Notes a wiki, or what it says of itself now. One of the same group and `api` stays the same.
    async fn found(&self, wiki: NewWiki) -> Result<Wiki>;
    async fn wiki(&self, scope: &Scope, id: WikiId) -> Result<Wiki>;
    /// In the order of their numbers.
    async fn wikis(&self, scope: &Scope, after: Option<WikiId>, limit: usize) -> Result<Vec<Wiki>>;
    /// Those of a group whose API is at this host: `https://example.org:443`, as in the lane's name.
    async fn wikis_at(&self, group: Option<GroupId>, origin: &str) -> Result<Vec<Wiki>>;

    async fn page(&self, wiki: WikiId, pageid: PageId) -> Result<Option<Page>>;
    /// Pages of a wiki in the order of their numbers, also those that are not watched: for plans and lists.
    async fn pages(&self, wiki: WikiId, after: Option<PageId>, limit: usize) -> Result<Vec<Page>>;
    /// Whether a page is visited again without anybody asking.
    async fn watch(&self, scope: &Scope, wiki: WikiId, pageid: PageId, watched: bool, act: Act) -> Result<Page>;

    /// Those of these revisions that are kept, in any order.
    async fn known(&self, wiki: WikiId, revids: &[RevId]) -> Result<Vec<Known>>;
    /// Revisions of a page after a place, in the order of the history.
    async fn history(&self, wiki: WikiId, pageid: PageId, after: Option<Mark>, limit: usize) -> Result<Vec<Revision>>;
    async fn revision(&self, wiki: WikiId, revid: RevId) -> Result<Option<Revision>>;

    /// Where these texts of a page are; those that are not kept are left out.
    async fn places(&self, wiki: WikiId, pageid: PageId, hashes: &[TextHash]) -> Result<Vec<(TextHash, TextPlace)>>;
    /// How many revisions of a page have each of these texts.
    async fn uses(&self, wiki: WikiId, pageid: PageId, hashes: &[TextHash]) -> Result<Vec<(TextHash, u64)>>;
    /// A block with the places of its texts.
    async fn block(&self, wiki: WikiId, pageid: PageId, number: u32) -> Result<Option<Block>>;

    /// Ends a lease with what it means to its extraction and to pages, together or not at all. A lease that is lost is
    /// refused with [`Error::LeaseLost`]. Texts that no revision has any more, because one was hidden, must already be left
    /// out of `blocks`.
    async fn commit(&self, settled: Settled) -> Result<Committed>;

    /// Begins to read a dump in, or goes on with one of the same wiki and name.
    async fn begin_import(&self, scope: &Scope, new: NewImport, act: Act) -> Result<Import>;
    async fn import(&self, scope: &Scope, id: ImportId) -> Result<Import>;
    async fn imports(&self, scope: &Scope, below: Option<ImportId>, limit: usize) -> Result<Vec<Import>>;
    /// Takes a batch in. When this returns, it survives a crash.
    async fn take_batch(&self, imported: Imported) -> Result<Committed>;

    /// How far a page's history was counted, with the page of the same moment; `None` if the page is not kept. Whatever
    /// changes a revision at or before the mark, or brings or takes one there, makes the store forget it in the same transaction.
    async fn tally(&self, wiki: WikiId, pageid: PageId) -> Result<Option<(Page, Option<KeptTally>)>>;
    /// Keeps how far a history was counted, from the page of this version. If the page has changed since, nothing is written.
    async fn keep_tally(&self, wiki: WikiId, pageid: PageId, version: u64, tally: KeptTally) -> Result<()>;
    /// What is counted of a wiki, with so many names and pages of the first. [`Error::NotFound`] if there is no such wiki.
    async fn wiki_counts(&self, wiki: WikiId, top: usize) -> Result<WikiCounts>;

    /// Answers a plan from what this scope sees.
    async fn ask(&self, scope: &Scope, plan: &Plan, limits: Limits) -> Result<Vec<Row>>;

    /// Fails extractions whose task ended without a word (discarded, or given up), and forgets those that are over for `keep`,
    /// one bounded step. Returns how many changed or went.
    async fn sweep(&self, keep: Duration, step: usize) -> Result<u64>;
}
