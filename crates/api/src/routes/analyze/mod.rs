//! Analyses: begun, fed with batches, completed, asked for their answers.

pub(crate) mod answers;
pub(crate) mod batches;
pub(crate) mod studies;
pub(crate) mod table;

use std::sync::Arc;

use axum::Json;
use malla_analyze::{Study, StudyState};
use malla_protocol::{Analysis, Code};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::Refusal;
use crate::view::{self, GroupNames};
use crate::{AnalyzeOptions, App};

/// Answers of what is known so far that are made at once: each reads all partials.
const PARTIAL_AT_ONCE: usize = 2;
/// A body is copied once on its way.
const COPIES: usize = 2;

/// Who may use memory for batches now. Everyone else waits in line, which slows down who sends.
pub(crate) struct Turns {
    /// Kilobytes of bodies, from the first byte until they are safe.
    in_hand: Arc<Semaphore>,
    kb_max: usize,
    /// Bodies that are unpacked at once: nobody knows beforehand how large they become.
    unpacking: Arc<Semaphore>,
    partial: Arc<Semaphore>,
}

impl Turns {
    pub(crate) fn new(options: &AnalyzeOptions) -> Self {
        let kb_max = (options.in_hand_bytes_max / 1_000).clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let unpacking = (options.in_hand_bytes_max / options.batch_bytes_max.max(1)).clamp(1, cores);
        Self {
            in_hand: Arc::new(Semaphore::new(kb_max)),
            kb_max,
            unpacking: Arc::new(Semaphore::new(unpacking)),
            partial: Arc::new(Semaphore::new(PARTIAL_AT_ONCE)),
        }
    }

    /// Room for a body of so many bytes. One that is larger than all the room there is waits until it is alone.
    async fn in_hand(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Refusal> {
        let kb = bytes.saturating_mul(COPIES).div_ceil(1_000).clamp(1, self.kb_max);
        let kb = u32::try_from(kb).map_err(|_| Refusal::internal())?;
        Arc::clone(&self.in_hand).acquire_many_owned(kb).await.map_err(|_| Refusal::internal())
    }

    async fn unpacking(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        Arc::clone(&self.unpacking).acquire_owned().await.map_err(|_| Refusal::internal())
    }

    async fn partial(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        Arc::clone(&self.partial).acquire_owned().await.map_err(|_| Refusal::internal())
    }
}

/// Why nothing comes of an analysis any more; `None` if something may.
fn ended_badly(study: &Study) -> Option<Refusal> {
    let what = match study.state {
        StudyState::Failed => "the analysis failed",
        StudyState::Cancelled => "the analysis was cancelled",
        StudyState::Collecting | StudyState::Computing | StudyState::Succeeded => return None,
    };
    let why = study.why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
    Some(Refusal::new(Code::Conflict, format!("{what}{why}")))
}

async fn shown(app: &App, study: Study) -> Result<Json<Analysis>, Refusal> {
    let names = GroupNames::of(app, [study.group]).await?;
    Ok(Json(view::analyze::analysis(study, &names, app.clock.now())))
}
