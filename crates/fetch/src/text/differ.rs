//! What differs between two texts: readable for people, bounded for everybody.

use std::collections::HashMap;
use std::time::Duration;

use malla_queue::{Error, Result};
use regex::Regex;
use similar::TextDiff;

/// The longest diff.
pub const DIFF_BYTES_MAX: usize = 16 * 1_024;
/// After this long the rest is told apart roughly rather than well.
const TIME_MAX: Duration = Duration::from_millis(200);
/// Lines around a change.
const CONTEXT: usize = 2;
const PASSAGE_CHARS_MAX: usize = 300;
const IGNORES_MAX: usize = 20;
const IGNORE_BYTES_MAX: usize = 500;

/// What is not looked at when texts are compared: dates, tokens, numbers of visitors.
#[derive(Debug, Clone, Default)]
pub struct Ignore(Vec<Regex>);

impl Ignore {
    pub fn read(rules: &[String]) -> Result<Self> {
        if rules.len() > IGNORES_MAX {
            return Err(Error::Invalid(format!("at most {IGNORES_MAX} rules say what is ignored")));
        }
        let read = |rule: &String| {
            let wrong = |why: String| Error::Invalid(format!("\"{rule}\" is not a rule that can be used: {why}"));
            if rule.is_empty() || rule.len() > IGNORE_BYTES_MAX {
                return Err(wrong(format!("it has from 1 to {IGNORE_BYTES_MAX} bytes")));
            }
            let regex = regex::RegexBuilder::new(rule).size_limit(1 << 20).build();
            regex.map_err(|error| wrong(error.to_string()))
        };
        Ok(Self(rules.iter().map(read).collect::<Result<_>>()?))
    }

    /// The text without what is ignored.
    pub fn apply(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for rule in &self.0 {
            if let std::borrow::Cow::Owned(changed) = rule.replace_all(&text, "…") {
                text = changed;
            }
        }
        text
    }
}

/// The lines that differ, as programmers write it; cut if it is long.
pub fn unified(old: &str, new: &str) -> String {
    let diff = TextDiff::configure().timeout(TIME_MAX).diff_lines(old, new);
    let mut text = String::new();
    for hunk in diff.unified_diff().context_radius(CONTEXT).missing_newline_hint(false).iter_hunks() {
        let hunk = hunk.to_string();
        if text.len() + hunk.len() > DIFF_BYTES_MAX {
            let room = DIFF_BYTES_MAX.saturating_sub(text.len());
            let cut = hunk.char_indices().map(|(at, _)| at).take_while(|at| *at <= room).last().unwrap_or(0);
            text.push_str(&hunk[..cut]);
            text.push_str("\n… there is more\n");
            return text;
        }
        text.push_str(&hunk);
    }
    text
}

/// From 0 (nothing in common) to 1 (the same), by lines.
pub fn similarity(a: &str, b: &str) -> f32 {
    if a == b { 1.0 } else { TextDiff::configure().timeout(TIME_MAX).diff_words(a, b).ratio() }
}

/// Lines of one text that the other does not have anywhere, at most so many.
pub fn passages(of: &str, without: &str, limit: usize) -> Vec<String> {
    let mut there: HashMap<&str, usize> = HashMap::new();
    without.lines().for_each(|line| *there.entry(line).or_default() += 1);
    let missing = of.lines().filter(|line| match there.get_mut(line) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    });
    missing.take(limit).map(|line| line.chars().take(PASSAGE_CHARS_MAX).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_with_what_stands_around_it() {
        let old = "a\nb\nc\nd\ne\nf\ng\n";
        let new = "a\nb\nc\nD\ne\nf\ng\n";
        assert_eq!(unified(old, new), "@@ -2,5 +2,5 @@\n b\n c\n-d\n+D\n e\n f\n");
        assert_eq!(unified(old, old), "");
        let long: String = (0..10_000).map(|n| format!("line {n} ü\n")).collect();
        let cut = unified("", &long);
        assert!(cut.len() < DIFF_BYTES_MAX + 100 && cut.ends_with("there is more\n"));
    }

    #[test]
    fn what_is_ignored_makes_no_difference() {
        let ignore = Ignore::read(&[r"\d{4}-\d\d-\d\d".into(), "token=[a-z]+".into()]).expect("rules");
        assert_eq!(ignore.apply("a 2026-11-17 b token=xyz"), ignore.apply("a 2025-01-01 b token=q"));
        let error = Ignore::read(&["(".into()]).expect_err("it is refused").to_string();
        assert!(error.contains("is not a rule"), "{error}");
    }

    #[test]
    fn texts_are_alike_more_or_less() {
        assert_eq!(similarity("a b c", "a b c"), 1.0);
        assert!(similarity("a b c d e f g h", "a b c d e f g x") > 0.8);
        assert!(similarity("a b c", "x y z") < 0.5);
        assert_eq!(passages("a\nb\nb\nc\n", "a\nb\n", 10), ["b", "c"]);
        assert_eq!(passages("a\nb\n", "", 1), ["a"]);
    }
}
