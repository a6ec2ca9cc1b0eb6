//! Dumps of MediaWikis: read as a stream, cut into batches that travel to a server, and taken in there.
//!
//! Nothing here holds more than a batch and one text, however long the dump.

pub mod batch;
#[cfg(test)]
pub(crate) mod kept;
mod reader;
mod sha1;
mod take;
#[cfg(test)]
mod tests;
mod xml;

pub use batch::{Batch, Batches, PagePart};
pub use reader::{DumpPage, DumpSite, Item, Reader};
pub use take::take;

use malla_queue::Error;

/// Why a dump cannot be read on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    #[error("the dump is cut off at byte {at}: what was whole before that was read; get the rest and import it again")]
    Cut { at: u64 },
    #[error("the dump cannot be read at byte {at}: {why}")]
    Wrong { at: u64, why: String },
}

impl From<Broken> for Error {
    fn from(broken: Broken) -> Self {
        Self::Invalid(broken.to_string())
    }
}
