//! What is asked of a wiki: the URLs of requests.

use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use super::answer::Cursor;
use super::siteinfo::Subject;
use crate::page::{Mark, PageId};
use crate::revision::RevId;

/// Revisions in one answer with their texts, and without: what a wiki gives to everybody.
pub(crate) const WITH_TEXT_MAX: usize = 50;
pub(crate) const LIST_MAX: usize = 500;
/// Pages asked about at once.
pub(crate) const PROBE_MAX: usize = 50;

const WHOLE: &str = "ids|flags|timestamp|user|userid|size|sha1|contentmodel|comment|parsedcomment|tags|content";
const BARE: &str = "ids|flags|timestamp|user|userid|size|sha1|contentmodel|comment|parsedcomment|tags";
const COMPARED: &str = "ids|timestamp|user|size|sha1|comment";
/// What a path's segment may have as it is.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A wiki's API, asked with manners.
pub(crate) struct Api<'a> {
    pub(crate) api: &'a Url,
    /// A wiki whose replicas lag by more seconds shall turn us away.
    pub(crate) maxlag: u64,
}

impl Api<'_> {
    fn query(&self, pairs: &[(&str, &str)]) -> Url {
        let mut url = self.api.clone();
        let maxlag = self.maxlag.to_string();
        url.query_pairs_mut()
            .clear()
            .extend_pairs([("action", "query"), ("format", "json"), ("formatversion", "2"), ("maxlag", &maxlag)])
            .extend_pairs(pairs);
        url
    }

    /// What it says about itself, and who its bots are.
    pub(crate) fn about(&self) -> Url {
        self.query(&[
            ("meta", "siteinfo"),
            ("siprop", "general|namespaces"),
            ("list", "allusers"),
            ("augroup", "bot"),
            ("aulimit", "500"),
        ])
    }

    /// Which page this is, whatever it is called now.
    pub(crate) fn resolve(&self, subject: &Subject) -> Url {
        let (name, value) = match subject {
            Subject::Title(title) => ("titles", title.clone()),
            Subject::Page(page) => ("pageids", page.0.to_string()),
            Subject::Revision(revision) => ("revids", revision.0.to_string()),
        };
        self.query(&[(name, &value), ("prop", "info"), ("redirects", "1"), ("converttitles", "1"), ("iwurl", "1")])
    }

    /// How many revisions a page has, as the REST API counts them.
    pub(crate) fn count(&self, title: &str) -> Option<Url> {
        let title = title.replace(' ', "_");
        let title = utf8_percent_encode(&title, SEGMENT);
        self.api.join(&format!("rest.php/v1/page/{title}/history/counts/edits")).ok()
    }

    /// A part of a page's history from the oldest on, with texts or without.
    pub(crate) fn walk(
        &self,
        page: PageId,
        from: Option<Mark>,
        cursor: Option<&Cursor>,
        limit: usize,
        texts: bool,
    ) -> Url {
        let props = if texts { WHOLE } else { BARE };
        self.revisions(page, props, from, cursor, limit)
    }

    /// A part of a page's history, with just what is compared.
    pub(crate) fn list(&self, page: PageId, cursor: Option<&Cursor>) -> Url {
        self.revisions(page, COMPARED, None, cursor, LIST_MAX)
    }

    fn revisions(&self, page: PageId, props: &str, from: Option<Mark>, cursor: Option<&Cursor>, limit: usize) -> Url {
        let (page, limit) = (page.0.to_string(), limit.to_string());
        let mut url = self.query(&[
            ("prop", "revisions"),
            ("pageids", &page),
            ("rvprop", props),
            ("rvslots", "main"),
            ("rvlimit", &limit),
            ("rvdir", "newer"),
        ]);
        if let Some(start) = from.and_then(|mark| Timestamp::from_millisecond(mark.at.0).ok()) {
            url.query_pairs_mut().append_pair("rvstart", &start.to_string());
        }
        match cursor {
            Some(cursor) => url.query_pairs_mut().extend_pairs(cursor.pairs()),
            None => url.query_pairs_mut().append_pair("continue", ""),
        };
        url
    }

    /// These revisions with their texts, or without.
    pub(crate) fn by_number(&self, revids: &[RevId], texts: bool) -> Url {
        let numbers: Vec<String> = revids.iter().map(|revid| revid.0.to_string()).collect();
        let props = if texts { WHOLE } else { BARE };
        self.query(&[("prop", "revisions"), ("revids", &numbers.join("|")), ("rvprop", props), ("rvslots", "main")])
    }

    /// The newest revision of each of these pages.
    pub(crate) fn probe(&self, pages: &[PageId]) -> Url {
        let numbers: Vec<String> = pages.iter().map(|page| page.0.to_string()).collect();
        self.query(&[("prop", "info"), ("pageids", &numbers.join("|"))])
    }
}

#[cfg(test)]
mod tests {
    use malla_queue::UnixMs;

    use super::*;

    fn pairs(url: &Url) -> Vec<(String, String)> {
        url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
    }

    #[test]
    fn a_walk_goes_from_the_mark_to_the_newest_and_back_to_the_cursor() {
        let api = Url::parse("https://wiki.test/w/api.php?stale=1").expect("a URL");
        let api = Api { api: &api, maxlag: 5 };
        let mark = Mark { at: UnixMs(1_520_596_800_000), revid: RevId(3) };
        let cursor: Cursor = serde_json::from_str(r#"{"continue":"||","rvcontinue":"20180309120000|3"}"#).expect("one");
        let url = api.walk(PageId(7), Some(mark), Some(&cursor), 50, true);
        let pairs = pairs(&url);
        for (name, value) in [
            ("maxlag", "5"),
            ("pageids", "7"),
            ("rvdir", "newer"),
            ("rvlimit", "50"),
            ("rvstart", "2018-03-09T12:00:00Z"),
            ("continue", "||"),
            ("rvcontinue", "20180309120000|3"),
        ] {
            assert_eq!(pairs.iter().filter(|pair| *pair == &(name.to_owned(), value.to_owned())).count(), 1, "{name}");
        }
        assert!(!url.as_str().contains("stale"));
    }

    #[test]
    fn a_title_is_one_segment_of_a_path() {
        let api = Url::parse("https://wiki.test/w/api.php").expect("a URL");
        let url = Api { api: &api, maxlag: 5 }.count("AC/DC & ñu?").expect("a URL");
        assert_eq!(url.as_str(), "https://wiki.test/w/rest.php/v1/page/AC%2FDC_%26_%C3%B1u%3F/history/counts/edits");
    }
}
