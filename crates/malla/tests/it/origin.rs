//! Many web sites on loopback, in a process of their own, whose log is the truth about politeness.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::Value;

use crate::server::malla;

pub(crate) struct Origin {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    port: u16,
}

impl Origin {
    /// Sites that must be asked with this gap between two requests.
    pub(crate) fn start(gap_ms: u64) -> Self {
        let mut command = malla();
        command.args(["bench", "origin", "--bytes", "2000", "--gap-ms", &gap_ms.to_string()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("an origin");
        let stdin = child.stdin.take();
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a port");
        Self { child, stdin, stdout, port: line.trim().parse().expect("a port") }
    }

    pub(crate) fn url(&self, site: usize, page: usize) -> String {
        format!("http://127.1.0.{}:{}/{page}", site + 1, self.port)
    }

    /// Every page of every site.
    pub(crate) fn urls(&self, sites: usize, pages: usize) -> Vec<String> {
        (0..pages).flat_map(|page| (0..sites).map(move |site| self.url(site, page))).collect()
    }

    /// Ends it; what its sites saw.
    pub(crate) fn seen(mut self) -> Value {
        drop(self.stdin.take());
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("what was seen");
        self.child.wait().expect("it ends");
        serde_json::from_str(&line).expect("JSON")
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Nobody was hurt: every gap was kept, and no two requests at once.
#[track_caller]
pub(crate) fn polite(seen: &Value) {
    assert_eq!((&seen["gaps_short"], &seen["overlapping"]), (&0.into(), &0.into()), "{seen}");
}
