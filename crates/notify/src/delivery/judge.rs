//! What an answer means for a notification.

use std::time::Duration;

use malla_queue::UnixMs;
use malla_reach::retry_after;

use super::answer::Answer;

/// No target rests its lane for longer.
const WAIT_MAX: Duration = Duration::from_secs(24 * 3_600);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Judgement {
    Done,
    /// Taken, and its word will follow.
    Accepted,
    /// The target wants nothing more, ever.
    Gone(String),
    /// The target said when to come back.
    Wait(Duration, String),
    /// By the subscription's delays.
    Again(String),
}

pub(crate) fn judge(answer: &Answer, now: UnixMs) -> Judgement {
    let said = format!("the target answered {} {}", answer.status, answer.reason);
    let said = said.trim_end();
    let header = |name: &str| answer.headers.get(name).map(String::as_str);
    match answer.status {
        202 => Judgement::Accepted,
        200..=299 => Judgement::Done,
        300..=399 => {
            let to = header("location").map_or(String::new(), |to| format!(" ({to})"));
            Judgement::Again(format!("{said}{to}: redirects are not followed, so give the final address as the target"))
        }
        410 => Judgement::Gone(format!("{said}: it wants no more, so the subscription was disabled")),
        429 | 503 => match header("retry-after").and_then(|text| retry_after(text, now, WAIT_MAX)) {
            Some(wait) => Judgement::Wait(wait, format!("{said} and asked to wait {} s", wait.as_secs())),
            None => Judgement::Again(said.to_owned()),
        },
        _ => Judgement::Again(said.to_owned()),
    }
}
