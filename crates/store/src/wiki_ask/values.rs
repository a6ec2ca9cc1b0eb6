//! Values of an answer out of what a store gives.

use malla_queue::{Error, Result, UnixMs};
use malla_wiki::pipeline::Type;
use malla_wiki::{PageId, TextHash, Value, WikiId};

/// A number of a column that is not with a fraction.
pub(super) fn of_whole(kind: Type, number: i64) -> Result<Value> {
    match kind {
        Type::Whole => Ok(Value::Whole(number)),
        Type::Date => Ok(Value::Date(UnixMs(number))),
        Type::Flag => Ok(Value::Flag(number != 0)),
        Type::Real => Ok(Value::Real(number as f64)),
        Type::Text | Type::Tags | Type::Content => Err(unexpected(kind)),
    }
}

pub(super) fn of_text(kind: Type, text: String) -> Result<Value> {
    match kind {
        Type::Text => Ok(Value::Text(text)),
        Type::Tags => serde_json::from_str(&text).map(Value::Tags).map_err(|_| unexpected(kind)),
        Type::Content => content(&text).ok_or_else(|| unexpected(kind)),
        Type::Whole | Type::Real | Type::Date | Type::Flag => Err(unexpected(kind)),
    }
}

pub(super) fn unexpected(kind: Type) -> Error {
    Error::Internal(format!("a column that should be {kind:?} is not"))
}

/// Wiki, page and hash.
fn content(text: &str) -> Option<Value> {
    let mut words = text.split(' ');
    let (wiki, pageid) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let digits = words.next()?;
    let mut hash = [0; 16];
    for (number, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * number..2 * number + 2)?, 16).ok()?;
    }
    Some(Value::Content { wiki: WikiId(wiki), pageid: PageId(pageid), hash: TextHash(hash) })
}
