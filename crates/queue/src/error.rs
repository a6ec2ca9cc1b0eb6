//! What can go wrong with a verb, in the words a person gets to read.

use crate::{State, TaskId};

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The lease ran out and the task went to someone else, or was discarded: the caller must drop its work.
    #[error("the lease on task {0} is lost: it ran out, or the task was discarded")]
    LeaseLost(TaskId),

    #[error("{0} does not exist")]
    NotFound(String),

    #[error("a task that is {state} cannot be {verb}")]
    WrongState { state: State, verb: &'static str },

    /// Somebody else has this name or key.
    #[error("{0}")]
    Taken(String),

    /// It contradicts what came before.
    #[error("{0}")]
    Conflict(String),

    /// It is not there yet, or all places are taken. The caller comes back later.
    #[error("{0}")]
    NotAvailable(String),

    #[error("{0}")]
    Invalid(String),

    /// A limit on what may wait. The caller comes back later.
    #[error("{waiting} tasks are waiting, and the limit is {limit}: try again later")]
    Full { waiting: u64, limit: u64 },

    /// The same idempotency key came with another request.
    #[error("this Idempotency-Key was used with another request: choose a new key")]
    KeyReused,

    /// The same idempotency key came again for something whose answer is shown only once.
    #[error(
        "this request was carried out before under the same Idempotency-Key; its secret was shown then and is not kept"
    )]
    ShownOnce,

    /// A duty of the leader's was done by one that leads no more. Nothing changed.
    #[error("another member leads now")]
    Deposed,

    /// The store cannot be reached or cannot write. Nothing changed, or it is not known whether it did.
    #[error("the store is not available: {0}")]
    Unavailable(String),

    /// Something that should be impossible. It is logged; the caller can only report it.
    #[error("internal error: {0}")]
    Internal(String),
}
