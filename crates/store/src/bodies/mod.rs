//! Large bodies (fetched pages, blocks of texts) outside of the database: in an S3 object store or a folder.
//!
//! A transaction cannot span both, so the order is fixed. An object is put first, under a name that is never given twice, and
//! is safe there before the row that names it is committed. What no row names is removed later (`collect`): a crash in between
//! leaves an object too many, never a row too many. A commit that comes too late after its upload is refused ([`Deadline`]),
//! so an object that is old and without a row stays without one.

mod collect;
mod depot;
mod moving;
mod name;
mod objects;
mod placing;
mod rows;

use async_trait::async_trait;
use malla_queue::{Result, UnixMs};

pub(crate) use collect::collect;
pub use depot::Options;
pub(crate) use depot::{Deadline, Depot};
pub(crate) use moving::relocate;
pub use objects::{Objects, Trouble, check_url, open};
pub(crate) use placing::{Outside, fetch_answers, fetch_block, place_blocks, place_pages};
pub(crate) use rows::{Lying, Rows};

/// What one step of tidying has removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Collected {
    /// Objects whose row went, long enough ago.
    pub dead: u64,
    /// Objects that were put, and whose row was never committed.
    pub orphans: u64,
    /// There is more to do.
    pub more: bool,
}

/// Where a body's row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A body of pages, by its number.
    Page(i64),
    /// A block of texts, by its page and number.
    Block(i64, i64),
}

/// What one step of moving has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moved {
    /// From where the next step goes on; `None` after the last one.
    pub next: Option<Place>,
    pub bodies: u64,
    /// Packed.
    pub bytes: u64,
}

/// Since when the object store does not answer, and what it said last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Away {
    pub since: UnixMs,
    pub why: String,
}

/// What keeps bodies outside of the database in order. Nothing happens if there is no object store.
#[async_trait]
pub trait Bodies: Send + Sync + 'static {
    /// Asks the object store whether it is there.
    async fn look(&self) -> Result<()>;
    /// Whether it was away when it was last asked for anything.
    fn away(&self) -> Option<Away>;
    /// Removes objects that no row names and that are older than the grace, one bounded step.
    async fn collect(&self) -> Result<Collected>;
    /// Moves bodies to where new ones are kept, one bounded step from here on.
    async fn relocate(&self, after: Option<Place>) -> Result<Moved>;
}
