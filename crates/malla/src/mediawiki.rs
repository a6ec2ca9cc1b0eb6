//! Enough of MediaWiki's action API for histories to be read: what wikis on loopback answer, for benchmarks and the demo.

use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

/// Revisions in one answer: with texts, and without.
const LIMITS: (usize, usize) = (50, 500);
/// Pages or revisions named in one request.
const NAMED_MAX: usize = 50;

/// What a request asks for, by the names of its parameters.
pub(crate) type Asked = HashMap<String, String>;

/// A wiki's articles. The first has the page id 1.
#[derive(Debug, Default)]
pub(crate) struct Library {
    pub name: String,
    pub bots: Vec<String>,
    pub articles: Vec<Article>,
}

#[derive(Debug)]
pub(crate) struct Article {
    pub title: String,
    /// Oldest first.
    pub edits: Vec<Edit>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Edit {
    pub revid: u64,
    /// 0: none.
    pub parentid: u64,
    pub at: i64,
    pub user: String,
    /// 0: not logged in.
    pub userid: u64,
    pub minor: bool,
    pub comment: String,
    pub tags: Vec<String>,
    pub text: String,
}

impl Edit {
    /// `2018-03-09T12:00:00Z`
    pub(crate) fn timestamp(&self) -> String {
        Timestamp::from_second(self.at).map(|at| at.to_string()).unwrap_or_default()
    }

    /// `20180309120000`
    fn stamp(&self) -> String {
        self.timestamp().chars().filter(char::is_ascii_digit).collect()
    }

    fn shown(&self, with_text: bool) -> Value {
        let mut shown = json!({
            "revid": self.revid, "parentid": self.parentid, "minor": self.minor, "user": self.user, "userid": self.userid,
            "timestamp": self.timestamp(), "size": self.text.len(), "sha1": digest(&self.text), "comment": self.comment,
            "parsedcomment": escaped(&self.comment), "tags": self.tags, "contentmodel": "wikitext",
            "contentformat": "text/x-wiki",
        });
        if self.userid == 0 {
            shown["anon"] = json!(true);
        }
        if with_text {
            let slot = json!({ "contentmodel": "wikitext", "contentformat": "text/x-wiki", "content": self.text });
            shown["slots"] = json!({ "main": slot });
        }
        shown
    }
}

/// As long as a SHA-1, and as good to tell which texts are the same.
fn digest(text: &str) -> String {
    Sha256::digest(text).iter().take(20).map(|byte| format!("{byte:02x}")).collect()
}

/// A text inside of HTML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The page on which `api.php` is discovered.
pub(crate) const DISCOVERY: &str = r#"<link rel="EditURI" type="application/rsd+xml" href="/api.php?action=rsd">"#;

impl Library {
    /// The answer to `api.php?action=query` with `formatversion=2`.
    pub(crate) fn answer(&self, asked: &Asked) -> Value {
        let (mut query, mut answer) = (Map::new(), json!({ "batchcomplete": true }));
        if asked.get("meta").is_some_and(|meta| meta.contains("siteinfo")) {
            query.insert("general".into(), self.about());
            query.insert("namespaces".into(), json!({ "0": { "id": 0, "name": "" } }));
            let bots: Vec<Value> = self.bots.iter().map(|name| json!({ "name": name })).collect();
            query.insert("allusers".into(), Value::Array(bots));
        }
        let (mut pages, mut more) = (Vec::new(), None);
        for named in self.named(asked) {
            match named {
                Ok(place) => {
                    let (page, cursor) = self.page(place, asked);
                    pages.push(page);
                    more = more.or(cursor);
                }
                Err(missing) => pages.push(missing),
            }
        }
        if !pages.is_empty() {
            query.insert("pages".into(), Value::Array(pages));
        }
        if let Some(cursor) = more {
            answer = json!({ "continue": { "rvcontinue": cursor, "continue": "||" } });
        }
        answer["query"] = Value::Object(query);
        answer
    }

    pub(crate) fn find(&self, title: &str) -> Option<usize> {
        let title = title.replace('_', " ");
        self.articles.iter().position(|article| article.title == title)
    }

    fn about(&self) -> Value {
        let main = self.articles.first().map_or("", |article| &article.title);
        json!({
            "sitename": self.name, "generator": "MediaWiki 1.39.0", "lang": "en", "wikiid": "small", "case": "first-letter",
            "mainpage": main, "articlepath": "/wiki/$1", "scriptpath": "", "script": "/index.php", "server": "",
            "base": format!("/wiki/{}", main.replace(' ', "_")),
        })
    }

    /// The places of the pages that are asked for, or what is said of those that are not there.
    fn named(&self, asked: &Asked) -> Vec<Result<usize, Value>> {
        let words = |name: &str| asked.get(name).map(|list| list.split('|').take(NAMED_MAX));
        let by_id = |id: &str| {
            let place = id.parse::<usize>().ok().and_then(|id| id.checked_sub(1));
            let known = place.filter(|place| *place < self.articles.len());
            known.ok_or_else(|| json!({ "pageid": id.parse::<u64>().unwrap_or(0), "missing": true }))
        };
        let by_title =
            |title: &str| self.find(title).ok_or_else(|| json!({ "ns": 0, "title": title, "missing": true }));
        if let Some(ids) = words("pageids") {
            return ids.map(by_id).collect();
        }
        if let Some(titles) = words("titles") {
            return titles.map(by_title).collect();
        }
        let revids = numbers(asked, "revids");
        let holds = |article: &Article| article.edits.iter().any(|edit| revids.contains(&edit.revid));
        let places = (0..self.articles.len()).filter(|place| holds(&self.articles[*place]));
        places.map(Ok).collect()
    }

