//! When a study cannot end by itself: the same on both stores.

use std::time::Duration;

use malla_analyze::{Keep, Study, StudyState};
use malla_queue::UnixMs;

/// Whether to look for a task of the study that came to a bad end: one of its lane did, or nothing has happened for long.
pub(crate) fn is_suspect(study: &Study, bad_tasks: bool, keep: &Keep, now: UnixMs) -> bool {
    bad_tasks || is_idle(study, keep, now)
}

/// Why the study is to end now: with what state, in which words. `bad` is the kind of a task without which it cannot go on
/// and that will not be done.
pub(crate) fn end(study: &Study, bad: Option<&str>, keep: &Keep, now: UnixMs) -> Option<(StudyState, String)> {
    if study.state.is_over() {
        return None;
    }
    if let Some(kind) = bad {
        return Some((StudyState::Failed, format!("a task of it failed or was discarded: {kind}")));
    }
    let silent = study.state == StudyState::Collecting && is_idle(study, keep, now);
    silent.then(|| (StudyState::Cancelled, format!("nothing came for {}", words(keep.idle_for))))
}

fn is_idle(study: &Study, keep: &Keep, now: UnixMs) -> bool {
    study.changed_at.plus(keep.idle_for) <= now
}

fn words(time: Duration) -> String {
    let (hours, minutes) = (time.as_secs() / 3_600, time.as_secs() / 60);
    match (hours, minutes) {
        (0, 0) => format!("{} seconds", time.as_secs()),
        (0, 1) => "1 minute".to_owned(),
        (0, minutes) => format!("{minutes} minutes"),
        (1, _) => "1 hour".to_owned(),
        (hours, _) => format!("{hours} hours"),
    }
}
