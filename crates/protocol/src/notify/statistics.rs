//! Statistics: what was counted about endpoints and subscriptions.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The length of what is counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    #[default]
    Minute,
    Hour,
    Day,
}

impl Step {
    pub const ALL: [Step; 3] = [Step::Minute, Step::Hour, Step::Day];

    pub fn name(self) -> &'static str {
        match self {
            Step::Minute => "minute",
            Step::Hour => "hour",
            Step::Day => "day",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Step {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Step::ALL.into_iter().find(|step| step.name() == text);
        known.ok_or_else(|| format!("\"{text}\" is not a step: minute, hour or day"))
    }
}

/// Of what, and when. Without a subscription or an endpoint: of all that the caller sees.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct StatisticsQuery {
    /// The subscription's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription: Option<String>,
    /// The endpoint's name: its events, and the deliveries of the subscriptions to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// minute (if not given), hour or day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Step>,
    /// From this time on: RFC 3339, or YYYY-MM-DD in UTC. If not given: an hour, two days or ninety days before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Before this time; now, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Statistics {
    pub step: Step,
    pub from: String,
    pub to: String,
    /// Oldest first; steps in which nothing happened are left out.
    pub items: Vec<StepFigures>,
    pub summary: StatisticsSummary,
}

/// The figures of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StepFigures {
    /// When it begins.
    pub at: String,
    /// Events taken in, and their bytes.
    pub events: u64,
    pub bytes: u64,
    /// Attempts that ended, and how: delivered, to be tried again, or failed for good.
    pub attempts: u64,
    pub delivered: u64,
    pub retried: u64,
    pub failed: u64,
    /// Attempts at the same time, at most.
    pub peak: u64,
    /// From the making of a notification to its delivery, in milliseconds: so long took this share of them at most.
    pub p50_ms: Option<f64>,
    pub p90_ms: Option<f64>,
    pub p99_ms: Option<f64>,
}

/// The range in a few numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StatisticsSummary {
    pub events: u64,
    pub delivered: u64,
    pub failed: u64,
    /// On average, from the first that was counted; of less than a day, what there was.
    pub events_per_day: f64,
    pub delivered_per_day: f64,
    /// Of all that ended: failed / (delivered + failed). Null if nothing ended.
    pub failure_rate: Option<f64>,
    /// The same for each calendar month (UTC) in which something ended.
    pub months: Vec<MonthFigures>,
    /// Attempts at the same time, at most.
    pub peak: u64,
    pub p50_ms: Option<f64>,
    pub p90_ms: Option<f64>,
    pub p99_ms: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MonthFigures {
    /// `2026-07`
    pub month: String,
    pub delivered: u64,
    pub failed: u64,
    pub failure_rate: Option<f64>,
}
