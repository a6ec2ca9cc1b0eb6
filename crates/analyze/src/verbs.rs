//! The verbs of this room. Each is one whole transaction.

use std::time::Duration;

use async_trait::async_trait;
use malla_queue::{Act, Ending, Error, LeaseToken, Result, Scope};

use crate::lines::Lines;
use crate::study::{BatchKey, KnownBatch, MappedBatch, NewBatch, NewStudy, Study, StudyId, TakenBatch};

/// What becomes of a leased task of this room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    pub token: LeaseToken,
    pub ending: Ending,
    pub study: StudyId,
    pub outcome: Settlement,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// A batch is its partial from now on, and its bytes are dropped.
    Mapped { batch: BatchKey, partial: Vec<u8>, lines: Lines },
    /// The answers by their names: the study has succeeded.
    Answered { answers: Vec<(String, Vec<u8>)> },
    /// The study has failed.
    Failed { why: String },
}

/// A batch as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBatch {
    pub key: BatchKey,
    /// zstd.
    pub packed: Vec<u8>,
}

/// What somebody means who wants to be rid of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Only {
    Cancel,
    Forget,
    Either,
}

impl Only {
    /// Whether a study in this state is to be forgotten (or else cancelled); `None` if nothing is to be done.
    pub fn forgets(self, study: &Study) -> Result<Option<bool>> {
        match (self, study.state.is_over()) {
            (Self::Cancel, true) => Ok(None),
            (Self::Forget, false) => {
                Err(Error::Conflict(format!("the analysis {} is under way: cancel it first", study.id)))
            }
            (_, over) => Ok(Some(over)),
        }
    }
}

/// What may be kept.
#[derive(Debug, Clone, Copy)]
pub struct Keep {
    /// A study to which nothing comes for so long is cancelled.
    pub idle_for: Duration,
    /// Studies with their answers, from their end on.
    pub studies_for: Duration,
    /// Rows in one step.
    pub step: usize,
}

#[async_trait]
pub trait Analyze: Send + Sync + 'static {
    /// Begins a study. [`Error::NotAvailable`](malla_queue::Error::NotAvailable) if as many as may be are under way.
    async fn begin(&self, new: NewStudy, act: Act) -> Result<Study>;
    async fn study(&self, scope: &Scope, id: StudyId) -> Result<Study>;
    /// Newest first.
    async fn studies(&self, scope: &Scope, below: Option<StudyId>, limit: usize) -> Result<Vec<Study>>;
    /// Takes a batch in, and with records the task that maps it. When this returns, it survives a crash. The same batch
    /// again changes nothing, whatever the study's state. The first records of a part seal its dimensions.
    async fn take(&self, scope: &Scope, id: StudyId, batch: NewBatch) -> Result<TakenBatch>;
    /// Takes in records that were mapped on their way: there is no task, and no bytes are kept. The same promises, but
    /// [`TakenBatch::NotYet`], and nothing changes, if the dimensions of the part are not sealed (what the records were
    /// mapped with might not be all of them) or the study's lane is paused.
    async fn take_mapped(&self, scope: &Scope, id: StudyId, batch: MappedBatch) -> Result<TakenBatch>;
    /// Batches that came, in the order of their keys.
    async fn batches(&self, id: StudyId, after: Option<&BatchKey>, limit: usize) -> Result<Vec<KnownBatch>>;
    /// All batches have come. If all are mapped too, the task that makes the answers is submitted.
    async fn complete(&self, scope: &Scope, id: StudyId, batches: u64, act: Act) -> Result<Study>;
    /// Ends a study that is under way, or forgets one that is over, answers included: what `only` allows. One that ended in
    /// this very moment is not forgotten by who meant to cancel it.
    async fn cancel(&self, scope: &Scope, id: StudyId, only: Only, act: Act) -> Result<()>;
    /// An answer of a study that succeeded.
    async fn answer(&self, id: StudyId, name: &str) -> Result<Option<Vec<u8>>>;

    /// A batch of records that is not mapped yet; `None` if it is, or if its study is over.
    async fn batch(&self, id: StudyId, key: &BatchKey) -> Result<Option<StoredBatch>>;
    /// The dimensions of a part, in the order of their keys.
    async fn dimensions(&self, id: StudyId, part: &str) -> Result<Vec<StoredBatch>>;
    /// The parts, in the order of their names' bytes.
    async fn parts(&self, id: StudyId) -> Result<Vec<String>>;
    /// Partials of a part after the batch of this input and number, in the order of their keys.
    async fn partials(
        &self,
        id: StudyId,
        part: &str,
        after: Option<&BatchKey>,
        limit: usize,
    ) -> Result<Vec<(BatchKey, Vec<u8>)>>;
    /// Ends a lease with what it means to its study, together or not at all. A lease that is lost is refused with
    /// [`Error::LeaseLost`](malla_queue::Error::LeaseLost). If the study is over, or the batch mapped already, only the task ends.
    async fn commit(&self, settled: Settled) -> Result<()>;

    /// Ends studies that cannot end by themselves (a task was discarded or failed for good, or nothing comes any more),
    /// drops what belongs to studies that are over, and forgets the old: one bounded step. Returns how many rows went
    /// or changed.
    async fn sweep(&self, keep: Keep) -> Result<u64>;
}
