//! How fast an extraction goes, and when it will be done.

use std::time::Duration;

use malla_queue::UnixMs;
use malla_wiki::{Extraction, ExtractionState};
use maud::Markup;

use crate::{parts, words};

/// Time left is told in steps, so that a live page does not fidget.
const STEP_S: u64 = 5;

/// What becomes of it, in a few words.
pub(super) fn told(now: UnixMs, extraction: &Extraction) -> String {
    let after = || words::lasted(took(now, extraction));
    match extraction.state {
        ExtractionState::Pending => t!("waiting for the wiki's first answer").into(),
        ExtractionState::InProgress => under_way(now, extraction).unwrap_or_else(|| t!("just begun").into()),
        ExtractionState::Succeeded => say!("took {}", after()),
        ExtractionState::Failed => say!("failed after {}", after()),
    }
}

/// Until its end, or until now.
pub(super) fn took(now: UnixMs, extraction: &Extraction) -> Duration {
    let took = extraction.asked_at.until(extraction.finished_at.unwrap_or(now));
    if extraction.state.is_over() { took } else { Duration::from_secs(took.as_secs()) }
}

/// `48 revisions a second, about 25 s left`
fn under_way(now: UnixMs, extraction: &Extraction) -> Option<String> {
    let counts = &extraction.counts;
    let seconds = extraction.started_at?.until(now).as_secs_f64();
    if counts.done == 0 || seconds < 1.0 {
        return None;
    }
    let rate = counts.done as f64 / seconds;
    let told = match rate {
        rate if rate >= 10.0 => say!("{} revisions a second", words::count(rate.round() as u64)),
        rate if rate >= 1.0 => say!("{} revisions a second", words::decimal(rate, 1)),
        rate => say!("{} revisions a minute", words::decimal(rate * 60.0, 1)),
    };
    let left = counts.total.and_then(|total| total.checked_sub(counts.done)).filter(|left| *left > 0);
    Some(match left {
        Some(left) => {
            let seconds = (left as f64 / rate).ceil() as u64;
            let left = Duration::from_secs(seconds.div_ceil(STEP_S).saturating_mul(STEP_S));
            say!("{told}, about {} left", told, words::lasted(left))
        }
        None => told,
    })
}

/// `150 of 1,200`
pub(super) fn so_far(extraction: &Extraction) -> String {
    let done = words::count(extraction.counts.done);
    extraction.counts.total.map_or(done.clone(), |total| say!("{done} of {}", done, words::count(total)))
}

pub(super) fn bar(extraction: &Extraction) -> Markup {
    let counts = &extraction.counts;
    let total = counts.total.unwrap_or(counts.done).max(counts.done);
    let left = total - counts.done;
    let left = match extraction.state {
        ExtractionState::Failed => ("failed", t!("not read"), left.max(u64::from(counts.done == 0))),
        state if state.is_over() => ("discarded", t!("not read"), left),
        _ => ("queued", t!("to be read"), left),
    };
    parts::stacked(&[("succeeded", t!("read"), counts.done), left], total)
}

#[cfg(test)]
mod tests {
    use malla_queue::TaskId;
    use malla_wiki::{Counts, ExtractionId};

    use super::*;

    const ASKED: UnixMs = UnixMs(1_800_000_000_000);

    fn extraction(state: ExtractionState, done: u64, total: Option<u64>) -> Extraction {
        Extraction {
            id: ExtractionId(TaskId(1)),
            group: None,
            asked: "Sparrow".into(),
            state,
            wiki: None,
            pageid: None,
            title: None,
            counts: Counts { done, total, ..Counts::default() },
            note: None,
            asked_at: ASKED,
            started_at: (state != ExtractionState::Pending).then_some(ASKED),
            changed_at: ASKED,
            finished_at: state.is_over().then(|| ASKED.plus(Duration::from_secs(2))),
        }
    }

    #[test]
    fn the_time_left_follows_the_revisions_so_far() {
        use ExtractionState::{Failed, InProgress, Pending, Succeeded};
        for (state, done, total, expected) in [
            (Pending, 0, None, "waiting for the wiki's first answer"),
            (InProgress, 0, Some(100), "just begun"),
            (InProgress, 500, Some(2_000), "50 revisions a second, about 30 s left"),
            (InProgress, 20, Some(21), "2.0 revisions a second, about 5 s left"),
            (InProgress, 5, None, "30.0 revisions a minute"),
            (InProgress, 500, Some(500), "50 revisions a second"),
            (Succeeded, 8, Some(8), "took 2 s"),
            (Failed, 0, None, "failed after 2 s"),
        ] {
            let now = ASKED.plus(Duration::from_secs(10));
            assert_eq!(told(now, &extraction(state, done, total)), expected, "{done} of {total:?}");
        }
    }

    #[test]
    fn a_bar_never_has_more_than_the_whole() {
        for (done, total) in [(0, None), (3, None), (5, Some(4)), (5, Some(10)), (0, Some(0))] {
            for state in ExtractionState::ALL {
                let text = bar(&extraction(state, done, total)).into_string();
                assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
            }
        }
        let text = bar(&extraction(ExtractionState::InProgress, 5, Some(10))).into_string();
        assert!(text.contains("5 read, 5 to be read"), "{text}");
    }
}
