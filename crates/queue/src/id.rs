//! Identifiers. A task's id carries the time of its submission, so that ids sort by age, a time range is an id
//! range, and old tasks lie together on disk.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Error, UnixMs};

/// 2020-01-01T00:00:00Z, where ids begin.
const EPOCH_MS: i64 = 1_577_836_800_000;
/// Bits below the millisecond: about a million ids can share one.
const SEQUENCE_BITS: u32 = 20;
/// Crockford's alphabet: no i, l, o, u, so that an id survives being read aloud.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const TEXT_LEN: usize = 13;

/// A task's number, unique in its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub i64);

/// An event's number, from the same sequence as the tasks'.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(pub i64);

impl TaskId {
    /// The first id a task submitted at `at` can have.
    pub fn first_at(at: UnixMs) -> Self {
        Self(at.0.saturating_sub(EPOCH_MS).clamp(0, i64::MAX >> SEQUENCE_BITS) << SEQUENCE_BITS)
    }

    pub fn submitted_at(self) -> UnixMs {
        UnixMs((self.0 >> SEQUENCE_BITS) + EPOCH_MS)
    }
}

impl EventId {
    pub fn received_at(self) -> UnixMs {
        TaskId(self.0).submitted_at()
    }
}

fn write_id(id: i64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut text = [0u8; TEXT_LEN];
    let mut rest = id.cast_unsigned();
    for slot in text.iter_mut().rev() {
        *slot = ALPHABET[(rest & 31) as usize];
        rest >>= 5;
    }
    f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
}

fn read_id(text: &str) -> Result<i64, Error> {
    let wrong = || Error::Invalid(format!("\"{text}\" is not an id: ids are {TEXT_LEN} letters and digits"));
    if text.len() != TEXT_LEN {
        return Err(wrong());
    }
    let mut id: u64 = 0;
    for byte in text.bytes() {
        let digit = ALPHABET.iter().position(|a| *a == byte.to_ascii_lowercase()).ok_or_else(wrong)?;
        id = id.checked_mul(32).and_then(|id| id.checked_add(digit as u64)).ok_or_else(wrong)?;
    }
    i64::try_from(id).map_err(|_| wrong())
}

macro_rules! text_id {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_id(self.0, f)
            }
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                read_id(text).map(Self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

text_id!(TaskId);
text_id!(EventId);

/// A lane's number inside its store; users know lanes by their key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LaneId(pub i64);

/// A group's number; users know groups by their name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GroupId(pub i64);

/// The proof of holding a lease. Each lease of a task has another nonce, so a holder that lost its lease
/// can no longer name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LeaseToken {
    pub task: TaskId,
    pub nonce: i64,
}

/// As it travels: the task, a dot, and the nonce in hexadecimal digits.
impl fmt::Display for LeaseToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:x}", self.task, self.nonce)
    }
}

impl FromStr for LeaseToken {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Invalid(format!("\"{text}\" is not the token of a lease"));
        let (task, nonce) = text.split_once('.').ok_or_else(wrong)?;
        let nonce = u64::from_str_radix(nonce, 16).map_err(|_| wrong())?.cast_signed();
        Ok(Self { task: task.parse()?, nonce })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_reads_back_whatever_its_nonce() {
        for nonce in [0, 1, -1, i64::MIN, i64::MAX] {
            let token = LeaseToken { task: TaskId(12_345_678), nonce };
            assert_eq!(token.to_string().parse(), Ok(token));
        }
        for wrong in ["", ".", "x.1", "06ewzat000008", "06ewzat000008.xyz"] {
            assert!(wrong.parse::<LeaseToken>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn ids_read_back_as_written_and_sort_by_time() {
        let early = TaskId::first_at(UnixMs(1_700_000_000_000));
        let late = TaskId::first_at(UnixMs(1_700_000_000_001));
        assert!(early < late);
        assert!(early.to_string() < late.to_string());
        assert_eq!(early.submitted_at(), UnixMs(1_700_000_000_000));
        for id in [early, late, TaskId(0), TaskId(i64::MAX)] {
            assert_eq!(id.to_string().parse::<TaskId>().expect("reads back"), id);
        }
    }

    #[test]
    fn what_is_not_an_id_is_refused() {
        for text in ["", "abc", "zzzzzzzzzzzzz", "0000000000il0", "00000000000000", "ééééééé"] {
            assert!(text.parse::<TaskId>().is_err(), "{text}");
        }
    }

    #[test]
    fn times_outside_the_range_of_ids_are_clamped() {
        assert_eq!(TaskId::first_at(UnixMs(0)), TaskId(0));
        assert!(TaskId::first_at(UnixMs(i64::MAX)).0 > 0);
    }
}
