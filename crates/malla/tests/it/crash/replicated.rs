//! A PostgreSQL of the test's own with three nodes: what its primary has acknowledged is on another one too, which takes
//! over when the primary dies.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::server::text;

pub(super) struct Replicated {
    directory: tempfile::TempDir,
    pub(super) url: String,
}

impl Replicated {
    pub(super) fn start() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let output = script("start", directory.path());
        let url = text(&output.stdout).lines().last().unwrap_or_default().to_owned();
        let started = Self { directory, url };
        assert!(output.status.success(), "the three nodes do not start: {}", text(&output.stderr));
        started
    }

    /// As a power cut would; the name of the node.
    pub(super) fn kill_primary(&self) -> String {
        self.must("kill-primary").trim().to_owned()
    }

    /// Starts what was killed and waits until all three are in step.
    pub(super) fn revive(&self) {
        self.must("revive");
    }

    fn must(&self, verb: &str) -> String {
        let output = script(verb, self.directory.path());
        assert!(output.status.success(), "scripts/patroni {verb}: {}", text(&output.stderr));
        text(&output.stdout)
    }
}

impl Drop for Replicated {
    fn drop(&mut self) {
        script("stop", self.directory.path());
    }
}

fn script(verb: &str, directory: &Path) -> Output {
    let script = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/patroni"));
    Command::new(script).arg(verb).arg(directory).output().expect("scripts/patroni runs")
}
