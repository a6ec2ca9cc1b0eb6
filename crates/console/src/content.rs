//! Payloads, results, events and answers as a person can read them: JSON indented, text as it is, bytes as hex.

use maud::{Markup, html};

use crate::words;

/// More than this is not shown: the API gives it whole.
const SHOWN_BYTES_MAX: usize = 64 * 1024;
const HEX_BYTES: usize = 1024;
const HEX_LINE: usize = 16;
/// Headers beyond these are many enough to be read over the API.
const HEADERS_SHOWN: usize = 100;

pub(crate) fn show(bytes: &[u8]) -> Markup {
    if bytes.is_empty() {
        return html! { p.quiet { (t!("Empty.")) } };
    }
    let (kind, text, whole) = match std::str::from_utf8(bytes) {
        Ok(text) if is_json(text) => {
            let (text, whole) = indented(text);
            ("JSON", text, whole)
        }
        Ok(text) => {
            let shown = cut(text);
            (t!("text"), shown.to_owned(), shown.len() == text.len())
        }
        Err(_) => (t!("bytes"), hex(bytes), bytes.len() <= HEX_BYTES),
    };
    html! {
        p.quiet.size { (kind) ", " (words::bytes(bytes.len())) @if !whole { (t!(", the beginning")) } }
        pre.content data-copy tabindex="0" { code { (text) } }
    }
}

/// What is known to be text, whatever its encoding: bytes that are not UTF-8 are shown as �.
pub(crate) fn show_text(bytes: &[u8]) -> Markup {
    if std::str::from_utf8(bytes).is_ok() {
        return show(bytes);
    }
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES_MAX)]);
    html! {
        p.quiet.size {
            (rich!("text in another encoding than UTF-8, {}", words::bytes(bytes.len())))
            @if bytes.len() > SHOWN_BYTES_MAX { (t!(", the beginning")) }
        }
        pre.content data-copy tabindex="0" { code { (text) } }
    }
}

/// A card with the headers of something that came over HTTP; nothing if it had none.
pub(crate) fn headers(headers: &[(String, String)]) -> Markup {
    html! {
        @if !headers.is_empty() {
            section.card {
                div.card-head { h2 { (t!("Headers")) } }
                dl.facts.plain {
                    @for (name, value) in headers.iter().take(HEADERS_SHOWN) { dt { (name) } dd { (value) } }
                }
                @if headers.len() > HEADERS_SHOWN {
                    p.quiet { (rich!("And {} more.", words::count((headers.len() - HEADERS_SHOWN) as u64))) }
                }
            }
        }
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Valid JSON with lines and indents; its values and their order stay exactly as they were written.
fn indented(json: &str) -> (String, bool) {
    let mut out = String::with_capacity(json.len().min(SHOWN_BYTES_MAX) * 2);
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    let mut chars = json.chars().peekable();
    while let Some(c) = chars.next() {
        if out.len() >= SHOWN_BYTES_MAX {
            return (out, false);
        }
        if in_string {
            out.push(c);
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        match c {
            ' ' | '\t' | '\n' | '\r' => {}
            '"' => {
                in_string = true;
                out.push(c);
            }
            '{' | '[' => {
                while chars.next_if(|c| c.is_ascii_whitespace()).is_some() {}
                out.push(c);
                match chars.next_if(|c| matches!(c, '}' | ']')) {
                    Some(close) => out.push(close),
                    None => {
                        depth += 1;
                        new_line(&mut out, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            other => out.push(other),
        }
    }
    (out, true)
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(SHOWN_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn hex(bytes: &[u8]) -> String {
    let mut out = String::new();
    for (i, line) in bytes[..bytes.len().min(HEX_BYTES)].chunks(HEX_LINE).enumerate() {
        let pairs: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        let plain: String =
            line.iter().map(|b| if b.is_ascii_graphic() || *b == b' ' { char::from(*b) } else { '.' }).collect();
        out.push_str(&format!("{:04x}  {:<47}  {plain}\n", i * HEX_LINE, pairs.join(" ")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_indented_and_otherwise_untouched() {
        let json = r#"{"z":1.10,"a":[1, 2],"s":"a,{}\"\\","e":{ },"big":123456789012345678901234567890}"#;
        let expected = r#"{
  "z": 1.10,
  "a": [
    1,
    2
  ],
  "s": "a,{}\"\\",
  "e": {},
  "big": 123456789012345678901234567890
}"#;
        assert_eq!(indented(json), (expected.to_owned(), true));
    }

    #[test]
    fn hostile_content_is_escaped_and_bounded() {
        let text = show(br#"{"x":"</code><script>alert(1)</script>"}"#).into_string();
        assert!(text.contains("&lt;script&gt;") && !text.contains("<script>"), "{text}");
        let deep = format!("{}{}{}", "[".repeat(100), vec!["1"; 100_000].join(","), "]".repeat(100));
        let (text, whole) = indented(&deep);
        assert!(text.len() < SHOWN_BYTES_MAX + 1_000 && !whole);
        assert_eq!(cut(&"é".repeat(SHOWN_BYTES_MAX)).len(), SHOWN_BYTES_MAX);
    }

    #[test]
    fn what_is_not_json_is_text_and_what_is_not_text_is_hex() {
        assert!(show(b"{not json").into_string().contains("text, 9 B"));
        let text = show(&[0xff, 0x41, 0x00]).into_string();
        assert!(text.contains("bytes, 3 B") && text.contains("0000  ff 41 00") && text.contains(".A."), "{text}");
        assert!(show(b"").into_string().contains("Empty."));
        let latin = show_text(b"caf\xe9 <b>").into_string();
        assert!(latin.contains("another encoding") && latin.contains("caf\u{fffd} &lt;b&gt;"), "{latin}");
        assert!(show_text(b"plain").into_string().contains("text, 5 B"));
    }
}
