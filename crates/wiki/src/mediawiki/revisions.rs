//! Revisions as a wiki tells of them, made into what is kept.

use jiff::Timestamp;
use malla_queue::UnixMs;
use serde::Deserialize;

use super::answer::flag;
use crate::page::PageId;
use crate::revision::{Known, RevId, Revision};
use crate::shelving::Fetched;

#[derive(Debug, Deserialize)]
pub(crate) struct RawRevision {
    pub(crate) revid: i64,
    #[serde(default)]
    parentid: i64,
    timestamp: String,
    user: Option<String>,
    userid: Option<i64>,
    #[serde(default, deserialize_with = "flag")]
    anon: bool,
    #[serde(default, deserialize_with = "flag")]
    minor: bool,
    #[serde(default, deserialize_with = "flag")]
    userhidden: bool,
    #[serde(default, deserialize_with = "flag")]
    commenthidden: bool,
    #[serde(default, deserialize_with = "flag")]
    sha1hidden: bool,
    #[serde(default, deserialize_with = "flag")]
    texthidden: bool,
    #[serde(default)]
    size: u64,
    sha1: Option<String>,
    contentmodel: Option<String>,
    contentformat: Option<String>,
    comment: Option<String>,
    parsedcomment: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    slots: Option<Slots>,
    /// The text, where a wiki knows no slots.
    content: Option<String>,
    #[serde(rename = "*")]
    star: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Slots {
    main: Option<Slot>,
}

#[derive(Debug, Default, Deserialize)]
struct Slot {
    content: Option<String>,
    #[serde(rename = "*")]
    star: Option<String>,
    contentmodel: Option<String>,
    contentformat: Option<String>,
    #[serde(default, deserialize_with = "flag")]
    texthidden: bool,
}

/// A revision of a list without contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) revid: RevId,
    at: UnixMs,
    size: u64,
    sha1: Option<String>,
    user_hidden: bool,
    comment_hidden: bool,
    text_hidden: bool,
}

impl RawRevision {
    fn at(&self) -> Result<UnixMs, String> {
        let at: Timestamp = self
            .timestamp
            .parse()
            .map_err(|_| format!("the revision {} has no time: \"{}\"", self.revid, self.timestamp))?;
        Ok(UnixMs(at.as_millisecond()))
    }

    /// With its text, if that came along.
    pub(crate) fn fetched(self, pageid: PageId) -> Result<Fetched, String> {
        let at = self.at()?;
        let slot = self.slots.and_then(|slots| slots.main).unwrap_or_default();
        let text_hidden = self.texthidden || slot.texthidden || self.sha1hidden;
        let text = slot.content.or(slot.star).or(self.content).or(self.star).filter(|_| !text_hidden);
        let hide = |hidden: bool, value: Option<String>| value.filter(|_| !hidden);
        let revision = Revision {
            revid: RevId(self.revid),
            parentid: RevId(self.parentid),
            pageid,
            at,
            user: hide(self.userhidden, self.user),
            userid: self.userid.filter(|_| !self.userhidden),
            anon: self.anon && !self.userhidden,
            minor: self.minor,
            size: self.size,
            sha1: hide(self.sha1hidden, self.sha1),
            model: slot.contentmodel.or(self.contentmodel).unwrap_or_else(|| "wikitext".into()),
            format: slot.contentformat.or(self.contentformat).unwrap_or_else(|| "text/x-wiki".into()),
            comment: hide(self.commenthidden, self.comment),
            parsed_comment: hide(self.commenthidden, self.parsedcomment),
            tags: self.tags,
            text: None,
            text_hidden,
        };
        Ok(Fetched { revision, text: text.map(String::into_bytes) })
    }

    pub(crate) fn listed(self) -> Result<Listed, String> {
        Ok(Listed {
            revid: RevId(self.revid),
            at: self.at()?,
            size: self.size,
            sha1: self.sha1.filter(|_| !self.sha1hidden),
            user_hidden: self.userhidden,
            comment_hidden: self.commenthidden,
            text_hidden: self.sha1hidden || self.texthidden,
        })
    }
}

