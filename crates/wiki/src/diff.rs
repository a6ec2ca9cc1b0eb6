//! What differs between two texts, word by word.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};

/// After this long the rest is told apart roughly rather than well.
const TIME_MAX: Duration = Duration::from_millis(400);
/// Texts whose differing parts are longer are not compared: one goes, the other comes.
const COMPARED_BYTES_MAX: usize = 16 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PieceKind {
    Same,
    Added,
    Removed,
}

/// A part of both texts, or of one of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    pub kind: PieceKind,
    pub text: String,
}

/// The pieces that make the new text out of the old one. What is the same or removed, put together, is the old text;
/// what is the same or added is the new one. What is removed comes before what is added in its place.
pub fn words(old: &str, new: &str) -> Vec<Piece> {
    words_until(old, new, Instant::now() + TIME_MAX)
}

fn words_until(old: &str, new: &str, deadline: Instant) -> Vec<Piece> {
    let mut pieces = Pieces::default();
    let (head, tail) = shared_ends(old, new);
    let (old_middle, new_middle) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    pieces.same(&old[..head]);
    if old_middle.len() + new_middle.len() > COMPARED_BYTES_MAX {
        pieces.replaced(old_middle, new_middle);
    } else {
        // Lines first: there are few of them, so the words of a long text are compared only where it has changed.
        compare(old_middle, new_middle, lines, deadline, |part| match part {
            Part::Same(text) => pieces.same(text),
            Part::Replaced(old, new) => compare(old, new, tokens, deadline, |part| match part {
                Part::Same(text) => pieces.same(text),
                Part::Replaced(old, new) => pieces.replaced(old, new),
            }),
        });
    }
    pieces.same(&old[old.len() - tail..]);
    pieces.end()
}

#[derive(Default)]
struct Pieces {
    done: Vec<Piece>,
    removed: String,
    added: String,
}

impl Pieces {
    fn same(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.settle();
        self.push(PieceKind::Same, text.to_owned());
    }

    fn replaced(&mut self, old: &str, new: &str) {
        self.removed.push_str(old);
        self.added.push_str(new);
    }

    fn settle(&mut self) {
        let (removed, added) = (std::mem::take(&mut self.removed), std::mem::take(&mut self.added));
        self.push(PieceKind::Removed, removed);
        self.push(PieceKind::Added, added);
    }

    fn push(&mut self, kind: PieceKind, text: String) {
        match self.done.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.kind == kind => last.text.push_str(&text),
            _ => self.done.push(Piece { kind, text }),
        }
    }

    fn end(mut self) -> Vec<Piece> {
        self.settle();
        self.done
    }
}

enum Part<'t> {
    Same(&'t str),
    Replaced(&'t str, &'t str),
}

/// Compares two texts by the parts that `split` makes of them.
fn compare<'t>(
    old: &'t str,
    new: &'t str,
    split: fn(&str) -> Vec<Range<usize>>,
    deadline: Instant,
    mut found: impl FnMut(Part<'t>),
) {
    let (old_parts, new_parts) = (split(old), split(new));
    let mut numbers = HashMap::new();
    let old_numbers = numbered(old, &old_parts, &mut numbers);
    let new_numbers = numbered(new, &new_parts, &mut numbers);
    let whole = |text: &'t str, parts: &[Range<usize>], of: Range<usize>| match &parts[of] {
        [] => "",
        [one] => &text[one.clone()],
        [first, .., last] => &text[first.start..last.end],
    };
    for op in capture_diff_slices_deadline(Algorithm::Myers, &old_numbers, &new_numbers, Some(deadline)) {
        let (tag, of_old, of_new) = op.as_tag_tuple();
        match tag {
            DiffTag::Equal => found(Part::Same(whole(old, &old_parts, of_old))),
            DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
                found(Part::Replaced(whole(old, &old_parts, of_old), whole(new, &new_parts, of_new)));
            }
        }
    }
}

/// The same number for the same part: numbers compare faster than texts.
fn numbered<'t>(text: &'t str, parts: &[Range<usize>], numbers: &mut HashMap<&'t str, usize>) -> Vec<usize> {
    let mut number = |part: &Range<usize>| {
        let next = numbers.len();
        *numbers.entry(&text[part.clone()]).or_insert(next)
    };
    parts.iter().map(&mut number).collect()
}

/// Lines, each with its end.
fn lines(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    let line = |line: &str| {
        let range = start..start + line.len();
        start = range.end;
        range
    };
    text.split_inclusive('\n').map(line).collect()
}

