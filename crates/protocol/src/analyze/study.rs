//! An analysis, its batches, and how an answer is asked for.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::page::from_text;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAnalysis {
    /// `bike-rides` or `csv-summary`.
    pub kind: String,
    /// What shall differ from the defaults of the kind.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    #[schema(value_type = Object)]
    pub params: Value,
    /// The group that owns the analysis; may be left out by who has one group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AnalysisState {
    /// Batches may come.
    Collecting,
    /// All have come; they are worked on.
    Computing,
    Succeeded,
    Failed,
    Cancelled,
}

impl AnalysisState {
    pub fn name(self) -> &'static str {
        match self {
            AnalysisState::Collecting => "collecting",
            AnalysisState::Computing => "computing",
            AnalysisState::Succeeded => "succeeded",
            AnalysisState::Failed => "failed",
            AnalysisState::Cancelled => "cancelled",
        }
    }

    pub fn is_over(self) -> bool {
        matches!(self, AnalysisState::Succeeded | AnalysisState::Failed | AnalysisState::Cancelled)
    }
}

impl fmt::Display for AnalysisState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Analysis {
    pub id: String,
    pub kind: String,
    /// All of them, defaults included.
    #[schema(value_type = Object)]
    pub params: Value,
    pub group: Option<String>,
    pub state: AnalysisState,
    pub created_at: String,
    pub finished_at: Option<String>,
    pub batches: BatchCounts,
    /// Records that were read.
    pub rows: u64,
    /// Lines that could not be read.
    pub bad_lines: u64,
    /// The first of them, by batch and line.
    pub bad_samples: Vec<BadLine>,
    /// Bytes that came, unpacked.
    pub bytes: u64,
    /// Records read in a second, from its beginning until now or its end.
    pub rows_per_s: u64,
    /// Seconds until the answers, at the pace so far; null until it is completed, and when it is over.
    pub left_s: Option<u64>,
    /// Why it failed or was cancelled.
    pub why: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct BatchCounts {
    /// How many there are; null until the analysis is completed.
    pub expected: Option<u64>,
    pub taken: u64,
    /// Of those taken, the ones that need no more work.
    pub mapped: u64,
}

/// A line that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BadLine {
    /// `trips/montreal/17`
    pub batch: String,
    pub line: u64,
    pub why: String,
    pub text: String,
}

/// All batches were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Complete {
    /// How many, over all tables and cities.
    pub batches: u64,
}

/// A batch that is safe with the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TakenBatch {
    /// `weather`, `stations` or `trips`.
    pub input: String,
    /// In lower case.
    pub city: String,
    pub seq: u64,
    /// BLAKE3 of the unpacked bytes, in hexadecimal.
    pub hash: String,
    /// It needs no more work.
    pub mapped: bool,
}

/// In which form an answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AnswerFormat {
    Json,
    Csv,
}

impl FromStr for AnswerFormat {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "json" => Ok(Self::Json),
            "csv" => Ok(Self::Csv),
            _ => Err("an answer comes as json or csv"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AnswerQuery {
    /// What is known so far, if the answer is not ready.
    #[serde(default, deserialize_with = "from_text", skip_serializing_if = "Option::is_none")]
    pub partial: Option<bool>,
    /// `json` or `csv`, for who cannot set `Accept`.
    #[serde(default, deserialize_with = "from_text", skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub format: Option<AnswerFormat>,
}
