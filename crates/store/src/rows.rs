//! Statements that both stores understand, for what is not on the way of every page: written once, run by either.
//!
//! Parameters are `$1`, `$2`, … in the order in which they first appear, which SQLite takes for their positions. On the
//! embedded store nothing is ever waited for, so a verb written this way is done at its first poll ([`at_once`]).

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use malla_fetch::{NewPage, UrlKey};
use malla_queue::{Act, Error, Event, NewTask, TaskId, UnixMs};

/// A statement of both stores, from its file.
macro_rules! both {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sql/both/", $name, ".sql"))
    };
}
pub(crate) use both;

/// A value in a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

pub(crate) type Row = Vec<Value>;

macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$($crate::rows::Value::from($value)),*] };
}
pub(crate) use values;

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl From<UnixMs> for Value {
    fn from(value: UnixMs) -> Self {
        Value::Int(value.0)
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Value::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Text(crate::fetch_rows::plain(value).into_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::from(value.as_str())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

impl Value {
    pub(crate) fn int(&self) -> Result<i64, Error> {
        match self {
            Value::Int(value) => Ok(*value),
            other => Err(Error::Internal(format!("a number was expected, not {other:?}"))),
        }
    }

    pub(crate) fn text(&self) -> Result<&str, Error> {
        match self {
            Value::Text(value) => Ok(value),
            other => Err(Error::Internal(format!("a text was expected, not {other:?}"))),
        }
    }

    pub(crate) fn maybe_text(&self) -> Option<String> {
        match self {
            Value::Text(value) => Some(value.clone()),
            _ => None,
        }
    }

    pub(crate) fn maybe_int(&self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn maybe_bytes(&self) -> Option<Vec<u8>> {
        match self {
            Value::Bytes(value) => Some(value.clone()),
            _ => None,
        }
    }
}

type Done<T, R> = Result<T, <R as Rows>::Error>;

/// A connection or a transaction of either store.
pub(crate) trait Rows {
    type Error: From<Error> + Send;

    fn now(&self) -> UnixMs;
    fn rows(&mut self, sql: &'static str, params: Vec<Value>) -> impl Future<Output = Done<Vec<Row>, Self>> + Send;
}

/// What a verb changes a store with.
pub(crate) trait Hands: Rows {
    /// Returns how many rows it touched.
    fn run(&mut self, sql: &'static str, params: Vec<Value>) -> impl Future<Output = Done<u64, Self>> + Send;
    /// As [`Rows::rows`], and nobody else changes them until the transaction ends.
    fn locked(&mut self, sql: &'static str, params: Vec<Value>) -> impl Future<Output = Done<Vec<Row>, Self>> + Send;
    fn new_id(&mut self) -> impl Future<Output = Done<i64, Self>> + Send;
    fn audit(&mut self, act: &Act) -> impl Future<Output = Done<(), Self>> + Send;
    fn event(&mut self, task: TaskId, event: Event) -> impl Future<Output = Done<(), Self>> + Send;
    /// The lane of the task is locked already, or there is no other lock.
    fn submit(&mut self, task: NewTask) -> impl Future<Output = Done<TaskId, Self>> + Send;
    fn rouse(&mut self, what: &str);
    fn add_page(&mut self, page: &NewPage, key: Option<UrlKey>) -> impl Future<Output = Done<i64, Self>> + Send;
    /// Takes pages off the shelf. Returns where those were from that lay there.
    fn evict(&mut self, pages: Vec<i64>) -> impl Future<Output = Done<Vec<String>, Self>> + Send;
    /// Who waits for the task waits for another one.
    fn move_wishes(&mut self, from: TaskId, to: TaskId) -> impl Future<Output = Done<(), Self>> + Send;
    fn add_wish(&mut self, task: TaskId, wish: &Held) -> impl Future<Output = Done<(), Self>> + Send;
    /// Gives a page to all who wait for the task.
    fn tell(&mut self, task: TaskId, page: i64, status: u16) -> impl Future<Output = Done<(), Self>> + Send;
}

/// Somebody who waits until a result was checked.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    /// The task whose result it is.
    pub(crate) of: i64,
    pub(crate) job: i64,
    pub(crate) seq: i64,
    pub(crate) url: String,
}

/// The one row, if there is one.
pub(crate) async fn one<R: Rows>(rows: &mut R, sql: &'static str, params: Vec<Value>) -> Done<Option<Row>, R> {
    Ok(rows.rows(sql, params).await?.into_iter().next())
}

/// The answer of a verb that waits for nothing.
pub(crate) fn at_once<T>(verb: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    match pin!(verb).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => Err(Error::Internal("a verb of the embedded store waits for something".into())),
    }
}
