//! A web site on loopback that a crawl could get lost in, in a process of its own, whose log says what was asked for.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::Value;

use crate::server::malla;

pub(crate) struct Maze {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    port: u16,
}

impl Maze {
    pub(crate) fn start(pages: usize) -> Self {
        let mut command = malla();
        command.args(["bench", "maze", "--pages", &pages.to_string()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a maze");
        let stdin = child.stdin.take();
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a port");
        Self { child, stdin, stdout, port: line.trim().parse().expect("a port") }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
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

impl Drop for Maze {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
