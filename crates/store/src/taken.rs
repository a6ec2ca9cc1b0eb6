//! How the ending of a lease was taken.

use malla_queue::{Error, Result, TaskId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    Now,
    /// The same ending came before.
    Before,
    /// The lease is lost.
    Lost,
}

impl Taken {
    pub(crate) fn answer(self, task: TaskId) -> Result<()> {
        if self == Taken::Lost { Err(Error::LeaseLost(task)) } else { Ok(()) }
    }
}
