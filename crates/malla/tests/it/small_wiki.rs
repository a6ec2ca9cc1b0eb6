//! A wiki on loopback, in a process of its own, whose log is the truth about politeness.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::Value;

use crate::server::malla;

pub(crate) struct SmallWiki {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    pub(crate) url: String,
    pub(crate) pages: u64,
}

impl SmallWiki {
    /// A wiki that must be asked with this gap between two requests.
    pub(crate) fn start(pages: u64, revisions: u64, gap_ms: u64) -> Self {
        let mut command = malla();
        command.args(["bench", "small-wiki", "--takes-ms", "3"]);
        for (flag, value) in [("--pages", pages), ("--revisions", revisions), ("--gap-ms", gap_ms)] {
            command.args([flag, &value.to_string()]);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a wiki");
        let stdin = child.stdin.take();
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("an address");
        Self { child, stdin, stdout, url: line.trim().to_owned(), pages }
    }

    pub(crate) fn title(&self, page: u64) -> String {
        format!("Page {page}")
    }

    /// Ends it; what it saw.
    pub(crate) fn seen(mut self) -> Value {
        drop(self.stdin.take());
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("what was seen");
        self.child.wait().expect("it ends");
        serde_json::from_str(&line).expect("JSON")
    }
}

impl Drop for SmallWiki {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// It was asked one thing at a time, with the gap in between.
#[track_caller]
pub(crate) fn polite(seen: &Value) {
    assert_eq!((&seen["too_soon"], &seen["overlapping"]), (&false.into(), &0.into()), "{seen}");
}
