//! What an answer means for a notification.

use std::time::{Duration, UNIX_EPOCH};

use malla_queue::UnixMs;

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
        429 | 503 => match header("retry-after").and_then(|text| retry_after(text, now)) {
            Some(wait) => Judgement::Wait(wait, format!("{said} and asked to wait {} s", wait.as_secs())),
            None => Judgement::Again(said.to_owned()),
        },
        _ => Judgement::Again(said.to_owned()),
    }
}

/// Seconds, or a date. No wait at all is no wish: then the subscription's delays decide.
fn retry_after(text: &str, now: UnixMs) -> Option<Duration> {
    let text = text.trim();
    let wait = if text.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty() {
        Duration::from_secs(text.parse().unwrap_or(u64::MAX))
    } else {
        let at = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
        now.until(UnixMs(0).plus(at))
    };
    (!wait.is_zero()).then(|| wait.min(WAIT_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMs = UnixMs(784_111_777_000); // Sun, 06 Nov 1994 08:49:37 GMT

    #[test]
    fn a_wait_is_seconds_or_a_date() {
        check("120", Some(120));
        check(" 7 ", Some(7));
        check("Sun, 06 Nov 1994 08:50:37 GMT", Some(60));
        check("Sunday, 06-Nov-94 08:50:37 GMT", Some(60));
        check("999999999", Some(86_400));
        check("99999999999999999999999999", Some(86_400));
        check("Sat, 06 Nov 2094 08:50:37 GMT", Some(86_400));
        check("0", None);
        check("Sun, 06 Nov 1994 08:00:00 GMT", None);
        check("-1", None);
        check("", None);
        check("soon", None);
    }

    fn check(text: &str, wait_s: Option<u64>) {
        assert_eq!(retry_after(text, NOW), wait_s.map(Duration::from_secs), "{text}");
    }
}
