//! A wiki whose API is off: what its history pages say, and its raw texts.

use std::sync::LazyLock;
use std::time::UNIX_EPOCH;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use malla_queue::UnixMs;
use percent_encoding::percent_decode_str;
use regex::Regex;
use serde::{Deserialize, Serialize};
use url::Url;

use super::siteinfo::Subject;
use crate::page::PageId;
use crate::revision::{RevId, Revision};

/// Lines of one history page: they travel in a task's payload until their texts are read.
const LINES_MAX: usize = 100;

/// A line of a history page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) revid: RevId,
    parentid: RevId,
    /// To the minute; the text's own time is exact.
    at: Option<UnixMs>,
    user: Option<String>,
    anon: bool,
    minor: bool,
    size: u64,
    /// As HTML.
    comment: Option<String>,
    tags: Vec<String>,
    pub(crate) text_hidden: bool,
}

/// A history page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct History {
    pub(crate) pageid: PageId,
    pub(crate) title: String,
    pub(crate) ns: i64,
    /// From the newest on.
    pub(crate) lines: Vec<Line>,
    /// Where it goes on.
    pub(crate) offset: Option<String>,
}

pub(crate) fn history_url(script: &Url, subject: &Subject, offset: Option<&str>) -> Url {
    let mut url = named(script, subject);
    let limit = LINES_MAX.to_string();
    url.query_pairs_mut().extend_pairs([("action", "history"), ("uselang", "en"), ("limit", limit.as_str())]);
    if let Some(offset) = offset {
        url.query_pairs_mut().append_pair("offset", offset);
    }
    url
}

pub(crate) fn raw_url(script: &Url, title: &str, revid: RevId) -> Url {
    let mut url = named(script, &Subject::Title(title.to_owned()));
    url.query_pairs_mut().extend_pairs([("oldid", revid.0.to_string().as_str()), ("action", "raw")]);
    url
}

fn named(script: &Url, subject: &Subject) -> Url {
    let mut url = script.clone();
    url.set_query(None);
    match subject {
        Subject::Title(title) => url.query_pairs_mut().append_pair("title", title),
        Subject::Page(page) => url.query_pairs_mut().append_pair("curid", &page.0.to_string()),
        Subject::Revision(revision) => url.query_pairs_mut().append_pair("oldid", &revision.0.to_string()),
    };
    url
}

fn expression(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant")
}

