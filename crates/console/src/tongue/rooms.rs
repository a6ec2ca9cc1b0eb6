//! What the rooms say: sentences that come from elsewhere, with values in them. Those that are known are said in the
//! language of the page; the others stay as they came.

use super::spanish::{pipelines, rooms};
use super::{Lang, Text, places};

/// Longer sentences quote what somebody sent, and stay as they are.
const BYTES_MAX: usize = 2_000;
/// Sentences inside of sentences.
const DEPTH_MAX: usize = 6;

/// Every kind of sentence, in the order in which they are tried.
pub(super) fn patterns() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    rooms::PATTERNS.iter().chain(pipelines::PATTERNS)
}

/// A sentence of a room in the language of the page.
pub(crate) fn told(sentence: String) -> String {
    if Lang::now() == Lang::English || sentence.len() > BYTES_MAX {
        return sentence;
    }
    known(&sentence, 0).unwrap_or(sentence)
}

fn known(sentence: &str, depth: usize) -> Option<String> {
    if depth > DEPTH_MAX {
        return None;
    }
    patterns().find_map(|(english, spanish)| said(english, spanish, sentence, depth))
}

fn said(english: &'static str, spanish: &'static str, sentence: &str, depth: usize) -> Option<String> {
    let values = values(english, sentence)?;
    // A value may be a sentence itself: `"x" is not a target: it names no host`. At `{inner}` it must be one.
    let told = |(value, name): (&str, &str)| if name == "inner" { known(value, depth + 1) } else { Some(whole(value)) };
    let values: Vec<String> = values.into_iter().zip(places(english)).map(told).collect::<Option<_>>()?;
    let values: Vec<&dyn std::fmt::Display> = values.iter().map(|value| value as &dyn std::fmt::Display).collect();
    Some(Text::new(english, spanish).filled(&values))
}

/// Only a whole sentence of a room inside of another is said again: a name stays a name.
fn whole(value: &str) -> String {
    let known = rooms::PATTERNS.iter().find(|(english, _)| *english == value);
    known.map_or_else(|| value.to_owned(), |(_, spanish)| (*spanish).to_owned())
}

/// What stands at the places of `pattern`, if the sentence is one of that kind.
fn values<'s>(pattern: &str, sentence: &'s str) -> Option<Vec<&'s str>> {
    let mut pieces = pattern.split('{').map(|piece| piece.split_once('}').map_or(piece, |(_, words)| words));
    let mut rest = sentence.strip_prefix(pieces.next()?)?;
    let (mut values, mut pieces) = (Vec::new(), pieces.peekable());
    while let Some(piece) = pieces.next() {
        let end = match (piece.is_empty(), pieces.peek().is_none()) {
            (true, true) => rest.len(),
            (_, true) => rest.len().checked_sub(piece.len()).filter(|at| rest.get(*at..) == Some(piece))?,
            (_, false) => rest.find(piece)?,
        };
        values.push(&rest[..end]);
        rest = &rest[end + piece.len()..];
    }
    rest.is_empty().then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_of_a_room_is_said_in_spanish_with_its_values() {
        let spanish = |text: &str| Lang::Spanish.speaking_now(|| told(text.to_owned()));
        assert_eq!(spanish("a group named ops exists already"), "ya existe un grupo llamado ops");
        assert_eq!(
            spanish("\"x y\" is not a target: it names no host"),
            "«x y» no es un destino: no nombra ningún servidor"
        );
        assert_eq!(spanish("task 069zgg4c0001d does not exist"), "la tarea 069zgg4c0001d no existe");
        assert_eq!(spanish("nobody knows this one"), "nobody knows this one");
        assert_eq!(spanish("a name: nobody knows this one"), "a name: nobody knows this one");
        assert_eq!(
            spanish("stage 2, $match: size: $regex takes text, not 5"),
            "etapa 2, $match: size: $regex toma texto, no 5"
        );
        assert_eq!(
            spanish("stage 1: there is no stage \"$mtch\" (did you mean $match?); there are $match, $sort"),
            "etapa 1: no hay una etapa \"$mtch\" (¿querías decir $match?); hay $match, $sort"
        );
        assert_eq!(
            spanish("datestart cannot be \"soon\": it is a day like 2018-03-09"),
            "datestart no puede ser \"soon\": es un día como 2018-03-09"
        );
        assert_eq!(told("a group named ops exists already".to_owned()), "a group named ops exists already");
    }

    #[test]
    fn values_are_found_between_the_words() {
        assert_eq!(values("a {} b {}", "a 1 b 2 b 3"), Some(vec!["1", "2 b 3"]));
        assert_eq!(values("{name} is from {} to {}", "x is from 1 to 5"), Some(vec!["x", "1", "5"]));
        assert_eq!(values("a {} b", "a x c"), None);
        assert_eq!(values("plain", "plain"), Some(vec![]));
        assert_eq!(values("plain", "plainer"), None);
    }
}
