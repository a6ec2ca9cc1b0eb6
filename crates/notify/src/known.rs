//! What was read from the store and is still true: things by name, forgotten whenever anything may have changed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use malla_queue::Arrivals;

pub(crate) struct Known<T> {
    changes: Arrivals,
    max: usize,
    kept: Mutex<Kept<T>>,
}

struct Kept<T> {
    /// The number of changes at which all of this was true.
    at: u64,
    by_name: HashMap<String, Arc<T>>,
}

impl<T> Known<T> {
    pub(crate) fn new(changes: Arrivals, max: usize) -> Self {
        let at = *changes.borrow();
        Self { changes, max, kept: Mutex::new(Kept { at, by_name: HashMap::new() }) }
    }

    /// What is known by this name, or the number of changes to give to [`Known::keep`] with what is read now.
    pub(crate) fn get(&self, name: &str) -> Result<Arc<T>, u64> {
        let now = *self.changes.borrow();
        let mut kept = self.lock();
        if kept.at != now {
            kept.at = now;
            kept.by_name.clear();
        }
        kept.by_name.get(name).cloned().ok_or(now)
    }

    /// Keeps what was read at `at`, unless something has changed since.
    pub(crate) fn keep(&self, name: &str, at: u64, value: T) -> Arc<T> {
        let value = Arc::new(value);
        let mut kept = self.lock();
        if kept.at == at {
            if kept.by_name.len() >= self.max {
                kept.by_name.clear();
            }
            kept.by_name.insert(name.to_owned(), value.clone());
        }
        value
    }

    /// For when it turned out to be old before the change was announced.
    pub(crate) fn forget(&self, name: &str) {
        self.lock().by_name.remove(name);
    }

    fn lock(&self) -> MutexGuard<'_, Kept<T>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_forgets_everything_and_what_was_read_before_it() {
        let (tick, changes) = tokio::sync::watch::channel(7);
        let known = Known::new(changes, 2);
        let at = known.get("a").expect_err("nothing yet");
        known.keep("a", at, 1);
        assert_eq!(known.get("a").as_deref(), Ok(&1));
        let at = known.get("b").expect_err("not b");
        tick.send(8).expect("a listener");
        let now = known.get("a").expect_err("forgotten");
        known.keep("b", at, 2);
        assert_eq!(known.get("b"), Err(now));
    }

    #[test]
    fn it_never_holds_more_than_its_limit() {
        let (_tick, changes) = tokio::sync::watch::channel(0);
        let known = Known::new(changes, 2);
        for name in ["a", "b", "c"] {
            known.keep(name, 0, name.to_owned());
        }
        assert_eq!(known.lock().by_name.len(), 1);
        known.forget("c");
        assert!(known.get("c").is_err());
    }
}
