//! Days of the calendar as numbers, and back.

use std::fmt;

use serde::{Serialize, Serializer};

/// Years that a date may lie in.
const YEARS: std::ops::RangeInclusive<i32> = 1900..=2199;

/// Days since 1 January 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub i32);

impl Day {
    /// Reads `2017-05-01`, alone or with a time after it. Returns the year as well.
    #[inline]
    pub fn read(text: &[u8]) -> Option<(Self, i32)> {
        let date: &[u8; 10] = text.first_chunk()?;
        if text.len() > 10 && !is_time(&text[10..]) {
            return None;
        }
        let digit = |at: usize| Some(date[at].wrapping_sub(b'0')).filter(|digit| *digit < 10).map(i32::from);
        let two = |at: usize| Some(digit(at)? * 10 + digit(at + 1)?);
        let (year, month, day) = (two(0)? * 100 + two(2)?, two(5)?, two(8)?);
        let dashes = date[4] == b'-' && date[7] == b'-';
        if !dashes || !YEARS.contains(&year) || !(1..=12).contains(&month) || day < 1 || day > days_of(year, month) {
            return None;
        }
        Some((Self::new(year, month, day), year))
    }

    /// Counts from a March, so that a leap day is the last of its year.
    fn new(year: i32, month: i32, day: i32) -> Self {
        let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let of_year = (153 * month + 2) / 5 + day - 1;
        Self(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
    }

    fn date(self) -> (i32, i32, i32) {
        let days = self.0 + 719_468;
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let (month, early) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
        (era * 400 + year + early, month, day)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.date();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// ` 07:30`, `T07:30:59`, `T07:30:59.123Z` and the like.
fn is_time(text: &[u8]) -> bool {
    let [b' ' | b'T', hour1, hour2, b':', minute1, minute2, rest @ ..] = text else { return false };
    let two = |a: &u8, b: &u8, max: u8| a.is_ascii_digit() && b.is_ascii_digit() && (a - b'0') * 10 + (b - b'0') <= max;
    let seconds = match rest {
        [] => true,
        [b':', a, b, rest @ ..] => {
            two(a, b, 60) && rest.iter().all(|byte| byte.is_ascii_digit() || b".,Z+-:".contains(byte))
        }
        rest => rest.iter().all(|byte| byte.is_ascii_digit() || b"Z+-:".contains(byte)),
    };
    two(hour1, hour2, 23) && two(minute1, minute2, 59) && seconds
}

fn days_of(year: i32, month: i32) -> i32 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_and_written() {
        for (text, day) in [("1970-01-01", 0), ("1969-12-31", -1), ("2000-02-29", 11_016), ("2017-05-01", 17_287)] {
            let (read, year) = Day::read(text.as_bytes()).expect(text);
            assert_eq!((read.0, read.to_string().as_str()), (day, text));
            assert_eq!(year.to_string(), text[..4]);
        }
        let (first, last) = (Day::new(1900, 1, 1).0, Day::new(2199, 12, 31).0);
        for day in first..=last {
            let text = Day(day).to_string();
            assert_eq!(Day::read(text.as_bytes()).map(|(read, _)| read.0), Some(day), "{text}");
        }
    }

    #[test]
    fn times_may_follow_and_nonsense_may_not() {
        for text in [
            "2017-05-01 07:30",
            "2017-05-01T07:30:59",
            "2017-05-01 23:59:59.123",
            "2017-05-01T00:00:00Z",
            "2017-05-01T00:00:00+02:00",
            "2017-05-01 07:30Z",
        ] {
            assert_eq!(Day::read(text.as_bytes()).map(|(day, _)| day.0), Some(17_287), "{text}");
        }
        for text in [
            "",
            "2017-05",
            "2017-13-01",
            "2017-00-01",
            "2017-02-29",
            "1900-02-29",
            "2017-04-31",
            "2017-05-00",
            "1899-12-31",
            "2200-01-01",
            "2017/05/01",
            "01-05-2017",
            "2017-05-01x",
            "2017-05-01 ",
            "2017-05-01 24:00",
            "2017-05-01 7:30",
            "2017-05-01 07:60",
            "20a7-05-01",
            "2017-05-011",
        ] {
            assert_eq!(Day::read(text.as_bytes()), None, "{text}");
        }
    }
}
