//! Tasks wait in lanes, a holder takes a lease, works, and ends the lease with an outcome: that is all of it.
//!
//! This room holds the words (task, lane, lease, outcome), the moves between states as pure functions, the verbs
//! as a trait, and the worker loop. It knows no database, no HTTP and no room built on top of it.

pub mod crash;
pub mod drill;
mod error;
mod history;
mod id;
mod lane;
mod lease;
mod limits;
mod operator;
mod outcome;
mod retry;
mod state;
mod task;
mod time;
mod verbs;
pub mod worker;

pub use error::{Error, Result};
pub use history::{Entry, HISTORY_BYTES_MAX, What, read_history};
pub use id::{EventId, GroupId, LaneId, LeaseToken, TaskId};
pub use lane::{Lane, LaneChange, LaneFilter, LaneKey, LanePage, LaneSettings, Room};
pub use lease::{Holder, LeaseRequest, Leased, Leases};
pub use limits::Limits;
pub use operator::{Act, Bulk, Move, Once};
pub use outcome::{Ending, Event, Failure, LAPSES_MAX, NextTry, Outcome, Overdue, Verdict};
pub use retry::RetryDelays;
pub use state::{State, StateCounts};
pub use task::{Kind, NewTask, Priority, Submitted, Task, TaskSummary};
pub use time::{Clock, ManualClock, SystemClock, UnixMs};
pub use verbs::{Arrivals, KindCounts, Queue, Retention, Scope, TaskFilter, TaskPage};
