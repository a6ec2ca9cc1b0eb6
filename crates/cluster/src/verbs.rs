//! The verbs of this room. Each is one whole transaction.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use malla_queue::{Act, Result, UnixMs};
use serde::{Deserialize, Serialize};

use crate::member::{Load, Member, MemberId, NewMember};
use crate::placing::Assignment;
use crate::rolling::Rolling;

/// A leader's number: each leader has a higher one than all before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Term(pub i64);

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Who leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leadership {
    pub term: Term,
    pub member: MemberId,
    /// Its member's name, which outlives the member's row.
    pub name: String,
    pub since: UnixMs,
    /// Whoever asks after this may lead.
    pub until: UnixMs,
}

/// A term as the history has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastTerm {
    pub term: Term,
    pub name: String,
    pub began_at: UnixMs,
    /// When it was last prolonged, or given up.
    pub held_until: UnixMs,
}

/// Why a medic started a process again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    /// It ended with an error, or by a signal.
    Crashed,
    /// It ended by itself without anybody asking.
    Ended,
    /// It lived, and its heartbeats stopped.
    Frozen,
    /// Somebody asked for it.
    Asked,
}

/// A process that a medic started again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restarted {
    pub at: UnixMs,
    pub machine: String,
    pub role: String,
    pub why: Why,
    /// What is known of it: the exit code, the signal, the last line of its log.
    pub note: String,
    /// How long the medic waited first.
    pub delay: Duration,
}

#[async_trait]
pub trait Cluster: Send + Sync + 'static {
    /// Announces a member. [`malla_queue::Error::NotAvailable`] if there are as many as may be.
    async fn join(&self, new: NewMember) -> Result<MemberId>;
    /// A heartbeat. A member that was given up is back. [`malla_queue::Error::NotFound`] if it is forgotten: it joins anew.
    async fn beat(&self, member: MemberId, load: Load) -> Result<()>;
    /// Forgets a member that has ended, and its leadership with it. What it still had in hand is overdue a moment later:
    /// nobody need wait for the leases of one that is known to be gone.
    async fn leave(&self, member: MemberId) -> Result<()>;
    /// All, in the order of their numbers.
    async fn members(&self) -> Result<Vec<Member>>;

    /// Prolongs this member's leadership, or takes a free one with a new term; otherwise changes nothing. The answer is who
    /// leads from now on. A new term waits for transactions under the old one, so that none of them ends in the new one.
    async fn campaign(&self, member: MemberId, lease_for: Duration) -> Result<Leadership>;
    /// Frees the leadership if it is still this term's.
    async fn resign(&self, term: Term) -> Result<()>;
    /// Who leads, or led last.
    async fn leadership(&self) -> Result<Option<Leadership>>;
    /// Newest first.
    async fn terms(&self, limit: usize) -> Result<Vec<PastTerm>>;

    /// For the leader: gives up members that were not heard of for `dead_after`, with an event `member.lost` each, and
    /// forgets those given up `keep` ago. Returns those given up now.
    async fn give_up(&self, dead_after: Duration, keep: Duration) -> Result<Vec<Member>>;
    /// For the leader: what each medic shall run, instead of what it said before.
    async fn assign(&self, assignments: &[Assignment]) -> Result<()>;
    /// For the leader: a medic shall replace this child of its.
    async fn ask_to_restart(&self, member: MemberId) -> Result<()>;
    /// For the leader: a rolling restart is over; `note` says why if not all were restarted.
    async fn end_rolling(&self, id: i64, note: Option<&str>) -> Result<()>;

    async fn assignments(&self) -> Result<Vec<Assignment>>;

    /// Begins a rolling restart. [`malla_queue::Error::Conflict`] if one is under way.
    async fn begin_rolling(&self, act: Act) -> Result<Rolling>;
    /// The last one.
    async fn rolling(&self) -> Result<Option<Rolling>>;

    /// Only the newest thousand are kept.
    async fn note_restart(&self, restarted: Restarted) -> Result<()>;
    /// Newest first.
    async fn restarts(&self, limit: usize) -> Result<Vec<Restarted>>;
}
