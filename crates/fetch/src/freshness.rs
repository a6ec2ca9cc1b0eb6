//! How long an answer may be served again without asking its site (RFC 9111, for a shared cache).

use std::time::{Duration, UNIX_EPOCH};

use malla_queue::UnixMs;

use crate::{Shelf, Validators};

/// A guess from the age of a page is never trusted for longer.
const GUESS_MAX: Duration = Duration::from_secs(24 * 3_600);
/// A validator that is longer is not kept: it would be sent with each request.
const VALIDATOR_BYTES_MAX: usize = 1_024;
/// Headers of a page whose site said again and again that it has not changed.
const MERGED_BYTES_MAX: usize = 128 * 1_024;

/// What the cache needs to know about an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// May it be kept at all, to be served or to be asked about?
    pub storable: bool,
    /// Before this it is served as it is. Not after the fetch if it must be asked about each time.
    pub fresh_until: UnixMs,
    pub validators: Validators,
}

impl Stored {
    /// Judges an answer that was complete at `fetched_at`, `took` after it was asked for. `unsaid` is how long a page is
    /// fresh that says nothing about itself.
    pub fn of(status: u16, headers: &[(String, String)], fetched_at: UnixMs, took: Duration, unsaid: Duration) -> Self {
        let control = CacheControl::read(headers);
        let varies = values(headers, "vary").any(|value| value.split(',').any(|name| name.trim() == "*"));
        if status != 200 || control.not_for_us || varies {
            return Self { storable: false, fresh_until: fetched_at, validators: Validators::default() };
        }
        let dates = Dates::read(headers, fetched_at);
        let lifetime = if control.ask_each_time { Duration::ZERO } else { lifetime(&control, &dates, unsaid) };
        let fresh_for = lifetime.saturating_sub(age(headers, &dates, fetched_at, took));
        Self { storable: true, fresh_until: fetched_at.plus(fresh_for), validators: validators(headers) }
    }

    pub fn is_fresh(&self, now: UnixMs) -> bool {
        self.storable && now < self.fresh_until
    }
}

/// What a site said with its word that a page has not changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renewal {
    /// Of the 304.
    pub headers: Vec<(String, String)>,
    pub at: UnixMs,
    pub took_ms: u64,
    /// How long a page is fresh that says nothing about it.
    pub unsaid: Duration,
}

impl Renewal {
    /// The headers of the stored page from now on, and how long they allow it to be given out. One that may not be kept
    /// any more is asked about each time.
    pub fn of(&self, stored: &[(String, String)]) -> (Vec<(String, String)>, Shelf) {
        let merged = merge_304(stored, &self.headers);
        let judged = Stored::of(200, &merged, self.at, Duration::from_millis(self.took_ms), self.unsaid);
        let shelf = Shelf { fresh_until: judged.fresh_until, validators: judged.validators };
        // Many answers with a few new names each must not add up to more than one may have.
        let bytes: usize = merged.iter().map(|(name, value)| name.len() + value.len()).sum();
        (if bytes > MERGED_BYTES_MAX { stored.to_vec() } else { merged }, shelf)
    }
}

/// The headers of a stored answer after its site said that it has not changed (RFC 9111, 4.3.4).
fn merge_304(old: &[(String, String)], new: &[(String, String)]) -> Vec<(String, String)> {
    let is_one_of = |names: &[&str], name: &str| names.iter().any(|one| one.eq_ignore_ascii_case(name));
    let news: Vec<_> = new.iter().filter(|(name, _)| !is_one_of(BOUND_TO_BODY, name)).collect();
    let outdated =
        |name: &str| is_one_of(BOUND_TO_ANSWER, name) || news.iter().any(|(new, _)| new.eq_ignore_ascii_case(name));
    old.iter().filter(|(name, _)| !outdated(name)).chain(news.iter().copied()).cloned().collect()
}

/// Headers that say when an answer was made: those of the first one say nothing about its 304.
const BOUND_TO_ANSWER: &[&str] = &["age", "date"];

