//! Connections kept from one run to the next of the same site.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::{Line, Site};

const LINES_MAX: usize = 256;
/// Shorter than most servers keep a silent connection (five seconds is common).
const IDLE_FOR: Duration = Duration::from_secs(4);

#[derive(Default)]
pub(super) struct Lines(Mutex<HashMap<Site, (Line, Instant)>>);

impl Lines {
    pub(super) fn take(&self, site: &Site) -> Line {
        self.lock().remove(site).map(|(line, _)| line).unwrap_or_default()
    }

    pub(super) fn keep(&self, site: &Site, line: Line) {
        let mut kept = self.lock();
        if line.is_open() && kept.len() < LINES_MAX {
            kept.insert(site.clone(), (line, Instant::now()));
        }
    }

    /// Lets go of what nobody came back for.
    pub(super) fn sweep(&self) {
        self.lock().retain(|_, (_, since)| since.elapsed() < IDLE_FOR);
    }

    /// Lets go of all: files are short.
    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Site, (Line, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
