//! Numbers, sizes and times in the words of a person.

use std::time::Duration;

use malla_queue::UnixMs;
use maud::{Markup, html};

/// Seconds are told in steps of five, so that a live page does not fidget.
const STEP_S: u64 = 5;
const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// `12,345`
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 task`, `2,000 tasks`
pub(crate) fn counted(n: u64, thing: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{} {thing}{s}", count(n))
}

/// `Discarded`
pub(crate) fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), chars.as_str()))
}

pub(crate) fn bytes(n: usize) -> String {
    match n {
        0..1024 => format!("{n} B"),
        1024..0x10_0000 => format!("{:.1} KiB", n as f64 / 1024.0),
        0x10_0000..0x4000_0000 => format!("{:.1} MiB", n as f64 / f64::from(1 << 20)),
        _ => format!("{:.1} GiB", n as f64 / f64::from(1 << 30)),
    }
}

/// `3 min ago`, `in 2 h`, and the day itself when it is far.
pub(crate) fn relative(now: UnixMs, at: UnixMs) -> String {
    let past = at <= now;
    let seconds = if past { at.until(now) } else { now.until(at) }.as_secs();
    let text = match seconds {
        0..STEP_S => return "now".to_owned(),
        STEP_S..MINUTE => format!("{} s", seconds / STEP_S * STEP_S),
        MINUTE..HOUR => format!("{} min", seconds / MINUTE),
        HOUR..DAY => format!("{} h", seconds / HOUR),
        _ if seconds < 2 * DAY => "1 day".to_owned(),
        _ if seconds <= 30 * DAY => format!("{} days", seconds / DAY),
        _ => return strftime(at, "%Y-%m-%d"),
    };
    if past { format!("{text} ago") } else { format!("in {text}") }
}

/// `2026-01-31 12:00:00.123 UTC`
pub(crate) fn full(at: UnixMs) -> String {
    strftime(at, "%Y-%m-%d %H:%M:%S%.3f UTC")
}

/// As `<input type="datetime-local">` wants it.
pub(crate) fn field(at: UnixMs) -> String {
    strftime(at, "%Y-%m-%dT%H:%M:%S")
}

/// In UTC.
pub(crate) fn strftime(at: UnixMs, format: &str) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(time) => time.strftime(format).to_string(),
        Err(_) => format!("{} ms", at.0),
    }
}

/// A time from a field: `2026-01-31`, `2026-01-31T12:00` (both UTC) or a full timestamp.
pub(crate) fn read_time(text: &str) -> Option<UnixMs> {
    let time = text.parse::<jiff::Timestamp>().ok().or_else(|| {
        let civil = text.parse::<jiff::civil::DateTime>().ok()?;
        Some(civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
    })?;
    Some(UnixMs(time.as_millisecond()))
}

/// A moment as words, with the full time under the pointer.
pub(crate) fn time(now: UnixMs, at: UnixMs) -> Markup {
    html! { time datetime=(strftime(at, "%Y-%m-%dT%H:%M:%S%.3fZ")) title=(full(at)) { (relative(now, at)) } }
}

/// `340 ms`, `1.2 s`, `3 min 4 s`.
pub(crate) fn lasted(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        _ if time < Duration::from_secs(1) => format!("{} ms", time.as_millis()),
        0..MINUTE if time.subsec_millis() < 100 => format!("{seconds} s"),
        0..MINUTE => format!("{seconds}.{} s", time.subsec_millis() / 100),
        MINUTE..HOUR => two(seconds / MINUTE, "min", seconds % MINUTE, "s"),
        HOUR..DAY => two(seconds / HOUR, "h", seconds % HOUR / MINUTE, "min"),
        _ => two(seconds / DAY, "d", seconds % DAY / HOUR, "h"),
    }
}

fn two(large: u64, large_unit: &str, small: u64, small_unit: &str) -> String {
    match small {
        0 => format!("{large} {large_unit}"),
        _ => format!("{large} {large_unit} {small} {small_unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMs = UnixMs(1_700_000_000_000);

    #[test]
    fn moments_are_told_by_their_distance() {
        check(0, "now");
        check(-4, "now");
        check(-14, "10 s ago");
        check(-60, "1 min ago");
        check(-7_200, "2 h ago");
        check(-86_400, "1 day ago");
        check(-3 * 86_400, "3 days ago");
        check(-40 * 86_400, "2023-10-05");
        check(37, "in 35 s");
        check(3_700, "in 1 h");
    }

    fn check(seconds: i64, expected: &str) {
        assert_eq!(relative(NOW, UnixMs(NOW.0 + seconds * 1_000)), expected);
    }

    #[test]
    fn numbers_have_commas_and_sizes_have_units() {
        for (n, expected) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(n), expected);
        }
        assert_eq!((counted(1, "task"), counted(0, "task")), ("1 task".into(), "0 tasks".into()));
        for (n, expected) in [(12, "12 B"), (1_536, "1.5 KiB"), (3 << 20, "3.0 MiB"), (5 << 30, "5.0 GiB")] {
            assert_eq!(bytes(n), expected);
        }
    }

    #[test]
    fn durations_are_told_in_two_units_at_most() {
        for (ms, expected) in
            [(0, "0 ms"), (340, "340 ms"), (1_290, "1.2 s"), (5_000, "5 s"), (184_000, "3 min 4 s"), (7_200_000, "2 h")]
        {
            assert_eq!(lasted(Duration::from_millis(ms)), expected);
        }
    }

    #[test]
    fn times_read_from_fields_are_utc() {
        let noon = Some(UnixMs(1_769_860_800_000));
        for text in ["2026-01-31T12:00", "2026-01-31T12:00:00", "2026-01-31T12:00:00Z", "2026-01-31T14:00:00+02:00"] {
            assert_eq!(read_time(text), noon, "{text}");
        }
        assert_eq!(read_time("2026-01-31"), Some(UnixMs(1_769_817_600_000)));
        assert_eq!(read_time(&field(UnixMs(1_769_860_800_000))), noon);
        assert_eq!(read_time("yesterday"), None);
    }

    #[test]
    fn times_out_of_range_do_not_panic() {
        assert_eq!(full(UnixMs(i64::MAX)), format!("{} ms", i64::MAX));
    }
}
