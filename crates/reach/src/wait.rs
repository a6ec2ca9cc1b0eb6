//! How long a far side asks to be left alone.

use std::time::{Duration, UNIX_EPOCH};

use malla_queue::UnixMs;

/// How long a `Retry-After` asks to wait, and no longer than `most`: seconds, or a date. No wait at all is no wish.
pub fn retry_after(text: &str, now: UnixMs, most: Duration) -> Option<Duration> {
    let text = text.trim();
    let wait = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        Duration::from_secs(text.parse().unwrap_or(u64::MAX))
    } else {
        let at = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
        now.until(UnixMs(0).plus(at))
    };
    (!wait.is_zero()).then(|| wait.min(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMs = UnixMs(784_111_777_000); // Sun, 06 Nov 1994 08:49:37 GMT

    #[test]
    fn a_wait_is_seconds_or_a_date() {
        for (text, wait_s) in [
            ("120", Some(120)),
            (" 7 ", Some(7)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
            ("Sunday, 06-Nov-94 08:50:37 GMT", Some(60)),
            ("3601", Some(3_600)),
            ("99999999999999999999999999", Some(3_600)),
            ("Sat, 06 Nov 2094 08:50:37 GMT", Some(3_600)),
            ("0", None),
            ("Sun, 06 Nov 1994 08:00:00 GMT", None),
            ("-1", None),
            ("1.5", None),
            ("", None),
            ("soon", None),
        ] {
            let most = Duration::from_secs(3_600);
            assert_eq!(retry_after(text, NOW, most), wait_s.map(Duration::from_secs), "{text}");
        }
    }
}
