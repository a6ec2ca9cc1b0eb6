//! How often something changes, told by the changes that were seen, and when to look again: what rooms that visit the same
//! things again and again share. Pure functions; times are milliseconds since 1970.

use malla_queue::UnixMs;
use serde::{Deserialize, Serialize};

const HOUR_MS: f64 = 3_600_000.0;
/// What is taken to be so before anything is known: one change in some weeks.
const PRIOR_EDITS: f64 = 0.5;
const PRIOR_HOURS: f64 = 24.0 * 20.0;
/// Changes come in company: this many more are expected while the time since the last one doubles, from this time on.
const COMPANY_EDITS: f64 = 0.25;
const COMPANY_HOURS: f64 = 2.0;

/// How often something changes, from its newest changes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pulse {
    pub edits: u64,
    /// The oldest and the newest of them.
    pub first: UnixMs,
    pub last: UnixMs,
}

/// What is known when it is decided about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// Of its newest changes known; `None` if there are none.
    pub pulse: Option<Pulse>,
    /// When it was last looked at.
    pub visited_at: i64,
}

/// λ: the changes expected in an hour.
///
/// It is told by the newest changes over the whole time up to now, so that what fell silent is not taken for busy for ever,
/// with a little of what things are like in general. It is higher if the last visit found a change of just then.
pub fn rate(now: i64, seen: Seen) -> f64 {
    let hours = |from: i64| (now - from).max(0) as f64 / HOUR_MS;
    let usual = match seen.pulse {
        Some(pulse) => (pulse.edits as f64 + PRIOR_EDITS) / (hours(pulse.first.0) + PRIOR_HOURS),
        None => PRIOR_EDITS / PRIOR_HOURS,
    };
    let quiet = |pulse: Pulse| (seen.visited_at - pulse.last.0).max(0) as f64 / HOUR_MS;
    let company = seen.pulse.map_or(0.0, |pulse| COMPANY_EDITS / (quiet(pulse) + COMPANY_HOURS));
    usual + company
}

/// How much there is to gain by looking now: λτ², where τ is the time since the last visit. What was last seen long ago and
/// changes often comes first, and nothing is ever forgotten.
pub fn urgency(now: i64, seen: Seen) -> f64 {
    let since_visit = (now - seen.visited_at).max(0) as f64 / HOUR_MS;
    rate(now, seen) * since_visit * since_visit
}

/// How much of a shared budget something takes: √λ. See [`interval_h`].
pub fn weight(rate: f64) -> f64 {
    rate.max(0.0).sqrt()
}

/// The hours between two visits, if all visit what is most urgent first and make `visits_per_hour` together.
///
/// To visit by the order of λτ² is to visit each when its λτ² reaches one and the same θ, that is every τ = √(θ/λ). So many
/// visits an hour are Σ√(λ/θ), and that is the budget B if √θ = Σ√λ / B. Hence τ = Σ√λ / (B √λ): nobody needs to compare
/// anything with anything else to keep to the order.
pub fn interval_h(weight: f64, weights: f64, visits_per_hour: f64) -> f64 {
    weights.max(weight) / (visits_per_hour.max(f64::MIN_POSITIVE) * weight.max(f64::MIN_POSITIVE))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    fn pulse(edits: u64, first_h: i64, last_h: i64) -> Option<Pulse> {
        Some(Pulse { edits, first: UnixMs(first_h * HOUR), last: UnixMs(last_h * HOUR) })
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

    #[test]
    fn intervals_keep_to_the_budget_and_to_the_order() {
        let rates = [4.0, 1.0, 0.25, 0.01];
        let weights: f64 = rates.iter().map(|rate| weight(*rate)).sum();
        let every: Vec<f64> = rates.iter().map(|rate| interval_h(weight(*rate), weights, 10.0)).collect();
        let visits: f64 = every.iter().map(|hours| 1.0 / hours).sum();
        assert!((visits - 10.0).abs() < 1e-9, "{visits} visits an hour");
        let urgencies: Vec<f64> = rates.iter().zip(&every).map(|(rate, hours)| rate * hours * hours).collect();
        assert!(urgencies.iter().all(|urgency| (urgency - urgencies[0]).abs() < 1e-9), "{urgencies:?}");
        assert!(every.is_sorted(), "what changes more is visited more");
    }
}
