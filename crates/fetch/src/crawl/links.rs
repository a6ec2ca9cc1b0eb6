//! Where a page leads: its links as they stand in the HTML, read in one pass.

use std::cell::RefCell;

use lol_html::{HtmlRewriter, MemorySettings, Settings, element};

use crate::PageUrl;

/// Links of one page at most.
pub const LINKS_MAX: usize = 5_000;
/// Bytes of a page that are looked through.
const HTML_BYTES_MAX: usize = 4 << 20;
/// What the parser may hold back of a page.
const MEMORY_MAX: usize = 4 << 20;

/// What a page says about where it leads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Links {
    /// Against the page's base, each once, in their order.
    pub to: Vec<PageUrl>,
    /// The page of which this is a copy.
    pub canonical: Option<PageUrl>,
    /// The page asks that its links are not followed.
    pub nofollow: bool,
    /// Links that ask so for themselves.
    pub nofollowed: usize,
    /// There were more than are taken.
    pub cut: bool,
}

#[derive(Default)]
struct Seen {
    base: Option<String>,
    hrefs: Vec<String>,
    canonical: Option<String>,
    nofollow: bool,
    nofollowed: usize,
    cut: bool,
}

impl Seen {
    fn add(&mut self, href: Option<String>) {
        match href {
            Some(_) if self.hrefs.len() >= LINKS_MAX => self.cut = true,
            Some(href) if !href.trim_start().starts_with('#') => self.hrefs.push(href),
            _ => {}
        }
    }
}

/// Reads the links of an HTML page. Whatever the bytes are, this ends.
pub fn links(page: &PageUrl, html: &[u8]) -> Links {
    let seen = RefCell::new(Seen::default());
    let html = &html[..html.len().min(HTML_BYTES_MAX)];
    // A page that cannot be read to its end has given what it has.
    let _ = read(&seen, html);
    let Seen { base, hrefs, canonical, nofollow, nofollowed, cut } = seen.into_inner();
    let base = base.and_then(|base| page.join(&base).ok()).unwrap_or_else(|| page.clone());
    let join = |href: &String| base.join(&unescape(href)).ok();
    let mut known = std::collections::HashSet::new();
    let to = hrefs.iter().filter_map(join).filter(|url| known.insert(url.key())).collect();
    Links { to, canonical: canonical.as_ref().and_then(join), nofollow, nofollowed, cut }
}

fn read(seen: &RefCell<Seen>, html: &[u8]) -> Result<(), lol_html::errors::RewritingError> {
    let leads = |attribute: &'static str| {
        move |element: &mut lol_html::html_content::Element<'_, '_>| {
            let mut seen = seen.borrow_mut();
            if has_word(element.get_attribute("rel").as_deref(), &["nofollow", "ugc", "sponsored"]) {
                seen.nofollowed += 1;
            } else {
                seen.add(element.get_attribute(attribute));
            }
            Ok(())
        }
    };
    let handlers = vec![
        element!("base[href]", |element| {
            seen.borrow_mut().base.get_or_insert(element.get_attribute("href").unwrap_or_default());
            Ok(())
        }),
        element!("a[href]", leads("href")),
        element!("area[href]", leads("href")),
        element!("iframe[src]", leads("src")),
        element!("frame[src]", leads("src")),
        element!("link[href]", |element| {
            let rel = element.get_attribute("rel");
            let mut seen = seen.borrow_mut();
            if has_word(rel.as_deref(), &["canonical"]) {
                seen.canonical = element.get_attribute("href");
            } else if has_word(rel.as_deref(), &["next", "prev"]) {
                seen.add(element.get_attribute("href"));
            }
            Ok(())
        }),
        element!("meta[name][content]", |element| {
            let name = element.get_attribute("name").unwrap_or_default().to_ascii_lowercase();
            if matches!(name.as_str(), "robots" | "mallabot") {
                let says = element.get_attribute("content");
                seen.borrow_mut().nofollow |= has_word(says.as_deref(), &["nofollow", "none"]);
            }
            Ok(())
        }),
        element!("meta[http-equiv][content]", |element| {
            let about = element.get_attribute("http-equiv").unwrap_or_default();
            if about.eq_ignore_ascii_case("refresh") {
                let content = element.get_attribute("content").unwrap_or_default();
                let leads = content
                    .to_ascii_lowercase()
                    .find("url=")
                    .map(|at| content[at + 4..].trim().trim_matches(['"', '\'']).to_owned());
                seen.borrow_mut().add(leads);
            }
            Ok(())
        }),
    ];
    let memory = MemorySettings::new().with_max_allowed_memory_usage(MEMORY_MAX);
    let settings = Settings::new().with_memory_settings(memory).with_strict(false);
    let settings = handlers.into_iter().fold(settings, Settings::append_element_content_handler);
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    rewriter.write(html)?;
    rewriter.end()
}

