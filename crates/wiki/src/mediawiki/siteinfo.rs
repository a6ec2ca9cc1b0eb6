//! What a wiki says about itself, and which page a URL of it means.

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

use super::answer::Query;
use crate::page::PageId;
use crate::revision::RevId;

/// How a page is named in a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Subject {
    Title(String),
    Page(PageId),
    Revision(RevId),
}

/// What was kept of a wiki's words about itself.
pub(crate) struct Site<'a>(pub(crate) &'a Value);

impl Site<'_> {
    /// What is kept: `general`, `namespaces`, the bots' names, and the page from which the operator's template led here.
    pub(crate) fn about(query: Query, from: Option<&Url>) -> Option<Value> {
        query.general["sitename"].as_str().or_else(|| query.general["generator"].as_str())?;
        let bots: Vec<String> = query.allusers.into_iter().map(|user| user.name).collect();
        let mut about = json!({ "general": query.general, "namespaces": query.namespaces, "bots": bots });
        if let Some(from) = from {
            about["from"] = json!(from.as_str());
        }
        Some(about)
    }

    fn general(&self, name: &str) -> Option<&str> {
        self.0["general"][name].as_str()
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.general("sitename")
    }

    pub(crate) fn language(&self) -> Option<&str> {
        self.general("lang")
    }

    /// The page from which the operator's template led here.
    pub(crate) fn from(&self) -> Option<&str> {
        self.0["from"].as_str()
    }

    /// Which page of this wiki a URL means; `None` if it does not look like one of its pages.
    pub(crate) fn subject(&self, url: &Url) -> Option<Subject> {
        self.titled(url).or_else(|| {
            let at_root = url.path() == "/" && url.query().is_none();
            at_root.then(|| self.general("mainpage").map(|title| Subject::Title(title.to_owned())))?
        })
    }

    /// The same, if the URL names one.
    pub(crate) fn titled(&self, url: &Url) -> Option<Subject> {
        let script = self.general("script").unwrap_or("/index.php");
        let path = url.path();
        let by_script = path == script || path.starts_with(&format!("{script}/"));
        if let Some(named) = named_in_query(url).filter(|_| by_script) {
            return Some(named);
        }
        let article = self.general("articlepath").filter(|article| !article.contains('?'));
        let prefixes =
            [article.and_then(|article| article.strip_suffix("$1")).map(str::to_owned), Some(format!("{script}/"))];
        let rest =
            prefixes.into_iter().flatten().find_map(|prefix| path.strip_prefix(prefix.as_str()).map(str::to_owned))?;
        if rest.is_empty() {
            return None;
        }
        // `/wiki/Title?oldid=7` shows another revision of the same page.
        let title = percent_decode_str(&rest).decode_utf8().ok()?.replace('_', " ");
        Some(Subject::Title(title))
    }
}

/// What the parameters of `index.php` name.
pub(crate) fn named_in_query(url: &Url) -> Option<Subject> {
    let value = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    let number = |name: &str| value(name).and_then(|text| text.parse::<i64>().ok()).filter(|number| *number > 0);
    let title = value("title").filter(|title| !title.is_empty()).map(|title| Subject::Title(title.replace('_', " ")));
    title
        .or_else(|| number("curid").map(|id| Subject::Page(PageId(id))))
        .or_else(|| number("oldid").map(|id| Subject::Revision(RevId(id))))
        .or_else(|| number("diff").map(|id| Subject::Revision(RevId(id))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(article: &str, script: &str, url: &str) -> Option<Subject> {
        let about = json!({ "general": { "articlepath": article, "script": script, "mainpage": "Main Page" } });
        Site(&about).subject(&Url::parse(url).expect("a URL"))
    }

    #[test]
    fn a_url_means_a_page() {
        let title = |title: &str| Some(Subject::Title(title.to_owned()));
        for (url, expected) in [
            ("https://w.test/wiki/New_York", title("New York")),
            ("https://w.test/wiki/A%C3%B1o_%2525", title("Año %25")),
            ("https://w.test/wiki/AC/DC#History", title("AC/DC")),
            ("https://w.test/wiki/Talk:X?oldid=7", title("Talk:X")),
            ("https://w.test/w/index.php?title=C%2B%2B&action=history", title("C++")),
            ("https://w.test/w/index.php/Some_page", title("Some page")),
            ("https://w.test/w/index.php?curid=12", Some(Subject::Page(PageId(12)))),
            ("https://w.test/w/index.php?oldid=9&diff=10", Some(Subject::Revision(RevId(9)))),
            ("https://w.test/w/index.php?oldid=-9", None),
            ("https://w.test/", title("Main Page")),
            ("https://w.test/wiki/", None),
            ("https://w.test/blog/New_York", None),
            ("https://w.test/wiki/%FF", None),
        ] {
            assert_eq!(subject("/wiki/$1", "/w/index.php", url), expected, "{url}");
        }
        assert_eq!(subject("/index.php/$1", "/index.php", "http://w.test/index.php/A_b"), title("A b"));
        assert_eq!(subject("/index.php?title=$1", "/index.php", "http://w.test/index.php?title=A_b"), title("A b"));
        assert_eq!(subject("/$1", "/w/index.php", "http://w.test/A_b"), title("A b"));
    }

    #[test]
    fn what_has_no_name_is_no_wiki() {
        assert!(Site::about(Query::default(), None).is_none());
        let query = Query { general: json!({ "sitename": "W" }), ..Query::default() };
        let from = Url::parse("http://w.test/").expect("a URL");
        let about = Site::about(query, Some(&from)).expect("a wiki");
        assert_eq!((Site(&about).name(), Site(&about).from()), (Some("W"), Some("http://w.test/")));
    }
}
