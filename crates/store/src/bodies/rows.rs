//! What the database knows of objects: the SQL behind collecting and moving.

use std::collections::HashSet;

use async_trait::async_trait;
use bytes::Bytes;
use malla_fetch::BodyHash;
use malla_queue::{Result, UnixMs};

use super::{Deadline, Place};

/// A body, and where its bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lying {
    pub(crate) place: Place,
    /// Its name outside of the database, if it is there.
    pub(crate) object: Option<String>,
    /// Packed bytes in the row.
    pub(crate) bytes: u64,
}

#[async_trait]
pub(crate) trait Rows: Send + Sync {
    /// Which of these bodies of pages are kept already.
    async fn known(&self, hashes: Vec<BodyHash>) -> Result<HashSet<BodyHash>>;

    /// Objects whose row went at this moment or before. Those that went since this was last asked are noted as of now.
    async fn dead(&self, until: UnixMs, limit: usize) -> Result<Vec<String>>;
    /// These were removed.
    async fn bury(&self, names: Vec<String>) -> Result<()>;
    /// Which of these a row names, or will be removed as dead ones.
    async fn named(&self, names: &[String]) -> Result<HashSet<String>>;
    /// The last window in which nothing is left to look for.
    async fn swept(&self) -> Result<i64>;
    async fn set_swept(&self, window: i64) -> Result<()>;

    /// Bodies after this place and of its kind, in their order.
    async fn lying_after(&self, after: Place, limit: usize) -> Result<Vec<Lying>>;
    /// The bytes in a row.
    async fn packed(&self, place: Place) -> Result<Option<Bytes>>;
    /// The row has the object's name instead of these bytes, unless it has changed meanwhile. Returns whether it does.
    async fn move_out(&self, place: Place, packed: Bytes, object: String, deadline: Deadline) -> Result<bool>;
    /// The row has these bytes instead of the object's name, unless it has changed meanwhile. Returns whether it does.
    async fn move_in(&self, place: Place, object: String, packed: Bytes) -> Result<bool>;
}
