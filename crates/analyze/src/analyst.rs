//! The work of this room: a task is a batch to be mapped, or the answers to be made.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use malla_queue::worker::Work;
use malla_queue::{Clock, Error, Failure, Leased, NextTry, Outcome, Result, Scope, Verdict};
use serde::Deserialize;
use tokio::sync::{OnceCell, Semaphore};

use crate::analysis::{Batch, Dimensions, Mapped, Rejected};
use crate::buffer::Buffer;
use crate::intake::unpack_kept;
use crate::recent::Recent;
use crate::study::{BatchHash, BatchKey, MAP, Study, StudyId};
use crate::verbs::{Analyze, Settled, Settlement, StoredBatch};

/// Parts whose dimensions are at hand.
const READY_MAX: usize = 16;
/// Partials read in one step.
const PARTIALS: usize = 64;
/// Between two attempts to commit while the store is away.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Maps batches and makes answers.
pub struct Analyst {
    analyze: Arc<dyn Analyze>,
    clock: Arc<dyn Clock>,
    recent: Arc<Recent>,
    ready: Mutex<VecDeque<Ready>>,
    /// Batches worked on at once.
    hands: Semaphore,
}

/// Whether records are mapped when they come in, before they are stored: then only their partial has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnArrival {
    /// As soon as a hand is free: no other node could help.
    Always,
    /// If a hand is free: other nodes have hands, too.
    IfIdle,
}

/// A part that is sealed: nothing of this changes any more.
#[derive(Clone)]
struct Ready {
    of: (StudyId, String),
    part: Arc<OnceCell<(Arc<Study>, Dimensions)>>,
}

/// What a task is about.
#[derive(Debug, Deserialize)]
struct Payload {
    analysis: StudyId,
    batch: Option<BatchKey>,
    hash: Option<String>,
}

/// Why there is no settlement.
enum Stop {
    /// Nobody needs it any more.
    Over,
    /// It can be tried again.
    Trouble(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound(_) => Self::Over,
            other => Self::Trouble(other),
        }
    }
}

impl Analyst {
    /// Works on `concurrency` batches at once.
    pub fn new(analyze: Arc<dyn Analyze>, clock: Arc<dyn Clock>, recent: Arc<Recent>, concurrency: usize) -> Self {
        Self { analyze, clock, recent, ready: Mutex::default(), hands: Semaphore::new(concurrency) }
    }

    /// Maps records that have just come in. `None` if that has to wait, and for records that cannot be mapped: the task
    /// that finds this out tells the study.
    pub async fn map_now(
        &self,
        id: StudyId,
        key: &BatchKey,
        plain: &Arc<Buffer>,
        when: OnArrival,
    ) -> Result<Option<Mapped>> {
        // A part is at hand only after a task has mapped records of it, and so it is sealed.
        let Some((study, dimensions)) = self.at_hand(id, &key.part) else { return Ok(None) };
        let _hand = match when {
            OnArrival::Always => self.hands.acquire().await.ok(),
            OnArrival::IfIdle => match self.hands.try_acquire() {
                Ok(hand) => Some(hand),
                Err(_) => return Ok(None),
            },
        };
        let (key, plain) = (key.clone(), plain.clone());
        blocking(move || Ok(map(&study, &key, &dimensions, &plain)?.ok())).await
    }

    async fn settlement(&self, task: &Leased, payload: Payload) -> Result<Settlement, Stop> {
        let Payload { analysis: id, batch, hash } = payload;
        match (task.kind.as_str(), batch, hash) {
            (MAP, Some(key), Some(hash)) => self.map(id, key, hash.parse()?).await,
            _ => self.reduce(id).await,
        }
    }

    async fn map(&self, id: StudyId, key: BatchKey, hash: BatchHash) -> Result<Settlement, Stop> {
        let bytes = match self.recent.take(id, hash) {
            Some(bytes) => Bytes::Plain(bytes),
            None => Bytes::Packed(self.analyze.batch(id, &key).await?.ok_or(Stop::Over)?.packed),
        };
        let (study, dimensions) = match self.ready(id, &key.part).await? {
            Ok(ready) => ready,
            Err(rejected) => return Ok(Settlement::Failed { why: rejected.to_string() }),
        };
        let _hand = self.hands.acquire().await;
        blocking(move || {
            let plain = bytes.unpack()?;
            Ok(match map(&study, &key, &dimensions, &plain)? {
                Ok(mapped) => Settlement::Mapped { batch: key, partial: mapped.bytes, lines: mapped.lines },
                Err(rejected) => Settlement::Failed { why: rejected.to_string() },
            })
        })
        .await
        .map_err(Stop::from)
    }

