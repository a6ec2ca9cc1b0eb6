//! How the cluster lies in the store, and how it is read back.

use std::time::Duration;

use malla_cluster::{
    Assignment, Leadership, Load, MEMBERS_MAX, Member, MemberId, NewMember, PastTerm, Restarted, Rolling, Term, Why,
};
use malla_queue::{Error, Event, Result, UnixMs};

use crate::notify_rows::{from_json, to_json};

/// What is kept at most: terms and restarts of the past, and rolling restarts.
pub(crate) const KEPT: i64 = 1_000;

/// The columns of `both/cluster/member.sql`.
pub(crate) struct MemberRow {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) machine: String,
    pub(crate) address: Option<String>,
    pub(crate) roles: String,
    pub(crate) version: String,
    pub(crate) medic: Option<i64>,
    pub(crate) supervises: bool,
    pub(crate) load: String,
    pub(crate) joined_at: i64,
    pub(crate) seen_at: i64,
    pub(crate) lost_at: Option<i64>,
    pub(crate) to_restart: bool,
}

impl MemberRow {
    pub(crate) fn read(self) -> Result<Member> {
        Ok(Member {
            id: MemberId(self.id),
            name: self.name,
            machine: self.machine,
            address: self.address,
            roles: from_json("a member", &self.roles)?,
            version: self.version,
            medic: self.medic.map(MemberId),
            supervises: self.supervises,
            load: from_json("a member", &self.load)?,
            joined_at: UnixMs(self.joined_at),
            seen_at: UnixMs(self.seen_at),
            lost_at: self.lost_at.map(UnixMs),
            to_restart: self.to_restart,
        })
    }
}

/// A new member's roles and load, as they are stored.
pub(crate) fn first_words(new: &NewMember) -> (String, String) {
    (to_json(&new.roles), to_json(&Load::default()))
}

/// The columns of `both/cluster/leader.sql`.
pub(crate) struct LeaderRow {
    pub(crate) term: i64,
    pub(crate) member: i64,
    pub(crate) name: String,
    pub(crate) since: i64,
    pub(crate) until: i64,
}

/// What a member's standing for the leadership comes to.
pub(crate) enum Vote {
    /// It leads already.
    Prolong(Leadership),
    /// The leadership is free: it gets the next term.
    Elect(Leadership),
    /// Another one leads.
    Leave(Leadership),
}

impl LeaderRow {
    /// None if nobody ever led.
    pub(crate) fn read(self) -> Option<Leadership> {
        (self.term > 0).then_some(Leadership {
            term: Term(self.term),
            member: MemberId(self.member),
            name: self.name,
            since: UnixMs(self.since),
            until: UnixMs(self.until),
        })
    }

    pub(crate) fn vote(self, member: MemberId, name: String, lease_for: Duration, now: UnixMs) -> Vote {
        let (last, until) = (self.term, now.plus(lease_for));
        match self.read().filter(|leader| leader.until > now) {
            Some(leader) if leader.member == member => {
                // A clock that went back takes nothing away.
                Vote::Prolong(Leadership { until: until.max(leader.until), ..leader })
            }
            Some(leader) => Vote::Leave(leader),
            None => Vote::Elect(Leadership { term: Term(last + 1), member, name, since: now, until }),
        }
    }
}

pub(crate) fn past_term(term: i64, name: String, began_at: i64, held_until: i64) -> PastTerm {
    PastTerm { term: Term(term), name, began_at: UnixMs(began_at), held_until: UnixMs(held_until) }
}

pub(crate) fn assignment(medic: i64, role: String, count: i64) -> Assignment {
    Assignment { medic: MemberId(medic), role, count: u32::try_from(count).unwrap_or(0) }
}

pub(crate) fn in_order(assignments: &[Assignment]) -> Vec<Assignment> {
    let mut sorted = assignments.to_vec();
    sorted.sort();
    sorted
}

/// The columns of `both/cluster/rolling.sql`.
pub(crate) fn rolling(id: i64, by: String, begun_at: i64, ended_at: Option<i64>, note: Option<String>) -> Rolling {
    Rolling { id, by, begun_at: UnixMs(begun_at), ended_at: ended_at.map(UnixMs), note }
}

/// The columns of `cluster/restarts.sql`.
pub(crate) struct RestartRow {
    pub(crate) at: i64,
    pub(crate) machine: String,
    pub(crate) role: String,
    pub(crate) why: String,
    pub(crate) note: String,
    pub(crate) delay_ms: i64,
}

impl RestartRow {
    pub(crate) fn of(restarted: &Restarted) -> Self {
        Self {
            at: restarted.at.0,
            machine: restarted.machine.clone(),
            role: restarted.role.clone(),
            why: to_json(&restarted.why),
            note: restarted.note.clone(),
            delay_ms: i64::try_from(restarted.delay.as_millis()).unwrap_or(i64::MAX),
        }
    }

    pub(crate) fn read(self) -> Result<Restarted> {
        Ok(Restarted {
            at: UnixMs(self.at),
            machine: self.machine,
            role: self.role,
            why: from_json::<Why>("a restart", &self.why)?,
            note: self.note,
            delay: Duration::from_millis(u64::try_from(self.delay_ms).unwrap_or(0)),
        })
    }
}

/// What is told when the leader gives a member up.
pub(crate) fn lost(member: &Member) -> Event {
    let body = serde_json::json!({
        "member": member.id, "name": member.name, "machine": member.machine, "roles": member.roles,
        "version": member.version, "seen_at": member.seen_at.0,
    });
    Event { kind: "member.lost".into(), group: None, body: body.to_string().into_bytes() }
}

pub(crate) fn unknown(member: MemberId) -> Error {
    Error::NotFound(format!("member {member}"))
}

pub(crate) fn too_many() -> Error {
    Error::NotAvailable(format!("the cluster has {MEMBERS_MAX} members, and more may not join: stop some first"))
}

pub(crate) fn under_way() -> Error {
    Error::Conflict("a rolling restart is under way: wait for its end".into())
}

/// When the leases of one that is gone end: what it asked somebody last may still be on its way there.
pub(crate) fn let_go_at(now: UnixMs) -> UnixMs {
    now.plus(Duration::from_secs(1))
}
