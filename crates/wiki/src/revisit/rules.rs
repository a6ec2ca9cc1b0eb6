//! The rules, on what is known of a page.

use crate::page::{Page, Pulse};

const HOUR_MS: f64 = 3_600_000.0;
/// What a page is taken to be like before anything is known of it: one edit in some weeks.
const PRIOR_EDITS: f64 = 0.5;
const PRIOR_HOURS: f64 = 24.0 * 20.0;
/// Edits come in company: this many more are expected while the time since the last one doubles, from this time on.
const COMPANY_EDITS: f64 = 0.25;
const COMPANY_HOURS: f64 = 2.0;

/// What is known of a page when it is decided about, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// Of its newest revisions known; `None` if there are none.
    pub pulse: Option<Pulse>,
    /// When it was last looked at.
    pub visited_at: i64,
}

impl Seen {
    pub fn of(page: &Page) -> Self {
        let newest = page.newest.map(|mark| Pulse { edits: 1, first: mark.at, last: mark.at });
        let pulse = page.pulse.or(newest);
        let since = page.visited_at.or(page.newest.map(|mark| mark.at)).unwrap_or(page.first_extraction);
        Self { pulse, visited_at: since.0 }
    }
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

/// How much there is to gain by looking now: λτ², where τ is the time since the last visit and λ the edits expected in an
/// hour. What was last seen long ago and changes often comes first, and no page is ever forgotten.
///
/// λ is told by the newest edits over the whole time up to now, so that a page that fell silent is not taken for a busy one
/// for ever, with a little of what a page is like in general. It is higher if the last visit found an edit of just then.
pub fn urgency(now: i64, seen: Seen) -> f64 {
    let hours = |from: i64| (now - from).max(0) as f64 / HOUR_MS;
    let since_visit = hours(seen.visited_at);
    let usual = match seen.pulse {
        Some(pulse) => (pulse.edits as f64 + PRIOR_EDITS) / (hours(pulse.first.0) + PRIOR_HOURS),
        None => PRIOR_EDITS / PRIOR_HOURS,
    };
    let quiet = |pulse: Pulse| (seen.visited_at - pulse.last.0).max(0) as f64 / HOUR_MS;
    let company = seen.pulse.map_or(0.0, |pulse| COMPANY_EDITS / (quiet(pulse) + COMPANY_HOURS));
    (usual + company) * since_visit * since_visit
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

    #[test]
    fn urgency_grows_with_edits_and_with_the_square_of_the_time() {
        let at =
            |now_h: i64, pulse, visited_h: i64| urgency(now_h * HOUR, Seen { pulse, visited_at: visited_h * HOUR });
        let (busy, quiet) = (pulse(20, 0, 900), pulse(2, 0, 900));
        assert!(at(1_000, busy, 950) > at(1_000, quiet, 950));
        assert!(at(1_000, quiet, 500) > at(1_000, quiet, 950));
        assert!(at(1_000, quiet, 100) > at(1_000, busy, 990), "a quiet page that waits long enough is next");
        assert_eq!(at(1_000, busy, 1_000), 0.0);
        assert!(at(1_000, None, 900) > 0.0, "a page of which nothing is known is not forgotten");
        // Found changed a moment before the visit, and found quiet.
        assert!(at(1_000, pulse(20, 0, 949), 950) > at(1_000, pulse(20, 0, 700), 950));
        // Busy once, and silent since: less and less.
        assert!(at(10_100, busy, 10_000) < at(1_100, busy, 1_000));
    }
}
