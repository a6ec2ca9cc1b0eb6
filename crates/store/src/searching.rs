//! The search for words in bodies, the same on both stores: how a body is cut into words, and what a search asks for.
//!
//! A word is a run of letters and digits, in lower case. So a word, a number, an id, each part of a UUID or of an e-mail
//! address is found; what a person types is cut in the same way, and parts that belong together must stand together.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use malla_queue::{Error, Result, TaskId, UnixMs};

use crate::packing::unpack_beginning;

/// What a search looks at of a body.
const BODY_BYTES_MAX: usize = 64 * 1024;
/// Bytes of a stored body that hold that much of it: a compressed one comes in blocks of twice its size.
pub(crate) const BEGINNING_STORED: i32 = 160 * 1024;
/// A longer run of letters and digits (a picture in base64) is known by its beginning.
const WORD_CHARS_MAX: usize = 64;
const SEARCH_BYTES_MAX: usize = 256;
/// Bodies not yet indexed that one step of a search reads.
pub(crate) const BODIES_MAX: usize = 2_000;
/// Matches that one step of a search looks at.
pub(crate) const MATCHES_MAX: usize = 500;
/// Steps that one page takes before it says that there may be more, and how long it goes on with them.
const STEPS_MAX: usize = 20;
const PATIENCE: Duration = Duration::from_millis(20);

/// The steps of one page: one at least.
pub(crate) fn steps() -> impl Iterator<Item = usize> {
    let began = Instant::now();
    (0..STEPS_MAX).take_while(move |step| *step == 0 || began.elapsed() < PATIENCE)
}

/// What somebody searches for: each term is words that stand together, and all terms must be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Search {
    terms: Vec<Vec<String>>,
}

impl Search {
    pub(crate) fn new(content: &str) -> Result<Self> {
        if content.len() > SEARCH_BYTES_MAX {
            return Err(Error::Invalid(format!("a search has at most {SEARCH_BYTES_MAX} bytes")));
        }
        let terms: Vec<Vec<String>> =
            content.split_whitespace().map(words_of).filter(|words| !words.is_empty()).collect();
        if terms.is_empty() {
            return Err(Error::Invalid("search for a word or an id: letters and digits".into()));
        }
        Ok(Self { terms })
    }

    /// All words, as an index knows them.
    pub(crate) fn words(&self) -> BTreeSet<&str> {
        self.terms.iter().flatten().map(String::as_str).collect()
    }

    /// Whether a body that has all words may still not match.
    pub(crate) fn needs_proof(&self) -> bool {
        self.terms.iter().any(|term| term.len() > 1)
    }

    pub(crate) fn matches(&self, packed: i64, body: &[u8]) -> Result<bool> {
        let words = words_of(&beginning(packed, body)?);
        let there = |term: &Vec<String>| words.windows(term.len()).any(|window| window == term);
        Ok(self.terms.iter().all(there))
    }
}

/// The words of a stored body for an index, each once, parted by spaces. What is not text has none.
pub(crate) fn index_words(packed: i64, body: &[u8]) -> Result<String> {
    let words = words_of(&beginning(packed, body)?);
    let distinct: BTreeSet<&str> = words.iter().map(String::as_str).collect();
    Ok(distinct.into_iter().collect::<Vec<_>>().join(" "))
}

/// The text at the beginning of a stored body; nothing if it is not UTF-8.
fn beginning(packed: i64, body: &[u8]) -> Result<String> {
    let bytes = unpack_beginning(packed, body, BODY_BYTES_MAX)?;
    let text = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        // A character cut at the end is no harm.
        Err(error) if bytes.len() == BODY_BYTES_MAX && error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => "",
    };
    Ok(text.to_owned())
}

fn words_of(text: &str) -> Vec<String> {
    let json = text.trim_start().starts_with(['{', '[']);
    let mut words = Vec::new();
    let (mut word, mut length) = (String::new(), 0);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let c = if c == '\\' && json { unescape(&mut rest) } else { c };
        if c.is_alphanumeric() {
            if length < WORD_CHARS_MAX {
                word.extend(c.to_lowercase());
            }
            length += 1;
        } else if length > 0 {
            words.push(std::mem::take(&mut word));
            length = 0;
        }
    }
    if length > 0 {
        words.push(word);
    }
    words
}

/// The character that JSON writes with a backslash; otherwise `\nfoo` would begin with an n.
fn unescape(rest: &mut std::str::Chars<'_>) -> char {
    if rest.next() != Some('u') {
        return ' ';
    }
    let hex: String = rest.clone().take(4).collect();
    match u32::from_str_radix(&hex, 16).ok().filter(|_| hex.len() == 4) {
        Some(code) => {
            rest.nth(3);
            char::from_u32(code).unwrap_or(' ')
        }
        None => ' ',
    }
}

/// The ids between which events may match.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    /// At least.
    pub(crate) from: i64,
    /// Below.
    pub(crate) below: i64,
}

impl Span {
    pub(crate) fn new(below: Option<i64>, from: Option<UnixMs>, to: Option<UnixMs>) -> Self {
        let to = to.map_or(i64::MAX, |to| TaskId::first_at(to).0);
        Self { from: from.map_or(0, |from| TaskId::first_at(from).0), below: below.unwrap_or(i64::MAX).min(to) }
    }
}

/// One step of a search.
#[derive(Debug, Default)]
pub(crate) struct Matches {
    /// Events, newest first.
    pub(crate) ids: Vec<i64>,
    /// Go on below this id; `None` at the end.
    pub(crate) next: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_numbers_ids_and_parts_of_names_are_found() {
        let body = r#"{"order":"A-17","mail":"ana.lopez@example.org","id":"7f9c24e8-3b12-4d6f-9a7e-1c2b3d4e5f60",
            "total":12.50,"note":"first\nsecond line","town":"S\u00e3o Paulo","path":"C:\\temp"}"#;
        for found in [
            "order",
            "ORDER",
            "A-17",
            "17",
            "ana",
            "ana.lopez@example.org",
            "example",
            "12.50",
            "12",
            "second",
            "são paulo",
            "São",
            "7f9c24e8-3b12-4d6f-9a7e-1c2b3d4e5f60",
            "4d6f",
            "line order",
            "\"order\":\"A-17\"",
            "temp",
        ] {
            check(body, found, true);
        }
        for missed in ["ord", "A-18", "17-A", "lopez.ana", "nsecond", "7f9c24e8-4d6f", "order lost"] {
            check(body, missed, false);
        }
    }

    fn check(body: &str, search: &str, expected: bool) {
        let search = Search::new(search).unwrap();
        assert_eq!(search.matches(0, body.as_bytes()).unwrap(), expected, "{search:?}");
        let indexed = index_words(0, body.as_bytes()).unwrap();
        let indexed: BTreeSet<&str> = indexed.split(' ').collect();
        assert!(!expected || search.words().is_subset(&indexed), "{search:?} is not in the index");
    }

    #[test]
    fn what_is_not_text_has_no_words_and_a_cut_character_is_no_harm() {
        assert_eq!(index_words(0, &[0xff, 0xfe, b'a']).unwrap(), "");
        let long = format!("first {}", "é".repeat(BODY_BYTES_MAX));
        assert!(index_words(0, long.as_bytes()).unwrap().starts_with("first "));
        assert_eq!(index_words(0, b"b a b").unwrap(), "a b");
    }

    #[test]
    fn a_search_without_a_word_says_what_to_do() {
        assert_eq!(Search::new(" -- ").unwrap_err().to_string(), "search for a word or an id: letters and digits");
        assert!(Search::new(&"a".repeat(257)).is_err());
    }
}
