//! The processes that work together, as they travel: who is there, who leads, what runs where.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::page::from_text;

/// The cluster at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClusterView {
    /// Null while nobody leads: a new leader is found within ten seconds.
    pub leader: Option<LeaderView>,
    /// The number of the last term; null if nobody ever led.
    pub term: Option<i64>,
    /// In the order in which they joined.
    pub members: Vec<MemberView>,
    /// By name.
    pub roles: Vec<RoleView>,
    /// The newest twenty.
    pub restarts: Vec<RestartView>,
    /// The last rolling restart, over or not.
    pub rolling: Option<RollingView>,
    /// Processes that it has still to replace.
    pub left: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaderView {
    pub member: i64,
    pub name: String,
    pub since: String,
}

/// A process of the cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemberView {
    /// No other ever had this number.
    pub id: i64,
    /// Host and process, as in the history of tasks.
    pub name: String,
    pub machine: String,
    /// Where it answers HTTP; null if it does not.
    pub address: Option<String>,
    pub roles: Vec<String>,
    pub version: String,
    pub state: MemberState,
    pub leads: bool,
    /// The member that started it and starts it again; null if nobody does.
    pub medic: Option<i64>,
    /// Whether it starts others.
    pub supervises: bool,
    pub load: LoadView,
    pub joined_at: String,
    pub seen_at: String,
    /// When the leader gave it up; null if it did not.
    pub lost_at: Option<String>,
    /// Its medic is about to replace it.
    pub to_restart: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemberState {
    Alive,
    /// It was not heard of for too long (`cluster.dead_after_s`). It is back with its next heartbeat.
    Lost,
}

impl MemberState {
    pub fn name(self) -> &'static str {
        match self {
            MemberState::Alive => "alive",
            MemberState::Lost => "lost",
        }
    }
}

impl fmt::Display for MemberState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How busy a member is.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, ToSchema)]
pub struct LoadView {
    /// Tasks in its hands.
    pub tasks: u64,
    /// Of one core: 1.5 is a core and a half.
    pub cpu: f64,
    pub memory_bytes: u64,
}

/// How often a role runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RoleView {
    pub role: String,
    /// What the leader told medics to run, all together: it comes up to what is declared in its configuration.
    pub assigned: u32,
    /// Living members that have it, whoever started them.
    pub running: u32,
}

/// A process that a medic started again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RestartView {
    pub at: String,
    pub machine: String,
    pub role: String,
    pub why: RestartWhy,
    /// What is known of it: the exit code, the signal, the last line of its log.
    pub note: String,
    /// How long the medic waited first.
    pub delay_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RestartWhy {
    /// It ended with an error, or by a signal.
    Crashed,
    /// It ended by itself without anybody asking.
    Ended,
    /// It lived, and its heartbeats stopped.
    Frozen,
    /// Somebody asked for it.
    Asked,
}

impl RestartWhy {
    pub fn name(self) -> &'static str {
        match self {
            RestartWhy::Crashed => "crashed",
            RestartWhy::Ended => "ended",
            RestartWhy::Frozen => "frozen",
            RestartWhy::Asked => "asked",
        }
    }
}

impl fmt::Display for RestartWhy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A restart of every supervised process, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RollingView {
    pub id: i64,
    /// Who asked for it.
    pub by: String,
    pub begun_at: String,
    /// Null while it is under way.
    pub ended_at: Option<String>,
    /// Why it ended before all were restarted.
    pub note: Option<String>,
}

/// A term of a leader.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TermView {
    /// Higher than all before.
    pub term: i64,
    /// The name of the member that led.
    pub leader: String,
    pub began_at: String,
    /// When it was last prolonged, or given up.
    pub held_until: String,
}

/// How many of the newest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct NewestQuery {
    #[param(minimum = 1, maximum = 200, default = 50)]
    #[serde(default, deserialize_with = "from_text", skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}