impl Listed {
    /// Whether what is kept says the same. A text that could not be had is asked for again.
    pub(crate) fn is_kept_as(&self, kept: &Known, pageid: PageId) -> bool {
        let same_sha1 = match (&self.sha1, &kept.sha1) {
            (Some(theirs), Some(ours)) => theirs == ours,
            _ => true,
        };
        kept.pageid == pageid
            && kept.at == self.at
            && kept.size == self.size
            && same_sha1
            && kept.user_hidden == self.user_hidden
            && kept.comment_hidden == self.comment_hidden
            && kept.text_hidden == self.text_hidden
            && (kept.text.is_some() || self.text_hidden)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::TextHash;

    fn fetched(json: &str) -> Fetched {
        let raw: RawRevision = serde_json::from_str(json).expect("a revision");
        raw.fetched(PageId(7)).expect("whole")
    }

    #[test]
    fn a_revision_is_read_with_its_slot() {
        let Fetched { revision, text } = fetched(
            r#"{"revid":2,"parentid":1,"minor":false,"user":"Ana","userid":5,"timestamp":"2018-03-09T12:00:00Z",
                "size":3,"sha1":"ab","comment":"c","parsedcomment":"<i>c</i>","tags":["x"],
                "slots":{"main":{"contentmodel":"json","contentformat":"application/json","content":"añ"}}}"#,
        );
        assert_eq!(text.as_deref(), Some("añ".as_bytes()));
        assert_eq!((revision.at, revision.minor, revision.anon), (UnixMs(1_520_596_800_000), false, false));
        assert_eq!((revision.model.as_str(), revision.format.as_str()), ("json", "application/json"));
        assert_eq!((revision.user.as_deref(), revision.userid, revision.tags.len()), (Some("Ana"), Some(5), 1));
    }

    #[test]
    fn flags_are_tested_by_value_and_in_the_older_format_by_being_there() {
        let with =
            |flags: &str| fetched(&format!(r#"{{"revid":2,"timestamp":"2018-03-09T12:00:00Z"{flags}}}"#)).revision;
        for (flags, minor, anon) in [
            ("", false, false),
            (r#","minor":false"#, false, false),
            (r#","minor":true,"anon":true"#, true, true),
            (r#","minor":"","anon":"""#, true, true),
            (r#","temp":true,"user":"~2026-1""#, false, false),
        ] {
            let revision = with(flags);
            assert_eq!((revision.minor, revision.anon), (minor, anon), "{flags}");
        }
    }

    #[test]
    fn older_wikis_have_the_text_in_the_revision() {
        for text in [r#""*":"old""#, r#""content":"old""#, r#""slots":{"main":{"*":"old"}}"#] {
            let read = fetched(&format!(r#"{{"revid":2,"timestamp":"2018-03-09T12:00:00Z",{text}}}"#));
            assert_eq!(read.text.as_deref(), Some(b"old".as_slice()), "{text}");
        }
    }

    #[test]
    fn what_is_hidden_is_not_there() {
        let Fetched { revision, text } = fetched(
            r#"{"revid":2,"timestamp":"2018-03-09T12:00:00Z","userhidden":true,"commenthidden":true,"sha1hidden":true,
                "size":9,"slots":{"main":{"texthidden":true}}}"#,
        );
        assert_eq!(
            (revision.user, revision.userid, revision.comment, revision.sha1, text),
            (None, None, None, None, None)
        );
        assert!(revision.text_hidden);
        let empty = fetched(r#"{"revid":2,"timestamp":"2018-03-09T12:00:00Z","slots":{"main":{"content":""}}}"#);
        assert_eq!((empty.text.as_deref(), empty.revision.text_hidden), (Some(b"".as_slice()), false));
    }

    #[test]
    fn a_revision_without_a_time_is_refused() {
        let raw: RawRevision = serde_json::from_str(r#"{"revid":2,"timestamp":"yesterday"}"#).expect("JSON");
        assert!(raw.fetched(PageId(1)).expect_err("refused").contains("yesterday"));
    }

    #[test]
    fn a_list_is_compared_with_what_is_kept() {
        let listed = |more: &str| {
            let json = format!(r#"{{"revid":2,"timestamp":"1970-01-01T00:00:01Z","size":3{more}}}"#);
            serde_json::from_str::<RawRevision>(&json).expect("JSON").listed().expect("listed")
        };
        let kept = Known {
            revid: RevId(2),
            pageid: PageId(7),
            at: UnixMs(1_000),
            size: 3,
            user_hidden: false,
            comment_hidden: false,
            sha1: Some("ab".into()),
            text: Some(TextHash::of(b"abc")),
            text_hidden: false,
        };
        for (more, same) in [
            (r#","sha1":"ab""#, true),
            (r#","sha1":"cd""#, false),
            (r#","sha1":"ab","userhidden":true"#, false),
            (r#","sha1":"ab","commenthidden":true"#, false),
            (r#","sha1hidden":true"#, false),
        ] {
            assert_eq!(listed(more).is_kept_as(&kept, PageId(7)), same, "{more}");
        }
        assert!(!listed("").is_kept_as(&kept, PageId(8)), "it was another page's");
        let without_text = Known { text: None, ..kept.clone() };
        assert!(!listed("").is_kept_as(&without_text, PageId(7)), "its text is asked for again");
        let hidden = Known { text: None, text_hidden: true, sha1: None, ..kept };
        assert!(listed(r#","sha1hidden":true"#).is_kept_as(&hidden, PageId(7)));
        assert!(!listed(r#","sha1":"ab""#).is_kept_as(&hidden, PageId(7)), "it is shown again");
    }
}
