//! Regular expressions of the `regex` crate in the words of PostgreSQL, which match exactly the same texts.
//!
//! The expression is read into its plain meaning (flags applied, classes spelled out as ranges of characters), and that
//! is written down with what PostgreSQL has: sets, repetitions, alternatives, looks ahead and behind. Whether a
//! repetition is greedy makes no difference to whether a text matches.

use std::fmt::Write;

use malla_queue::{Error, Result};
use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// PostgreSQL counts no further.
const REPEATED_MAX: u32 = 255;
/// Bytes of an expression for PostgreSQL.
const BYTES_MAX: usize = 256 * 1024;
const NEVER: &str = "(?=a)(?=b)";

/// The same expression for PostgreSQL; what it cannot do is refused.
pub(super) fn for_postgres(regex: &str) -> Result<String> {
    let hir = regex_syntax::parse(regex).map_err(|error| Error::Invalid(format!("$regex: {error}")))?;
    let mut posix = String::new();
    write(&hir, &mut posix)?;
    Ok(posix)
}

fn write(hir: &Hir, into: &mut String) -> Result<()> {
    match hir.kind() {
        HirKind::Empty => into.push_str("(?:)"),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).map_err(|_| not_text())?;
            text.chars().for_each(|c| character(c, into));
        }
        HirKind::Class(class) => set(class, into)?,
        HirKind::Look(look) => into.push_str(&look_around(*look)?),
        HirKind::Repetition(repeated) => {
            let most = repeated.max.unwrap_or(0);
            if repeated.min.max(most) > REPEATED_MAX {
                return Err(Error::Invalid(format!("$regex: at most {REPEATED_MAX} repetitions can be counted")));
            }
            group(&repeated.sub, into)?;
            match (repeated.min, repeated.max) {
                (0, None) => into.push('*'),
                (1, None) => into.push('+'),
                (0, Some(1)) => into.push('?'),
                (min, None) => into.push_str(&format!("{{{min},}}")),
                (min, Some(max)) => into.push_str(&format!("{{{min},{max}}}")),
            }
        }
        HirKind::Capture(capture) => group(&capture.sub, into)?,
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| write(part, into))?,
        HirKind::Alternation(parts) => {
            into.push_str("(?:");
            for (number, part) in parts.iter().enumerate() {
                if number > 0 {
                    into.push('|');
                }
                write(part, into)?;
            }
            into.push(')');
        }
    }
    if into.len() > BYTES_MAX {
        return Err(Error::Invalid("$regex: the expression is too large: use smaller sets or fewer of them".into()));
    }
    Ok(())
}

fn group(hir: &Hir, into: &mut String) -> Result<()> {
    into.push_str("(?:");
    write(hir, into)?;
    into.push(')');
    Ok(())
}

/// Always by its number: then no character has a meaning.
fn character(c: char, into: &mut String) {
    let _ = match u32::from(c) {
        code @ 0..=0xffff => write!(into, "\\u{code:04x}"),
        code => write!(into, "\\U{code:08x}"),
    };
}

fn set(class: &Class, into: &mut String) -> Result<()> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class.ranges().iter().map(|range| (range.start(), range.end())).collect(),
        Class::Bytes(class) if class.is_ascii() => {
            class.ranges().iter().map(|range| (char::from(range.start()), char::from(range.end()))).collect()
        }
        Class::Bytes(_) => return Err(not_text()),
    };
    if ranges.is_empty() {
        into.push_str(NEVER);
        return Ok(());
    }
    into.push('[');
    for (first, last) in ranges {
        character(first, into);
        if last > first {
            into.push('-');
            character(last, into);
        }
    }
    into.push(']');
    Ok(())
}

fn look_around(look: Look) -> Result<String> {
    let word = |ascii: bool| -> Result<String> {
        let class = if ascii { "(?-u:\\w)" } else { "\\w" };
        for_postgres(class)
    };
    let boundary = |ascii: bool, between: fn(&str) -> String| word(ascii).map(|word| between(&word));
    Ok(match look {
        Look::Start => "\\A".into(),
        Look::End => "\\Z".into(),
        Look::StartLF => "(?:\\A|(?<=\\n))".into(),
        Look::EndLF => "(?:\\Z|(?=\\n))".into(),
        // Not between the two characters of one end of a line.
        Look::StartCRLF => "(?:\\A|(?<=\\n)|(?<=\\r)(?!\\n))".into(),
        Look::EndCRLF => "(?:\\Z|(?=\\r)|(?<!\\r)(?=\\n))".into(),
        Look::WordAscii => boundary(true, either_side)?,
        Look::WordUnicode => boundary(false, either_side)?,
        Look::WordAsciiNegate => boundary(true, neither_side)?,
        Look::WordUnicodeNegate => boundary(false, neither_side)?,
        Look::WordStartAscii => boundary(true, begins)?,
        Look::WordStartUnicode => boundary(false, begins)?,
        Look::WordEndAscii => boundary(true, ends)?,
        Look::WordEndUnicode => boundary(false, ends)?,
        Look::WordStartHalfAscii => boundary(true, |word| format!("(?<!{word})"))?,
        Look::WordStartHalfUnicode => boundary(false, |word| format!("(?<!{word})"))?,
        Look::WordEndHalfAscii => boundary(true, |word| format!("(?!{word})"))?,
        Look::WordEndHalfUnicode => boundary(false, |word| format!("(?!{word})"))?,
    })
}

fn either_side(word: &str) -> String {
    format!("(?:{}|{})", begins(word), ends(word))
}

fn neither_side(word: &str) -> String {
    format!("(?:(?<={word})(?={word})|(?<!{word})(?!{word}))")
}

fn begins(word: &str) -> String {
    format!("(?<!{word})(?={word})")
}

fn ends(word: &str) -> String {
    format!("(?<={word})(?!{word})")
}

fn not_text() -> Error {
    Error::Invalid("$regex: it matches bytes that are not text: leave out (?-u)".into())
}
