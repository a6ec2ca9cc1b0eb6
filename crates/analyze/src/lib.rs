//! Answers over record streams, exactly once: a batch becomes a partial, partials add up in any order to the same bytes,
//! and the last one makes the answers.

pub mod analysis;
mod analyst;
pub mod bikes;
mod buffer;
pub mod csv;
pub mod day;
pub mod intake;
pub mod lines;
pub mod number;
mod recent;
mod study;
pub mod summary;
mod verbs;
pub mod wire;

pub use analyst::{Analyst, OnArrival, answers};
pub use buffer::Buffer;
pub use recent::Recent;
pub use study::{
    BATCHES_MAX, BatchHash, BatchKey, FINISHED, KnownBatch, MAP, MappedBatch, NewBatch, NewStudy, PARTS_MAX, REDUCE,
    ROOM, SEQ_MAX, Study, StudyId, StudyState, TakenBatch,
};
pub use verbs::{Analyze, Keep, Only, Settled, Settlement, StoredBatch};
