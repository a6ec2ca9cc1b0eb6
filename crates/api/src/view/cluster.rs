//! The cluster as it travels.

use malla_cluster::{Leadership, Member, Overview, PastTerm, Restarted, RoleCount, Rolling, Why};
use malla_protocol as wire;

use super::time;

pub(crate) fn cluster(overview: &Overview) -> wire::ClusterView {
    wire::ClusterView {
        leader: overview.leader().map(leader),
        term: overview.leadership.as_ref().map(|leadership| leadership.term.0),
        members: overview.members.iter().map(|one| member(overview, one)).collect(),
        roles: overview.roles.iter().map(role).collect(),
        restarts: overview.restarts.iter().map(restart).collect(),
        rolling: overview.rolling.as_ref().map(rolling),
        left: overview.left() as u64,
    }
}

fn leader(leadership: &Leadership) -> wire::LeaderView {
    wire::LeaderView { member: leadership.member.0, name: leadership.name.clone(), since: time(leadership.since) }
}

fn member(overview: &Overview, member: &Member) -> wire::MemberView {
    let load = member.load;
    wire::MemberView {
        id: member.id.0,
        name: member.name.clone(),
        machine: member.machine.clone(),
        address: member.address.clone(),
        roles: member.roles.clone(),
        version: member.version.clone(),
        state: if overview.lives(member) { wire::MemberState::Alive } else { wire::MemberState::Lost },
        leads: overview.leads(member),
        medic: member.medic.map(|medic| medic.0),
        supervises: member.supervises,
        load: wire::LoadView { tasks: load.tasks, cpu: load.cpu, memory_bytes: load.memory_bytes },
        joined_at: time(member.joined_at),
        seen_at: time(member.seen_at),
        lost_at: member.lost_at.map(time),
        to_restart: member.to_restart,
    }
}

fn role(count: &RoleCount) -> wire::RoleView {
    wire::RoleView { role: count.role.clone(), assigned: count.assigned, running: count.running }
}

pub(crate) fn restart(restarted: &Restarted) -> wire::RestartView {
    wire::RestartView {
        at: time(restarted.at),
        machine: restarted.machine.clone(),
        role: restarted.role.clone(),
        why: match restarted.why {
            Why::Crashed => wire::RestartWhy::Crashed,
            Why::Ended => wire::RestartWhy::Ended,
            Why::Frozen => wire::RestartWhy::Frozen,
            Why::Asked => wire::RestartWhy::Asked,
        },
        note: restarted.note.clone(),
        delay_ms: u64::try_from(restarted.delay.as_millis()).unwrap_or(u64::MAX),
    }
}

pub(crate) fn rolling(rolling: &Rolling) -> wire::RollingView {
    wire::RollingView {
        id: rolling.id,
        by: rolling.by.clone(),
        begun_at: time(rolling.begun_at),
        ended_at: rolling.ended_at.map(time),
        note: rolling.note.clone(),
    }
}

pub(crate) fn term(past: PastTerm) -> wire::TermView {
    wire::TermView {
        term: past.term.0,
        leader: past.name,
        began_at: time(past.began_at),
        held_until: time(past.held_until),
    }
}
