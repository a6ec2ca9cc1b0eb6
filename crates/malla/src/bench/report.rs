//! How a benchmark prints its figures: a line each, for people or as JSON.

use std::io::Write as _;

pub(crate) struct Report {
    json: bool,
    store: String,
}

impl Report {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, store: String::new() }
    }

    pub(crate) fn store(&mut self, name: &str) {
        self.store = name.to_owned();
    }

    pub(crate) fn line(&mut self, what: &str, value: f64, unit: &str, note: &str) {
        let mut out = std::io::stdout().lock();
        // Nobody reads any more: then there is nobody to tell.
        let _ = if self.json {
            let line = serde_json::json!({
                "store": self.store, "what": what, "value": (value * 1000.0).round() / 1000.0, "unit": unit, "note": note,
            });
            writeln!(out, "{line}")
        } else {
            let value = if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") };
            writeln!(out, "{:<9} {what:<52} {value:>10} {unit:<8} {note}", self.store)
        };
    }
}

/// CPU-seconds of a process so far, its threads included.
pub(super) fn cpu_of(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name, in parentheses, may hold blanks; the times are the 12th and 13th word after it. A tick is 10 ms.
    let after = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 = after.split_whitespace().skip(11).take(2).filter_map(|word| word.parse::<u64>().ok()).sum();
    ticks as f64 / 100.0
}

/// What all processors of this machine did so far, in ticks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CpuTime {
    all: u64,
    /// They were to work, and other machines on the same hardware did instead.
    stolen: u64,
}

impl CpuTime {
    /// Nothing where the system does not tell.
    pub(super) fn now() -> Self {
        let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let ticks: Vec<u64> = stat.split_whitespace().skip(1).take(8).filter_map(|word| word.parse().ok()).collect();
        Self { all: ticks.iter().sum(), stolen: ticks.get(7).copied().unwrap_or(0) }
    }

    /// The share of the time between the two that was taken.
    pub(super) fn stolen_since(self, before: Self) -> f64 {
        let all = self.all.saturating_sub(before.all).max(1);
        self.stolen.saturating_sub(before.stolen) as f64 / all as f64
    }
}

/// What this process has in memory.
pub(crate) fn memory_mb() -> f64 {
    memory_of("self")
}

/// What the process with this number has in memory.
pub(super) fn memory_of(pid: &str) -> f64 {
    status_mb(pid, "VmRSS:")
}

/// What it had at most.
pub(super) fn peak_of(pid: &str) -> f64 {
    status_mb(pid, "VmHWM:")
}

fn status_mb(pid: &str, name: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    let kb: f64 = line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).unwrap_or(0.0);
    kb / 1024.0
}
