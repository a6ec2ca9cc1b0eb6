//! The text of an HTML page, or of the parts that a selector picks, in lines.

use std::cell::RefCell;
use std::rc::Rc;

use lol_html::html_content::Element;
use lol_html::{HtmlRewriter, MemorySettings, Selector, Settings, doc_text, element};
use malla_queue::{Error, Result};

use crate::crawl::is_html;
use crate::{Page, unpack_page};

/// The longest text that is kept of a page.
pub const TEXT_BYTES_MAX: usize = 1 << 20;
const MEMORY_MAX: usize = 8 << 20;
const SELECTOR_BYTES_MAX: usize = 1_000;

/// Each of these begins a line.
const LINES: &str = "p, div, br, li, tr, h1, h2, h3, h4, h5, h6, section, article, header, footer, main, nav, aside, table, \
    ul, ol, dl, dt, dd, pre, blockquote, title, option, form, hr, figure, figcaption, td, th, summary";
/// What stands in these is not read by people.
const SKIPPED: &str = "script, style, noscript, template, svg, head > title";

#[derive(Default)]
struct Seen {
    text: String,
    /// Elements of the selector around.
    inside: u32,
    /// Elements around that are not read.
    skipped: u32,
    picks: bool,
}

impl Seen {
    fn reads(&self) -> bool {
        self.skipped == 0 && (self.inside > 0 || !self.picks) && self.text.len() < TEXT_BYTES_MAX
    }
}

/// Refuses what is not a selector.
pub fn check_selector(selector: &str) -> Result<()> {
    let wrong = |why: String| Error::Invalid(format!("\"{selector}\" is not a selector that can be used: {why}"));
    if selector.len() > SELECTOR_BYTES_MAX {
        return Err(wrong(format!("it has more than {SELECTOR_BYTES_MAX} bytes")));
    }
    selector.parse::<Selector>().map(drop).map_err(|error| wrong(error.to_string()))
}

/// The text of a page, whatever it is; `None` if it is not text.
pub fn of_page(page: &Page, selector: Option<&str>) -> Result<Option<String>> {
    let body = unpack_page(page)?;
    if is_html(&page.headers) {
        return readable(&body, selector).map(Some);
    }
    let kind = page.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let kind = kind.map(|(_, value)| value.to_ascii_lowercase()).unwrap_or_default();
    let is_text = ["text/", "application/json", "application/xml", "application/javascript"];
    let is_text = is_text.iter().any(|with| kind.starts_with(with)) || kind.contains("+json") || kind.contains("+xml");
    Ok(is_text.then(|| lines(&String::from_utf8_lossy(&body[..body.len().min(TEXT_BYTES_MAX)]))))
}

/// The text of HTML in lines, without what is not shown; of the parts that a selector picks, if there is one.
pub fn readable(html: &[u8], selector: Option<&str>) -> Result<String> {
    let seen = Rc::new(RefCell::new(Seen { picks: selector.is_some(), ..Seen::default() }));
    let mut handlers = Vec::new();
    if let Some(selector) = selector {
        check_selector(selector)?;
        let seen = seen.clone();
        handlers.push(element!(selector, move |element| {
            seen.borrow_mut().text.push('\n');
            around(element, &seen, |seen| &mut seen.inside);
            Ok(())
        }));
    }
    let skipped = seen.clone();
    handlers.push(element!(SKIPPED, move |element| {
        around(element, &skipped, |seen| &mut seen.skipped);
        Ok(())
    }));
    let broken = seen.clone();
    handlers.push(element!(LINES, move |_| {
        broken.borrow_mut().text.push('\n');
        Ok(())
    }));
    let read = seen.clone();
    let texts = doc_text!(move |chunk| {
        let mut seen = read.borrow_mut();
        if seen.reads() {
            seen.text.push_str(chunk.as_str());
        }
        Ok(())
    });
    let memory = MemorySettings::new().with_max_allowed_memory_usage(MEMORY_MAX);
    let settings = Settings::new().with_memory_settings(memory).with_strict(false);
    let settings = handlers.into_iter().fold(settings, Settings::append_element_content_handler);
    let settings = settings.append_document_content_handler(texts);
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    // A page that cannot be read to its end has given what it has.
    let _ = rewriter.write(html).and_then(|()| rewriter.end());
    let text = std::mem::take(&mut seen.borrow_mut().text);
    Ok(lines(&entities(&text)))
}

