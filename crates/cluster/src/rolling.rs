//! Restarting every process of the cluster, one after the other.

use std::collections::BTreeMap;
use std::time::Duration;

use malla_queue::UnixMs;
use serde::{Deserialize, Serialize};

use crate::member::{Member, MemberId};
use crate::placing::Assignment;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rolling {
    pub id: i64,
    pub by: String,
    /// Processes that joined before this are to be restarted.
    pub begun_at: UnixMs,
    pub ended_at: Option<UnixMs>,
    /// Why it ended early.
    pub note: Option<String>,
}

/// What the leader does next for a rolling restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Replace this one.
    Ask(MemberId),
    /// Until the last one is replaced and every role is complete again.
    Wait,
    Over,
}

/// One process at a time, and only while every role runs as often as it shall.
pub fn next(
    rolling: &Rolling,
    members: &[Member],
    assignments: &[Assignment],
    now: UnixMs,
    dead_after: Duration,
) -> Next {
    let children = || members.iter().filter(|member| member.medic.is_some());
    let mut old = children().filter(|child| child.joined_at < rolling.begun_at && child.alive(now, dead_after));
    if children().any(|child| child.to_restart && child.alive(now, dead_after)) {
        return Next::Wait;
    }
    let mut missing: BTreeMap<(MemberId, &str), i64> = BTreeMap::new();
    for assignment in assignments {
        *missing.entry((assignment.medic, assignment.role.as_str())).or_default() += i64::from(assignment.count);
    }
    for child in children().filter(|child| child.alive(now, dead_after)) {
        let places = child.roles.iter().filter_map(|role| child.medic.map(|medic| (medic, role.as_str())));
        places.for_each(|place| *missing.entry(place).or_default() -= 1);
    }
    match old.next() {
        None => Next::Over,
        Some(_) if missing.values().any(|missing| *missing > 0) => Next::Wait,
        Some(child) => Next::Ask(child.id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member::Load;

    const DEAD_AFTER: Duration = Duration::from_secs(15);
    const NOW: UnixMs = UnixMs(100_000);

    fn child(id: i64, joined_at: i64, to_restart: bool) -> Member {
        Member {
            id: MemberId(id),
            name: format!("n{id}"),
            machine: "m".into(),
            address: None,
            roles: vec!["wiki".into()],
            version: "1".into(),
            medic: Some(MemberId(1)),
            supervises: false,
            load: Load::default(),
            joined_at: UnixMs(joined_at),
            seen_at: NOW,
            lost_at: None,
            to_restart,
        }
    }

    fn decide(members: &[Member], count: u32) -> Next {
        let rolling = Rolling { id: 1, by: "ana".into(), begun_at: UnixMs(50_000), ended_at: None, note: None };
        let assignments = [Assignment { medic: MemberId(1), role: "wiki".into(), count }];
        next(&rolling, members, &assignments, NOW, DEAD_AFTER)
    }

    #[test]
    fn the_old_are_asked_one_by_one() {
        assert_eq!(decide(&[child(2, 10, false), child(3, 20, false)], 2), Next::Ask(MemberId(2)));
        assert_eq!(decide(&[child(2, 10, true), child(3, 20, false)], 2), Next::Wait);
        // It is gone and its successor is not there yet.
        assert_eq!(decide(&[child(3, 20, false)], 2), Next::Wait);
        assert_eq!(decide(&[child(3, 20, false), child(4, 60_000, false)], 2), Next::Ask(MemberId(3)));
        assert_eq!(decide(&[child(4, 60_000, false), child(5, 70_000, false)], 2), Next::Over);
    }

    #[test]
    fn the_dead_are_not_waited_for() {
        let mut dead = child(2, 10, false);
        dead.seen_at = UnixMs(1_000);
        assert_eq!(decide(&[dead, child(4, 60_000, false)], 1), Next::Over);
    }
}
