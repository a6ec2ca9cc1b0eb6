//! Analyses and their batches as they travel.

use malla_analyze::lines::BadLine;
use malla_analyze::{KnownBatch, Study, StudyState};
use malla_protocol as wire;
use malla_queue::UnixMs;

use super::{GroupNames, time};

pub(crate) fn analysis(study: Study, names: &GroupNames, now: UnixMs) -> wire::Analysis {
    wire::Analysis {
        id: study.id.to_string(),
        group: names.name(study.group),
        state: state(study.state),
        created_at: time(study.created_at),
        finished_at: study.finished_at.map(time),
        batches: wire::BatchCounts { expected: study.expected, taken: study.taken, mapped: study.mapped },
        rows: study.lines.read,
        bad_lines: study.lines.bad,
        rows_per_s: rows_per_s(&study, now),
        left_s: left_s(&study, now),
        bad_samples: study.lines.samples.into_iter().map(bad_line).collect(),
        bytes: study.bytes,
        kind: study.kind,
        params: study.params,
        why: study.why,
    }
}

fn state(state: StudyState) -> wire::AnalysisState {
    match state {
        StudyState::Collecting => wire::AnalysisState::Collecting,
        StudyState::Computing => wire::AnalysisState::Computing,
        StudyState::Succeeded => wire::AnalysisState::Succeeded,
        StudyState::Failed => wire::AnalysisState::Failed,
        StudyState::Cancelled => wire::AnalysisState::Cancelled,
    }
}

fn bad_line(line: BadLine) -> wire::BadLine {
    let BadLine { batch, line, why, text } = line;
    wire::BadLine { batch, line, why, text }
}

/// How long it has been under way, or was.
fn age_ms(study: &Study, now: UnixMs) -> u64 {
    let until = study.finished_at.unwrap_or(now);
    u64::try_from(until.0.saturating_sub(study.created_at.0)).unwrap_or(0).max(1)
}

fn rows_per_s(study: &Study, now: UnixMs) -> u64 {
    study.lines.read.saturating_mul(1_000) / age_ms(study, now)
}

/// At the pace of all batches so far; to the second above.
pub(crate) fn left_s(study: &Study, now: UnixMs) -> Option<u64> {
    let left = study.expected?.saturating_sub(study.mapped);
    if study.state != StudyState::Computing || study.mapped == 0 {
        return None;
    }
    Some((age_ms(study, now).saturating_mul(left) / study.mapped).div_ceil(1_000))
}

pub(crate) fn batch(batch: KnownBatch) -> wire::TakenBatch {
    let KnownBatch { key, hash, mapped, .. } = batch;
    wire::TakenBatch { input: key.input, city: key.part, seq: key.seq, hash: hash.to_string(), mapped }
}

#[cfg(test)]
mod tests {
    use malla_analyze::{StudyId, lines::Lines};
    use malla_queue::TaskId;
    use serde_json::Value;

    use super::*;

    fn study(state: StudyState, expected: Option<u64>, mapped: u64) -> Study {
        Study {
            id: StudyId(TaskId(1)),
            group: None,
            kind: "bike-rides".into(),
            params: Value::Null,
            state,
            created_at: UnixMs(1_000),
            changed_at: UnixMs(1_000),
            finished_at: state.is_over().then_some(UnixMs(3_000)),
            expected,
            taken: 10,
            mapped,
            bytes: 0,
            waiting_bytes: 0,
            lines: Lines { read: 600, ..Lines::default() },
            why: None,
        }
    }

    #[test]
    fn the_pace_so_far_tells_how_long_it_takes() {
        let now = UnixMs(5_000);
        for (state, expected, mapped, left) in [
            (StudyState::Collecting, None, 4, None),
            (StudyState::Computing, Some(10), 0, None),
            (StudyState::Computing, Some(10), 4, Some(6)),
            (StudyState::Computing, Some(10), 9, Some(1)),
            (StudyState::Computing, Some(10), 10, Some(0)),
            (StudyState::Failed, Some(10), 4, None),
        ] {
            assert_eq!(left_s(&study(state, expected, mapped), now), left, "{state} {mapped}");
        }
        assert_eq!(rows_per_s(&study(StudyState::Computing, None, 1), now), 150);
        assert_eq!(rows_per_s(&study(StudyState::Succeeded, None, 1), now), 300, "up to its end");
        assert_eq!(rows_per_s(&study(StudyState::Collecting, None, 1), UnixMs(1_000)), 600_000, "at once");
    }
}