/// Whether one of the words, which spaces or commas part, is among these.
fn has_word(text: Option<&str>, words: &[&str]) -> bool {
    let parts = |text: &str| {
        text.split([' ', ',', '\t', '\n']).any(|part| words.iter().any(|word| part.eq_ignore_ascii_case(word)))
    };
    text.is_some_and(parts)
}

/// The few references that stand in links.
pub(crate) fn unescape(text: &str) -> String {
    if !text.contains('&') {
        return text.trim().to_owned();
    }
    let pairs = [
        ("&#38;", "&"),
        ("&#x26;", "&"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ];
    pairs.iter().fold(text.trim().to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Whether a page may be read for links, by what its headers say of it: its type, and its wish.
pub fn is_html(headers: &[(String, String)]) -> bool {
    let kind = header(headers, "content-type").unwrap_or("text/html").to_ascii_lowercase();
    kind.starts_with("text/html") || kind.starts_with("application/xhtml+xml")
}

/// `X-Robots-Tag`, for everybody or for us.
pub fn headers_say_nofollow(headers: &[(String, String)]) -> bool {
    headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("x-robots-tag")).any(|(_, value)| {
        let rest = match value.split_once(':') {
            Some((agent, _)) if !agent.trim().eq_ignore_ascii_case("mallabot") => return false,
            Some((_, rest)) => rest,
            None => value,
        };
        has_word(Some(rest), &["nofollow", "none"])
    })
}

pub(crate) fn header<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(of, _)| of.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(html: &str) -> Links {
        links(&PageUrl::parse("https://example.org/a/b").expect("a URL"), html.as_bytes())
    }

    fn to(html: &str) -> Vec<String> {
        of(html).to.iter().map(PageUrl::to_string).collect()
    }

    #[test]
    fn links_are_found_where_they_stand() {
        let html = r##"<a href="c?x=1&amp;y=2">1</a><A HREF='/d#top'>2</A><a href="#here">3</a><area href=//o.example/>
            <iframe src="e"></iframe><link rel="stylesheet" href="s.css"><link rel=next href="?p=2">
            <a href="mailto:a@b.c">no</a><a href="javascript:x()">no</a><a href="/d">again</a>
            <meta http-equiv="Refresh" content="5; URL='/f'">"##;
        let expected = [
            "https://example.org/a/c?x=1&y=2",
            "https://example.org/d",
            "https://o.example/",
            "https://example.org/a/e",
            "https://example.org/a/b?p=2",
            "https://example.org/f",
        ];
        assert_eq!(to(html), expected);
    }

    #[test]
    fn the_base_counts_for_all_links() {
        assert_eq!(to(r#"<base href="/x/"><a href="y">"#), ["https://example.org/x/y"]);
        assert_eq!(to(r#"<a href="y"><base href="https://b.example/x/"><base href="/z/">"#), ["https://b.example/x/y"]);
    }

    #[test]
    fn who_asks_not_to_be_followed_is_not() {
        let found = of(r#"<a rel="nofollow noopener" href="/a">a</a><a rel=ugc href="/b">b</a><a href="/c">c</a>"#);
        assert_eq!((found.to.len(), found.nofollowed, found.nofollow), (1, 2, false));
        assert!(of(r#"<meta name="ROBOTS" content="NOINDEX, NOFOLLOW"><a href="/a">"#).nofollow);
        assert!(!of(r#"<meta name="googlebot" content="nofollow"><a href="/a">"#).nofollow);
        let header = |value: &str| headers_say_nofollow(&[("X-Robots-Tag".into(), value.into())]);
        assert!(header("noindex, nofollow") && header("MallaBot: none"));
        assert!(!header("otherbot: nofollow") && !header("noindex"));
    }

    #[test]
    fn a_copy_names_its_original() {
        let canonical = of(r#"<link rel="canonical" href="/original">"#).canonical;
        assert_eq!(canonical.map(|url| url.to_string()).as_deref(), Some("https://example.org/original"));
    }

    #[test]
    fn nonsense_ends() {
        for html in ["", "<", "<a href=", "<a href='", "<!--", "<script><a href=x>", "\0\u{1}<a href=\"\u{0}\">"] {
            of(html);
        }
        let many = "<a href='/x'>".to_owned() + &(0..6_000).map(|n| format!("<a href='/{n}'>")).collect::<String>();
        let found = of(&many);
        assert!(found.cut && found.to.len() <= LINKS_MAX);
        assert_eq!(to("<script>var x = '<a href=\"/no\">'</script><textarea><a href=/no></textarea>"), [""; 0]);
    }
}
