//! What happened to a task: one entry an attempt or a person's verb, kept as lines of JSON with the task.

use serde::{Deserialize, Serialize};

use crate::UnixMs;

/// When a task's history outgrows this, its oldest entries give way.
pub const HISTORY_BYTES_MAX: usize = 256 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// An attempt that did it.
    Succeeded,
    /// An attempt after which the far side owes a confirmation.
    Notified,
    /// An attempt that failed, with another to come.
    Retried,
    /// An attempt that failed and was the last.
    Failed,
    /// The holder gave it back undone (it was shutting down).
    Released,
    /// The holder went silent and its lease ran out.
    Lapsed,
    /// The confirmation did not come in time.
    Unconfirmed,
    /// A person's verbs.
    Paused,
    Resumed,
    Discarded,
    Resent,
    Confirmed,
}

impl What {
    pub fn name(self) -> &'static str {
        match self {
            What::Succeeded => "succeeded",
            What::Notified => "notified",
            What::Retried => "retried",
            What::Failed => "failed",
            What::Released => "released",
            What::Lapsed => "lapsed",
            What::Unconfirmed => "unconfirmed",
            What::Paused => "paused",
            What::Resumed => "resumed",
            What::Discarded => "discarded",
            What::Resent => "resent",
            What::Confirmed => "confirmed",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub what: What,
    pub at: UnixMs,
    /// When the attempt began; a person's verb has no beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<UnixMs>,
    /// The holder of the lease, or the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// One sentence for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What came back, in the words of the room (a status, headers, a body).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<serde_json::Value>,
}

impl Entry {
    pub fn person(what: What, at: UnixMs, by: &str) -> Self {
        Self { what, at, started_at: None, by: Some(by.to_owned()), note: None, answer: None }
    }

    /// The entry as the line the store appends.
    pub fn line(&self) -> String {
        let mut line = serde_json::to_string(self).expect("an entry has only string keys");
        line.push('\n');
        line
    }
}

/// Reads the lines back. A line that cannot be read (the first one, cut when the history gave way) is skipped.
pub fn read_history(lines: &str) -> Vec<Entry> {
    lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_reads_back_and_survives_a_cut() {
        let entry = Entry::person(What::Paused, UnixMs(5), "ana");
        let lines = format!("{}{}", entry.line(), entry.line());
        assert_eq!(read_history(&lines), vec![entry.clone(), entry.clone()]);
        assert_eq!(read_history(&lines[10..]), vec![entry]);
    }
}