    /// The dimensions of a part whose records have begun to come.
    async fn ready(&self, id: StudyId, part: &str) -> Result<Result<(Arc<Study>, Dimensions), Rejected>> {
        let cell = self.place(id, part);
        let made = cell.get_or_try_init(|| async {
            let study = Arc::new(self.analyze.study(&Scope::All, id).await.map_err(NotReady::Error)?);
            let tables = self.analyze.dimensions(id, part).await.map_err(NotReady::Error)?;
            let (of, name) = (study.clone(), part.to_owned());
            let made = blocking(move || Ok(dimensions(&of, &name, &tables))).await.map_err(NotReady::Error)?;
            Ok((study, made.map_err(NotReady::Rejected)?))
        });
        match made.await {
            Ok(ready) => Ok(Ok(ready.clone())),
            Err(NotReady::Rejected(rejected)) => Ok(Err(rejected)),
            Err(NotReady::Error(error)) => Err(error),
        }
    }

    /// What is ready of a part, if it is.
    fn at_hand(&self, id: StudyId, part: &str) -> Option<(Arc<Study>, Dimensions)> {
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let known = ready.iter().find(|known| known.of.0 == id && known.of.1 == part)?;
        known.part.get().cloned()
    }

    fn place(&self, id: StudyId, part: &str) -> Arc<OnceCell<(Arc<Study>, Dimensions)>> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let found = ready.iter().position(|known| known.of.0 == id && known.of.1 == part);
        let place = match found.and_then(|at| ready.remove(at)) {
            Some(place) => place,
            None => Ready { of: (id, part.to_owned()), part: Arc::default() },
        };
        ready.push_back(place.clone());
        if ready.len() > READY_MAX {
            ready.pop_front();
        }
        place.part
    }

    async fn reduce(&self, id: StudyId) -> Result<Settlement, Stop> {
        let study = self.analyze.study(&Scope::All, id).await?;
        if study.state.is_over() {
            return Err(Stop::Over);
        }
        Ok(match answers(&self.analyze, Arc::new(study)).await? {
            Ok(answers) => Settlement::Answered { answers },
            Err(rejected) => Settlement::Failed { why: rejected.to_string() },
        })
    }

    /// Commits; asks again while it is not known whether that was done.
    async fn commit(&self, task: &Leased, settled: Settled) {
        let mut back_off = BACK_OFF.0;
        loop {
            match self.analyze.commit(settled.clone()).await {
                Ok(()) => return,
                Err(Error::Unavailable(why)) if self.clock.now() < task.expires_at.plus(BACK_OFF.1) => {
                    tracing::warn!(task = %task.token.task, why, "cannot commit, trying again in {back_off:?}");
                    tokio::time::sleep(back_off).await;
                    back_off = (back_off * 2).min(BACK_OFF.1);
                }
                Err(error) => return tracing::warn!(task = %task.token.task, %error, "the work was refused"),
            }
        }
    }
}

fn map(study: &Study, key: &BatchKey, dimensions: &Dimensions, plain: &Buffer) -> Result<Result<Mapped, Rejected>> {
    let name = key.to_string();
    let batch = Batch { name: &name, input: &key.input, bytes: plain };
    Ok(study.analysis()?.map(&study.params, &key.part, dimensions, batch))
}

enum NotReady {
    Rejected(Rejected),
    Error(Error),
}

enum Bytes {
    Plain(Arc<Buffer>),
    Packed(Vec<u8>),
}

impl Bytes {
    fn unpack(self) -> Result<Arc<Buffer>> {
        match self {
            Self::Plain(bytes) => Ok(bytes),
            Self::Packed(packed) => unpack_kept(&packed).map(Arc::new),
        }
    }
}

