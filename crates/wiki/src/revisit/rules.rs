//! The rules, on what is known of a page.

use malla_pulse::{Pulse, Seen};

use crate::page::Page;

/// What is known of a page when it is decided about.
pub(crate) fn seen(page: &Page) -> Seen {
    let newest = page.newest.map(|mark| Pulse { edits: 1, first: mark.at, last: mark.at });
    let pulse = page.pulse.or(newest);
    let since = page.visited_at.or(page.newest.map(|mark| mark.at)).unwrap_or(page.first_extraction);
    Seen { pulse, visited_at: since.0 }
}

/// How many of a page's newest revisions say how often it changes.
pub fn pulse_length(revisions: usize) -> usize {
    (revisions / 10).max(20).min(revisions)
}

/// The original rule: the silence since the last revision known exceeds 1/λ, with λ = n/(t1−t0).
pub fn original_is_due(now: i64, pulse: Option<Pulse>) -> bool {
    let Some(Pulse { edits, first, last }) = pulse else { return true };
    let between = (last.0 - first.0) as f64 / edits.max(1) as f64;
    (now - last.0) as f64 > between
}

#[cfg(test)]
mod tests {
    use malla_queue::UnixMs;

    use super::*;

    const HOUR: i64 = 3_600_000;

    fn pulse(edits: u64, first_h: i64, last_h: i64) -> Option<Pulse> {
        Some(Pulse { edits, first: UnixMs(first_h * HOUR), last: UnixMs(last_h * HOUR) })
    }

    #[test]
    fn a_pulse_is_a_tenth_of_all_but_twenty_at_least() {
        for (revisions, length) in [(0, 0), (1, 1), (19, 19), (20, 20), (200, 20), (201, 20), (210, 21), (5_000, 500)] {
            assert_eq!(pulse_length(revisions), length, "{revisions}");
        }
    }

    #[test]
    fn the_original_waits_for_a_silence_of_the_mean_time_between_edits() {
        // 20 edits in 100 hours: one in five.
        for (now_h, pulse, due) in [
            (105, pulse(20, 0, 100), false),
            (106, pulse(20, 0, 100), true),
            (100, pulse(20, 0, 100), false),
            // All at one time, or nothing known: always.
            (101, pulse(3, 100, 100), true),
            (100, pulse(3, 100, 100), false),
            (100, None, true),
        ] {
            assert_eq!(original_is_due(now_h * HOUR, pulse), due, "{now_h} {pulse:?}");
        }
    }
}