static LINE: LazyLock<Regex> =
    LazyLock::new(|| expression(r#"(?s)<li\b[^>]*\bdata-mw-revid="(\d{1,18})"[^>]*>(.*?)</li>"#));
static USER: LazyLock<Regex> =
    LazyLock::new(|| expression(r#"(?s)class="([^"]*\bmw-userlink\b[^"]*)"[^>]*>\s*<bdi>(.*?)</bdi>"#));
static BYTES: LazyLock<Regex> = LazyLock::new(|| expression(r#"data-mw-bytes="(\d{1,18})""#));
static DATE: LazyLock<Regex> =
    LazyLock::new(|| expression(r#"(?s)<(?:a|span)\b[^>]*class="([^"]*\bmw-changeslist-date\b[^"]*)"[^>]*>([^<]*)<"#));
static TAG: LazyLock<Regex> = LazyLock::new(|| expression(r#"\bmw-tag-marker-([^" ]+)"#));
static COMMENT: LazyLock<Regex> = LazyLock::new(|| expression(r#"<span class="comment\b[^"]*">"#));
static SPAN: LazyLock<Regex> = LazyLock::new(|| expression(r"<(/?)span\b[^>]*>"));
static ANY: LazyLock<Regex> = LazyLock::new(|| expression(r"<[^>]*>"));
static NEXT: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r#"<a\b[^>]*href="[^"]*[?&;]offset=([^"&]+)[^"]*"[^>]*class="mw-nextlink"|<a\b[^>]*class="mw-nextlink"[^>]*href="[^"]*[?&;]offset=([^"&]+)"#,
    )
});
static NUMBER: LazyLock<Regex> = LazyLock::new(|| expression(r#""wgArticleId":\s*([1-9]\d{0,17})\b"#));
static SPACE: LazyLock<Regex> = LazyLock::new(|| expression(r#""wgNamespaceNumber":\s*(-?\d{1,6})\b"#));
static NAME: LazyLock<Regex> = LazyLock::new(|| expression(r#""wgPageName":\s*("(?:[^"\\]|\\.)*")"#));

/// Reads a history page; `None` if it is not one.
pub(crate) fn history(page: &[u8]) -> Option<History> {
    let page = String::from_utf8_lossy(page);
    let first = |expression: &Regex| expression.captures(&page).map(|found| found[1].to_owned());
    let title: String = serde_json::from_str(&first(&NAME)?).ok()?;
    let mut lines: Vec<Line> =
        LINE.captures_iter(&page).take(LINES_MAX).filter_map(|found| line(&found[1], &found[2])).collect();
    // A revision's parent is the one below it.
    for n in 1..lines.len() {
        lines[n - 1].parentid = lines[n].revid;
    }
    let offset = NEXT.captures(&page).and_then(|found| Some(found.get(1).or(found.get(2))?.as_str().to_owned()));
    Some(History {
        pageid: PageId(first(&NUMBER)?.parse().ok()?),
        title: title.replace('_', " "),
        ns: first(&SPACE).and_then(|number| number.parse().ok()).unwrap_or(0),
        lines,
        offset: offset.map(|offset| percent_decode_str(&offset).decode_utf8_lossy().into_owned()),
    })
}

fn line(revid: &str, html: &str) -> Option<Line> {
    let user = USER.captures(html);
    let date = DATE.captures(html);
    Some(Line {
        revid: RevId(revid.parse().ok()?),
        parentid: RevId(0),
        at: date.as_ref().and_then(|found| minute(&found[2])),
        user: user.as_ref().map(|found| plain(&found[2])),
        anon: user.is_some_and(|found| found[1].contains("mw-anonuserlink")),
        minor: html.contains(r#"class="minoredit""#),
        size: BYTES.captures(html).and_then(|found| found[1].parse().ok()).unwrap_or(0),
        comment: comment(html),
        tags: TAG.captures_iter(html).map(|found| found[1].to_owned()).collect(),
        text_hidden: date.is_some_and(|found| found[1].contains("history-deleted")),
    })
}

/// What is inside of the comment's element, which holds others.
fn comment(html: &str) -> Option<String> {
    let inside = &html[COMMENT.find(html)?.end()..];
    let mut depth = 1;
    for tag in SPAN.captures_iter(inside) {
        depth = if tag[1].is_empty() { depth + 1 } else { depth - 1 };
        if depth == 0 {
            return tag.get(0).map(|end| inside[..end.start()].to_owned());
        }
    }
    None
}

/// `12:00, 9 March 2018`, as a wiki in English writes it.
fn minute(text: &str) -> Option<UnixMs> {
    let at = DateTime::strptime("%H:%M, %d %B %Y", text.trim()).ok()?;
    let at = at.to_zoned(TimeZone::UTC).ok()?.timestamp();
    Some(UnixMs(at.as_millisecond()))
}

fn plain(html: &str) -> String {
    let text = ANY.replace_all(html, "");
    [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#039;", "'"),
        ("&#39;", "'"),
        ("&nbsp;", "\u{a0}"),
        ("&amp;", "&"),
    ]
    .into_iter()
    .fold(text.into_owned(), |text, (name, stands_for)| text.replace(name, stands_for))
}

/// The moment that a header names.
pub(crate) fn last_modified(header: &str) -> Option<UnixMs> {
    let at = httpdate::parse_http_date(header).ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(UnixMs(0).plus(at))
}

/// A line as a revision; `None` if nothing says when it was made.
pub(crate) fn revision(line: &Line, pageid: PageId, exact: Option<UnixMs>) -> Option<Revision> {
    Some(Revision {
        revid: line.revid,
        parentid: line.parentid,
        pageid,
        at: exact.or(line.at)?,
        user: line.user.clone(),
        userid: line.anon.then_some(0),
        anon: line.anon,
        minor: line.minor,
        size: line.size,
        sha1: None,
        model: "wikitext".into(),
        format: "text/x-wiki".into(),
        comment: Some(line.comment.as_deref().map(plain).unwrap_or_default()),
        parsed_comment: Some(line.comment.clone().unwrap_or_default()),
        tags: line.tags.clone(),
        text: None,
        text_hidden: line.text_hidden,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"<script>RLCONF={"wgPageName":"A_\"b\"","wgNamespaceNumber":4,"wgArticleId":9};</script>
<ul><li data-mw-revid="12" class="x"><bdi dir="ltr"><a href="/i?oldid=12" class="mw-changeslist-date" title="A">12:00, 9 March 2018</a></bdi>
<span class='history-user'><a href="/u" class="mw-userlink" title="User:Ana"><bdi>Ana &amp; Co</bdi></a></span>
<abbr class="minoredit" title="m">m</abbr><span class="history-size mw-diff-bytes" data-mw-bytes="34">34 bytes</span>
<span class="comment comment--without-parentheses"><span dir="auto">see <i>this</i></span> &lt;b&gt;</span>
<span class="mw-tag-marker mw-tag-marker-mw-undo">Undo</span></li>
<li data-mw-revid="11"><span class="history-deleted mw-changeslist-date">11:59, 9 March 2018</span>
<a class="mw-userlink mw-anonuserlink" href="/c"><bdi>10.0.0.1</bdi></a></li></ul>
<a href="/i?title=A&amp;offset=20180309115900%7C11&amp;limit=100" title="x" rel="next" class="mw-nextlink">older</a>"#;

    #[test]
    fn a_history_page_is_read() {
        let read = history(PAGE.as_bytes()).expect("a history");
        assert_eq!((read.pageid, read.title.as_str(), read.ns), (PageId(9), "A \"b\"", 4));
        assert_eq!(read.offset.as_deref(), Some("20180309115900|11"));
        let [newest, oldest] = &read.lines[..] else { panic!("{:?}", read.lines) };
        assert_eq!((newest.revid, newest.parentid, newest.size, newest.minor), (RevId(12), RevId(11), 34, true));
        assert_eq!((newest.user.as_deref(), newest.anon, newest.tags.len()), (Some("Ana & Co"), false, 1));
        assert_eq!((oldest.anon, oldest.text_hidden, newest.text_hidden), (true, true, false));
        let revision = revision(newest, read.pageid, None).expect("a revision");
        assert_eq!((revision.at, revision.comment.as_deref()), (UnixMs(1_520_596_800_000), Some("see this <b>")));
        assert_eq!(history(b"<html>hello"), None);
    }

    #[test]
    fn a_raw_text_says_its_time() {
        assert_eq!(last_modified("Fri, 09 Mar 2018 12:00:07 GMT"), Some(UnixMs(1_520_596_807_000)));
        assert_eq!(last_modified("yesterday"), None);
    }

    #[test]
    fn urls_name_the_page() {
        let script = Url::parse("https://w.test/w/index.php?x=1").expect("a URL");
        let url = history_url(&script, &Subject::Title("A&B".into()), Some("2018|1"));
        assert_eq!(
            url.as_str(),
            "https://w.test/w/index.php?title=A%26B&action=history&uselang=en&limit=100&offset=2018%7C1"
        );
        assert_eq!(raw_url(&script, "A", RevId(7)).as_str(), "https://w.test/w/index.php?title=A&oldid=7&action=raw");
    }
}
