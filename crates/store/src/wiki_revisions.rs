//! Revisions and texts as both stores read them.

use malla_queue::{Error, Result, UnixMs};
use malla_wiki::{Known, Mark, PageId, RevId, Revision, TextHash, TextPlace};

use crate::analyze_rows::count;
use crate::fetch_rows::from_json;

pub(crate) const MINOR: i16 = 1;
pub(crate) const ANON: i16 = 2;
const TEXT_HIDDEN: i16 = 4;

pub(crate) fn flags(revision: &Revision) -> i16 {
    let bit = |flag: bool, bit: i16| if flag { bit } else { 0 };
    bit(revision.minor, MINOR) | bit(revision.anon, ANON) | bit(revision.text_hidden, TEXT_HIDDEN)
}

pub(crate) struct RevisionRow {
    pub(crate) revid: i64,
    pub(crate) parentid: i64,
    pub(crate) pageid: i64,
    pub(crate) at: i64,
    pub(crate) user: Option<String>,
    pub(crate) userid: Option<i64>,
    pub(crate) flags: i16,
    pub(crate) size: i64,
    pub(crate) sha1: Option<String>,
    pub(crate) model: String,
    pub(crate) format: String,
    pub(crate) comment: Option<String>,
    pub(crate) parsed_comment: Option<String>,
    pub(crate) tags: Option<String>,
    pub(crate) text: Option<Vec<u8>>,
}

impl RevisionRow {
    pub(crate) fn read(self) -> Result<Revision> {
        Ok(Revision {
            revid: RevId(self.revid),
            parentid: RevId(self.parentid),
            pageid: PageId(self.pageid),
            at: UnixMs(self.at),
            user: self.user,
            userid: self.userid,
            anon: self.flags & ANON > 0,
            minor: self.flags & MINOR > 0,
            size: count(self.size),
            sha1: self.sha1,
            model: self.model,
            format: self.format,
            comment: self.comment,
            parsed_comment: self.parsed_comment,
            tags: self.tags.as_deref().map_or_else(|| Ok(Vec::new()), from_json)?,
            text: self.text.as_deref().map(text_hash).transpose()?,
            text_hidden: self.flags & TEXT_HIDDEN > 0,
        })
    }
}

pub(crate) struct KnownRow {
    pub(crate) revid: i64,
    pub(crate) pageid: i64,
    pub(crate) at: i64,
    pub(crate) size: i64,
    pub(crate) user_hidden: bool,
    pub(crate) comment_hidden: bool,
    pub(crate) sha1: Option<String>,
    pub(crate) text: Option<Vec<u8>>,
    pub(crate) flags: i16,
}

impl KnownRow {
    pub(crate) fn read(self) -> Result<Known> {
        Ok(Known {
            revid: RevId(self.revid),
            pageid: PageId(self.pageid),
            at: UnixMs(self.at),
            size: count(self.size),
            user_hidden: self.user_hidden,
            comment_hidden: self.comment_hidden,
            sha1: self.sha1,
            text: self.text.as_deref().map(text_hash).transpose()?,
            text_hidden: self.flags & TEXT_HIDDEN > 0,
        })
    }
}

/// The place before all others, as columns: time and number.
pub(crate) fn after_mark(after: Option<Mark>) -> (i64, i64) {
    after.map_or((i64::MIN, i64::MIN), |mark| (mark.at.0, mark.revid.0))
}

pub(crate) fn text_hash(bytes: &[u8]) -> Result<TextHash> {
    let hash = bytes.try_into().map_err(|_| Error::Internal("the hash of a text is damaged".into()))?;
    Ok(TextHash(hash))
}

/// Where a text is, from the columns block, start and length.
pub(crate) fn place(block: i64, start: i64, length: i64) -> Result<TextPlace> {
    let small = |n: i64| u32::try_from(n).map_err(|_| Error::Internal("the place of a text is damaged".into()));
    Ok(TextPlace { block: small(block)?, start: small(start)?, length: small(length)? })
}
