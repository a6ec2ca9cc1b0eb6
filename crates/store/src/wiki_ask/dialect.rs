//! Where the two stores speak differently.

use super::dates::{DAY_MS, EPOCH_MS, HOUR_MS, Part};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Sqlite,
    Postgres,
}

/// The day of a moment, counted so that none is negative. SQLite has an index on exactly this.
pub(super) fn day_of(ms: &str) -> String {
    format!("(({ms} + {EPOCH_MS}) / {DAY_MS})")
}

/// The first moment of such a day.
pub(super) fn day_begins(day: &str) -> String {
    format!("({day} * {DAY_MS} - {EPOCH_MS})")
}

impl Dialect {
    pub(super) fn mark(self, number: usize) -> String {
        match self {
            Self::Sqlite => format!("?{number}"),
            Self::Postgres => format!("${number}"),
        }
    }

    /// A text that is compared by its bytes.
    pub(super) fn text(self, sql: &str) -> String {
        match self {
            Self::Sqlite => sql.to_owned(),
            Self::Postgres => format!("({sql}) COLLATE \"C\""),
        }
    }

    /// A column whose index shall not be used.
    pub(super) fn apart(self, column: &str) -> String {
        match self {
            Self::Sqlite => format!("+{column}"),
            Self::Postgres => column.to_owned(),
        }
    }

    pub(super) fn matches(self, text: &str, regex: &str) -> String {
        match self {
            Self::Sqlite => format!("wiki_matches({regex}, {text})"),
            Self::Postgres => format!("{} ~ {regex}", self.text(text)),
        }
    }

    pub(super) fn part(self, part: Part, ms: &str) -> String {
        let moment = format!("to_timestamp({ms} / 1000.0) AT TIME ZONE 'UTC'");
        let number = |name: &str| format!("CAST(extract({name} FROM {moment}) AS BIGINT)");
        match (part, self) {
            (Part::Hour, _) => format!("(({ms} + {EPOCH_MS}) % {DAY_MS} / {HOUR_MS})"),
            (_, Self::Sqlite) => format!("wiki_date({}, {ms})", part as usize),
            (Part::Year, Self::Postgres) => number("year"),
            (Part::Month, Self::Postgres) => number("month"),
            (Part::Day, Self::Postgres) => number("day"),
            (Part::DayText, Self::Postgres) => format!("to_char({moment}, 'YYYY-MM-DD')"),
        }
    }

    /// What is needed to read a revision's text, in one value.
    pub(super) fn content(self) -> &'static str {
        match self {
            Self::Sqlite => "CASE WHEN n.text IS NOT NULL THEN r.wiki || ' ' || p.pageid || ' ' || hex(n.text) END",
            Self::Postgres => "CAST(r.wiki AS TEXT) || ' ' || CAST(p.pageid AS TEXT) || ' ' || encode(n.text, 'hex')",
        }
    }

    /// The words of a list as the column `value` of `j`.
    pub(super) fn words(self, list: &str) -> String {
        match self {
            Self::Sqlite => format!("json_each({list}) j"),
            Self::Postgres => format!("json_array_elements_text(CAST({list} AS JSON)) AS j(value)"),
        }
    }
}
