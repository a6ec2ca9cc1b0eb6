//! What `malla backup` and `malla restore` share: a bar on a terminal, and an end in order when a signal comes.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result};
use indicatif::{ProgressBar, ProgressStyle};
use malla_queue::Error;

use crate::signals::Signals;

pub(super) struct Progress {
    bar: ProgressBar,
    asked_to_end: AtomicBool,
}

impl Progress {
    fn new() -> Self {
        let bar = if std::io::stderr().is_terminal() { ProgressBar::new(0) } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{msg:18} {bar:30} {bytes}/{total_bytes}, {eta} left") {
            bar.set_style(style);
        }
        Self { bar, asked_to_end: AtomicBool::new(false) }
    }

    pub(super) fn begin(&self, what: &'static str) {
        self.bar.reset();
        self.bar.set_message(what);
    }

    /// To be called between two pieces of work; an error when it is time to end.
    pub(super) fn step(&self, done: u64, all: u64) -> malla_queue::Result<()> {
        self.bar.set_length(all);
        self.bar.set_position(done);
        match self.asked_to_end.load(Ordering::Relaxed) {
            true => Err(Error::Unavailable("stopped by a signal: nothing was changed".into())),
            false => Ok(()),
        }
    }
}

/// Does the work on a thread of its own. After a signal it ends at its next step, and tidies up.
pub(super) async fn until_signal<T: Send + 'static>(
    work: impl FnOnce(&Progress) -> Result<T> + Send + 'static,
) -> Result<T> {
    let mut signals = Signals::listen().context("cannot listen for signals")?;
    let progress = Arc::new(Progress::new());
    let shared = progress.clone();
    let mut working = tokio::task::spawn_blocking(move || work(&shared));
    let done = tokio::select! {
        done = &mut working => done,
        _ = signals.next() => {
            progress.asked_to_end.store(true, Ordering::Relaxed);
            tokio::select! {
                done = working => done,
                asked = signals.next() => std::process::exit(asked.exit_code()),
            }
        }
    };
    progress.bar.finish_and_clear();
    done?
}
