//! Answers over record streams, exactly once: a batch becomes a partial, partials add up in any order to the same bytes,
//! and the last one makes the answers.

pub mod analysis;
pub mod bikes;
pub mod csv;
pub mod day;
pub mod lines;
pub mod number;
pub mod summary;
pub mod wire;
