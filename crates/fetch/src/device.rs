//! A device: somebody's machine that fetches for the fleet.

use malla_queue::{Error, GroupId, Result, UnixMs};
use serde::{Deserialize, Serialize};

use crate::Measures;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeviceId(pub i64);

/// What a device says of itself when it joins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDevice {
    /// Unique for its owner; joining again under it takes the place of one that is not at work any more.
    pub name: String,
    /// The user it belongs to.
    pub owner: String,
    pub group: Option<GroupId>,
    pub about: About,
    /// A hash of the secret by which it is known from now on. Who has it is the device, and may join again at any time.
    pub secret_hash: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// `linux x86_64`.
    pub system: String,
    pub version: String,
    pub hostname: String,
    pub address: String,
    /// Two letters.
    pub country: Option<String>,
    /// It joined with the token of an admin: the operator's own. The server notes it, not the device.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
}

/// The longest text a device may say of itself.
const TEXT_BYTES_MAX: usize = 200;

impl NewDevice {
    pub fn check(&self) -> Result<()> {
        let About { system, version, hostname, address, country, own: _ } = &self.about;
        for (what, text) in [
            ("name", &self.name),
            ("system", system),
            ("version", version),
            ("hostname", hostname),
            ("address", address),
        ] {
            if text.len() > TEXT_BYTES_MAX || text.chars().any(char::is_control) {
                return Err(Error::Invalid(format!(
                    "a device's {what} has at most {TEXT_BYTES_MAX} bytes and no control characters"
                )));
            }
        }
        if self.name.is_empty() {
            return Err(Error::Invalid("a device needs a name".into()));
        }
        if country.as_ref().is_some_and(|code| code.len() != 2 || !code.bytes().all(|b| b.is_ascii_uppercase())) {
            return Err(Error::Invalid("a country is two capital letters, as in DE".into()));
        }
        Ok(())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    pub id: DeviceId,
    pub name: String,
    pub owner: String,
    pub group: Option<GroupId>,
    pub about: About,
    pub blocked: bool,
    pub joined_at: UnixMs,
    pub seen_at: UnixMs,
    /// It said goodbye.
    pub left: bool,
    pub measures: Measures,
    pub tally: Tally,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceState {
    Online,
    Offline,
    Blocked,
}

impl DeviceState {
    pub fn name(self) -> &'static str {
        match self {
            DeviceState::Online => "online",
            DeviceState::Offline => "offline",
            DeviceState::Blocked => "blocked",
        }
    }
}

/// What a blocked device is told.
pub const BLOCKED: &str = "this device is blocked: ask the operator of the fleet why";

/// A device that was not heard for this long is offline.
pub const OFFLINE_AFTER_MS: i64 = 90_000;

impl Device {
    /// Part of a server.
    pub fn is_of_the_house(&self) -> bool {
        self.owner == crate::ledger::HOUSE
    }

    /// Whoever runs the house runs it too: it is believed, and nothing it brings is checked.
    pub fn is_trusted(&self) -> bool {
        self.about.own || self.is_of_the_house()
    }

    pub fn state(&self, now: UnixMs) -> DeviceState {
        match () {
            () if self.blocked => DeviceState::Blocked,
            () if self.left || now.0 - self.seen_at.0 > OFFLINE_AFTER_MS => DeviceState::Offline,
            () => DeviceState::Online,
        }
    }
}

/// What a device has brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    pub pages: u64,
    /// By status: 2xx, 3xx, 4xx, 5xx, and none (580).
    pub by_class: [u64; 5],
    pub bytes: u64,
    /// Spent fetching.
    pub took_ms: u64,
    /// Brought too late.
    pub refused: u64,
}

impl Tally {
    pub fn count(&mut self, status: u16, bytes: u64, took_ms: u64) {
        self.pages += 1;
        self.bytes += bytes;
        self.took_ms += took_ms;
        if let Some(class) = class_of(status) {
            self.by_class[class] += 1;
        }
    }

    pub fn add(&mut self, other: &Tally) {
        self.pages += other.pages;
        self.bytes += other.bytes;
        self.took_ms += other.took_ms;
        self.refused += other.refused;
        self.by_class.iter_mut().zip(other.by_class).for_each(|(sum, more)| *sum += more);
    }
}

fn class_of(status: u16) -> Option<usize> {
    match status {
        200..=299 => Some(0),
        300..=399 => Some(1),
        400..=499 => Some(2),
        crate::NO_ANSWER => Some(4),
        500..=599 => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted_by_class() {
        let mut tally = Tally::default();
        for status in [200, 204, 301, 404, 500, 580, 0] {
            tally.count(status, 10, 5);
        }
        assert_eq!(tally.by_class, [2, 1, 1, 1, 1]);
        assert_eq!((tally.pages, tally.bytes, tally.took_ms), (7, 70, 35));
        let mut twice = tally;
        twice.add(&tally);
        assert_eq!((twice.pages, twice.by_class), (14, [4, 2, 2, 2, 2]));
    }

    #[test]
    fn what_a_device_says_of_itself_is_bounded() {
        let device = |name: &str, country: Option<&str>| NewDevice {
            name: name.into(),
            owner: "ana".into(),
            group: None,
            about: About { country: country.map(str::to_owned), ..About::default() },
            secret_hash: vec![1],
        };
        assert!(device("pi", Some("DE")).check().is_ok());
        for (name, country) in
            [("", None), ("a\nb", None), (&*"x".repeat(201), None), ("pi", Some("de")), ("pi", Some("DEU"))]
        {
            assert!(device(name, country).check().is_err(), "{name} {country:?}");
        }
    }
}