    /// A page, and where the list of its revisions goes on.
    fn page(&self, place: usize, asked: &Asked) -> (Value, Option<String>) {
        let Article { title, edits } = &self.articles[place];
        let last = edits.last().map_or(0, |edit| edit.revid);
        let mut page = json!({ "pageid": place + 1, "ns": 0, "title": title, "lastrevid": last });
        if !asked.get("prop").is_some_and(|prop| prop.contains("revisions")) {
            return (page, None);
        }
        let texts = asked.get("rvprop").is_some_and(|prop| prop.contains("content"));
        let revids = numbers(asked, "revids");
        if !revids.is_empty() {
            let chosen = edits.iter().filter(|edit| revids.contains(&edit.revid));
            page["revisions"] = chosen.map(|edit| edit.shown(texts)).collect();
            return (page, None);
        }
        let most = if texts { LIMITS.0 } else { LIMITS.1 };
        let limit = asked.get("rvlimit").and_then(|limit| limit.parse().ok()).unwrap_or(most).min(most);
        let mut listed: Vec<&Edit> = edits.iter().collect();
        let newer = asked.get("rvdir").is_some_and(|way| way == "newer");
        if !newer {
            listed.reverse();
        }
        let from = begin(&listed, newer, asked);
        page["revisions"] = listed[from..].iter().take(limit).map(|edit| edit.shown(texts)).collect();
        let more = listed.get(from + limit).map(|edit| format!("{}|{}", edit.stamp(), edit.revid));
        (page, more)
    }
}

fn numbers(asked: &Asked, name: &str) -> Vec<u64> {
    let list = asked.get(name).map_or("", String::as_str);
    list.split('|').filter_map(|number| number.parse().ok()).take(NAMED_MAX).collect()
}

/// Where the list begins that is asked for.
fn begin(listed: &[&Edit], newer: bool, asked: &Asked) -> usize {
    let at = match (asked.get("rvcontinue"), asked.get("rvstart")) {
        (Some(cursor), _) => {
            let revid = cursor.split_once('|').and_then(|(_, revid)| revid.parse::<u64>().ok());
            listed.iter().position(|edit| Some(edit.revid) == revid)
        }
        (None, Some(start)) => {
            let digits: String = start.chars().filter(char::is_ascii_digit).collect();
            listed.iter().position(|edit| if newer { edit.stamp() >= digits } else { edit.stamp() <= digits })
        }
        (None, None) => Some(0),
    };
    at.unwrap_or(listed.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library() -> Library {
        let edit = |revid: u64| Edit { revid, at: 1_500_000_000 + revid as i64, user: "Ana".into(), ..Edit::default() };
        let article = |title: &str, revids: &[u64]| Article {
            title: title.into(),
            edits: revids.iter().map(|revid| edit(*revid)).collect(),
        };
        let articles = vec![article("Old bridge", &[1, 3, 4]), article("Lighthouse", &[2])];
        Library { name: "Small".into(), bots: vec!["Bot".into()], articles }
    }

    fn ask(pairs: &[(&str, &str)]) -> Value {
        let asked = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        library().answer(&asked)
    }

    fn revids(page: &Value) -> Vec<u64> {
        let revisions = page["revisions"].as_array().expect("revisions");
        revisions.iter().filter_map(|revision| revision["revid"].as_u64()).collect()
    }

    #[test]
    fn a_list_is_cut_and_goes_on_where_it_ended() {
        let asked = [("pageids", "1"), ("prop", "revisions"), ("rvdir", "newer"), ("rvlimit", "2")];
        let first = ask(&asked);
        assert_eq!(revids(&first["query"]["pages"][0]), [1, 3]);
        let cursor = first["continue"]["rvcontinue"].as_str().expect("more");
        let rest = ask(&[&asked[..], &[("rvcontinue", cursor)]].concat());
        assert_eq!(revids(&rest["query"]["pages"][0]), [4]);
        assert_eq!(rest.get("continue"), None);
    }

    #[test]
    fn several_pages_are_told_apart_from_those_that_are_missing() {
        let pages = ask(&[("prop", "info"), ("pageids", "2|9|1")])["query"]["pages"].clone();
        assert_eq!((&pages[0]["lastrevid"], &pages[2]["lastrevid"]), (&json!(2), &json!(4)));
        assert_eq!(pages[1], json!({ "pageid": 9, "missing": true }));
        assert_eq!(ask(&[("titles", "Nowhere")])["query"]["pages"][0]["missing"], true);
        assert_eq!(ask(&[("titles", "Old_bridge")])["query"]["pages"][0]["pageid"], 1);
    }

    #[test]
    fn revisions_are_found_by_their_numbers() {
        let pages = ask(&[("prop", "revisions"), ("revids", "2|4")])["query"]["pages"].clone();
        assert_eq!((revids(&pages[0]), revids(&pages[1])), (vec![4], vec![2]));
    }
}
