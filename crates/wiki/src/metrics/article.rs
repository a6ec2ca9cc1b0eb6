//! Goes through the history of an article once and counts.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::tz::TimeZone;
use malla_queue::{Error, Result, UnixMs};

use super::{ArticleMetrics, Between, Edit, Editor, Month, MonthCounts, Share, SizeAt, TOP, periods, timestamp};
use crate::page::{Page, PageId};
use crate::revision::Revision;
use crate::site::Wiki;
use crate::verbs::Wikis;

/// Revisions read at once.
const READ: usize = 1_000;
/// Revisions counted: what is kept while counting grows with them.
const REVISIONS_MAX: u64 = 2_000_000;
/// Points of the size over time.
const POINTS_MAX: usize = 200;
const MONTH_S: f64 = 365.25 * 86_400.0 / 12.0;

/// Counts an article's history. [`Error::NotFound`] if the page is not kept.
pub async fn of_page(wikis: &dyn Wikis, wiki: &Wiki, pageid: PageId) -> Result<ArticleMetrics> {
    let page = wikis.page(wiki.id, pageid).await?;
    let page = page.ok_or_else(|| Error::NotFound(format!("page {} of wiki {}", pageid.0, wiki.id)))?;
    let mut tally = Tally::new(bots(wiki));
    let mut after = None;
    loop {
        let revisions = wikis.history(wiki.id, pageid, after, READ).await?;
        let room = usize::try_from(REVISIONS_MAX - tally.revisions).unwrap_or(usize::MAX);
        revisions.iter().take(room).for_each(|revision| tally.count(revision));
        if revisions.len() < READ || tally.revisions == REVISIONS_MAX {
            return Ok(tally.end(&page, revisions.len() <= room));
        }
        after = revisions.last().map(Revision::mark);
    }
}

fn bots(wiki: &Wiki) -> HashSet<&str> {
    wiki.about["bots"].as_array().into_iter().flatten().filter_map(|name| name.as_str()).collect()
}

#[derive(Default)]
struct Tally<'w> {
    bots: HashSet<&'w str>,
    revisions: u64,
    minor: u64,
    anonymous: u64,
    by_bots: u64,
    reverts: u64,
    editors: HashMap<String, Deeds>,
    /// Of all texts so far, as numbers.
    texts: HashSet<u64>,
    before: Option<Before>,
    first: Option<Edit>,
    last: Option<Edit>,
    largest_addition: Option<Edit>,
    largest_removal: Option<Edit>,
    gaps: Gaps,
    months: BTreeMap<Month, MonthCounts>,
    sizes: Sizes,
    hours: [u64; 24],
    weekdays: [u64; 7],
}

/// The revision before.
struct Before {
    at: UnixMs,
    size: u64,
    text: Option<u64>,
}

/// What an editor did.
struct Deeds {
    edits: u64,
    minor: u64,
    added: u64,
    first: UnixMs,
    last: UnixMs,
}

impl<'w> Tally<'w> {
    fn new(bots: HashSet<&'w str>) -> Self {
        Self { bots, ..Self::default() }
    }

