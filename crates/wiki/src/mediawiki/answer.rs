//! Answers of the action API as typed values. `formatversion=2` is asked for; wikis that do not know it are read, too.

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::revisions::RawRevision;

/// Where a wiki goes on: its `continue` object, sent back whole.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Cursor(Map<String, Value>);

/// Bytes of a cursor. They are short; one that is not would fill a task's payload.
const CURSOR_BYTES_MAX: usize = 16 * 1024;

impl Cursor {
    /// As parameters of a request.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, String)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Answer {
    pub(crate) error: Option<ApiError>,
    #[serde(default)]
    warnings: Value,
    #[serde(default, rename = "continue")]
    pub(crate) next: Option<Cursor>,
    #[serde(default)]
    pub(crate) query: Query,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ApiError {
    pub(crate) code: String,
    #[serde(default)]
    pub(crate) info: String,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Query {
    #[serde(default, deserialize_with = "listed")]
    pub(crate) pages: Vec<RawPage>,
    #[serde(default)]
    pub(crate) interwiki: Vec<Interwiki>,
    #[serde(default)]
    pub(crate) general: Value,
    #[serde(default)]
    pub(crate) namespaces: Value,
    #[serde(default)]
    pub(crate) allusers: Vec<Named>,
}

/// A title that is another wiki's.
#[derive(Debug, Deserialize)]
pub(crate) struct Interwiki {
    pub(crate) title: String,
    pub(crate) url: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Named {
    pub(crate) name: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RawPage {
    /// Negative or not there for what does not exist.
    #[serde(default)]
    pub(crate) pageid: i64,
    #[serde(default)]
    pub(crate) ns: i64,
    #[serde(default)]
    pub(crate) title: String,
    #[serde(default, deserialize_with = "flag")]
    pub(crate) missing: bool,
    #[serde(default, deserialize_with = "flag")]
    pub(crate) invalid: bool,
    pub(crate) invalidreason: Option<String>,
    #[serde(default, deserialize_with = "flag")]
    pub(crate) special: bool,
    pub(crate) lastrevid: Option<i64>,
    #[serde(default)]
    pub(crate) revisions: Vec<RawRevision>,
}

/// Reads an answer.
pub(crate) fn read(body: &[u8]) -> Result<Answer, String> {
    let mut answer: Answer = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let fits = |cursor: &Cursor| {
        cursor.pairs().map(|(name, value)| name.len() + value.len()).sum::<usize>() <= CURSOR_BYTES_MAX
    };
    if answer.next.as_ref().is_some_and(|cursor| !fits(cursor)) {
        return Err("the place to go on from is too long".into());
    }
    answer.next = answer.next.filter(|cursor| !cursor.0.is_empty());
    Ok(answer)
}

impl Answer {
    /// The wiki left something out because the answer would have been too large.
    pub(crate) fn is_cut(&self) -> bool {
        let said = &self.warnings["result"];
        let words = said["warnings"].as_str().or_else(|| said["*"].as_str()).unwrap_or_default();
        words.contains("truncated")
    }
}

/// Something that is set: true, or in the older format there at all.
pub(super) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Flag {
        Plain(bool),
        There(IgnoredAny),
    }
    Ok(match Flag::deserialize(deserializer)? {
        Flag::Plain(set) => set,
        Flag::There(_) => true,
    })
}

/// A list, or in the older format an object whose values are the list.
fn listed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<RawPage>, D::Error> {
    struct Pages;

    impl<'de> Visitor<'de> for Pages {
        type Value = Vec<RawPage>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("pages")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<RawPage>, A::Error> {
            let mut pages = Vec::new();
            while let Some(page) = list.next_element()? {
                pages.push(page);
            }
            Ok(pages)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<RawPage>, A::Error> {
            let mut pages = Vec::new();
            while let Some((_, page)) = map.next_entry::<IgnoredAny, RawPage>()? {
                pages.push(page);
            }
            Ok(pages)
        }
    }

    deserializer.deserialize_any(Pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_continue_object_goes_back() {
        let answer = read(br#"{"continue":{"rvcontinue":"20180309120000|12","continue":"||"},"query":{"pages":[]}}"#);
        let cursor = answer.expect("read").next.expect("a cursor");
        let pairs: Vec<_> = cursor.pairs().collect();
        assert_eq!(pairs, [("continue", "||".to_owned()), ("rvcontinue", "20180309120000|12".to_owned())]);
        assert!(read(br#"{"continue":{}}"#).expect("read").next.is_none());
        let endless = format!(r#"{{"continue":{{"x":"{}"}}}}"#, "y".repeat(CURSOR_BYTES_MAX));
        assert!(read(endless.as_bytes()).is_err());
    }

    #[test]
    fn pages_are_a_list_or_an_object() {
        for body in [
            r#"{"query":{"pages":[{"ns":0,"title":"Nothing","missing":true}]}}"#,
            r#"{"query":{"pages":{"-1":{"ns":0,"title":"Nothing","missing":""}}}}"#,
        ] {
            let page = read(body.as_bytes()).expect("read").query.pages.remove(0);
            assert_eq!((page.pageid, page.missing, page.title.as_str()), (0, true, "Nothing"));
        }
        let there = read(br#"{"query":{"pages":[{"pageid":7,"title":"A","missing":false,"lastrevid":9}]}}"#);
        let page = there.expect("read").query.pages.remove(0);
        assert_eq!((page.pageid, page.missing, page.lastrevid), (7, false, Some(9)));
    }

    #[test]
    fn a_cut_answer_says_so() {
        let said = "This result was truncated because it would otherwise be larger than the limit of 1,000 bytes.";
        for (body, cut) in [
            (format!(r#"{{"warnings":{{"result":{{"warnings":"{said}"}}}}}}"#), true),
            (format!(r#"{{"warnings":{{"result":{{"*":"{said}"}}}}}}"#), true),
            (r#"{"warnings":{"main":{"warnings":"Unrecognized parameter: x."}}}"#.to_owned(), false),
            ("{}".to_owned(), false),
        ] {
            assert_eq!(read(body.as_bytes()).expect("read").is_cut(), cut, "{body}");
        }
    }
}
