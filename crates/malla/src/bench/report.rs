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

/// What this process has in memory.
pub(crate) fn memory_mb() -> f64 {
    memory_of("self")
}

/// What the process with this number has in memory.
pub(super) fn memory_of(pid: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    let kb: f64 = line.split_whitespace().nth(1).and_then(|kb| kb.parse().ok()).unwrap_or(0.0);
    kb / 1024.0
}
