//! What the process says about itself: the log on stderr and the numbers for `/metrics`.

use std::io::IsTerminal as _;
use std::time::Duration;

use anyhow::Context as _;
use malla_queue::UnixMs;
use metrics::{Unit, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

use crate::config::{Log, LogFormat};
use crate::member::resident_bytes;
use crate::output;
use crate::stderr::Stderr;

/// How often gathered samples are folded, so that they do not pile up when nobody asks.
const UPKEEP: Duration = Duration::from_secs(5);

/// Buckets for everything measured in seconds, from a lookup to a slow far side.
const SECONDS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0, 60.0];

/// Parts that talk too much at the level of the others. A filter that names them has the last word.
const QUIET: &str = "refinery_core=warn,refinery=warn,tokio_postgres=warn";

/// Sends the log to stderr.
pub(crate) fn log(settings: &Log) -> anyhow::Result<()> {
    let filter = EnvFilter::builder().parse(format!("{QUIET},{}", settings.level)).context("log.level")?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| Stderr);
    // A line that cannot be written is lost: nobody reads any more, and complaining about it would end the process.
    let log = log.log_internal_errors(false);
    let set = match settings.format {
        LogFormat::Json => log.json().flatten_event(true).try_init(),
        LogFormat::Text => log.compact().with_target(false).with_ansi(std::io::stderr().is_terminal()).try_init(),
    };
    set.map_err(|error| anyhow::anyhow!("cannot start the log: {error}"))
}

/// Says a line to whoever started the process, whatever the log's level.
pub(crate) fn say(settings: &Log, now: UnixMs, line: &str) {
    let text = match settings.format {
        LogFormat::Text => line.to_owned(),
        LogFormat::Json => {
            let timestamp = jiff::Timestamp::from_millisecond(now.0).unwrap_or_default();
            serde_json::json!({ "timestamp": timestamp, "level": "INFO", "message": line }).to_string()
        }
    };
    output::talk(&text);
}

/// Starts counting, and keeps the counts small for as long as the runtime lives.
pub(crate) fn metrics(started_at: UnixMs) -> anyhow::Result<PrometheusHandle> {
    let metrics = PrometheusBuilder::new()
        .set_buckets(&SECONDS)
        .and_then(PrometheusBuilder::install_recorder)
        .context("cannot start the metrics")?;
    describe_gauge!("malla_up", "Always 1, with the version as a label.");
    describe_gauge!("malla_tasks", "Tasks by kind and state.");
    describe_histogram!("malla_store_write_seconds", Unit::Seconds, "Time of a transaction of the embedded store");
    describe_histogram!("malla_store_sync_seconds", Unit::Seconds, "Time until the disk has what was written");
    describe_gauge!("process_start_time_seconds", "When this process started, in seconds since 1970.");
    describe_gauge!("process_resident_memory_bytes", "Memory of this process that is in RAM.");
    gauge!("malla_up", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    #[allow(clippy::cast_precision_loss)] // milliseconds fit
    gauge!("process_start_time_seconds").set(started_at.0 as f64 / 1_000.0);
    let upkeep = metrics.clone();
    tokio::spawn(async move {
        let mut tick = tokio::time::interval(UPKEEP);
        loop {
            tick.tick().await;
            upkeep.run_upkeep();
            if let Some(bytes) = resident_bytes() {
                #[allow(clippy::cast_precision_loss)] // memory fits
                gauge!("process_resident_memory_bytes").set(bytes as f64);
            }
        }
    });
    Ok(metrics)
}
