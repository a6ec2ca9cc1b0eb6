//! The cluster at one moment, as those who look after it see it, and what they can ask of it.

use std::collections::BTreeMap;
use std::time::Duration;

use malla_queue::{Act, Error, Result, UnixMs};

use crate::member::Member;
use crate::placing::Assignment;
use crate::rolling::Rolling;
use crate::verbs::{Cluster, Leadership, Restarted};

#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// Who leads, or led last.
    pub leadership: Option<Leadership>,
    pub members: Vec<Member>,
    /// By name.
    pub roles: Vec<RoleCount>,
    /// The last rolling restart.
    pub rolling: Option<Rolling>,
    /// Newest first.
    pub restarts: Vec<Restarted>,
    now: UnixMs,
    dead_after: Duration,
}

/// How often a role runs. How often it is declared is the leader's configuration; what it assigns comes up to that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleCount {
    pub role: String,
    /// What medics were told to run, all together.
    pub assigned: u32,
    /// Living members that have it, whoever started them.
    pub running: u32,
}

impl Overview {
    /// `restarts`: how many of them at most.
    pub async fn of(cluster: &dyn Cluster, restarts: usize, now: UnixMs, dead_after: Duration) -> Result<Self> {
        let (leadership, members, assignments, rolling, restarts) = tokio::try_join!(
            cluster.leadership(),
            cluster.members(),
            cluster.assignments(),
            cluster.rolling(),
            cluster.restarts(restarts),
        )?;
        let mut overview = Self { leadership, members, roles: Vec::new(), rolling, restarts, now, dead_after };
        overview.roles = overview.counted(&assignments);
        Ok(overview)
    }

    /// Who leads now.
    pub fn leader(&self) -> Option<&Leadership> {
        self.leadership.as_ref().filter(|leadership| self.now < leadership.until)
    }

    pub fn leads(&self, member: &Member) -> bool {
        self.leader().is_some_and(|leadership| leadership.member == member.id)
    }

    /// Whether a member was heard of lately; the leader may not have given it up yet.
    pub fn lives(&self, member: &Member) -> bool {
        member.lost_at.is_none() && member.alive(self.now, self.dead_after)
    }

    /// Whether anybody starts processes again.
    pub fn is_supervised(&self) -> bool {
        is_supervised(&self.members, self.now, self.dead_after)
    }

    /// The rolling restart that is under way.
    pub fn under_way(&self) -> Option<&Rolling> {
        self.rolling.as_ref().filter(|rolling| rolling.ended_at.is_none())
    }

    /// Processes that the rolling restart has still to replace.
    pub fn left(&self) -> usize {
        let Some(rolling) = self.under_way() else { return 0 };
        let old = |child: &&Member| child.medic.is_some() && child.joined_at < rolling.begun_at && self.lives(child);
        self.members.iter().filter(old).count()
    }

    fn counted(&self, assignments: &[Assignment]) -> Vec<RoleCount> {
        let mut counts: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
        for assignment in assignments {
            counts.entry(&assignment.role).or_default().0 += assignment.count;
        }
        for role in self.members.iter().filter(|member| self.lives(member)).flat_map(|member| &member.roles) {
            counts.entry(role).or_default().1 += 1;
        }
        let count = |(role, (assigned, running)): (&str, _)| RoleCount { role: role.to_owned(), assigned, running };
        counts.into_iter().map(count).collect()
    }
}

/// Begins a rolling restart. [`Error::Conflict`] if one is under way, or if there is no medic that would start a process
/// again.
pub async fn restart(cluster: &dyn Cluster, act: Act, now: UnixMs, dead_after: Duration) -> Result<Rolling> {
    if !is_supervised(&cluster.members().await?, now, dead_after) {
        let why = "nothing here is supervised, so nobody would start a process again: run it with \"malla supervise\", \
                   or restart it by hand";
        return Err(Error::Conflict(why.into()));
    }
    cluster.begin_rolling(act).await
}

fn is_supervised(members: &[Member], now: UnixMs, dead_after: Duration) -> bool {
    members.iter().any(|member| member.supervises && member.alive(now, dead_after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::member::{Load, MemberId};
    use crate::verbs::Term;

    const DEAD_AFTER: Duration = Duration::from_secs(15);
    const NOW: UnixMs = UnixMs(100_000);

    fn member(id: i64, roles: &[&str], medic: Option<i64>) -> Member {
        Member {
            id: MemberId(id),
            name: format!("n{id}"),
            machine: "m".into(),
            address: None,
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
            version: "1".into(),
            medic: medic.map(MemberId),
            supervises: roles.contains(&"medic"),
            load: Load::default(),
            joined_at: UnixMs(id * 1_000),
            seen_at: NOW,
            lost_at: None,
            to_restart: false,
        }
    }

    fn overview(members: Vec<Member>) -> Overview {
        let leadership = Leadership {
            term: Term(3),
            member: MemberId(1),
            name: "n1".into(),
            since: UnixMs(0),
            until: NOW.plus(Duration::from_secs(1)),
        };
        let rolling = Rolling { id: 1, by: "ana".into(), begun_at: UnixMs(3_000), ended_at: None, note: None };
        Overview {
            leadership: Some(leadership),
            members,
            roles: Vec::new(),
            rolling: Some(rolling),
            restarts: Vec::new(),
            now: NOW,
            dead_after: DEAD_AFTER,
        }
    }

    #[test]
    fn roles_count_what_is_assigned_and_what_lives() {
        let mut frozen = member(4, &["wiki"], Some(1));
        frozen.seen_at = NOW.minus(DEAD_AFTER);
        let seen = overview(vec![
            member(1, &["medic"], None),
            member(2, &["wiki"], Some(1)),
            member(3, &["api"], None),
            frozen,
        ]);
        let assignments =
            [(1, 2), (9, 1)].map(|(medic, count)| Assignment { medic: MemberId(medic), role: "wiki".into(), count });
        let counted: Vec<_> =
            seen.counted(&assignments).into_iter().map(|count| (count.role, count.assigned, count.running)).collect();
        assert_eq!(counted, [("api".into(), 0, 1), ("medic".into(), 0, 1), ("wiki".into(), 3, 1)]);
        assert_eq!((seen.lives(&seen.members[1]), seen.lives(&seen.members[3])), (true, false));
    }

    #[test]
    fn who_led_last_does_not_lead_for_ever() {
        let mut seen = overview(vec![member(1, &["medic"], None)]);
        assert!(seen.leader().is_some() && seen.leads(&seen.members[0]));
        seen.now = seen.now.plus(Duration::from_secs(1));
        assert!(seen.leader().is_none() && !seen.leads(&seen.members[0]));
    }

    #[test]
    fn a_rolling_restart_has_the_older_children_left() {
        let members = vec![member(1, &["medic"], None), member(2, &["wiki"], Some(1)), member(3, &["wiki"], Some(1))];
        let mut seen = overview(members);
        assert_eq!(seen.left(), 1, "the medic is nobody's child, and the other one is new");
        seen.rolling.as_mut().expect("one").ended_at = Some(NOW);
        assert_eq!((seen.left(), seen.under_way()), (0, None));
    }

    #[test]
    fn only_a_living_medic_supervises() {
        assert!(!overview(vec![member(1, &["api"], None)]).is_supervised());
        let mut medic = member(1, &["medic"], None);
        assert!(overview(vec![medic.clone()]).is_supervised());
        medic.seen_at = NOW.minus(DEAD_AFTER);
        assert!(!overview(vec![medic]).is_supervised());
    }
}
