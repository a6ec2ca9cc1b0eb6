//! Numbers, sizes and times in the words of a person, as their language writes them.

use std::time::Duration;

use malla_queue::UnixMs;
use maud::{Markup, html};

use crate::tongue::{Lang, Noun, Text};

/// Seconds are told in steps of five, so that a live page does not fidget.
const STEP_S: u64 = 5;
const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The days of the week, Monday first.
pub(crate) const DAYS: [Text; 7] =
    [key!("Mon"), key!("Tue"), key!("Wed"), key!("Thu"), key!("Fri"), key!("Sat"), key!("Sun")];
const MONTHS: [Text; 12] = [
    key!("Jan"),
    key!("Feb"),
    key!("Mar"),
    key!("Apr"),
    key!("May"),
    key!("Jun"),
    key!("Jul"),
    key!("Aug"),
    key!("Sep"),
    key!("Oct"),
    key!("Nov"),
    key!("Dec"),
];

/// `12,345`; in Spanish `12.345`, and four digits stay together.
pub(crate) fn count(n: u64) -> String {
    let (mark, least) = match Lang::now() {
        Lang::English => (',', 4),
        Lang::Spanish => ('.', 5),
    };
    let digits = n.to_string();
    if digits.len() < least {
        return digits;
    }
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(mark);
        }
        text.push(digit);
    }
    text
}

/// `3.14`; in Spanish `3,14`.
pub(crate) fn decimal(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    match Lang::now() {
        Lang::English => text,
        Lang::Spanish => text.replace('.', ","),
    }
}

/// With so many digits at most.
pub(crate) fn short_decimal(value: f64, digits: usize) -> String {
    let text = decimal(value, digits);
    if digits == 0 { text } else { text.trim_end_matches('0').trim_end_matches(['.', ',']).to_owned() }
}

/// A count on an axis: in full while it is short.
pub(crate) fn on_axis(value: f64) -> String {
    match value {
        _ if value >= 1e6 => format!("{} M", decimal(value / 1e6, 1)),
        _ if value >= 1e4 => format!("{} k", decimal(value / 1e3, 0)),
        _ => decimal(value, usize::from(value.fract() != 0.0)),
    }
}

/// `1 task`, `2,000 tasks`
pub(crate) fn counted(n: u64, thing: Noun) -> String {
    format!("{} {}", count(n), if n == 1 { thing.one.get() } else { thing.many.get() })
}

/// `Discarded`
pub(crate) fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), chars.as_str()))
}

pub(crate) fn bytes(n: usize) -> String {
    match n {
        0..1024 => format!("{n} B"),
        1024..0x10_0000 => format!("{} KiB", decimal(n as f64 / 1024.0, 1)),
        0x10_0000..0x4000_0000 => format!("{} MiB", decimal(n as f64 / f64::from(1 << 20), 1)),
        _ => format!("{} GiB", decimal(n as f64 / f64::from(1 << 30), 1)),
    }
}

/// `3 min ago`, `in 2 h`, and the day itself when it is far.
pub(crate) fn relative(now: UnixMs, at: UnixMs) -> String {
    let past = at <= now;
    let seconds = if past { at.until(now) } else { now.until(at) }.as_secs();
    let text = match seconds {
        0..STEP_S => return t!("now").to_owned(),
        STEP_S..MINUTE => format!("{} s", seconds / STEP_S * STEP_S),
        MINUTE..HOUR => format!("{} min", seconds / MINUTE),
        HOUR..DAY => format!("{} h", seconds / HOUR),
        _ if seconds <= 30 * DAY => counted!(seconds / DAY, "day", "days"),
        _ => return date(at),
    };
    if past { say!("{} ago", text) } else { say!("in {}", text) }
}

/// `2026-01-31`; in Spanish `31/01/2026`.
pub(crate) fn date(at: UnixMs) -> String {
    strftime(at, of_lang("%Y-%m-%d", "%d/%m/%Y"))
}

/// `2026-01-31 12:00`: a history is read by its dates.
pub(crate) fn minute(at: UnixMs) -> String {
    strftime(at, of_lang("%Y-%m-%d %H:%M", "%d/%m/%Y %H:%M"))
}

/// `2026-01-31 12:00:00 UTC`
pub(crate) fn second(at: UnixMs) -> String {
    strftime(at, of_lang("%Y-%m-%d %H:%M:%S UTC", "%d/%m/%Y %H:%M:%S UTC"))
}

