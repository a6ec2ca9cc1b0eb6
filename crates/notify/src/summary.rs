//! The figures of a range in a few numbers: how much a day, how much failed each month, how many at once, how long.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use malla_queue::UnixMs;

use crate::Figures;

/// What became of the notifications that ended in one calendar month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Month {
    pub year: i16,
    /// From 1.
    pub month: i8,
    pub delivered: u64,
    pub failed: u64,
}

impl Month {
    /// `2026-07`
    pub fn name(&self) -> String {
        format!("{:04}-{:02}", self.year, self.month)
    }

    pub fn failure_rate(&self) -> Option<f64> {
        failure_rate(self.delivered, self.failed)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// All of the range together.
    pub total: Figures,
    /// On average, from the first that was counted to the end of the range; of less than a day, what there was.
    pub events_per_day: f64,
    pub delivered_per_day: f64,
    /// Those in which something was delivered or failed, in UTC.
    pub months: Vec<Month>,
}

impl Summary {
    pub fn failure_rate(&self) -> Option<f64> {
        failure_rate(self.total.delivered, self.total.failed)
    }
}

/// Sums up the figures of steps that lie before `to`.
pub fn summarize(steps: &[(UnixMs, Figures)], to: UnixMs) -> Summary {
    let mut total = Figures::default();
    let mut months: BTreeMap<(i16, i8), (u64, u64)> = BTreeMap::new();
    for (begin, figures) in steps {
        total.merge(figures);
        if figures.delivered + figures.failed > 0 {
            let (delivered, failed) = months.entry(month_of(*begin)).or_default();
            *delivered += figures.delivered;
            *failed += figures.failed;
        }
    }
    let counted_for = steps.iter().map(|(begin, _)| begin.until(to)).max().unwrap_or_default();
    let days = (counted_for.as_secs_f64() / 86_400.0).max(1.0);
    let month = |((year, month), (delivered, failed))| Month { year, month, delivered, failed };
    Summary {
        events_per_day: total.events as f64 / days,
        delivered_per_day: total.delivered as f64 / days,
        months: months.into_iter().map(month).collect(),
        total,
    }
}

fn failure_rate(delivered: u64, failed: u64) -> Option<f64> {
    (delivered + failed > 0).then(|| failed as f64 / (delivered + failed) as f64)
}

fn month_of(at: UnixMs) -> (i16, i8) {
    let date = Timestamp::from_millisecond(at.0).unwrap_or_default().to_zoned(TimeZone::UTC).date();
    (date.year(), date.month())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: i64 = 86_400_000;
    /// 2027-01-15T00:00:00Z
    const START: i64 = 1_799_971_200_000;

    fn figures(events: u64, delivered: u64, failed: u64, peak: u64) -> Figures {
        Figures { events, delivered, failed, peak, ..Figures::default() }
    }

    #[test]
    fn a_range_comes_down_to_a_few_numbers() {
        let days = [(0, figures(10, 8, 2, 3)), (1, figures(20, 20, 0, 7)), (20, figures(0, 0, 5, 1))];
        let days = days.map(|(day, figures)| (UnixMs(START + day * DAY_MS), figures));
        let summary = summarize(&days, UnixMs(START + 30 * DAY_MS));
        assert_eq!((summary.total.events, summary.total.peak), (30, 7));
        assert!((summary.events_per_day - 1.0).abs() < 1e-9, "{}", summary.events_per_day);
        assert_eq!(summary.failure_rate(), Some(7.0 / 35.0));
        let months: Vec<_> = summary.months.iter().map(|month| (month.name(), month.failure_rate())).collect();
        assert_eq!(months, [("2027-01".to_owned(), Some(2.0 / 30.0)), ("2027-02".to_owned(), Some(1.0))]);
    }

    #[test]
    fn an_hour_is_not_stretched_to_a_day_and_nothing_is_nothing() {
        let hour = [(UnixMs(START), figures(12, 0, 0, 0))];
        let summary = summarize(&hour, UnixMs(START + 3_600_000));
        assert!((summary.events_per_day - 12.0).abs() < 1e-9);
        assert!(summary.months.is_empty());
        assert_eq!(summarize(&[], UnixMs(START)).failure_rate(), None);
    }
}