#[async_trait]
impl Work for Analyst {
    async fn work(&self, task: &Leased) -> Option<Verdict> {
        let Ok(payload) = serde_json::from_slice::<Payload>(&task.payload) else {
            let failure = Failure { next: NextTry::Never, ..Failure::new("the payload is not one of this room") };
            return Some(Verdict::Failed(failure));
        };
        let study = payload.analysis;
        let outcome = match self.settlement(task, payload).await {
            Ok(outcome) => outcome,
            Err(Stop::Over) => return Some(Verdict::Done(Outcome::default())),
            Err(Stop::Trouble(error)) => return Some(Verdict::Failed(Failure::new(error.to_string()))),
        };
        let verdict = match &outcome {
            Settlement::Failed { why } => {
                Verdict::Failed(Failure { next: NextTry::Never, ..Failure::new(why.clone()) })
            }
            _ => Verdict::Done(Outcome::default()),
        };
        let ending = verdict.ending(task, self.clock.now());
        self.commit(task, Settled { token: task.token, ending, study, outcome }).await;
        None
    }
}

/// The answers of what is mapped so far, as JSON, by their names.
pub async fn answers(
    analyze: &Arc<dyn Analyze>,
    study: Arc<Study>,
) -> Result<Result<Vec<(String, Vec<u8>)>, Rejected>> {
    let mut parts = Vec::new();
    for part in analyze.parts(study.id).await? {
        let sum = sum(analyze, &study, &part).await?;
        let tables = analyze.dimensions(study.id, &part).await?;
        let of = study.clone();
        let made = blocking(move || Ok(dimensions(&of, &part, &tables).map(|made| (part, made, sum)))).await?;
        match made {
            Ok(part) => parts.push(part),
            Err(rejected) => return Ok(Err(rejected)),
        }
    }
    blocking(move || {
        let analysis = study.analysis()?;
        let answers = match analysis.finish(&study.params, &parts) {
            Ok(answers) => answers,
            Err(damaged) => return Ok(Err(damaged.into())),
        };
        let named = analysis.answers().iter().zip(answers);
        Ok(Ok(named.map(|(name, answer)| ((*name).to_owned(), answer.to_string().into_bytes())).collect()))
    })
    .await
}

/// What the partials of a part add up to. They are read a few at a time, so that any number of them can be added.
async fn sum(analyze: &Arc<dyn Analyze>, study: &Arc<Study>, part: &str) -> Result<Vec<u8>> {
    let add = |study: Arc<Study>, partials: Vec<Vec<u8>>| {
        blocking(move || {
            let mapped = study.analysis()?.merge(&mut partials.iter().map(Vec::as_slice));
            mapped.map(|mapped| mapped.bytes).map_err(|damaged| Error::Internal(damaged.to_string()))
        })
    };
    let mut sum = add(study.clone(), Vec::new()).await?;
    let mut after: Option<BatchKey> = None;
    loop {
        let partials = analyze.partials(study.id, part, after.as_ref(), PARTIALS).await?;
        let Some((last, _)) = partials.last() else { return Ok(sum) };
        after = Some(last.clone());
        sum = add(study.clone(), std::iter::once(sum).chain(partials.into_iter().map(|(_, bytes)| bytes)).collect())
            .await?;
    }
}

/// Makes the tables of a part ready.
fn dimensions(study: &Study, part: &str, tables: &[StoredBatch]) -> Result<Dimensions, Rejected> {
    let analysis = study.analysis().map_err(|_| Rejected::Damaged(crate::wire::Damaged))?;
    let mut plain = Vec::with_capacity(tables.len());
    for table in tables {
        let bytes = unpack_kept(&table.packed).map_err(|_| Rejected::Damaged(crate::wire::Damaged))?;
        plain.push((table.key.to_string(), &table.key, bytes));
    }
    // Tables come in the order of their numbers, whatever the order of their kinds is.
    let batches: Vec<Batch<'_>> =
        plain.iter().map(|(name, key, bytes)| Batch { name, input: &key.input, bytes }).collect();
    analysis.dimensions(&study.params, part, &batches)
}

/// Runs something long where it may block.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Error::Internal(format!("the work came to no end: {error}"))))
}
