//! Goes through the history of an article once and counts. What was counted can be put away and gone on with.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::tz::TimeZone;
use malla_queue::UnixMs;
use serde::{Deserialize, Serialize};

use super::series::{Gaps, Sizes};
use super::{Edit, Month, MonthCounts, SizeAt, month_of, timestamp};
use crate::revision::Revision;

/// Whatever depends on the wiki, as who is a bot, is judged [at the end](super::article).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Tally {
    pub(super) revisions: u64,
    pub(super) minor: u64,
    pub(super) anonymous: u64,
    pub(super) reverts: u64,
    pub(super) editors: HashMap<String, Deeds>,
    /// Of all texts so far, as numbers.
    pub(super) texts: HashSet<u64>,
    before: Option<Before>,
    pub(super) first: Option<Edit>,
    pub(super) last: Option<Edit>,
    pub(super) largest_addition: Option<Edit>,
    pub(super) largest_removal: Option<Edit>,
    pub(super) gaps: Gaps,
    pub(super) months: BTreeMap<Month, MonthCounts>,
    pub(super) sizes: Sizes,
    pub(super) hours: [u64; 24],
    pub(super) weekdays: [u64; 7],
}

/// The revision before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Before {
    at: UnixMs,
    size: u64,
    text: Option<u64>,
}

/// What an editor did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Deeds {
    pub(super) edits: u64,
    pub(super) minor: u64,
    pub(super) added: u64,
    pub(super) first: UnixMs,
    pub(super) last: UnixMs,
}

impl Tally {
    /// Counts the next revision of the history.
    pub(super) fn count(&mut self, revision: &Revision) {
        self.revisions += 1;
        self.minor += u64::from(revision.minor);
        self.anonymous += u64::from(revision.anon);
        let size_before = self.before.as_ref().map_or(0, |before| before.size);
        let change = signed(revision.size) - signed(size_before);
        let reverts = self.notes_text(revision);
        self.reverts += u64::from(reverts);
        self.credit(revision, if reverts { 0 } else { u64::try_from(change).unwrap_or(0) });
        self.place_in_time(revision);
        self.compare(revision, change);
        let text = text_of(revision);
        self.before = Some(Before { at: revision.at, size: revision.size, text });
    }

    /// Whether the text is one of earlier, other than the last: a revert. (The same as the last is no change at all.)
    fn notes_text(&mut self, revision: &Revision) -> bool {
        let Some(text) = text_of(revision) else { return false };
        let same = self.before.as_ref().is_some_and(|before| before.text == Some(text));
        !self.texts.insert(text) && !same
    }

    fn credit(&mut self, revision: &Revision, added: u64) {
        let Some(user) = &revision.user else { return };
        if !self.editors.contains_key(user) {
            let none = Deeds { edits: 0, minor: 0, added: 0, first: revision.at, last: revision.at };
            self.editors.insert(user.clone(), none);
        }
        if let Some(deeds) = self.editors.get_mut(user) {
            deeds.edits += 1;
            deeds.minor += u64::from(revision.minor);
            deeds.added += added;
            deeds.last = revision.at;
        }
    }

    fn place_in_time(&mut self, revision: &Revision) {
        let date = timestamp(revision.at).to_zoned(TimeZone::UTC);
        self.hours[usize::from(date.hour().unsigned_abs()) % 24] += 1;
        self.weekdays[usize::from(date.weekday().to_monday_zero_offset().unsigned_abs()) % 7] += 1;
        let month = self.months.entry(month_of(revision.at)).or_default();
        month.edits += 1;
        month.minor += u64::from(revision.minor);
        month.anonymous += u64::from(revision.anon);
        month.size = Some(revision.size);
        self.sizes.add(SizeAt { at: timestamp(revision.at), size: revision.size });
        if let Some(before) = &self.before {
            self.gaps.add(before.at.until(revision.at).as_secs());
        }
    }

    fn compare(&mut self, revision: &Revision, change: i64) {
        let edit = || Edit {
            revid: revision.revid,
            at: timestamp(revision.at),
            user: revision.user.clone(),
            size: revision.size,
            change,
        };
        if self.first.is_none() {
            self.first = Some(edit());
        }
        if change > self.largest_addition.as_ref().map_or(0, |edit| edit.change) {
            self.largest_addition = Some(edit());
        }
        if change < self.largest_removal.as_ref().map_or(0, |edit| edit.change) {
            self.largest_removal = Some(edit());
        }
        self.last = Some(edit());
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// The same number for the same text. Of a text whose hash is hidden, `None`.
fn text_of(revision: &Revision) -> Option<u64> {
    let digits = revision.sha1.as_deref().and_then(|sha1| sha1.get(..16));
    digits.and_then(|digits| u64::from_str_radix(digits, 16).ok())
}