/// Counts an element as long as it is open. One that has no end has no text either.
fn around(element: &mut Element<'_, '_>, seen: &Rc<RefCell<Seen>>, of: fn(&mut Seen) -> &mut u32) {
    let closing = seen.clone();
    let closes = element.on_end_tag(lol_html::end_tag!(move |_| {
        let mut seen = closing.borrow_mut();
        seen.text.push('\n');
        let around = of(&mut seen);
        *around = around.saturating_sub(1);
        Ok(())
    }));
    if closes.is_ok() {
        *of(&mut seen.borrow_mut()) += 1;
    }
}

/// Spaces in a row are one, lines without a word are none.
fn lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(TEXT_BYTES_MAX));
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { continue };
        if out.len() > TEXT_BYTES_MAX {
            break;
        }
        out.push_str(first);
        for word in words {
            out.push(' ');
            out.push_str(word);
        }
        out.push('\n');
    }
    out
}

/// Undoes the references that stand in texts.
fn entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.char_indices().take(12).find(|(_, letter)| *letter == ';').map(|(end, _)| end);
        match end.and_then(|end| Some((end, entity(&rest[1..end])?))) {
            Some((end, letter)) => {
                out.push(letter);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|letter| *letter != '\0');
    }
    let known = [
        ("amp", '&'),
        ("lt", '<'),
        ("gt", '>'),
        ("quot", '"'),
        ("apos", '\''),
        ("nbsp", ' '),
        ("ndash", '–'),
        ("mdash", '—'),
        ("hellip", '…'),
        ("copy", '©'),
        ("euro", '€'),
        ("laquo", '«'),
        ("raquo", '»'),
        ("rsquo", '’'),
        ("lsquo", '‘'),
        ("ldquo", '“'),
        ("rdquo", '”'),
        ("middot", '·'),
        ("auml", 'ä'),
        ("ouml", 'ö'),
        ("uuml", 'ü'),
        ("szlig", 'ß'),
        ("eacute", 'é'),
        ("aacute", 'á'),
        ("iacute", 'í'),
        ("oacute", 'ó'),
        ("uacute", 'ú'),
        ("ntilde", 'ñ'),
    ];
    known.into_iter().find(|(of, _)| *of == name).map(|(_, letter)| letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(html: &str, selector: Option<&str>, expected: &str) {
        assert_eq!(readable(html.as_bytes(), selector).expect("it is read"), expected, "{html}");
    }

    #[test]
    fn a_page_is_read_as_people_do() {
        let html = "<html><head><title>T</title><style>p{}</style><script>var a = '<p>no';</script></head>
            <body><h1>One &amp; two</h1><p>three   <b>four</b>\n five<br>six</p><!-- no --><ul><li>a<li>b</ul></body>";
        check(html, None, "One & two\nthree four\nfive\nsix\na\nb\n");
        check("plain text", None, "plain text\n");
        check("", None, "");
        check("<p>&#65;&#x42;&nosuch; &amp;amp; &</p>", None, "AB&nosuch; &amp; &\n");
    }

    #[test]
    fn a_selector_picks_parts() {
        let html = "<div id=a><p>one</p></div><div class='price now'>two <i>three</i></div><p>four</p>";
        check(html, Some(".price"), "two three\n");
        check(html, Some("#a, .price"), "one\ntwo three\n");
        check(html, Some("h1"), "");
        for wrong in ["", "p:::x", "a[", ">"] {
            let error = check_selector(wrong).expect_err("it is refused").to_string();
            assert!(error.contains("is not a selector"), "{error}");
        }
    }
}
