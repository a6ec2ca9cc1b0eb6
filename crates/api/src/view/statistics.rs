//! Figures as they travel.

use malla_notify::{Figures, Latencies, Month, Summary};
use malla_protocol as wire;
use malla_queue::UnixMs;

use super::time;

pub(crate) fn step(step: wire::Step) -> malla_notify::Step {
    match step {
        wire::Step::Minute => malla_notify::Step::Minute,
        wire::Step::Hour => malla_notify::Step::Hour,
        wire::Step::Day => malla_notify::Step::Day,
    }
}

pub(crate) fn figures(at: UnixMs, figures: &Figures) -> wire::StepFigures {
    let [p50_ms, p90_ms, p99_ms] = percentiles(&figures.latencies);
    wire::StepFigures {
        at: time(at),
        events: figures.events,
        bytes: figures.bytes,
        attempts: figures.attempts(),
        delivered: figures.delivered,
        retried: figures.retried,
        failed: figures.failed,
        peak: figures.peak,
        p50_ms,
        p90_ms,
        p99_ms,
    }
}

pub(crate) fn summary(summary: &Summary) -> wire::StatisticsSummary {
    let [p50_ms, p90_ms, p99_ms] = percentiles(&summary.total.latencies);
    wire::StatisticsSummary {
        events: summary.total.events,
        delivered: summary.total.delivered,
        failed: summary.total.failed,
        events_per_day: rounded(summary.events_per_day),
        delivered_per_day: rounded(summary.delivered_per_day),
        failure_rate: summary.failure_rate(),
        months: summary.months.iter().map(month).collect(),
        peak: summary.total.peak,
        p50_ms,
        p90_ms,
        p99_ms,
    }
}

fn month(month: &Month) -> wire::MonthFigures {
    wire::MonthFigures {
        month: month.name(),
        delivered: month.delivered,
        failed: month.failed,
        failure_rate: month.failure_rate(),
    }
}

fn percentiles(latencies: &Latencies) -> [Option<f64>; 3] {
    [0.5, 0.9, 0.99].map(|share| latencies.percentile_ms(share).map(rounded))
}

/// More digits than these would only seem exact.
fn rounded(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}
