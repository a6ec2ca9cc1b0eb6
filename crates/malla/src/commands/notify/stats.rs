//! `malla notify stats`.

use clap::Args;
use malla_client::Client;
use malla_protocol::{Statistics, StatisticsQuery, StatisticsSummary, Step, StepFigures};

use crate::output::{Output, fields, table, talk, time};

#[derive(Debug, Args)]
pub(super) struct Stats {
    /// Of this subscription only
    #[arg(long, value_name = "NAME", conflicts_with = "endpoint")]
    subscription: Option<String>,
    /// Of this endpoint and the subscriptions to it
    #[arg(long, value_name = "NAME")]
    endpoint: Option<String>,
    /// minute (the last hour), hour (two days) or day (ninety days)
    #[arg(long, default_value_t = Step::Minute)]
    step: Step,
    /// From this time on: RFC 3339, or YYYY-MM-DD in UTC
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Before this time
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
}

pub(super) async fn run(stats: Stats, client: &Client, output: &mut Output) -> anyhow::Result<()> {
    let Stats { subscription, endpoint, step, from, to } = stats;
    let query = StatisticsQuery { subscription, endpoint, step: Some(step), from, to };
    let told = client.statistics(&query).await?;
    if told.items.is_empty() {
        talk("nothing was counted in this time");
    }
    Ok(output.one(&told, text)?)
}

fn text(told: &Statistics) -> String {
    let head = ["AT", "EVENTS", "BYTES", "DELIVERED", "RETRIED", "FAILED", "PEAK", "P50", "P90", "P99"];
    let mut text = String::new();
    if !told.items.is_empty() {
        text.push_str(&table(&head, told.items.iter().map(row)));
        text.push_str("\n\n");
    }
    text.push_str(&summary(&told.summary));
    text
}

fn row(step: &StepFigures) -> Vec<String> {
    let counts = [step.events, step.bytes, step.delivered, step.retried, step.failed, step.peak];
    let counts = counts.map(|count| count.to_string());
    let times = [step.p50_ms, step.p90_ms, step.p99_ms].map(milliseconds);
    [time(&step.at)].into_iter().chain(counts).chain(times).collect()
}

fn summary(summary: &StatisticsSummary) -> String {
    let mut pairs = vec![
        ("events a day", format!("{:.1}", summary.events_per_day)),
        ("delivered a day", format!("{:.1}", summary.delivered_per_day)),
        ("failure rate", rate(summary.failure_rate)),
        ("at once at most", summary.peak.to_string()),
        ("delivered within", within(summary)),
    ];
    for month in &summary.months {
        pairs.push(("failure rate", format!("{} in {}", rate(month.failure_rate), month.month)));
    }
    fields(&pairs)
}

fn within(summary: &StatisticsSummary) -> String {
    let [half, most, nearly_all] = [summary.p50_ms, summary.p90_ms, summary.p99_ms].map(milliseconds);
    format!("{half} (half), {most} (90 %), {nearly_all} (99 %)")
}

fn rate(rate: Option<f64>) -> String {
    rate.map_or("-".into(), |rate| format!("{:.2} %", rate * 100.0))
}

fn milliseconds(time: Option<f64>) -> String {
    match time {
        None => "-".into(),
        Some(ms) if ms < 10_000.0 => format!("{ms:.0} ms"),
        Some(ms) => format!("{:.0} s", ms / 1_000.0),
    }
}
