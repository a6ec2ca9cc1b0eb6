//! How alike two bodies are to a reader. Ads, dates, counters and tokens differ between two honest fetches: what has a
//! digit in it or is too long to be a word does not count, and neither do tags, scripts and styles.

use std::collections::HashSet;

/// Words of a text that are looked at.
const WORDS_MAX: usize = 20_000;
/// Bytes of a body that are looked at.
const BYTES_MAX: usize = 1_000_000;
/// A longer word is a token.
const WORD_BYTES_MAX: usize = 24;
/// Words that make a shingle; a short text is compared word by word.
const SHINGLE: usize = 3;
const SHORT: usize = 12;
/// From here on two texts are the same to a reader.
const SAME: f64 = 0.5;
/// Below this they have nothing to do with each other.
const OTHER: f64 = 0.2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    Same,
    /// Too much is the same for two pages, and too much differs for one.
    Unclear,
    Different,
}

pub fn likeness(one: &[u8], other: &[u8]) -> Likeness {
    if one == other {
        return Likeness::Same;
    }
    match (std::str::from_utf8(head(one)), std::str::from_utf8(head(other))) {
        (Err(_), Err(_)) => return Likeness::Different,
        (Ok(_), Err(_)) | (Err(_), Ok(_)) if is_binary(one) != is_binary(other) => return Likeness::Different,
        _ => {}
    }
    let (one, other) = (words(&String::from_utf8_lossy(head(one))), words(&String::from_utf8_lossy(head(other))));
    if one.is_empty() || other.is_empty() {
        // Numbers and tokens alone tell nothing.
        return if one.is_empty() && other.is_empty() { Likeness::Same } else { Likeness::Different };
    }
    let size = if one.len().min(other.len()) < SHORT { 1 } else { SHINGLE };
    match share(&shingles(&one, size), &shingles(&other, size)) {
        share if share >= SAME => Likeness::Same,
        share if share < OTHER => Likeness::Different,
        _ => Likeness::Unclear,
    }
}

/// At most what is looked at, cut between two letters.
fn head(body: &[u8]) -> &[u8] {
    let mut end = body.len().min(BYTES_MAX);
    while end < body.len() && end > 0 && body[end] & 0b1100_0000 == 0b1000_0000 {
        end -= 1;
    }
    &body[..end]
}

fn is_binary(body: &[u8]) -> bool {
    head(body).iter().take(1_024).any(|byte| *byte == 0)
}

/// The words a reader sees, without what differs from one moment to the next.
fn words(text: &str) -> Vec<String> {
    let visible = visible(text);
    let all = visible.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let lasting = all.filter(|word| word.len() <= WORD_BYTES_MAX && !word.contains(|c: char| c.is_ascii_digit()));
    lasting.take(WORDS_MAX).map(str::to_lowercase).collect()
}

fn visible(html: &str) -> String {
    let mut text = String::with_capacity(html.len() / 2);
    let mut rest = html;
    while let Some(open) = rest.find('<') {
        text.push_str(&rest[..open]);
        text.push(' ');
        rest = &rest[open..];
        let hidden = ["script", "style", "noscript"].into_iter().find(|name| starts_tag(rest, name));
        let end = match hidden {
            Some(name) => find_end(rest, name),
            None if rest.starts_with("<!--") => rest.find("-->").map(|at| at + 3),
            None if rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!') => {
                rest.find('>').map(|at| at + 1)
            }
            None => Some(1),
        };
        rest = &rest[end.unwrap_or(rest.len())..];
    }
    text.push_str(rest);
    text
}

fn starts_tag(text: &str, name: &str) -> bool {
    let Some(after) = text.get(1..=name.len()) else { return false };
    let next = text.as_bytes().get(1 + name.len());
    after.eq_ignore_ascii_case(name) && next.is_none_or(|next| !next.is_ascii_alphanumeric())
}

/// Behind the tag that closes this one.
fn find_end(text: &str, name: &str) -> Option<usize> {
    let mut from = 1;
    while let Some(at) = text[from..].find("</") {
        let start = from + at;
        if text.get(start + 2..start + 2 + name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name)) {
            return text[start..].find('>').map(|end| start + end + 1);
        }
        from = start + 2;
    }
    None
}

fn shingles(words: &[String], size: usize) -> HashSet<&[String]> {
    words.windows(size.min(words.len()).max(1)).collect()
}

/// Of all shingles, those that both have.
fn share(one: &HashSet<&[String]>, other: &HashSet<&[String]>) -> f64 {
    let both = one.intersection(other).count();
    let all = one.len() + other.len() - both;
    #[allow(clippy::cast_precision_loss)] // bounded by WORDS_MAX
    let share = if all == 0 { 1.0 } else { both as f64 / all as f64 };
    share
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORY: &str = "The river rose over night and the bridge at the old mill was closed to all carts until the \
                         water fell again, said the keeper of the lock, who had seen it higher only once before.";

    #[track_caller]
    fn check(one: &str, other: &str, expected: Likeness) {
        assert_eq!(likeness(one.as_bytes(), other.as_bytes()), expected, "{one}\n{other}");
        assert_eq!(likeness(other.as_bytes(), one.as_bytes()), expected, "{other}\n{one}");
    }

    #[test]
    fn ads_dates_and_tokens_are_forgiven() {
        let page = |date: &str, token: &str, ad: &str| {
            format!(
                "<html><head><style>p {{ color: {token} }}</style><script>var t = '{token}';</script></head><body>\
                 <!-- {token} --><p>{date}</p><p>{STORY}</p><div class='ad'>{ad}</div><input value='{token}'></body>"
            )
        };
        check(
            &page("2026-11-17 20:01:07", "f81d4fae7dec11d0a76500a0c91e6bf6", "Buy shoes now"),
            &page("2026-11-18 06:44:59", "0b6b1a1c0ee24c5d9f1b8a4a7d1cf2aa", "Cheap flights to the sea"),
            Likeness::Same,
        );
    }

    #[test]
    fn another_text_is_another_page() {
        let forged =
            "Welcome to this site. It is under construction and will be back soon with many new offers for you.";
        check(STORY, forged, Likeness::Different);
        check(&format!("<p>{STORY}</p>"), "<p></p>", Likeness::Different);
        check("hello world", "good night", Likeness::Different);
        check("{\"n\":1}", "{\"n\":2}", Likeness::Same);
        check("17", "18", Likeness::Same);
    }

    #[test]
    fn half_a_page_is_neither() {
        let more = "Meanwhile the baker of the upper town sold all of his bread before noon, for the lower town could \
                    not be reached and nobody knew how long that would last for the people there.";
        let third = "In the evening the council met and talked of a new bridge, as it has done in every year of flood \
                     since anybody can remember, and went home again.";
        check(&format!("{STORY} {more}"), &format!("{STORY} {third}"), Likeness::Unclear);
    }

    #[test]
    fn whatever_comes_is_read() {
        for odd in ["<", "<<<", "a < b", "<script>", "<script>x</scripty>", "</", "<p", "ü<ü>ü", "<!--"] {
            likeness(odd.as_bytes(), b"<p>x</p>");
        }
        assert_eq!(likeness(&[0, 159, 146, 150], &[0, 159, 146, 151]), Likeness::Different);
        assert_eq!(likeness(b"", b""), Likeness::Same);
    }
}