    fn count(&mut self, revision: &Revision) {
        self.revisions += 1;
        self.minor += u64::from(revision.minor);
        self.anonymous += u64::from(revision.anon);
        self.by_bots += u64::from(revision.user.as_deref().is_some_and(|user| self.bots.contains(user)));
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
        let month = self.months.entry(i64::from(date.year()) * 12 + i64::from(date.month()) - 1).or_default();
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

    fn end(self, page: &Page, whole: bool) -> ArticleMetrics {
        let all = self.revisions;
        let lasted_s = match (&self.first, &self.last) {
            (Some(first), Some(last)) => (last.at.as_second() - first.at.as_second()) as f64,
            _ => 0.0,
        };
        let edits_per_month = all as f64 / (lasted_s / MONTH_S).max(1.0);
        let (months, years) = periods(&self.months);
        let mut sizes = self.sizes;
        sizes.end(self.last.as_ref());
        ArticleMetrics {
            pageid: page.pageid,
            title: page.facts.title.clone(),
            revisions: all,
            whole,
            editors: self.editors.len() as u64,
            minor: Share::of(self.minor, all),
            anonymous: Share::of(self.anonymous, all),
            bots: Share::of(self.by_bots, all),
            between_edits: self.gaps.between(),
            edits_per_editor: all as f64 / self.editors.len().max(1) as f64,
            edits_per_month,
            edits_per_year: all as f64 / (lasted_s / MONTH_S / 12.0).max(1.0),
            reverts: Share::of(self.reverts, all),
            top_by_edits: top(&self.editors, &self.bots, all, |deeds| deeds.edits),
            top_by_text: top(&self.editors, &self.bots, all, |deeds| deeds.added),
            first: self.first,
            last: self.last,
            largest_addition: self.largest_addition,
            largest_removal: self.largest_removal,
            months,
            years,
            sizes: sizes.points,
            hours: self.hours,
            weekdays: self.weekdays,
        }
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

/// Those with the most of something, and something at all.
fn top(editors: &HashMap<String, Deeds>, bots: &HashSet<&str>, all: u64, of: fn(&Deeds) -> u64) -> Vec<Editor> {
    let mut list: Vec<(&String, &Deeds)> = editors.iter().filter(|(_, deeds)| of(deeds) > 0).collect();
    let order = |a: &(&String, &Deeds), b: &(&String, &Deeds)| of(b.1).cmp(&of(a.1)).then_with(|| a.0.cmp(b.0));
    if list.len() > TOP {
        list.select_nth_unstable_by(TOP, order);
        list.truncate(TOP);
    }
    list.sort_unstable_by(order);
    let editor = |(user, deeds): (&String, &Deeds)| Editor {
        user: user.clone(),
        edits: deeds.edits,
        share: deeds.edits as f64 / all.max(1) as f64,
        minor: deeds.minor,
        added: deeds.added,
        first: timestamp(deeds.first),
        last: timestamp(deeds.last),
        bot: bots.contains(user.as_str()),
    };
    list.into_iter().map(editor).collect()
}

/// Times between edits, counted in eighths of powers of two.
#[derive(Default)]
struct Gaps {
    counts: BTreeMap<u32, u64>,
    sum_s: u64,
    longest_s: u64,
    edits: u64,
}

impl Gaps {
    fn add(&mut self, gap_s: u64) {
        let power = gap_s.max(8).ilog2();
        let place = if gap_s < 8 { gap_s as u32 } else { power * 8 + ((gap_s >> (power - 3)) & 7) as u32 };
        *self.counts.entry(place).or_default() += 1;
        self.sum_s += gap_s;
        self.longest_s = self.longest_s.max(gap_s);
        self.edits += 1;
    }

    fn between(&self) -> Option<Between> {
        let mut left = self.edits.checked_sub(1)? / 2;
        let middle = self.counts.iter().find(|(_, count)| {
            let here = left < **count;
            left = left.saturating_sub(**count);
            here
        })?;
        Some(Between {
            mean_s: self.sum_s as f64 / self.edits as f64,
            median_s: middle_of(*middle.0).min(self.longest_s as f64),
            longest_s: self.longest_s as f64,
        })
    }
}

/// The middle of what is counted at a place.
fn middle_of(place: u32) -> f64 {
    if place < 8 {
        return f64::from(place);
    }
    let (power, eighth) = (place / 8, place % 8);
    f64::from(power - 3).exp2() * (f64::from(8 + eighth) + 0.5)
}

/// Points over time: every one, then every second, every fourth and so on.
struct Sizes {
    points: Vec<SizeAt>,
    every: u64,
    seen: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { points: Vec::new(), every: 1, seen: 0 }
    }
}

impl Sizes {
    fn add(&mut self, point: SizeAt) {
        if self.seen.is_multiple_of(self.every) {
            // One is left for the last.
            if self.points.len() == POINTS_MAX - 1 {
                let mut place = 0;
                self.points.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.every *= 2;
            }
            if self.seen.is_multiple_of(self.every) {
                self.points.push(point);
            }
        }
        self.seen += 1;
    }

    fn end(&mut self, last: Option<&Edit>) {
        let last = last.map(|edit| SizeAt { at: edit.at, size: edit.size });
        self.points.extend(last.filter(|last| self.points.last() != Some(last)));
    }
}
