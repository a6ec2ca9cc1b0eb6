//! How a medic waits before it starts a process again: longer each time, and not without end.

use std::collections::VecDeque;
use std::time::Duration;

use malla_queue::UnixMs;

/// The first wait; each further one is twice as long.
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);
/// A process that ran for this long starts with a clean record.
const STEADY: Duration = Duration::from_secs(60);
/// As many restarts within the window as this, and the medic rests for as long as the window is.
const BUDGET: usize = 10;
const WINDOW: Duration = Duration::from_secs(600);

/// What to do with a process that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Start it again after this.
    After(Duration),
    /// It ends again and again. Somebody should look; it is tried again after this.
    GiveUpFor(Duration),
}

/// The record of one place for a process.
#[derive(Debug, Default)]
pub struct Patience {
    /// Ends within the window.
    ends: VecDeque<UnixMs>,
    in_a_row: u32,
}

impl Patience {
    /// It ended now and had been started at `started_at`.
    pub fn ended(&mut self, started_at: UnixMs, now: UnixMs) -> Verdict {
        if started_at.until(now) >= STEADY {
            self.in_a_row = 0;
        }
        self.in_a_row += 1;
        self.ends.push_back(now);
        while self.ends.front().is_some_and(|end| end.until(now) > WINDOW) {
            self.ends.pop_front();
        }
        if self.ends.len() > BUDGET {
            self.ends.clear();
            self.in_a_row = 0;
            return Verdict::GiveUpFor(WINDOW);
        }
        let doublings = (self.in_a_row - 1).min(16);
        Verdict::After((FIRST * 2_u32.pow(doublings)).min(LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_a_steady_run_clears_the_record() {
        let mut patience = Patience::default();
        let mut now = UnixMs(0);
        let mut waits = Vec::new();
        for _ in 0..8 {
            let Verdict::After(wait) = patience.ended(now, now) else { panic!("too early") };
            waits.push(wait.as_millis());
            now = now.plus(wait);
        }
        assert_eq!(waits, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
        let ended = now.plus(STEADY);
        assert_eq!(patience.ended(now, ended), Verdict::After(FIRST));
    }

    #[test]
    fn the_budget_ends() {
        let mut patience = Patience::default();
        let verdicts: Vec<_> = (0..=BUDGET).map(|n| patience.ended(UnixMs(0), UnixMs(n as i64 * 1_000))).collect();
        assert_eq!(verdicts.last(), Some(&Verdict::GiveUpFor(WINDOW)));
        assert!(verdicts[..BUDGET].iter().all(|verdict| matches!(verdict, Verdict::After(_))));
        // Afterwards it has its chances again.
        let later = UnixMs(0).plus(WINDOW * 2);
        assert_eq!(patience.ended(later, later), Verdict::After(FIRST));
    }
}
