//! Dates as people write them: ISO, or in a format of their own.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::TimeZone;
use malla_queue::{Error, Result, UnixMs};

use super::json::{Json, quoted};

const FORMAT_CHARS_MAX: usize = 100;
const DAY_FORMAT: &str = "%Y-%m-%d";

/// How texts are read as dates.
pub(super) enum DateFormat {
    Iso,
    Own(String),
}

impl DateFormat {
    /// A `date_format` as it was given; one whose percent signs are still encoded is understood.
    pub(super) fn of(given: Option<&str>) -> Result<Self> {
        let Some(given) = given.map(str::trim).filter(|given| !given.is_empty()) else {
            return Ok(Self::Iso);
        };
        let format = given.replace("%25", "%");
        if format.chars().count() > FORMAT_CHARS_MAX {
            return Err(Error::Invalid(format!("date_format is too long: at most {FORMAT_CHARS_MAX} characters")));
        }
        if !format.contains('%') {
            return Err(Error::Invalid(format!(
                "date_format {} says nothing about dates: write it like %Y-%m-%d",
                quoted(given)
            )));
        }
        Ok(Self::Own(format))
    }

    /// The moment that is meant: in UTC, unless it says otherwise.
    pub(super) fn read(&self, text: &str) -> Result<UnixMs> {
        match self {
            Self::Iso => moment(text).ok_or_else(|| {
                Error::Invalid(format!(
                    "{} is no date: write it like 2018-03-09 or 2018-03-09T12:00:00Z, or say how with date_format",
                    quoted(text)
                ))
            }),
            Self::Own(format) => own(format, text).map_err(|error| {
                Error::Invalid(format!(
                    "{} cannot be read as a date of the date_format {}: {error}",
                    quoted(text),
                    quoted(format)
                ))
            }),
        }
    }
}

fn own(format: &str, text: &str) -> Result<UnixMs, jiff::Error> {
    let read = BrokenDownTime::parse(format, text.trim())?;
    // A format can have a zone, or be a number of seconds; what has neither is in UTC.
    if let Ok(at) = read.to_timestamp() {
        return Ok(UnixMs(at.as_millisecond()));
    }
    in_utc(read.to_datetime()?)
}

/// An ISO date, or date and time.
pub(crate) fn moment(text: &str) -> Option<UnixMs> {
    let text = text.trim();
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(UnixMs(at.as_millisecond()));
    }
    in_utc(text.parse::<DateTime>().ok()?).ok()
}

/// The first moment of a day written as `2018-03-09`.
pub(crate) fn day(text: &str) -> Option<UnixMs> {
    let date = Date::strptime(DAY_FORMAT, text.trim()).ok()?;
    in_utc(date.to_datetime(jiff::civil::Time::midnight())).ok()
}

fn in_utc(date: DateTime) -> Result<UnixMs, jiff::Error> {
    Ok(UnixMs(date.to_zoned(TimeZone::UTC)?.timestamp().as_millisecond()))
}

/// What stands behind `$date`: milliseconds, or an ISO date.
pub(super) fn extended(json: &Json) -> Result<UnixMs> {
    let at = match json {
        Json::Text(text) => moment(text),
        Json::Object(pairs) => match pairs.as_slice() {
            [(key, Json::Text(digits))] if key == "$numberLong" => digits.parse().ok().map(UnixMs),
            _ => None,
        },
        number => number.whole().map(UnixMs),
    };
    at.ok_or_else(|| Error::Invalid(format!("$date takes milliseconds since 1970 or an ISO date, not {json}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: i64 = 1_520_596_800_000; // 2018-03-09T12:00:00Z
    const MIDNIGHT: i64 = NOON - 12 * 3_600_000;

    #[test]
    fn iso_dates_are_read_in_utc() {
        for (text, at) in [
            ("2018-03-09", MIDNIGHT),
            ("2018-03-09T12:00:00Z", NOON),
            ("2018-03-09T12:00:00", NOON),
            ("2018-03-09 12:00", NOON),
            ("2018-03-09T08:00:00-04:00", NOON),
            (" 2018-03-09T12:00:00.250Z ", NOON + 250),
        ] {
            assert_eq!(DateFormat::Iso.read(text), Ok(UnixMs(at)), "{text}");
        }
        for text in ["", "yesterday", "2018-13-01", "09/03/2018", "2018-03-09T25:00:00"] {
            let refused = DateFormat::Iso.read(text).expect_err(text).to_string();
            assert!(refused.contains("is no date: write it like 2018-03-09"), "{refused}");
        }
    }

    #[test]
    fn a_format_of_ones_own_decides_alone() {
        for (format, text, at) in [
            ("%Y-%m-%d", "2018-03-09", MIDNIGHT),
            ("%25Y-%25m-%25d", "2018-03-09", MIDNIGHT),
            ("%Y-%m-%dT%H:%M:%S", "2018-03-09T12:00:00", NOON),
            ("%d/%m/%Y %H:%M", "09/03/2018 12:00", NOON),
            ("%Y-%m-%d %H:%M %z", "2018-03-09 08:00 -0400", NOON),
            ("%s", "1520596800", NOON),
        ] {
            let format = DateFormat::of(Some(format)).expect("a format");
            assert_eq!(format.read(text), Ok(UnixMs(at)), "{text}");
        }
        let format = DateFormat::of(Some("%d/%m/%Y")).expect("a format");
        let refused = format.read("2018-03-09").expect_err("another format").to_string();
        assert!(refused.starts_with(r#""2018-03-09" cannot be read as a date of the date_format "%d/%m/%Y": "#));
        assert!(DateFormat::of(Some("day")).is_err());
        assert!(DateFormat::of(Some(&"%d".repeat(60))).is_err());
        assert!(DateFormat::of(Some("%H:%M")).expect("a format").read("12:00").is_err());
        assert!(matches!(DateFormat::of(Some(" ")), Ok(DateFormat::Iso)));
    }

    #[test]
    fn a_day_is_a_day_and_nothing_else() {
        assert_eq!(day("2018-03-09"), Some(UnixMs(MIDNIGHT)));
        for text in ["2018-02-30", "2018-03-09T12:00:00Z", "2018-03", "today", ""] {
            assert_eq!(day(text), None, "{text}");
        }
    }
}
