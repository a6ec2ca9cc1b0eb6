//! The verbs of analyze on the embedded store.

use async_trait::async_trait;
use malla_analyze::{
    Analyze, BatchKey, Keep, KnownBatch, MappedBatch, NewBatch, NewStudy, Only, Settled, StoredBatch, Study, StudyId,
    TakenBatch,
};
use malla_queue::{Act, Result, Scope};

use super::writer::Durability::{Power, Process};
use super::{Sqlite, analyze_batches as batches, analyze_commit, analyze_studies as studies, analyze_sweep};

#[async_trait]
impl Analyze for Sqlite {
    async fn begin(&self, new: NewStudy, act: Act) -> Result<Study> {
        self.write("analyze.begin", Power, move |tx| studies::begin(tx, &new, &act)).await
    }

    async fn study(&self, scope: &Scope, id: StudyId) -> Result<Study> {
        let scope = scope.clone();
        self.read(move |conn| studies::get(conn, &scope, id)).await
    }

    async fn studies(&self, scope: &Scope, below: Option<StudyId>, limit: usize) -> Result<Vec<Study>> {
        let scope = scope.clone();
        self.read(move |conn| studies::list(conn, &scope, below, limit)).await
    }

    async fn take(&self, scope: &Scope, id: StudyId, batch: NewBatch) -> Result<TakenBatch> {
        let scope = scope.clone();
        self.write("analyze.take", Power.large(), move |tx| batches::take(tx, &scope, id, &batch)).await
    }

    async fn take_mapped(&self, scope: &Scope, id: StudyId, batch: MappedBatch) -> Result<TakenBatch> {
        let scope = scope.clone();
        self.write("analyze.map", Power, move |tx| batches::take_mapped(tx, &scope, id, &batch)).await
    }

    async fn batches(&self, id: StudyId, after: Option<&BatchKey>, limit: usize) -> Result<Vec<KnownBatch>> {
        let after = after.cloned();
        self.read(move |conn| batches::list(conn, id, after.as_ref(), limit)).await
    }

    async fn complete(&self, scope: &Scope, id: StudyId, batches: u64, act: Act) -> Result<Study> {
        let scope = scope.clone();
        self.write("analyze.complete", Power, move |tx| studies::complete(tx, &scope, id, batches, &act)).await
    }

    async fn cancel(&self, scope: &Scope, id: StudyId, only: Only, act: Act) -> Result<()> {
        let scope = scope.clone();
        self.write("analyze", Power, move |tx| studies::cancel(tx, &scope, id, only, &act)).await
    }

    async fn answer(&self, id: StudyId, name: &str) -> Result<Option<Vec<u8>>> {
        let name = name.to_owned();
        self.read(move |conn| studies::answer(conn, id, &name)).await
    }

    async fn batch(&self, id: StudyId, key: &BatchKey) -> Result<Option<StoredBatch>> {
        let key = key.clone();
        self.read(move |conn| batches::get(conn, id, key)).await
    }

    async fn dimensions(&self, id: StudyId, part: &str) -> Result<Vec<StoredBatch>> {
        let part = part.to_owned();
        self.read(move |conn| batches::dimensions(conn, id, &part)).await
    }

    async fn parts(&self, id: StudyId) -> Result<Vec<String>> {
        self.read(move |conn| batches::parts(conn, id)).await
    }

    async fn partials(
        &self,
        id: StudyId,
        part: &str,
        after: Option<&BatchKey>,
        limit: usize,
    ) -> Result<Vec<(BatchKey, Vec<u8>)>> {
        let (part, after) = (part.to_owned(), after.cloned());
        self.read(move |conn| batches::partials(conn, id, &part, after.as_ref(), limit)).await
    }

    async fn commit(&self, settled: Settled) -> Result<()> {
        self.write("analyze.commit", Power, move |tx| analyze_commit::commit(tx, &settled)).await
    }

    async fn sweep(&self, keep: Keep) -> Result<u64> {
        self.write("analyze", Process, move |tx| analyze_sweep::sweep(tx, &keep)).await
    }
}
