//! How fast an analysis goes, and when it will be done.

use std::time::Duration;

use malla_analyze::{Study, StudyState};
use malla_queue::UnixMs;

use super::batches;
use crate::words;

/// Time left is told in steps, so that a live page does not fidget.
const STEP_S: u64 = 5;

/// Until its end, or until now.
pub(super) fn took(now: UnixMs, study: &Study) -> Duration {
    let took = study.created_at.until(study.finished_at.unwrap_or(now));
    if study.state.is_over() { took } else { Duration::from_secs(took.as_secs()) }
}

/// Nothing before the first row.
pub(super) fn rows_a_second(now: UnixMs, study: &Study) -> Option<u64> {
    let seconds = study.created_at.until(study.finished_at.unwrap_or(now)).as_secs_f64();
    (study.lines.read > 0 && seconds > 0.0).then(|| (study.lines.read as f64 / seconds).round() as u64)
}

/// What becomes of it, in a few words.
pub(super) fn told(now: UnixMs, study: &Study) -> String {
    let after = words::lasted(took(now, study));
    match study.state {
        StudyState::Collecting if study.taken == 0 => t!("waiting for its first batch").into(),
        StudyState::Collecting => t!("more batches may come").into(),
        StudyState::Computing if study.is_whole() => t!("making the answers").into(),
        StudyState::Computing => match left(now, study) {
            Some(left) => say!("about {} left", words::lasted(left)),
            None => t!("all batches have come").into(),
        },
        StudyState::Succeeded => say!("took {after}", after),
        StudyState::Failed => say!("failed after {after}", after),
        StudyState::Cancelled => say!("cancelled after {after}", after),
    }
}

/// At the pace of the batches so far.
fn left(now: UnixMs, study: &Study) -> Option<Duration> {
    let left = batches(study).saturating_sub(study.mapped);
    if study.mapped == 0 {
        return None;
    }
    let seconds = study.created_at.until(now).as_secs_f64() * left as f64 / study.mapped as f64;
    Some(Duration::from_secs((seconds.ceil() as u64).div_ceil(STEP_S).saturating_mul(STEP_S).max(STEP_S)))
}

#[cfg(test)]
mod tests {
    use malla_analyze::StudyId;
    use malla_analyze::lines::Lines;
    use malla_queue::TaskId;
    use serde_json::Value;

    use super::*;

    const BEGUN: UnixMs = UnixMs(1_800_000_000_000);

    fn study(state: StudyState, taken: u64, mapped: u64) -> Study {
        Study {
            id: StudyId(TaskId(1)),
            group: None,
            kind: "bike-rides".into(),
            params: Value::Null,
            state,
            created_at: BEGUN,
            changed_at: BEGUN,
            finished_at: state.is_over().then(|| BEGUN.plus(Duration::from_secs(2))),
            expected: (state != StudyState::Collecting).then_some(taken),
            taken,
            mapped,
            bytes: 0,
            waiting_bytes: 0,
            lines: Lines { read: mapped * 1_000, ..Lines::default() },
            why: None,
        }
    }

    #[test]
    fn the_time_left_follows_the_batches_so_far() {
        use StudyState::{Cancelled, Collecting, Computing, Failed, Succeeded};
        for (state, taken, mapped, expected) in [
            (Collecting, 0, 0, "waiting for its first batch"),
            (Collecting, 8, 4, "more batches may come"),
            (Computing, 8, 0, "all batches have come"),
            (Computing, 8, 2, "about 30 s left"),
            (Computing, 8, 7, "about 5 s left"),
            (Computing, 8, 8, "making the answers"),
            (Succeeded, 8, 8, "took 2 s"),
            (Failed, 8, 3, "failed after 2 s"),
            (Cancelled, 8, 3, "cancelled after 2 s"),
        ] {
            let now = BEGUN.plus(Duration::from_secs(10));
            assert_eq!(told(now, &study(state, taken, mapped)), expected, "{state} {mapped}");
        }
    }

    #[test]
    fn the_rate_is_that_of_the_time_it_took() {
        let now = BEGUN.plus(Duration::from_secs(10));
        assert_eq!(rows_a_second(now, &study(StudyState::Computing, 8, 4)), Some(400));
        assert_eq!(rows_a_second(now, &study(StudyState::Succeeded, 8, 4)), Some(2_000));
        assert_eq!(rows_a_second(now, &study(StudyState::Computing, 8, 0)), None);
        assert_eq!(rows_a_second(BEGUN, &study(StudyState::Computing, 8, 4)), None);
    }
}