/// Headers that speak of the body or the connection they came with: a 304 has another one, or none.
const BOUND_TO_BODY: &[&str] = &[
    "connection",
    "content-encoding",
    "content-length",
    "content-md5",
    "content-range",
    "content-type",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// How long it is fresh from its making: by its word, else a tenth of the time since its last change.
fn lifetime(control: &CacheControl, dates: &Dates, unsaid: Duration) -> Duration {
    if let Some(seconds) = control.seconds {
        return Duration::from_secs(seconds);
    }
    match (dates.expires, dates.last_modified) {
        (Some(Some(expires)), _) => dates.made.until(expires),
        // Something unreadable, `0` most of all, means that it has expired.
        (Some(None), _) => Duration::ZERO,
        (None, Some(changed)) => (changed.until(dates.made) / 10).min(GUESS_MAX),
        (None, None) => unsaid,
    }
}

/// How old it was when we had it: by the caches on its way, or by its date.
fn age(headers: &[(String, String)], dates: &Dates, fetched_at: UnixMs, took: Duration) -> Duration {
    let said = values(headers, "age").next().and_then(seconds).map_or(Duration::ZERO, Duration::from_secs);
    said.saturating_add(took).max(dates.made.until(fetched_at))
}

fn validators(headers: &[(String, String)]) -> Validators {
    let first = |name| values(headers, name).next().map(str::trim).filter(|value| value.len() <= VALIDATOR_BYTES_MAX);
    Validators {
        etag: first("etag").filter(|value| !value.is_empty()).map(str::to_owned),
        last_modified: first("last-modified").filter(|value| date(value).is_some()).map(str::to_owned),
    }
}

struct Dates {
    /// When its site made it.
    made: UnixMs,
    /// `Some(None)`: there is such a header, and it is no date.
    expires: Option<Option<UnixMs>>,
    last_modified: Option<UnixMs>,
}

impl Dates {
    fn read(headers: &[(String, String)], fetched_at: UnixMs) -> Self {
        let first = |name| values(headers, name).next().map(date);
        Self {
            made: first("date").flatten().unwrap_or(fetched_at),
            expires: first("expires"),
            last_modified: first("last-modified").flatten(),
        }
    }
}

/// What of `Cache-Control` concerns us. We never serve what is stale, so `must-revalidate` says nothing new.
#[derive(Default)]
struct CacheControl {
    not_for_us: bool,
    ask_each_time: bool,
    /// The word for shared caches goes before the word for all.
    seconds: Option<u64>,
}

impl CacheControl {
    fn read(headers: &[(String, String)]) -> Self {
        let mut control = Self::default();
        let (mut shared, mut all) = (None, None);
        for (name, argument) in values(headers, "cache-control").flat_map(directives) {
            // Of two numbers the smaller counts, and what is no number is none at all.
            let lower = |known: Option<u64>| Some(seconds(argument).unwrap_or(0).min(known.unwrap_or(u64::MAX)));
            match name.to_ascii_lowercase().as_str() {
                "no-store" | "private" => control.not_for_us = true,
                "no-cache" => control.ask_each_time = true,
                "s-maxage" => shared = lower(shared),
                "max-age" => all = lower(all),
                _ => {}
            }
        }
        control.seconds = shared.or(all);
        control
    }
}

/// `name` or `name=argument` between commas, those inside quotes apart.
fn directives(value: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut quoted = false;
    let outside = move |letter: char| {
        quoted ^= letter == '"';
        letter == ',' && !quoted
    };
    value.split(outside).map(|directive| {
        let (name, argument) = directive.split_once('=').unwrap_or((directive, ""));
        (name.trim(), argument.trim().trim_matches('"'))
    })
}

fn seconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // What does not fit is for ever.
    digits.then(|| text.parse().unwrap_or(u64::from(u32::MAX)).min(u64::from(u32::MAX)))
}

fn date(text: &str) -> Option<UnixMs> {
    let since = httpdate::parse_http_date(text.trim()).ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(UnixMs(0).plus(since))
}

