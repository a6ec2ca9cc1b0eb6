//! The verbs of wiki on the shared store.

use std::time::Duration;

use async_trait::async_trait;
use malla_queue::{Act, GroupId, Result, Scope};
use malla_wiki::metrics::{KeptTally, WikiCounts};
use malla_wiki::pipeline::Plan;
use malla_wiki::{
    Block, Committed, Extraction, ExtractionId, Import, ImportId, Imported, Known, Limits, Mark, NewExtraction,
    NewImport, NewWiki, Page, PageId, RevId, Revision, Row, Settled, TextHash, TextPlace, Wiki, WikiId, Wikis,
};

use super::pool::with_retries;
use super::{Postgres, point, said, verb, wiki_commit, wiki_extractions as extractions, wiki_imports as imports};
use super::{wiki_counts, wiki_reads as reads, wiki_sites as sites, wiki_tallies as tallies};
use crate::{bodies, checks, wiki_ask, wiki_change, wiki_rows};

#[async_trait]
impl Wikis for Postgres {
    async fn extract(&self, new: NewExtraction, act: Act) -> Result<Extraction> {
        let key = wiki_rows::check_extraction(&new)?;
        checks::submission(std::slice::from_ref(&new.first), &self.limits)?;
        let (row, rouse) =
            verb!(self, "wiki.extract", |client, now| extractions::begin(&mut client, &new, &key, &act, now));
        self.nudger.rouse(rouse);
        Ok(row.read())
    }

    async fn extraction(&self, scope: &Scope, id: ExtractionId) -> Result<Extraction> {
        extractions::get(&self.client().await?, scope, id).await.map_err(said)
    }

    async fn extractions(&self, scope: &Scope, below: Option<ExtractionId>, limit: usize) -> Result<Vec<Extraction>> {
        extractions::list(&self.client().await?, scope, below, limit).await.map_err(said)
    }

    async fn found(&self, wiki: NewWiki) -> Result<Wiki> {
        Ok(verb!(self, "wiki", |client, now| sites::found(&mut client, &wiki, now)))
    }

    async fn wiki(&self, scope: &Scope, id: WikiId) -> Result<Wiki> {
        sites::get(&self.client().await?, scope, id).await.map_err(said)
    }

    async fn wikis(&self, scope: &Scope, after: Option<WikiId>, limit: usize) -> Result<Vec<Wiki>> {
        sites::list(&self.client().await?, scope, after, limit).await.map_err(said)
    }

    async fn wikis_at(&self, group: Option<GroupId>, origin: &str) -> Result<Vec<Wiki>> {
        sites::at(&self.client().await?, group, origin).await.map_err(said)
    }

    async fn page(&self, wiki: WikiId, pageid: PageId) -> Result<Option<Page>> {
        let row = sites::page(&self.client().await?, wiki, pageid).await.map_err(said)?;
        Ok(row.map(wiki_rows::PageRow::read))
    }

    async fn pages(&self, wiki: WikiId, after: Option<PageId>, limit: usize) -> Result<Vec<Page>> {
        sites::pages(&mut self.client().await?, wiki, after, limit).await.map_err(said)
    }

    async fn watch(&self, scope: &Scope, wiki: WikiId, pageid: PageId, watched: bool, act: Act) -> Result<Page> {
        let of = (wiki, pageid);
        Ok(verb!(self, "wiki", |client, now| sites::watch(&mut client, scope, of, watched, &act, now)).read())
    }

    async fn known(&self, wiki: WikiId, revids: &[RevId]) -> Result<Vec<Known>> {
        reads::known(&mut self.client().await?, wiki, revids).await.map_err(said)
    }

    async fn history(&self, wiki: WikiId, pageid: PageId, after: Option<Mark>, limit: usize) -> Result<Vec<Revision>> {
        reads::history(&mut self.client().await?, wiki, pageid, after, limit).await.map_err(said)
    }

    async fn revision(&self, wiki: WikiId, revid: RevId) -> Result<Option<Revision>> {
        reads::revision(&mut self.client().await?, wiki, revid).await.map_err(said)
    }

    async fn places(&self, wiki: WikiId, pageid: PageId, hashes: &[TextHash]) -> Result<Vec<(TextHash, TextPlace)>> {
        reads::places(&mut self.client().await?, wiki, pageid, hashes).await.map_err(said)
    }

    async fn uses(&self, wiki: WikiId, pageid: PageId, hashes: &[TextHash]) -> Result<Vec<(TextHash, u64)>> {
        reads::uses(&mut self.client().await?, wiki, pageid, hashes).await.map_err(said)
    }

    async fn block(&self, wiki: WikiId, pageid: PageId, number: u32) -> Result<Option<Block>> {
        let row = { reads::block(&mut self.client().await?, wiki, pageid, number).await.map_err(said)? };
        bodies::fetch_block(self.depot(), row).await
    }

    async fn commit(&self, mut settled: Settled) -> Result<Committed> {
        wiki_change::check(&settled.changes)?;
        let deadline = bodies::place_blocks(self.depot(), &mut settled.changes).await?;
        let (committed, rouse) = verb!(self, "wiki.commit", |client, now| async {
            deadline.check(now)?;
            wiki_commit::commit(&mut client, &settled, now).await
        });
        self.nudger.rouse(rouse);
        Ok(committed)
    }

    async fn begin_import(&self, scope: &Scope, new: NewImport, act: Act) -> Result<Import> {
        let name = wiki_rows::import_name(&new.name)?;
        Ok(verb!(self, "wiki", |client, now| imports::begin(&mut client, scope, new.wiki, &name, &act, now)).read())
    }

    async fn import(&self, scope: &Scope, id: ImportId) -> Result<Import> {
        imports::get(&self.client().await?, scope, id).await.map_err(said)
    }

    async fn imports(&self, scope: &Scope, below: Option<ImportId>, limit: usize) -> Result<Vec<Import>> {
        imports::list(&self.client().await?, scope, below, limit).await.map_err(said)
    }

    async fn take_batch(&self, mut imported: Imported) -> Result<Committed> {
        wiki_change::check(&imported.changes)?;
        let deadline = bodies::place_blocks(self.depot(), &mut imported.changes).await?;
        Ok(verb!(self, "wiki.import", |client, now| async {
            deadline.check(now)?;
            imports::take(&mut client, &imported, now).await
        }))
    }

    async fn tally(&self, wiki: WikiId, pageid: PageId) -> Result<Option<(Page, Option<KeptTally>)>> {
        tallies::get(&mut self.client().await?, wiki, pageid).await.map_err(said)
    }

    async fn keep_tally(&self, wiki: WikiId, pageid: PageId, version: u64, tally: KeptTally) -> Result<()> {
        verb!(self, "wiki", |client, _now| tallies::keep(&mut client, wiki, pageid, version, &tally));
        Ok(())
    }

    async fn wiki_counts(&self, wiki: WikiId, top: usize) -> Result<WikiCounts> {
        wiki_counts::read(&mut self.client().await?, wiki, top).await.map_err(said)
    }

    async fn ask(&self, scope: &Scope, plan: &Plan, limits: Limits) -> Result<Vec<Row>> {
        wiki_ask::postgres::ask(&mut self.client().await?, scope, plan, limits).await
    }

    async fn sweep(&self, keep: Duration, step: usize) -> Result<u64> {
        Ok(verb!(self, "wiki", |client, now| extractions::sweep(&mut client, keep, step, now)))
    }
}
