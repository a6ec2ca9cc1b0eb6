//! Sitemaps: XML, plain text, or an index of others; packed or not.

use std::io::Read as _;

use quick_xml::Reader;
use quick_xml::events::Event;

use crate::PageUrl;

/// URLs of one sitemap at most, as the format says.
const URLS_MAX: usize = 50_000;
/// Bytes of one sitemap, unpacked, at most, as the format says.
const BYTES_MAX: usize = 50 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sitemap {
    pub pages: Vec<PageUrl>,
    /// Other sitemaps.
    pub sitemaps: Vec<PageUrl>,
}

/// The sitemaps that a robots.txt names.
pub fn of_robots(robots: &[u8]) -> Vec<PageUrl> {
    let text = String::from_utf8_lossy(robots);
    let named = text.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim()
            .eq_ignore_ascii_case("sitemap")
            .then(|| value.split('#').next().unwrap_or_default().trim().to_owned())
    });
    named.filter_map(|url| PageUrl::parse(&url).ok()).take(100).collect()
}

/// Reads a sitemap as it came. What is none is empty.
pub fn read(body: &[u8]) -> Sitemap {
    let unpacked = match body {
        [0x1f, 0x8b, ..] => {
            let mut out = Vec::new();
            let limit = u64::try_from(BYTES_MAX).unwrap_or(u64::MAX);
            // What breaks off has given what it has.
            let _ = flate2::read::MultiGzDecoder::new(body).take(limit).read_to_end(&mut out);
            out
        }
        body => body[..body.len().min(BYTES_MAX)].to_vec(),
    };
    let start = unpacked.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&unpacked).trim_ascii_start();
    if start.starts_with(b"<") { xml(start) } else { lines(start) }
}

fn lines(text: &[u8]) -> Sitemap {
    let text = String::from_utf8_lossy(text);
    let pages = text.lines().filter_map(|line| PageUrl::parse(line).ok()).take(URLS_MAX).collect();
    Sitemap { pages, sitemaps: Vec::new() }
}

fn xml(text: &[u8]) -> Sitemap {
    let text = String::from_utf8_lossy(text);
    let mut reader = Reader::from_str(&text);
    let mut found = Sitemap::default();
    let (mut index, mut loc): (bool, Option<String>) = (false, None);
    while found.pages.len() + found.sitemaps.len() < URLS_MAX {
        match reader.read_event() {
            Ok(Event::Start(tag)) => match tag.local_name().as_ref() {
                "sitemap" => index = true,
                "url" => index = false,
                "loc" => loc = Some(String::new()),
                _ => {}
            },
            Ok(Event::Text(text)) => {
                if let Some(loc) = &mut loc {
                    loc.push_str(&text);
                }
            }
            Ok(Event::CData(text)) => {
                if let Some(loc) = &mut loc {
                    loc.push_str(&text);
                }
            }
            Ok(Event::GeneralRef(name)) => {
                if let Some(loc) = &mut loc {
                    loc.push_str(&super::links::unescape(&format!("&{};", &*name)));
                }
            }
            Ok(Event::End(tag)) if tag.local_name().as_ref() == "loc" => {
                if let Some(url) = loc.take().and_then(|loc| PageUrl::parse(&loc).ok()) {
                    if index { found.sitemaps.push(url) } else { found.pages.push(url) }
                }
            }
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn texts(urls: &[PageUrl]) -> Vec<&str> {
        urls.iter().map(PageUrl::as_str).collect()
    }

    const PAGES: &str = r#"<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
        <url><loc> https://a.example/?x=1&amp;y=2 </loc><lastmod>2026-01-01</lastmod></url>
        <url><loc><![CDATA[https://a.example/b]]></loc></url><url><loc>nonsense</loc></url></urlset>"#;

    #[test]
    fn pages_are_read_packed_or_not() {
        let expected = ["https://a.example/?x=1&y=2", "https://a.example/b"];
        assert_eq!(texts(&read(PAGES.as_bytes()).pages), expected);
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(PAGES.as_bytes()).expect("packs");
        let packed = packer.finish().expect("packs");
        assert_eq!(texts(&read(&packed).pages), expected);
        assert!(read(&packed[..packed.len() / 2]).pages.len() < 3, "what breaks off is read as far as it goes");
        assert_eq!(texts(&read(b"https://a.example/x\n\nhttps://a.example/y\n").pages).len(), 2);
    }

    #[test]
    fn an_index_names_others() {
        let index = "<sitemapindex><sitemap><loc>https://a.example/1.xml.gz</loc></sitemap></sitemapindex>";
        let found = read(index.as_bytes());
        assert_eq!((texts(&found.sitemaps), found.pages.len()), (vec!["https://a.example/1.xml.gz"], 0));
        assert_eq!(read(b"<html><a href='x'>404</a>"), Sitemap::default());
        assert_eq!(read(b""), Sitemap::default());
    }

    #[test]
    fn robots_name_sitemaps() {
        let robots = b"User-agent: *\nDisallow: /x\nSITEMAP: https://a.example/s.xml # new\nSitemap: /relative\n";
        assert_eq!(texts(&of_robots(robots)), ["https://a.example/s.xml"]);
    }
}
