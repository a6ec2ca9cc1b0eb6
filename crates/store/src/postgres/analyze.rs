//! The verbs of analyze on the shared store.

use async_trait::async_trait;
use malla_analyze::{
    Analyze, BatchKey, Keep, KnownBatch, MappedBatch, NewBatch, NewStudy, Only, Settled, StoredBatch, Study, StudyId,
    TakenBatch,
};
use malla_queue::{Act, Result, Scope};

use super::pool::with_retries;
use super::{
    Postgres, analyze_batches as batches, analyze_commit, analyze_studies as studies, analyze_sweep, point, said, verb,
};

#[async_trait]
impl Analyze for Postgres {
    async fn begin(&self, new: NewStudy, act: Act) -> Result<Study> {
        verb!(self, "analyze.begin", |client, now| studies::begin(&mut client, &new, &act, now)).read()
    }

    async fn study(&self, scope: &Scope, id: StudyId) -> Result<Study> {
        studies::get(&self.client().await?, scope, id).await.map_err(said)
    }

    async fn studies(&self, scope: &Scope, below: Option<StudyId>, limit: usize) -> Result<Vec<Study>> {
        studies::list(&self.client().await?, scope, below, limit).await.map_err(said)
    }

    async fn take(&self, scope: &Scope, id: StudyId, batch: NewBatch) -> Result<TakenBatch> {
        let (taken, rouse) =
            verb!(self, "analyze.take", |client, now| batches::take(&mut client, scope, id, &batch, now));
        self.nudger.rouse(rouse);
        Ok(taken)
    }

    async fn take_mapped(&self, scope: &Scope, id: StudyId, batch: MappedBatch) -> Result<TakenBatch> {
        Ok(verb!(self, "analyze.map", |client, now| batches::take_mapped(&mut client, scope, id, &batch, now)))
    }

    async fn batches(&self, id: StudyId, after: Option<&BatchKey>, limit: usize) -> Result<Vec<KnownBatch>> {
        batches::list(&mut self.client().await?, id, after, limit).await.map_err(said)
    }

    async fn complete(&self, scope: &Scope, id: StudyId, batches: u64, act: Act) -> Result<Study> {
        let (study, rouse) = verb!(self, "analyze.complete", |client, now| studies::complete(
            &mut client,
            scope,
            id,
            batches,
            &act,
            now
        ));
        self.nudger.rouse(rouse);
        study.read()
    }

    async fn cancel(&self, scope: &Scope, id: StudyId, only: Only, act: Act) -> Result<()> {
        verb!(self, "analyze", |client, now| studies::cancel(&mut client, scope, id, only, &act, now));
        Ok(())
    }

    async fn answer(&self, id: StudyId, name: &str) -> Result<Option<Vec<u8>>> {
        studies::answer(&self.client().await?, id, name).await.map_err(said)
    }

    async fn batch(&self, id: StudyId, key: &BatchKey) -> Result<Option<StoredBatch>> {
        batches::get(&mut self.client().await?, id, key).await.map_err(said)
    }

    async fn dimensions(&self, id: StudyId, part: &str) -> Result<Vec<StoredBatch>> {
        batches::dimensions(&mut self.client().await?, id, part).await.map_err(said)
    }

    async fn parts(&self, id: StudyId) -> Result<Vec<String>> {
        batches::parts(&mut self.client().await?, id).await.map_err(said)
    }

    async fn partials(
        &self,
        id: StudyId,
        part: &str,
        after: Option<&BatchKey>,
        limit: usize,
    ) -> Result<Vec<(BatchKey, Vec<u8>)>> {
        batches::partials(&mut self.client().await?, id, part, after, limit).await.map_err(said)
    }

    async fn commit(&self, settled: Settled) -> Result<()> {
        let rouse = verb!(self, "analyze.commit", |client, now| analyze_commit::commit(&mut client, &settled, now));
        self.nudger.rouse(rouse);
        Ok(())
    }

    async fn sweep(&self, keep: Keep) -> Result<u64> {
        Ok(verb!(self, "analyze", |client, now| analyze_sweep::sweep(&mut client, &keep, now)))
    }
}
