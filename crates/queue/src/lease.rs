//! A lease: the right to work on a task until a time, held by one holder.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{GroupId, Kind, LaneKey, LeaseToken, Priority, RetryDelays, Room, UnixMs};

/// Who holds a lease.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Holder {
    /// A process of the cluster. On an embedded store its leases end with the process.
    Member(String),
    /// A device that leases over HTTP and may outlive any server.
    Device(String),
}

impl Holder {
    /// The store's prefix for members.
    pub const MEMBER_PREFIX: &'static str = "member:";
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Member(name) => write!(f, "{}{name}", Self::MEMBER_PREFIX),
            Holder::Device(name) => write!(f, "device:{name}"),
        }
    }
}

#[derive(Debug, Clone)]
pub struct LeaseRequest {
    pub rooms: Vec<Room>,
    /// Tasks at most.
    pub limit: usize,
    pub holder: Holder,
    pub lease_for: Duration,
    /// Only from these lanes of the rooms, in this order; `None`: from any, those that waited longest first.
    pub lanes: Option<Vec<LaneKey>>,
    /// From a lane that runs one task at a time and runs none, up to this many, to be worked one after the other: the
    /// gap between them is the holder's to keep. The lane starts nothing else before all of them have ended.
    pub run_max: usize,
}

impl LeaseRequest {
    /// From any lane, one task at a time from those that run one at a time.
    pub fn new(rooms: Vec<Room>, limit: usize, holder: Holder, lease_for: Duration) -> Self {
        Self { rooms, limit, holder, lease_for, lanes: None, run_max: 1 }
    }
}

/// A task in the hands of its holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leased {
    pub token: LeaseToken,
    pub lane: LaneKey,
    pub kind: Kind,
    pub group: Option<GroupId>,
    pub priority: Priority,
    pub payload: Vec<u8>,
    pub retry: RetryDelays,
    /// Attempts that failed before this one.
    pub failures: u32,
    pub started_at: UnixMs,
    pub expires_at: UnixMs,
    pub holder: String,
    /// Its lane had no place left when it was taken, or nobody knows: others may wait for its end.
    pub awaited: bool,
}

/// What one call of `lease` gives.
#[derive(Debug, Clone, Default)]
pub struct Leases {
    pub tasks: Vec<Leased>,
    /// When a lane of these rooms becomes ready next, if nothing new arrives: now if more is ready already.
    pub next_at: Option<UnixMs>,
}
