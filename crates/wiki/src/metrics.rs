//! What a history says in numbers: who edits an article, how often, how much, and when; and the same of a whole wiki.

mod article;
mod counts;
mod csv;
mod packing;
mod series;
mod tally;
#[cfg(test)]
mod tests;
mod wiki;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use malla_queue::UnixMs;
use serde::{Deserialize, Serialize};

use crate::page::PageId;
use crate::revision::RevId;
use crate::site::WikiId;

pub use article::of_page;
pub use counts::{KeptTally, MonthEdits, WikiCounts};
pub use wiki::of_wiki;

/// Names in a list of the first.
const TOP: usize = 10;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArticleMetrics {
    pub pageid: PageId,
    pub title: String,
    pub revisions: u64,
    /// False if there are more revisions than are counted: then this is about the oldest of them.
    pub whole: bool,
    /// Names, also of those who were not logged in.
    pub editors: u64,
    pub minor: Share,
    pub anonymous: Share,
    pub bots: Share,
    pub first: Option<Edit>,
    pub last: Option<Edit>,
    pub largest_addition: Option<Edit>,
    pub largest_removal: Option<Edit>,
    pub between_edits: Option<Between>,
    pub edits_per_editor: f64,
    pub edits_per_month: f64,
    pub edits_per_year: f64,
    /// Edits that brought back a text as it was before the last one.
    pub reverts: Share,
    pub top_by_edits: Vec<Editor>,
    /// Text brought back by a revert is nobody's.
    pub top_by_text: Vec<Editor>,
    /// From the first to the last without a gap.
    pub months: Vec<Period>,
    pub years: Vec<Period>,
    /// Some hundred points at most, in order.
    pub sizes: Vec<SizeAt>,
    /// Edits by the hour of the day in UTC, and by the day of the week from Monday on.
    pub hours: [u64; 24],
    pub weekdays: [u64; 7],
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WikiMetrics {
    pub wiki: WikiId,
    pub name: String,
    pub pages: u64,
    pub revisions: u64,
    pub editors: u64,
    pub minor: Share,
    pub anonymous: Share,
    pub top_by_edits: Vec<NameCount>,
    /// Articles with the most edits.
    pub top_articles: Vec<ArticleCount>,
    pub months: Vec<Period>,
    pub years: Vec<Period>,
}

/// Some of all edits.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Share {
    pub edits: u64,
    /// From 0 to 1.
    pub share: f64,
}

impl Share {
    fn of(edits: u64, all: u64) -> Self {
        Self { edits, share: edits as f64 / all.max(1) as f64 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    pub revid: RevId,
    pub at: Timestamp,
    /// `None`: hidden.
    pub user: Option<String>,
    pub size: u64,
    /// Bytes more than the revision before.
    pub change: i64,
}

/// Seconds from an edit to the next.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Between {
    pub mean_s: f64,
    /// Within a tenth of what it is.
    pub median_s: f64,
    pub longest_s: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Editor {
    pub user: String,
    pub edits: u64,
    /// Of all edits.
    pub share: f64,
    pub minor: u64,
    /// Bytes added over all edits that were no reverts.
    pub added: u64,
    pub first: Timestamp,
    pub last: Timestamp,
    pub bot: bool,
}

/// A month (`2018-03`) or a year (`2018`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Period {
    pub period: String,
    pub edits: u64,
    pub minor: u64,
    pub anonymous: u64,
    /// The article's at the end of it; of a wiki `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeAt {
    pub at: Timestamp,
    pub size: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NameCount {
    pub user: String,
    pub edits: u64,
    pub share: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArticleCount {
    pub pageid: PageId,
    pub title: String,
    pub edits: u64,
}

/// Counts of the edits of one month.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct MonthCounts {
    edits: u64,
    minor: u64,
    anonymous: u64,
    size: Option<u64>,
}

/// A month as the number of months since the year 0.
pub type Month = i64;

/// The month of a moment, in UTC.
pub fn month_of(at: UnixMs) -> Month {
    let date = timestamp(at).to_zoned(TimeZone::UTC);
    i64::from(date.year()) * 12 + i64::from(date.month()) - 1
}

/// All months from the first to the last, and the same by years.
fn periods(counts: &std::collections::BTreeMap<Month, MonthCounts>) -> (Vec<Period>, Vec<Period>) {
    let (Some((first, _)), Some((last, _))) = (counts.first_key_value(), counts.last_key_value()) else {
        return Default::default();
    };
    let (mut months, mut years) = (Vec::new(), Vec::<Period>::new());
    let mut size = None;
    for month in *first..=*last {
        let counts = counts.get(&month).copied().unwrap_or_default();
        size = counts.size.or(size);
        let (year, of_year) = (month.div_euclid(12), month.rem_euclid(12) + 1);
        let period =
            |period| Period { period, edits: counts.edits, minor: counts.minor, anonymous: counts.anonymous, size };
        months.push(period(format!("{year:04}-{of_year:02}")));
        let name = format!("{year:04}");
        match years.last_mut().filter(|last| last.period == name) {
            Some(year) => {
                year.edits += counts.edits;
                year.minor += counts.minor;
                year.anonymous += counts.anonymous;
                year.size = size;
            }
            None => years.push(period(name)),
        }
    }
    (months, years)
}

/// What lies outside of the calendar is put at its beginning.
fn timestamp(at: UnixMs) -> Timestamp {
    Timestamp::from_millisecond(at.0).unwrap_or(Timestamp::UNIX_EPOCH)
}
