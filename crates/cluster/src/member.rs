//! A process of the cluster and what it says of itself.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use malla_queue::{Error, Result, UnixMs};
use serde::{Deserialize, Serialize};

/// Processes in one cluster at most.
pub const MEMBERS_MAX: usize = 1_000;
const NAME_MAX: usize = 200;
const ROLES_MAX: usize = 32;

/// A member, by a number that no other ever had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemberId(pub i64);

impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for MemberId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        text.parse().map(Self).map_err(|_| Error::Invalid(format!("\"{text}\" is not the number of a member")))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMember {
    /// As in the history of tasks: host and process.
    pub name: String,
    pub machine: String,
    /// Where it answers HTTP, if it does.
    pub address: Option<String>,
    pub roles: Vec<String>,
    pub version: String,
    /// The medic that started it.
    pub medic: Option<MemberId>,
    /// Whether it starts others: roles are placed on its machine.
    pub supervises: bool,
}

impl NewMember {
    pub fn check(&self) -> Result<()> {
        for (what, text) in [("name", &self.name), ("machine", &self.machine), ("version", &self.version)] {
            if text.is_empty() || text.len() > NAME_MAX {
                return Err(Error::Invalid(format!("a member's {what} has 1 to {NAME_MAX} bytes")));
            }
        }
        if self.roles.len() > ROLES_MAX || self.roles.iter().any(|role| role.is_empty() || role.len() > NAME_MAX) {
            return Err(Error::Invalid(format!("a member has at most {ROLES_MAX} roles with a name each")));
        }
        Ok(())
    }
}

/// How busy a member is.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Load {
    /// Tasks in its hands.
    pub tasks: u64,
    /// Of one core, since the last heartbeat.
    pub cpu: f64,
    pub memory_bytes: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    pub id: MemberId,
    pub name: String,
    pub machine: String,
    pub address: Option<String>,
    pub roles: Vec<String>,
    pub version: String,
    pub medic: Option<MemberId>,
    pub supervises: bool,
    pub load: Load,
    pub joined_at: UnixMs,
    pub seen_at: UnixMs,
    /// The leader has given it up. It is back with its next heartbeat.
    pub lost_at: Option<UnixMs>,
    /// Its medic shall replace it.
    pub to_restart: bool,
}

impl Member {
    /// Whether it was heard of lately enough.
    pub fn alive(&self, now: UnixMs, dead_after: Duration) -> bool {
        self.seen_at.until(now) < dead_after
    }

    pub fn has(&self, role: &str) -> bool {
        self.roles.iter().any(|own| own == role)
    }
}