/// `2026-01-31 12:00:00.123 UTC`
pub(crate) fn full(at: UnixMs) -> String {
    strftime(at, of_lang("%Y-%m-%d %H:%M:%S%.3f UTC", "%d/%m/%Y %H:%M:%S%.3f UTC"))
}

fn of_lang(english: &'static str, spanish: &'static str) -> &'static str {
    Text::new(english, spanish).get()
}

/// As `<input type="datetime-local">` wants it.
pub(crate) fn field(at: UnixMs) -> String {
    strftime(at, "%Y-%m-%dT%H:%M:%S")
}

/// In UTC; the names of days and months in the language of the page.
pub(crate) fn strftime(at: UnixMs, format: &str) -> String {
    let Ok(time) = jiff::Timestamp::from_millisecond(at.0) else { return format!("{} ms", at.0) };
    let date = time.to_zoned(jiff::tz::TimeZone::UTC).date();
    let day = usize::try_from(date.weekday().to_monday_zero_offset()).unwrap_or(0);
    let month = usize::try_from(date.month() - 1).unwrap_or(0);
    let format = format.replace("%a", DAYS[day].get()).replace("%b", MONTHS[month].get());
    time.strftime(&format).to_string()
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
        0..MINUTE => {
            format!("{} s", decimal(f64::from(u32::try_from(time.as_millis() / 100).unwrap_or(u32::MAX)) / 10.0, 1))
        }
        MINUTE..HOUR => two(seconds / MINUTE, "min", seconds % MINUTE, "s"),
        HOUR..DAY => two(seconds / HOUR, "h", seconds % HOUR / MINUTE, "min"),
        _ => two(seconds / DAY, "d", seconds % DAY / HOUR, "h"),
    }
}

/// `5 minutes`: in the largest unit that says it exactly.
pub(crate) fn span(seconds: u64) -> String {
    match seconds {
        _ if seconds > 0 && seconds.is_multiple_of(DAY) => counted!(seconds / DAY, "day", "days"),
        _ if seconds > 0 && seconds.is_multiple_of(HOUR) => counted!(seconds / HOUR, "hour", "hours"),
        _ if seconds > 0 && seconds.is_multiple_of(MINUTE) => counted!(seconds / MINUTE, "minute", "minutes"),
        _ => counted!(seconds, "second", "seconds"),
    }
}

fn two(large: u64, large_unit: &str, small: u64, small_unit: &str) -> String {
    match small {
        0 => format!("{large} {large_unit}"),
        _ => format!("{large} {large_unit} {small} {small_unit}"),
    }
}

/// The first so many characters.
pub(crate) fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
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
        assert_eq!((counted!(1, "task", "tasks"), counted!(0, "task", "tasks")), ("1 task".into(), "0 tasks".into()));
        for (n, expected) in [(12, "12 B"), (1_536, "1.5 KiB"), (3 << 20, "3.0 MiB"), (5 << 30, "5.0 GiB")] {
            assert_eq!(bytes(n), expected);
        }
    }

    #[test]
    fn spanish_has_its_own_marks_and_order() {
        Lang::Spanish.speaking_now(|| {
            for (n, expected) in [(0, "0"), (1_000, "1000"), (12_345, "12.345"), (1_234_567, "1.234.567")] {
                assert_eq!(count(n), expected);
            }
            assert_eq!((decimal(3.14259, 2), short_decimal(2.5, 4)), ("3,14".into(), "2,5".into()));
            assert_eq!(bytes(1_536), "1,5 KiB");
            assert_eq!(
                (counted!(1, "task", "tasks"), counted!(2, "task", "tasks")),
                ("1 tarea".into(), "2 tareas".into())
            );
            assert_eq!(lasted(Duration::from_millis(1_290)), "1,2 s");
            let at = |seconds: i64| relative(NOW, UnixMs(NOW.0 + seconds * 1_000));
            assert_eq!((at(0), at(-60), at(3_700)), ("ahora".into(), "hace 1 min".into(), "dentro de 1 h".into()));
            assert_eq!((at(-86_400), at(-40 * 86_400)), ("hace 1 día".into(), "05/10/2023".into()));
            assert_eq!(strftime(NOW, "%a %d %b"), "mar 14 nov");
        });
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
