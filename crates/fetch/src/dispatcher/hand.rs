//! What this process has given out, so that a result need not be looked up. Only a memory: the leases are the store's.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use malla_queue::{LeaseToken, Leased};

use crate::PageTask;

/// Beyond this many, all are forgotten: what is still out is looked up.
const HELD_MAX: usize = 200_000;

#[derive(Debug)]
pub(super) struct Held {
    pub(super) leased: Leased,
    pub(super) task: PageTask,
    pub(super) gap_ms: u64,
    /// A validator that no page has, sent instead of the page's.
    pub(super) trap: Option<String>,
}

#[derive(Default)]
pub(super) struct Hand(Mutex<HashMap<LeaseToken, Arc<Held>>>);

impl Hand {
    fn lock(&self) -> MutexGuard<'_, HashMap<LeaseToken, Arc<Held>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take_up(&self, held: Held) {
        let mut all = self.lock();
        if all.len() >= HELD_MAX {
            all.clear();
        }
        all.insert(held.leased.token, Arc::new(held));
    }

    /// What is known of these, and which are not.
    pub(super) fn find(&self, tokens: &[LeaseToken]) -> (HashMap<LeaseToken, Arc<Held>>, Vec<LeaseToken>) {
        let all = self.lock();
        let (mut held, mut missing) = (HashMap::with_capacity(tokens.len()), Vec::new());
        for token in tokens {
            match all.get(token) {
                Some(known) => drop(held.insert(*token, known.clone())),
                None => missing.push(*token),
            }
        }
        (held, missing)
    }

    pub(super) fn put_down(&self, tokens: &[LeaseToken]) {
        let mut all = self.lock();
        for token in tokens {
            all.remove(token);
        }
    }
}
