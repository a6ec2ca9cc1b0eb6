//! Places where a crawl would never end: calendars, paths that grow out of themselves, pages made without number.

use crate::{PageUrl, UrlKey};

/// Segments of a path at most.
const SEGMENTS_MAX: usize = 24;
/// Parameters at most.
const PARAMETERS_MAX: usize = 16;
/// Bytes of a URL at most; what is longer is made by a machine that does not stop.
const URL_BYTES_MAX: usize = 2_000;
/// The same segments in a row: `/a/b/a/b/a/b`.
const REPEATS_MAX: usize = 3;
/// One segment anywhere in a path.
const SAME_MAX: usize = 5;

/// Why a URL is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trap {
    /// Its path repeats itself.
    Repeats,
    TooLong,
}

/// Whether the URL itself looks like a trap.
pub fn trap(url: &PageUrl) -> Option<Trap> {
    let parameters = url.as_url().query().map_or(0, |query| query.split('&').count());
    let segments: Vec<&str> = url.as_url().path().split('/').filter(|segment| !segment.is_empty()).collect();
    if url.as_str().len() > URL_BYTES_MAX || parameters > PARAMETERS_MAX || segments.len() > SEGMENTS_MAX {
        return Some(Trap::TooLong);
    }
    repeats(&segments).then_some(Trap::Repeats)
}

fn repeats(segments: &[&str]) -> bool {
    let often = |segment: &&str| segments.iter().filter(|other| *other == segment).count() >= SAME_MAX;
    if segments.iter().any(often) {
        return true;
    }
    (1..=segments.len() / REPEATS_MAX).any(|period| {
        segments.windows(period * REPEATS_MAX).any(|part| part.iter().zip(&part[period..]).all(|(a, b)| a == b))
    })
}

/// What a URL is made like: its path with numbers for numbers, and the names of its parameters. A calendar has one shape,
/// and so has a search. Shapes with a date in them are held to a lower limit.
pub fn shape(url: &PageUrl) -> (UrlKey, bool) {
    let mut text = url.site().to_string();
    let path = url.as_url().path();
    for segment in path.split('/') {
        text.push('/');
        text.push_str(&without_numbers(segment));
    }
    let mut names: Vec<String> = Vec::new();
    let mut dated = has_date(path);
    for part in url.as_url().query().into_iter().flat_map(|query| query.split('&')) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        dated |= has_date(value) || is_calendar(name);
        names.push(without_numbers(name));
    }
    names.sort();
    names.dedup();
    text.push('?');
    text.push_str(&names.join("&"));
    (UrlKey::of(&text), dated)
}

fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '0'..='9' if out.ends_with('0') => {}
            '0'..='9' => out.push('0'),
            letter => out.push(letter),
        }
    }
    // Hexadecimal names are numbers too.
    let long = out.len() >= 8 && text.len() >= 16;
    if long && text.chars().all(|letter| letter.is_ascii_hexdigit() || letter == '-') { "0".into() } else { out }
}

fn is_calendar(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(
        name.as_str(),
        "date" | "day" | "month" | "year" | "week" | "cal" | "calendar" | "start_date" | "from_date"
    )
}

/// A year and a month, as in `2026/11`, `2026-11-17`, `202611` or `11/2026`.
fn has_date(text: &str) -> bool {
    let numbers: Vec<&str> =
        text.split(|letter: char| !letter.is_ascii_digit()).filter(|part| !part.is_empty()).collect();
    let year =
        |part: &str| part.len() == 4 && (part.starts_with("19") || part.starts_with("20") || part.starts_with("21"));
    let month = |part: &str| part.len() <= 2 && part.parse::<u8>().is_ok_and(|month| (1..=12).contains(&month));
    let pair = |pair: &[&str]| (year(pair[0]) && month(pair[1])) || (month(pair[0]) && year(pair[1]));
    let whole = |part: &&str| matches!(part.len(), 6 | 8) && year(&part[..4]) && month(&part[4..6]);
    numbers.windows(2).any(pair) || numbers.iter().any(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> PageUrl {
        PageUrl::parse(text).expect("a URL")
    }

    #[test]
    fn paths_that_grow_out_of_themselves_are_traps() {
        for (url, expected) in [
            ("http://a.example/x/y/z", None),
            ("http://a.example/a/b/a/b", None),
            ("http://a.example/a/b/a/b/a/b", Some(Trap::Repeats)),
            ("http://a.example/x/x/x", Some(Trap::Repeats)),
            ("http://a.example/a/1/a/2/a/3/a/4/a/5", Some(Trap::Repeats)),
            ("http://a.example/docs/en/api/en", None),
        ] {
            assert_eq!(trap(&page(url)), expected, "{url}");
        }
        let deep = format!("http://a.example/{}", (0..30).map(|n| n.to_string()).collect::<Vec<_>>().join("/"));
        assert_eq!(trap(&page(&deep)), Some(Trap::TooLong));
        let many = format!("http://a.example/?{}", (0..20).map(|n| format!("p{n}=1")).collect::<Vec<_>>().join("&"));
        assert_eq!(trap(&page(&many)), Some(Trap::TooLong));
    }

    #[test]
    fn pages_of_one_making_have_one_shape() {
        let same = |a: &str, b: &str| shape(&page(a)).0 == shape(&page(b)).0;
        assert!(same("http://a.example/thread/17", "http://a.example/thread/123456"));
        assert!(same("http://a.example/s?q=a&page=1", "http://a.example/s?page=2&q=bcd"));
        assert!(same("http://a.example/c/2026/11/17", "http://a.example/c/1999/1/1"));
        assert!(!same("http://a.example/wiki/Ada", "http://a.example/wiki/Bob"));
        assert!(!same("http://a.example/thread/17", "http://b.example/thread/17"));
    }

    #[test]
    fn calendars_are_known_by_their_dates() {
        for (url, dated) in [
            ("http://a.example/calendar/2026/11", true),
            ("http://a.example/events?month=11&y=2026", true),
            ("http://a.example/events/20261117", true),
            ("http://a.example/events/2026-11-17", true),
            ("http://a.example/thread/20260", false),
            ("http://a.example/a/17/b/99", false),
        ] {
            assert_eq!(shape(&page(url)).1, dated, "{url}");
        }
    }
}