/// Words, runs of blanks, and every other character by itself.
fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut tokens: Vec<Range<usize>> = Vec::new();
    let mut before = Class::Other;
    for (at, letter) in text.char_indices() {
        let class = Class::of(letter);
        match tokens.last_mut() {
            Some(last) if class == before && class != Class::Other => last.end = at + letter.len_utf8(),
            _ => tokens.push(at..at + letter.len_utf8()),
        }
        before = class;
    }
    tokens
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Blank,
    Other,
}

impl Class {
    fn of(letter: char) -> Self {
        match letter {
            // Every line's end by itself, and scripts that put no blanks between words letter by letter.
            '\n' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}' => Self::Other,
            letter if letter.is_whitespace() => Self::Blank,
            letter if letter.is_alphanumeric() || letter == '_' => Self::Word,
            _ => Self::Other,
        }
    }
}

/// How many bytes at the beginning and at the end are the same in whole lines, or all if the texts are equal.
fn shared_ends(old: &str, new: &str) -> (usize, usize) {
    if old == new {
        return (old.len(), 0);
    }
    let (old, new) = (old.as_bytes(), new.as_bytes());
    let same = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let head = old[..same].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let (old, new) = (&old[head..], &new[head..]);
    let same = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let tail = &old[old.len() - same..];
    let tail = tail.iter().position(|byte| *byte == b'\n').map_or(0, |at| tail.len() - at - 1);
    (head, tail)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(pieces: &[Piece]) -> String {
        let show = |piece: &Piece| match piece.kind {
            PieceKind::Same => piece.text.clone(),
            PieceKind::Added => format!("[+{}]", piece.text),
            PieceKind::Removed => format!("[-{}]", piece.text),
        };
        pieces.iter().map(show).collect()
    }

    fn without(pieces: &[Piece], kind: PieceKind) -> String {
        pieces.iter().filter(|piece| piece.kind != kind).map(|piece| piece.text.as_str()).collect()
    }

    #[test]
    fn words_that_differ_are_shown() {
        for (old, new, expected) in [
            ("", "", ""),
            ("same", "same", "same"),
            ("", "all new", "[+all new]"),
            ("all gone", "", "[-all gone]"),
            ("the quick fox", "the slow fox", "the [-quick][+slow] fox"),
            ("one\ntwo\nthree\n", "one\n2\nthree\n", "one\n[-two][+2]\nthree\n"),
            ("a [[link]] here", "a [[link|text]] here", "a [[link[+|text]]] here"),
            ("Привет мир", "Привет, мир", "Привет[+,] мир"),
            ("日本語の文", "日本の文", "日本[-語]の文"),
            ("line\n", "line\nmore\n", "line\n[+more\n]"),
            ("tail", "new tail", "[+new ]tail"),
        ] {
            assert_eq!(shown(&words(old, new)), expected);
        }
    }

    #[test]
    fn no_time_left_still_gives_both_texts() {
        let old: String = (0..3_000).map(|n| format!("w{} ", n * 7_919 % 1_009)).collect();
        let new: String = (0..3_000).map(|n| format!("w{} ", n * 104_729 % 1_013)).collect();
        let pieces = words_until(&old, &new, Instant::now());
        assert_eq!((without(&pieces, PieceKind::Added), without(&pieces, PieceKind::Removed)), (old, new));
    }

    #[test]
    fn texts_beyond_all_measure_are_replaced_whole() {
        let (old, new) = ("a b ".repeat(COMPARED_BYTES_MAX / 8), "c d ".repeat(COMPARED_BYTES_MAX / 8 + 1));
        let kinds: Vec<_> = words(&old, &new).iter().map(|piece| piece.kind).collect();
        assert_eq!(kinds, [PieceKind::Removed, PieceKind::Added]);
    }

    proptest! {
        #[test]
        fn pieces_make_both_texts(old in "[ab é語.\n]{0,60}", new in "[ab é語.\n]{0,60}") {
            let pieces = words(&old, &new);
            prop_assert_eq!(without(&pieces, PieceKind::Added), old);
            prop_assert_eq!(without(&pieces, PieceKind::Removed), new);
            prop_assert!(pieces.iter().all(|piece| !piece.text.is_empty()));
            prop_assert!(pieces.windows(2).all(|pair| pair[0].kind != pair[1].kind));
        }
    }
}
