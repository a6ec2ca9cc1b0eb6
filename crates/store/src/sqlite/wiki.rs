//! The verbs of wiki on the embedded store.

use std::time::Duration;

use async_trait::async_trait;
use malla_queue::{Act, GroupId, Result, Scope};
use malla_wiki::metrics::{KeptTally, WikiCounts};
use malla_wiki::pipeline::Plan;
use malla_wiki::{
    Block, Committed, Extraction, ExtractionId, Import, ImportId, Imported, Known, Limits, Mark, NewExtraction,
    NewImport, NewWiki, Page, PageId, RevId, Revision, Row, Settled, TextHash, TextPlace, Wiki, WikiId, Wikis,
};

use super::tx::Tx;
use super::writer::Durability::{Power, Process};
use super::{Sqlite, wiki_commit, wiki_extractions as extractions, wiki_imports as imports, wiki_reads as reads};
use super::{in_one_view, wiki_counts, wiki_sites as sites, wiki_tallies as tallies};
use crate::{bodies, checks, wiki_ask, wiki_change, wiki_rows};

#[async_trait]
impl Wikis for Sqlite {
    async fn extract(&self, new: NewExtraction, act: Act) -> Result<Extraction> {
        let key = wiki_rows::check_extraction(&new)?;
        checks::submission(std::slice::from_ref(&new.first), &self.limits)?;
        let row = self.write("wiki.extract", Power, move |tx| extractions::begin(tx, &new, &key, &act)).await?;
        Ok(row.read())
    }

    async fn extraction(&self, scope: &Scope, id: ExtractionId) -> Result<Extraction> {
        let scope = scope.clone();
        self.read(move |conn| extractions::get(conn, &scope, id)).await
    }

    async fn extractions(&self, scope: &Scope, below: Option<ExtractionId>, limit: usize) -> Result<Vec<Extraction>> {
        let scope = scope.clone();
        self.read(move |conn| extractions::list(conn, &scope, below, limit)).await
    }

    async fn found(&self, wiki: NewWiki) -> Result<Wiki> {
        self.write("wiki", Power, move |tx| sites::found(tx, &wiki)).await
    }

    async fn wiki(&self, scope: &Scope, id: WikiId) -> Result<Wiki> {
        let scope = scope.clone();
        self.read(move |conn| sites::get(conn, &scope, id)).await
    }

    async fn wikis(&self, scope: &Scope, after: Option<WikiId>, limit: usize) -> Result<Vec<Wiki>> {
        let scope = scope.clone();
        self.read(move |conn| sites::list(conn, &scope, after, limit)).await
    }

    async fn wikis_at(&self, group: Option<GroupId>, origin: &str) -> Result<Vec<Wiki>> {
        let origin = origin.to_owned();
        self.read(move |conn| sites::at(conn, group, &origin)).await
    }

    async fn page(&self, wiki: WikiId, pageid: PageId) -> Result<Option<Page>> {
        self.read(move |conn| Ok(sites::page(conn, wiki, pageid)?.map(wiki_rows::PageRow::read))).await
    }

    async fn pages(&self, wiki: WikiId, after: Option<PageId>, limit: usize) -> Result<Vec<Page>> {
        self.read(move |conn| sites::pages(conn, wiki, after, limit)).await
    }

    async fn watch(&self, scope: &Scope, wiki: WikiId, pageid: PageId, watched: bool, act: Act) -> Result<Page> {
        let scope = scope.clone();
        let row = self.write("wiki", Power, move |tx| sites::watch(tx, &scope, (wiki, pageid), watched, &act)).await?;
        Ok(row.read())
    }

    async fn known(&self, wiki: WikiId, revids: &[RevId]) -> Result<Vec<Known>> {
        let revids = revids.to_vec();
        self.read(move |conn| reads::known(conn, wiki, &revids)).await
    }

    async fn history(&self, wiki: WikiId, pageid: PageId, after: Option<Mark>, limit: usize) -> Result<Vec<Revision>> {
        self.read(move |conn| reads::history(conn, wiki, pageid, after, limit)).await
    }

