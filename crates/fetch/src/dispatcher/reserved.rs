//! Sites where nothing but checks for others wait: who may not do them does not look there. Only a memory, so that
//! devices do not take such a check up again and again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use malla_queue::{TaskId, UnixMs};

use crate::trust::{CheckTask, Party};
use crate::{Ready, Site};

/// Longer than it takes for another device to come by.
const FOR_MS: i64 = 30_000;
const SITES_MAX: usize = 10_000;

#[derive(Default)]
pub(super) struct Reserved(Mutex<HashMap<Site, Vec<Kept>>>);

/// A task of a site, the check it is for, and until when it is kept.
type Kept = (TaskId, CheckTask, UnixMs);

impl Reserved {
    pub(super) fn keep(&self, site: &Site, task: TaskId, check: CheckTask, now: UnixMs) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= SITES_MAX {
            all.clear();
        }
        let kept = all.entry(site.clone()).or_default();
        kept.retain(|(known, _, until)| *known != task && *until > now);
        kept.push((task, check, UnixMs(now.0 + FOR_MS)));
    }

    /// The line without the sites where this device has nothing to do.
    pub(super) fn without(&self, line: Vec<Ready>, party: &Party, now: UnixMs) -> Vec<Ready> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.is_empty() {
            return line;
        }
        let for_others = |ready: &Ready| {
            let Some(kept) = all.get(&ready.site) else { return false };
            let others = kept.iter().filter(|(_, check, until)| *until > now && !check.suits(party)).count();
            others as u64 >= ready.waiting
        };
        line.into_iter().filter(|ready| !for_others(ready)).collect()
    }
}
