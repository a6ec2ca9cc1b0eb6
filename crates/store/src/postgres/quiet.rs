//! A moment of quiet: a node that is about to change the schema asks the others to begin no transaction meanwhile, since
//! one that holds a part of what it wants to lock and waits for another part undoes it. Asked for and ended by a
//! notification, so it is never the truth: who misses it works on, and who never hears its end goes on by itself.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// What the others are told, as if it were a room: a version that does not know these words has no such room.
pub(super) const ASKED: &str = "quiet, please";
pub(super) const OVER: &str = "thank you";
/// Longer than a migration that only adds takes, shorter than anybody waits for an answer.
pub(super) const QUIET_MAX: Duration = Duration::from_secs(2);

/// Until when nothing is to be begun.
#[derive(Clone)]
pub(super) struct Quiet(watch::Sender<Option<Instant>>);

impl Quiet {
    pub(super) fn new() -> Self {
        Self(watch::channel(None).0)
    }

    /// Whether this is about quiet; if so, it is kept from now on, or no more.
    pub(super) fn hears(&self, told: &str) -> bool {
        let until = match told {
            ASKED => Some(Instant::now() + QUIET_MAX),
            OVER => None,
            _ => return false,
        };
        self.0.send_replace(until);
        true
    }

    /// Returns when a transaction may begin.
    pub(super) async fn ends(&self) {
        let Some(until) = *self.0.borrow() else { return };
        let mut told = self.0.subscribe();
        let _ = timeout_at(until, told.wait_for(Option::is_none)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_longer_than_was_asked_for() {
        let quiet = Quiet::new();
        let began = Instant::now();
        quiet.ends().await;
        assert_eq!(began.elapsed(), Duration::ZERO, "nobody asked");
        assert!(quiet.hears(ASKED));
        quiet.ends().await;
        assert_eq!(began.elapsed().as_secs(), QUIET_MAX.as_secs(), "nobody said that it is over");
        assert!(quiet.hears(ASKED));
        let (waiting, began) = (quiet.clone(), Instant::now());
        let waits = tokio::spawn(async move { waiting.ends().await });
        tokio::task::yield_now().await;
        assert!(quiet.hears(OVER));
        waits.await.expect("it goes on");
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(!quiet.hears("notify"));
    }
}
