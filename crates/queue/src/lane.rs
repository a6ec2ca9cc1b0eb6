//! A lane: a key with a ceiling of simultaneous tasks, a minimum gap between starts and a pause switch.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Error, GroupId, Limits, StateCounts, UnixMs};

/// The part of the house a lane belongs to (`notify`, `fetch`, …). A worker leases from whole rooms.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Room(String);

impl Room {
    pub fn new(name: &str) -> Result<Self, Error> {
        let fits = !name.is_empty() && name.len() <= 32 && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        if !fits {
            return Err(Error::Invalid(format!("\"{name}\" is not a room: rooms are short lower-case words")));
        }
        Ok(Self(name.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `room/name`, unique in the store: `notify/payments`, `fetch/https://example.org`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct LaneKey(String);

impl LaneKey {
    pub fn new(room: &Room, name: &str) -> Result<Self, Error> {
        format!("{room}/{name}").parse()
    }

    /// A key that the store itself gave back.
    pub fn trusted(key: String) -> Self {
        Self(key)
    }

    pub fn room(&self) -> &str {
        self.0.split_once('/').map_or("", |(room, _)| room)
    }

    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(_, name)| name)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for LaneKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |why: &str| Error::Invalid(format!("\"{text}\" is not a lane key: {why}"));
        let Some((room, name)) = text.split_once('/') else {
            return Err(wrong("a key is room/name"));
        };
        Room::new(room)?;
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err(wrong("the name must not be empty or hold control characters"));
        }
        if text.len() > Limits::NAME_BYTES_MAX {
            return Err(Error::Invalid(format!("a lane key has at most {} bytes", Limits::NAME_BYTES_MAX)));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for LaneKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for LaneKey {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// What a lane allows. Given with a task, it serves only if the lane does not exist yet:
/// afterwards the operator's word counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneSettings {
    /// Simultaneous tasks.
    pub ceiling: u32,
    /// Milliseconds between two starts.
    pub gap_ms: u64,
}

impl LaneSettings {
    pub fn check(&self) -> Result<(), Error> {
        if self.ceiling == 0 || self.ceiling > Limits::CEILING_MAX {
            let max = Limits::CEILING_MAX;
            return Err(Error::Invalid(format!("a lane's ceiling is from 1 to {max}; to stop a lane, pause it")));
        }
        if Duration::from_millis(self.gap_ms) > Limits::GAP_MAX {
            return Err(Error::Invalid("a lane's gap is at most a day (86400000 ms)".into()));
        }
        Ok(())
    }
}

impl Default for LaneSettings {
    fn default() -> Self {
        Self { ceiling: 20, gap_ms: 0 }
    }
}

/// A lane as people see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    pub key: LaneKey,
    /// Whose it is; a lane without a group is shared and seen by admins only.
    pub group: Option<GroupId>,
    #[serde(flatten)]
    pub settings: LaneSettings,
    pub paused: bool,
    /// When it may start something next; `None` if it has nothing to start, is full or paused.
    pub ready_at: Option<UnixMs>,
    pub counts: StateCounts,
}

/// What an operator changes about a lane; `None` leaves it as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaneChange {
    pub paused: Option<bool>,
    pub ceiling: Option<u32>,
    pub gap_ms: Option<u64>,
}

impl LaneChange {
    pub fn check(&self) -> Result<(), Error> {
        if *self == Self::default() {
            return Err(Error::Invalid("nothing to change: give paused, ceiling or gap_ms".into()));
        }
        let defaults = LaneSettings::default();
        LaneSettings {
            ceiling: self.ceiling.unwrap_or(defaults.ceiling),
            gap_ms: self.gap_ms.unwrap_or(defaults.gap_ms),
        }
        .check()
    }
}

#[derive(Debug, Clone, Default)]
pub struct LaneFilter {
    pub room: Option<String>,
    pub paused: Option<bool>,
    /// Part of the key.
    pub search: Option<String>,
}

#[derive(Debug, Clone)]
pub struct LanePage {
    pub lanes: Vec<Lane>,
    /// The last key seen, to go on from; `None` at the end.
    pub next: Option<LaneKey>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_room_and_a_name() {
        let key: LaneKey = "fetch/https://example.org:443".parse().expect("a key");
        assert_eq!((key.room(), key.name()), ("fetch", "https://example.org:443"));
        for wrong in ["", "notify", "notify/", "No/x", "a b/x", "notify/a\nb", &format!("notify/{}", "x".repeat(512))] {
            assert!(wrong.parse::<LaneKey>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn settings_have_bounds() {
        check(1, 0, true);
        check(0, 0, false);
        check(10_001, 0, false);
        check(1, 86_400_000, true);
        check(1, 86_400_001, false);
    }

    fn check(ceiling: u32, gap_ms: u64, fits: bool) {
        assert_eq!(LaneSettings { ceiling, gap_ms }.check().is_ok(), fits, "{ceiling} {gap_ms}");
    }
}
