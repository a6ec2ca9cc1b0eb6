//! Questions on the embedded store.
//!
//! Regular expressions and parts of dates are functions of ours. The time that an answer may take is watched from
//! inside SQLite, which looks up every few thousand steps.

use std::cell::Cell;
use std::time::{Duration, Instant};

use malla_queue::{Error, GroupId, Result, Scope, UnixMs};
use malla_wiki::pipeline::{Literal, Plan, Type};
use malla_wiki::{Limits, Row, Value};
use regex::{Regex, RegexBuilder};
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode};

use super::dates::Part;
use super::dialect::Dialect;
use super::operand::Param;
use super::values::{of_text, of_whole, unexpected};
use super::{Question, question, too_large, too_many, too_slow};
use crate::sqlite::broken;

/// Steps of SQLite's machine between two looks at the clock: about a tenth of a millisecond.
const STEPS: i32 = 10_000;
/// Bytes that a regular expression may take when it is compiled.
const REGEX_BYTES_MAX: usize = 8 << 20;

thread_local! {
    /// When the question that this thread is at has to be given up.
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Makes a connection ready for questions.
pub(crate) fn prepare(conn: &mut Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    conn.create_scalar_function("wiki_matches", 2, flags, matches)?;
    conn.create_scalar_function("wiki_date", 2, flags, date)?;
    let over = || DEADLINE.get().is_some_and(|deadline| Instant::now() >= deadline);
    conn.progress_handler(STEPS, Some(over))
}

pub(crate) fn ask(conn: &Connection, scope: &Scope, plan: &Plan, limits: Limits) -> Result<Vec<Row>> {
    // One moment, for what is seen and what is answered.
    let view = conn.unchecked_transaction().map_err(broken)?;
    let scope = if sees_all(&view, scope).map_err(broken)? { &Scope::All } else { scope };
    let question = question(Dialect::Sqlite, scope, plan, limits.rows)?;
    let _watch = Watch::until(Instant::now() + limits.time);
    answer(&view, &question, limits.rows).map_err(|error| said(error, limits.time))
}

/// Watches over what this thread asks, as long as it is there.
struct Watch;

impl Watch {
    fn until(deadline: Instant) -> Self {
        DEADLINE.set(Some(deadline));
        Self
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        DEADLINE.set(None);
    }
}

/// Whether there is no wiki outside the scope: then nothing is left out, which would cost a look-up for each revision.
fn sees_all(conn: &Connection, scope: &Scope) -> rusqlite::Result<bool> {
    let mut statement = conn.prepare_cached("SELECT DISTINCT grp FROM wiki")?;
    let owners = statement.query_map((), |row| row.get::<_, Option<i64>>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(owners.into_iter().all(|owner| scope.sees(owner.map(GroupId))))
}

/// What went wrong with a question.
enum Wrong {
    Sqlite(rusqlite::Error),
    Said(Error),
}

impl From<rusqlite::Error> for Wrong {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

fn said(wrong: Wrong, time: Duration) -> Error {
    match wrong {
        Wrong::Said(error) => error,
        Wrong::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => too_slow(time),
        Wrong::Sqlite(rusqlite::Error::SqliteFailure(_, Some(why))) if why == "integer overflow" => too_large(),
        Wrong::Sqlite(error) => broken(error),
    }
}

fn answer(conn: &Connection, question: &Question, most: usize) -> Result<Vec<Row>, Wrong> {
    let mut statement = conn.prepare(&question.sql)?;
    let mut rows = statement.query(rusqlite::params_from_iter(&question.params))?;
    let mut answer = Vec::new();
    while let Some(row) = rows.next()? {
        if answer.len() == most {
            return Err(Wrong::Said(too_many(most)));
        }
        let mut values = Row::with_capacity(question.kinds.len());
        for (number, kind) in question.kinds.iter().enumerate() {
            values.push(value(*kind, row.get_ref(number)?).map_err(Wrong::Said)?);
        }
        answer.push(values);
    }
    Ok(answer)
}

fn value(kind: Type, value: ValueRef<'_>) -> Result<Value> {
    match value {
        ValueRef::Null => Ok(Value::Null),
        ValueRef::Integer(number) => of_whole(kind, number),
        ValueRef::Real(number) if kind == Type::Real => Ok(Value::Real(number)),
        // Whole numbers that grow too large become such.
        ValueRef::Real(_) => Err(too_large()),
        ValueRef::Text(text) => of_text(kind, String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(_) => Err(unexpected(kind)),
    }
}

impl ToSql for Param {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Whole(number) => ToSqlOutput::Borrowed(ValueRef::Integer(*number)),
            Self::Real(number) => ToSqlOutput::Borrowed(ValueRef::Real(*number)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}

/// Whether a text matches an expression, which is compiled once a statement.
fn matches(call: &Context<'_>) -> rusqlite::Result<Option<bool>> {
    let regex = call.get_or_create_aux(0, |pattern| compile(pattern.as_str()?))?;
    let ValueRef::Text(text) = call.get_raw(1) else { return Ok(None) };
    Ok(std::str::from_utf8(text).ok().map(|text| regex.is_match(text)))
}

fn compile(pattern: &str) -> Result<Regex, Box<dyn std::error::Error + Send + Sync>> {
    Ok(RegexBuilder::new(pattern).size_limit(REGEX_BYTES_MAX).build()?)
}

/// A part of a date, by its number.
fn date(call: &Context<'_>) -> rusqlite::Result<rusqlite::types::Value> {
    let part = call.get_raw(0).as_i64().ok().and_then(|number| usize::try_from(number).ok());
    let (Some(part), ValueRef::Integer(at)) = (part.and_then(|number| Part::ALL.get(number)), call.get_raw(1)) else {
        return Ok(rusqlite::types::Value::Null);
    };
    Ok(match part.of(UnixMs(at)) {
        Literal::Whole(number) => number.into(),
        Literal::Text(text) => text.into(),
        _ => rusqlite::types::Value::Null,
    })
}
