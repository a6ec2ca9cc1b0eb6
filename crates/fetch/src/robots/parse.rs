//! From the bytes of a robots.txt to groups of rules, in one pass.

use super::pattern::Pattern;
use super::{CRAWL_DELAY_MAX, Group, ROBOTS_BYTES_MAX, Robots, Rule, product_token};

/// A line that means something to us.
#[derive(Debug, PartialEq, Eq)]
enum Line<'f> {
    Agent(&'f [u8]),
    Rule { allow: bool, path: &'f [u8] },
    CrawlDelay(&'f [u8]),
}

/// Names of lines, with the misspellings that are common enough to be meant.
const AGENT: &[&str] = &["user-agent", "useragent", "user agent"];
const ALLOW: &[&str] = &["allow"];
const DISALLOW: &[&str] = &["disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"];
const CRAWL_DELAY: &[&str] = &["crawl-delay", "crawldelay", "crawl delay"];

pub(super) fn parse(bytes: &[u8]) -> Robots {
    let mut robots = Robots::default();
    // Agents follow each other until a rule ends their list; other lines do not.
    let mut naming = false;
    for line in readable(bytes).split(|byte| matches!(byte, b'\n' | b'\r')).filter_map(Line::read) {
        match line {
            Line::Agent(name) => {
                if !naming {
                    robots.groups.push(Group::default());
                    naming = true;
                }
                robots.name_agent(name);
            }
            Line::Rule { allow, path } => {
                naming = false;
                if let (Some(group), Some(pattern)) = (robots.groups.last_mut(), Pattern::read(path)) {
                    group.rules.push(Rule { allow, pattern });
                }
            }
            Line::CrawlDelay(value) => {
                if let (Some(group), Some(delay_ms)) = (robots.groups.last_mut(), milliseconds(value)) {
                    group.crawl_delay_ms = group.crawl_delay_ms.max(Some(delay_ms));
                }
            }
        }
    }
    robots
}

impl Robots {
    /// Says that the last group speaks to this agent.
    fn name_agent(&mut self, name: &[u8]) {
        let token = String::from_utf8_lossy(product_token(name)).to_ascii_lowercase();
        let index = self.groups.len() - 1;
        let groups = self.agents.entry(token).or_default();
        if groups.last() != Some(&index) {
            groups.push(index);
        }
    }
}

/// Without the byte order mark, and of a file that is too long the whole lines that fit.
fn readable(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match bytes.get(ROBOTS_BYTES_MAX) {
        None => bytes,
        Some(b'\n' | b'\r') => &bytes[..ROBOTS_BYTES_MAX],
        Some(_) => {
            let fits = &bytes[..ROBOTS_BYTES_MAX];
            let end = fits.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
            &fits[..end.unwrap_or(0)]
        }
    }
}

impl<'f> Line<'f> {
    fn read(line: &'f [u8]) -> Option<Self> {
        let line = line.split(|byte| *byte == b'#').next()?.trim_ascii();
        let (name, value) = split(line)?;
        let is = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
        if is(AGENT) {
            (!value.is_empty()).then_some(Self::Agent(value))
        } else if is(ALLOW) {
            Some(Self::Rule { allow: true, path: value })
        } else if is(DISALLOW) {
            Some(Self::Rule { allow: false, path: value })
        } else if is(CRAWL_DELAY) {
            Some(Self::CrawlDelay(value))
        } else {
            None
        }
    }
}

/// `name: value`. Two words without a colon are taken as well: whoever wrote them meant it.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    if let Some(colon) = line.iter().position(|byte| *byte == b':') {
        return Some((line[..colon].trim_ascii_end(), line[colon + 1..].trim_ascii_start()));
    }
    let space = line.iter().position(|byte| matches!(byte, b' ' | b'\t'))?;
    let value = line[space..].trim_ascii_start();
    let one_word = !value.iter().any(|byte| matches!(byte, b' ' | b'\t'));
    one_word.then_some((&line[..space], value))
}

/// Seconds with or without decimals.
fn milliseconds(value: &[u8]) -> Option<u64> {
    let plain = value.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    let seconds: f64 = std::str::from_utf8(value).ok().filter(|_| plain)?.parse().ok()?;
    Some((seconds.min(CRAWL_DELAY_MAX.as_secs_f64()) * 1_000.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_name_and_a_value() {
        let rule = |allow, path: &'static str| Some(Line::Rule { allow, path: path.as_bytes() });
        check("User-agent: MallaBot", Some(Line::Agent(b"MallaBot")));
        check("  uSeR-aGeNt \t:\t* ", Some(Line::Agent(b"*")));
        check("User-agent MallaBot", Some(Line::Agent(b"MallaBot")));
        check("user agent: MallaBot", Some(Line::Agent(b"MallaBot")));
        check("User-agent:", None);
        check("Disallow: /a # why", rule(false, "/a"));
        check("Disallow:/a#why", rule(false, "/a"));
        check("Disallow:", rule(false, ""));
        check("Disallow /a", rule(false, "/a"));
        check("Dissalow: /a", rule(false, "/a"));
        check("Allow: /a:b", rule(true, "/a:b"));
        check("Crawl-Delay: 5", Some(Line::CrawlDelay(b"5")));
        check("# Disallow: /", None);
        check("Sitemap: https://example.org/map.xml", None);
        check("Disallow everything on this site", None);
        check("Disallow", None);
        check(": /a", None);
        check("", None);
    }

    fn check(line: &str, expected: Option<Line<'_>>) {
        assert_eq!(Line::read(line.as_bytes()), expected, "{line}");
    }

    #[test]
    fn a_delay_is_seconds_or_nonsense() {
        for (value, expected) in [
            ("1", Some(1_000)),
            ("0", Some(0)),
            ("0.5", Some(500)),
            (".25", Some(250)),
            ("2.", Some(2_000)),
            ("30", Some(30_000)),
            ("31", Some(30_000)),
            ("99999999999999999999999999999999999999", Some(30_000)),
            ("", None),
            (".", None),
            ("1.2.3", None),
            ("-1", None),
            ("+1", None),
            ("1e3", None),
            ("inf", None),
            ("NaN", None),
            ("ten", None),
            ("10 s", None),
        ] {
            assert_eq!(milliseconds(value.as_bytes()), expected, "{value}");
        }
    }

    #[test]
    fn a_long_file_ends_with_its_last_whole_line() {
        let long = |tail: &str| {
            let mut file = b"a\n".repeat(ROBOTS_BYTES_MAX / 2 - 2);
            file.extend_from_slice(tail.as_bytes());
            file
        };
        for (tail, kept) in [("abcd", 4), ("abcde", 0), ("abcd\ne", 4), ("abc\nef", 3), ("a\rcdef", 1)] {
            let file = long(tail);
            let read = readable(&file).strip_prefix(&*long("")).unwrap_or_default();
            assert_eq!(read, &tail.as_bytes()[..kept], "{tail:?}");
        }
        assert_eq!(readable(&b"a".repeat(ROBOTS_BYTES_MAX + 1)), b"");
        assert_eq!(readable(b"\xef\xbb\xbfa"), b"a");
    }
}
