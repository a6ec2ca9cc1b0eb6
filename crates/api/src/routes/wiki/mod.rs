//! Revision histories. `extract`, `questions` and `query` are the routes that existing clients know; the others, under
//! `/api/v1/wiki`, are for whoever looks closer.

mod address;
pub(crate) mod browsers;
pub(crate) mod export;
pub(crate) mod extract;
pub(crate) mod extractions;
mod fields;
pub(crate) mod imports;
pub(crate) mod metrics;
pub(crate) mod pages;
pub(crate) mod query;
pub(crate) mod questions;
pub(crate) mod revisions;
pub(crate) mod wikis;

use std::sync::Arc;
use std::time::Duration;

use malla_access::Principal;
use malla_protocol::Code;
use malla_wiki::{Limits, Page, PageId, Reader, RevId, Revision, Wiki, WikiId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::App;
use crate::problem::Refusal;

/// What the answer to a question may cost.
const LIMITS: Limits = Limits { rows: 10_000, time: Duration::from_secs(10) };
/// Each may hold texts of some tens of megabytes.
const QUESTIONS_AT_ONCE: usize = 8;
const BATCHES_AT_ONCE: usize = 2;
/// Packed bytes of a batch of a dump: the longest text and what is told around it, if nothing could be packed.
const BATCH_BYTES_MAX: usize = 80 << 20;

/// Who may use memory for histories now. Everyone else waits in line.
pub(crate) struct Turns {
    questions: Arc<Semaphore>,
    batches: Arc<Semaphore>,
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self {
            questions: Arc::new(Semaphore::new(QUESTIONS_AT_ONCE)),
            batches: Arc::new(Semaphore::new(BATCHES_AT_ONCE)),
        }
    }

    async fn question(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        Arc::clone(&self.questions).acquire_owned().await.map_err(|_| Refusal::internal())
    }

    async fn batch(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        Arc::clone(&self.batches).acquire_owned().await.map_err(|_| Refusal::internal())
    }
}

fn reader(app: &App) -> Reader {
    Reader::new(app.wikis.clone())
}

/// A wiki that this caller sees, by its number.
async fn wiki(app: &App, who: &Principal, number: &str) -> Result<Wiki, Refusal> {
    let id = number.parse().map_err(|_| Refusal::invalid(format!("\"{number}\" is not a wiki's number")))?;
    Ok(app.wikis.wiki(&who.scope(), WikiId(id)).await?)
}

/// A page that this caller sees, by the numbers of its wiki and its own.
async fn page(app: &App, who: &Principal, of: &str, number: &str) -> Result<(Wiki, Page), Refusal> {
    let id = number.parse().map_err(|_| Refusal::invalid(format!("\"{number}\" is not a page's number")))?;
    let wiki = wiki(app, who, of).await?;
    let page = app.wikis.page(wiki.id, PageId(id)).await?;
    let page =
        page.ok_or_else(|| Refusal::new(Code::NotFound, format!("page {id} of wiki {} is not kept", wiki.id)))?;
    Ok((wiki, page))
}

/// A revision that this caller sees, by the numbers of its wiki and its own.
async fn revision(app: &App, who: &Principal, of: &str, number: &str) -> Result<(Wiki, Revision), Refusal> {
    let id = number.parse().map_err(|_| Refusal::invalid(format!("\"{number}\" is not a revision's number")))?;
    let wiki = wiki(app, who, of).await?;
    let revision = app.wikis.revision(wiki.id, RevId(id)).await?;
    let missing = || Refusal::new(Code::NotFound, format!("revision {id} of wiki {} is not kept", wiki.id));
    let revision = revision.ok_or_else(missing)?;
    Ok((wiki, revision))
}