fn values<'h>(headers: &'h [(String, String)], name: &str) -> impl Iterator<Item = &'h str> {
    headers.iter().filter(move |(have, _)| have.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMs = UnixMs(784_111_777_000); // Sun, 06 Nov 1994 08:49:37 GMT
    const DATE: &str = "Date: Sun, 06 Nov 1994 08:49:37 GMT";
    const HOUR_S: i64 = 3_600;

    fn headers(lines: &[&str]) -> Vec<(String, String)> {
        let pair = |line: &&str| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned()));
        lines.iter().map(|line| pair(line).expect("a header")).collect()
    }

    fn stored(lines: &[&str]) -> Stored {
        Stored::of(200, &headers(lines), NOW, Duration::ZERO, Duration::from_secs(3_600))
    }

    #[test]
    fn an_answer_is_fresh_for_as_long_as_it_says() {
        fresh_for(&[], HOUR_S);
        fresh_for(&[DATE, "ETag: \"a\"", "Vary: Accept-Encoding, Cookie"], HOUR_S);
        fresh_for(&["Cache-Control: max-age=60"], 60);
        fresh_for(&["cache-control: Public, MAX-AGE=60, must-revalidate"], 60);
        fresh_for(&["Cache-Control: max-age=\"60\""], 60);
        fresh_for(&["Cache-Control: max-age=60, s-maxage=600"], 600);
        fresh_for(&["Cache-Control: s-maxage=0", "Cache-Control: max-age=60"], 0);
        fresh_for(&["Cache-Control: max-age=60, max-age=10"], 10);
        fresh_for(&["Cache-Control: max-age=soon"], 0);
        fresh_for(&["Cache-Control: max-age=-5"], 0);
        fresh_for(&["Cache-Control: max-age=99999999999999999999999"], i64::from(u32::MAX));
        fresh_for(&["Cache-Control: ext=\"a, no-store, max-age=1\", max-age=60"], 60);
        fresh_for(&["Cache-Control: no-cache, max-age=60"], 0);
        fresh_for(&["Cache-Control: no-cache=\"set-cookie\", max-age=60"], 0);
        fresh_for(&["Cache-Control: must-revalidate"], HOUR_S);
    }

    #[test]
    fn without_a_word_it_is_its_dates_that_count() {
        fresh_for(&[DATE, "Expires: Sun, 06 Nov 1994 08:50:37 GMT"], 60);
        fresh_for(&["Expires: Sun, 06 Nov 1994 08:50:37 GMT"], 60);
        fresh_for(&[DATE, "Expires: Sun, 06 Nov 1994 08:50:37 GMT", "Cache-Control: max-age=5"], 5);
        fresh_for(&[DATE, "Expires: Sun, 06 Nov 1994 08:00:00 GMT"], 0);
        fresh_for(&[DATE, "Expires: 0"], 0);
        fresh_for(&[DATE, "Expires: -1", "Last-Modified: Sat, 05 Nov 1994 08:49:37 GMT"], 0);
        fresh_for(&[DATE, "Last-Modified: Sat, 05 Nov 1994 08:49:37 GMT"], 8_640);
        fresh_for(&[DATE, "Last-Modified: Sun, 06 Nov 1994 08:49:27 GMT"], 1);
        fresh_for(&[DATE, "Last-Modified: Sat, 06 Nov 1993 08:49:37 GMT"], 24 * HOUR_S);
        fresh_for(&[DATE, "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"], 0);
        fresh_for(&[DATE, "Last-Modified: Mon, 07 Nov 1994 08:49:37 GMT"], 0);
        fresh_for(&[DATE, "Last-Modified: yesterday"], HOUR_S);
    }

    #[test]
    fn the_time_on_its_way_counts() {
        fresh_for(&[DATE, "Cache-Control: max-age=60", "Age: 20"], 40);
        fresh_for(&["Date: Sun, 06 Nov 1994 08:49:07 GMT", "Cache-Control: max-age=60", "Age: 20"], 30);
        fresh_for(&["Date: Sun, 06 Nov 1994 08:49:07 GMT", "Cache-Control: max-age=60"], 30);
        fresh_for(&["Date: Sun, 06 Nov 1994 08:59:37 GMT", "Cache-Control: max-age=60"], 60);
        fresh_for(&[DATE, "Cache-Control: max-age=60", "Age: 80"], 0);
        fresh_for(&[DATE, "Cache-Control: max-age=60", "Age: old"], 60);
        fresh_for(&["Date: never", "Cache-Control: max-age=60"], 60);
        let slow = headers(&[DATE, "Cache-Control: max-age=60"]);
        let slow = Stored::of(200, &slow, NOW, Duration::from_secs(5), Duration::ZERO);
        assert_eq!(slow.fresh_until, NOW.plus(Duration::from_secs(55)));
    }

    fn fresh_for(lines: &[&str], expected_s: i64) {
        let stored = stored(lines);
        assert!(stored.storable, "{lines:?}");
        assert_eq!((stored.fresh_until.0 - NOW.0) / 1_000, expected_s, "{lines:?}");
        assert_eq!(stored.is_fresh(NOW), expected_s > 0, "{lines:?}");
        assert!(!stored.is_fresh(stored.fresh_until), "{lines:?}");
    }

    #[test]
    fn some_answers_are_not_kept() {
        let not_kept = |status, lines: &[&str]| {
            let stored = Stored::of(status, &headers(lines), NOW, Duration::ZERO, Duration::from_secs(3_600));
            assert!(!stored.storable && !stored.is_fresh(NOW) && stored.validators.is_empty(), "{status} {lines:?}");
        };
        for status in [0, 204, 206, 301, 304, 404, 410, 500, 503, 580] {
            not_kept(status, &["Cache-Control: max-age=60", "ETag: \"a\""]);
        }
        not_kept(200, &["Cache-Control: max-age=60, no-store"]);
        not_kept(200, &["Cache-Control: max-age=60", "Cache-Control: NO-STORE"]);
        not_kept(200, &["Cache-Control: private, max-age=60"]);
        not_kept(200, &["Cache-Control: private=\"x-user\""]);
        not_kept(200, &["Vary: Accept, *", "Cache-Control: max-age=60"]);
    }

    #[test]
    fn validators_are_kept_if_they_can_be_sent() {
        let validators = |lines: &[&str]| {
            let validators = stored(lines).validators;
            (validators.etag, validators.last_modified)
        };
        let changed = "Sat, 05 Nov 1994 08:49:37 GMT";
        assert_eq!(validators(&["ETag: W/\"a\""]), (Some("W/\"a\"".into()), None));
        assert_eq!(validators(&[&format!("Last-Modified: {changed}")]), (None, Some(changed.into())));
        assert_eq!(validators(&["Last-Modified: today", "ETag:  "]), (None, None));
        assert_eq!(validators(&[&format!("ETag: {}", "a".repeat(1_025))]), (None, None));
    }

    #[test]
    fn a_304_brings_new_headers_and_no_body() {
        let old = ["Content-Type: text/html", "Cache-Control: max-age=1", "X-A: 1", "X-A: 2", "ETag: \"a\"", "X-B: 1"];
        let new = ["cache-control: max-age=9", "x-a: 3", "Content-Length: 0", "Content-Type: text/plain", "Date: now"];
        let merged =
            ["Content-Type: text/html", "ETag: \"a\"", "X-B: 1", "cache-control: max-age=9", "x-a: 3", "Date: now"];
        assert_eq!(merge_304(&headers(&old), &headers(&new)), headers(&merged));
    }

    #[test]
    fn after_a_304_the_merged_headers_decide() {
        let renewed = |old: &[&str], new: &[&str]| {
            let (at, unsaid) = (UnixMs(NOW.0 + 10 * HOUR_S * 1_000), Duration::from_secs(7));
            let renewal = Renewal { headers: headers(new), at, took_ms: 0, unsaid };
            let (merged, shelf) = renewal.of(&headers(old));
            (merged, (shelf.fresh_until.0 - at.0) / 1_000, shelf.validators)
        };
        let old = [DATE, "Age: 50", "Cache-Control: max-age=60", "ETag: \"a\""];
        let (merged, fresh_s, validators) = renewed(&old, &[]);
        assert_eq!((fresh_s, validators.etag.as_deref()), (60, Some("\"a\"")), "what was said before still holds");
        assert_eq!(merged, headers(&old[2..]), "its age and date were those of the first answer");
        assert_eq!(renewed(&old, &["Cache-Control: max-age=90", "Age: 30"]).1, 60);
        assert_eq!(renewed(&old, &["Cache-Control: no-store"]).1, 0);
        assert_eq!(renewed(&old, &["ETag: \"b\""]).2.etag.as_deref(), Some("\"b\""));
        assert_eq!(renewed(&["Content-Type: text/html"], &["X-A: 1"]).1, 7);
        let long = format!("X-Long: {}", "x".repeat(MERGED_BYTES_MAX));
        assert_eq!(renewed(&old, &[&long]), (headers(&old), 60, renewed(&old, &[]).2));
    }
}