    async fn revision(&self, wiki: WikiId, revid: RevId) -> Result<Option<Revision>> {
        self.read(move |conn| reads::revision(conn, wiki, revid)).await
    }

    async fn places(&self, wiki: WikiId, pageid: PageId, hashes: &[TextHash]) -> Result<Vec<(TextHash, TextPlace)>> {
        let hashes = hashes.to_vec();
        self.read(move |conn| in_one_view(conn, |conn| reads::places(conn, wiki, pageid, &hashes))).await
    }

    async fn uses(&self, wiki: WikiId, pageid: PageId, hashes: &[TextHash]) -> Result<Vec<(TextHash, u64)>> {
        let hashes = hashes.to_vec();
        self.read(move |conn| reads::uses(conn, wiki, pageid, &hashes)).await
    }

    async fn block(&self, wiki: WikiId, pageid: PageId, number: u32) -> Result<Option<Block>> {
        let row = self.read(move |conn| in_one_view(conn, |conn| reads::block(conn, wiki, pageid, number))).await?;
        bodies::fetch_block(self.depot(), row).await
    }

    async fn commit(&self, mut settled: Settled) -> Result<Committed> {
        wiki_change::check(&settled.changes)?;
        let deadline = bodies::place_blocks(self.depot(), &mut settled.changes).await?;
        let verb = move |tx: &mut Tx<'_>| deadline.check(tx.now).and_then(|()| wiki_commit::commit(tx, &settled));
        self.write("wiki.commit", Power.large(), verb).await
    }

    async fn begin_import(&self, scope: &Scope, new: NewImport, act: Act) -> Result<Import> {
        let (scope, name) = (scope.clone(), wiki_rows::import_name(&new.name)?);
        let row = self.write("wiki", Power, move |tx| imports::begin(tx, &scope, new.wiki, &name, &act)).await?;
        Ok(row.read())
    }

    async fn import(&self, scope: &Scope, id: ImportId) -> Result<Import> {
        let scope = scope.clone();
        self.read(move |conn| imports::get(conn, &scope, id)).await
    }

    async fn imports(&self, scope: &Scope, below: Option<ImportId>, limit: usize) -> Result<Vec<Import>> {
        let scope = scope.clone();
        self.read(move |conn| imports::list(conn, &scope, below, limit)).await
    }

    async fn take_batch(&self, mut imported: Imported) -> Result<Committed> {
        wiki_change::check(&imported.changes)?;
        let deadline = bodies::place_blocks(self.depot(), &mut imported.changes).await?;
        let verb = move |tx: &mut Tx<'_>| deadline.check(tx.now).and_then(|()| imports::take(tx, &imported));
        self.write("wiki.import", Power.large(), verb).await
    }

    async fn tally(&self, wiki: WikiId, pageid: PageId) -> Result<Option<(Page, Option<KeptTally>)>> {
        self.read(move |conn| in_one_view(conn, |conn| tallies::get(conn, wiki, pageid))).await
    }

    async fn keep_tally(&self, wiki: WikiId, pageid: PageId, version: u64, tally: KeptTally) -> Result<()> {
        self.write("wiki", Process, move |tx| tallies::keep(tx, wiki, pageid, version, &tally)).await
    }

    async fn wiki_counts(&self, wiki: WikiId, top: usize) -> Result<WikiCounts> {
        self.read(move |conn| in_one_view(conn, |conn| wiki_counts::read(conn, wiki, top))).await
    }

    async fn ask(&self, scope: &Scope, plan: &Plan, limits: Limits) -> Result<Vec<Row>> {
        let (scope, plan) = (scope.clone(), plan.clone());
        let _turn = self.readers.asking.acquire().await;
        self.read(move |conn| wiki_ask::sqlite::ask(conn, &scope, &plan, limits)).await
    }

    async fn sweep(&self, keep: Duration, step: usize) -> Result<u64> {
        self.write("wiki", Process, move |tx| extractions::sweep(tx, keep, step)).await
    }
}
