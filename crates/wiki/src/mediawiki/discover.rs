//! Finds the API of a wiki from any page of it.

use std::sync::LazyLock;

use regex::bytes::Regex;
use url::Url;

use super::siteinfo::Subject;
use crate::page::PageId;

/// What a page tells of its wiki.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Clue {
    /// Where it says that its API is.
    pub(crate) api: Option<Url>,
    /// Its `index.php`, if the page was made by MediaWiki and links to it.
    pub(crate) script: Option<Url>,
    /// The page that is shown.
    pub(crate) shows: Option<Subject>,
}

/// Places where an API may be besides those that a URL's own path hints at.
const USUAL: [&str; 4] = ["/w/api.php", "/api.php", "/wiki/api.php", "/mediawiki/api.php"];

fn expression(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant")
}

static LINK: LazyLock<Regex> = LazyLock::new(|| expression(r"(?is)<link\b[^>]{0,2000}>"));
static HREF: LazyLock<Regex> = LazyLock::new(|| expression(r#"(?is)\bhref\s*=\s*(?:"([^"]*)"|'([^']*)')"#));
static HISTORY: LazyLock<Regex> =
    LazyLock::new(|| expression(r#"(?is)href="([^"?]*/index\.php)\?title=[^"]*action=history"#));
static ARTICLE: LazyLock<Regex> = LazyLock::new(|| expression(r#""wgArticleId":\s*([1-9][0-9]{0,17})\b"#));

/// Looks through a page.
pub(crate) fn clues(page: &[u8], at: &Url) -> Clue {
    let edit_uri = LINK.find_iter(page).map(|found| found.as_bytes()).find(|link| is_edit_uri(link));
    let api = edit_uri.and_then(|link| {
        let href = HREF.captures(link).and_then(|found| found.get(1).or(found.get(2)))?;
        let href = std::str::from_utf8(href.as_bytes()).ok()?.replace("&amp;", "&");
        let mut api = at.join(&href).ok().filter(|api| matches!(api.scheme(), "http" | "https"))?;
        api.set_query(None);
        api.set_fragment(None);
        Some(api)
    });
    let number = ARTICLE.captures(page).and_then(|found| std::str::from_utf8(&found[1]).ok()?.parse().ok());
    let script = HISTORY.captures(page).and_then(|found| at.join(std::str::from_utf8(&found[1]).ok()?).ok());
    Clue { api, script, shows: number.map(|id| Subject::Page(PageId(id))) }
}

fn is_edit_uri(link: &[u8]) -> bool {
    static REL: LazyLock<Regex> = LazyLock::new(|| expression(r#"(?is)\brel\s*=\s*["']?EditURI\b"#));
    REL.is_match(link)
}

/// Where the API may be if the page does not say: beside the script that the path names, then in the usual places.
pub(crate) fn usual_places(page: &Url) -> Vec<Url> {
    let beside = page.path().split_once("/index.php").map(|(folder, _)| format!("{folder}/api.php"));
    let mut places = Vec::new();
    for path in beside.into_iter().chain(USUAL.map(str::to_owned)) {
        let mut place = page.clone();
        place.set_path(&path);
        place.set_query(None);
        place.set_fragment(None);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(page: &str) -> Option<String> {
        let at = Url::parse("https://w.test/wiki/X").expect("a URL");
        clues(page.as_bytes(), &at).api.map(|api| api.to_string())
    }

    #[test]
    fn a_page_says_where_its_api_is() {
        for (link, expected) in [
            (
                r#"<link rel="EditURI" type="application/rsd+xml" href="//en.w.test/w/api.php?action=rsd">"#,
                Some("https://en.w.test/w/api.php"),
            ),
            (r#"<LINK href='/api.php?action=rsd&amp;x=1' rel='EditURI'/>"#, Some("https://w.test/api.php")),
            (
                r#"<link rel="stylesheet" href="/a.css"><link rel="edituri" href="http://o.test/api.php">"#,
                Some("http://o.test/api.php"),
            ),
            (r#"<link rel="EditURI" href="javascript:alert(1)">"#, None),
            (r#"<link rel="EditURI">"#, None),
            (r#"<a href="/api.php">EditURI</a>"#, None),
        ] {
            assert_eq!(found(link).as_deref(), expected, "{link}");
        }
    }

    #[test]
    fn a_page_says_what_it_shows() {
        let at = Url::parse("https://w.test/").expect("a URL");
        let page = br#"RLCONF={"wgArticleId":42,"a":1}<a href="/w/index.php?title=A&amp;action=history">"#;
        let script = Url::parse("https://w.test/w/index.php").ok();
        assert_eq!(clues(page, &at), Clue { api: None, script, shows: Some(Subject::Page(PageId(42))) });
        assert_eq!(clues(br#"<meta name="generator" content="WordPress">{"wgArticleId":0}"#, &at).shows, None);
        assert_eq!(clues(b"<p>hello", &at), Clue::default());
    }

    #[test]
    fn usual_places_begin_beside_the_script() {
        let places = |url: &str| -> Vec<String> {
            usual_places(&Url::parse(url).expect("a URL")).iter().map(|place| place.path().to_owned()).collect()
        };
        assert_eq!(places("http://w.test/x/index.php?title=A")[0], "/x/api.php");
        assert_eq!(places("http://w.test/wiki/A"), ["/w/api.php", "/api.php", "/wiki/api.php", "/mediawiki/api.php"]);
        assert_eq!(places("http://w.test/index.php/A").len(), 4, "none twice");
    }
}
