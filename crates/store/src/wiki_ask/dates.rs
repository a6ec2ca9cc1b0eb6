//! Parts of a date in UTC, by whole numbers alone.

use malla_queue::UnixMs;
use malla_wiki::pipeline::{Literal, Type};

pub(super) const HOUR_MS: i64 = 3_600_000;
pub(super) const DAY_MS: i64 = 24 * HOUR_MS;
/// From 0000-03-01, where leap days end their years, to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;
pub(super) const EPOCH_MS: i64 = EPOCH_DAYS * DAY_MS;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Year,
    Month,
    Day,
    Hour,
    DayText,
}

impl Part {
    pub(super) const ALL: [Self; 5] = [Self::Year, Self::Month, Self::Day, Self::Hour, Self::DayText];

    pub(super) fn kind(self) -> Type {
        if self == Self::DayText { Type::Text } else { Type::Whole }
    }

    pub(super) fn of(self, at: UnixMs) -> Literal {
        let (year, month, day) = civil(at.0.div_euclid(DAY_MS));
        match self {
            Self::Year => Literal::Whole(year),
            Self::Month => Literal::Whole(month),
            Self::Day => Literal::Whole(day),
            Self::Hour => Literal::Whole(at.0.rem_euclid(DAY_MS) / HOUR_MS),
            Self::DayText => Literal::Text(format!("{year:04}-{month:02}-{day:02}")),
        }
    }
}

/// Year, month and day of a day since 1970. Years begin in March here: then the leap day is the last.
fn civil(day: i64) -> (i64, i64, i64) {
    let day = day + EPOCH_DAYS;
    let (era, day_of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * month_from_march + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_has_its_parts_in_utc() {
        check(0, "1970-01-01", 0);
        check(1_520_639_999_999, "2018-03-09", 23);
        check(1_520_640_000_000, "2018-03-10", 0);
        check(951_825_600_000, "2000-02-29", 12);
        check(978_307_199_000, "2000-12-31", 23);
        check(-1, "1969-12-31", 23);
        check(4_107_542_400_000, "2100-03-01", 0);
    }

    fn check(at: i64, day: &str, hour: i64) {
        let at = UnixMs(at);
        assert_eq!(Part::DayText.of(at), Literal::Text(day.into()));
        assert_eq!(Part::Hour.of(at), Literal::Whole(hour));
        let numbers: Vec<i64> = day.split('-').map(|number| number.parse().unwrap()).collect();
        for (part, number) in [Part::Year, Part::Month, Part::Day].into_iter().zip(numbers) {
            assert_eq!(part.of(at), Literal::Whole(number), "{part:?} of {day}");
        }
    }
}
