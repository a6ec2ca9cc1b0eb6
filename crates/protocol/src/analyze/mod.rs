//! Analyses: what clients ask for and send, and the answers.

mod bikes;
mod study;

pub use bikes::{City, FarStation, GrownStation, Rain, RainyDay, Year};
pub use study::{
    Analysis, AnalysisState, AnswerFormat, AnswerQuery, BadLine, BatchCounts, Complete, NewAnalysis, TakenBatch,
};
