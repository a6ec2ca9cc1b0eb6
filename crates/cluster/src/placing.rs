//! Where roles run: the declared number of each, spread over the machines that live.

use std::collections::{BTreeMap, BTreeSet};

use crate::member::{Member, MemberId};

/// How many processes of each role the cluster shall have, over all machines.
pub type Declared = BTreeMap<String, u32>;

/// What a medic shall run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assignment {
    pub medic: MemberId,
    pub role: String,
    pub count: u32,
}

/// A medic as the leader sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Medic {
    pub id: MemberId,
    /// One that is not keeps what still runs on its machine, and gets nothing new.
    pub alive: bool,
    /// What it was told to run.
    pub assigned: BTreeMap<String, u32>,
    /// What runs there by its heartbeats.
    pub running: BTreeMap<String, u32>,
}

impl Medic {
    fn assigned(&self, role: &str) -> u32 {
        self.assigned.get(role).copied().unwrap_or(0)
    }

    fn running(&self, role: &str) -> u32 {
        self.running.get(role).copied().unwrap_or(0)
    }
}

/// The medics among the members, those that are gone but left processes behind included. Who is dead is who was given up.
pub fn medics(members: &[Member], assignments: &[Assignment]) -> Vec<Medic> {
    let mut medics: BTreeMap<MemberId, Medic> = BTreeMap::new();
    let of = |id| Medic { id, alive: false, assigned: BTreeMap::new(), running: BTreeMap::new() };
    for member in members.iter().filter(|member| member.supervises) {
        medics.insert(member.id, Medic { alive: member.lost_at.is_none(), ..of(member.id) });
    }
    for assignment in assignments {
        if let Some(medic) = medics.get_mut(&assignment.medic) {
            medic.assigned.insert(assignment.role.clone(), assignment.count);
        }
    }
    for child in members.iter().filter(|member| member.lost_at.is_none()) {
        let Some(id) = child.medic else { continue };
        let medic = medics.entry(id).or_insert_with(|| of(id));
        for role in &child.roles {
            *medic.running.entry(role.clone()).or_default() += 1;
        }
    }
    medics.into_values().collect()
}

/// What each living medic shall run from now on. A role that moves ends in one place before it starts in another, so there
/// are never more of it than declared: who shall run more waits until the others run less. Of a role that somebody waits for
/// (`stays`) the only one does not move for the sake of balance: nobody would answer meanwhile.
pub fn place(declared: &Declared, medics: &[Medic], stays: fn(&str) -> bool) -> Vec<Assignment> {
    let goals = goals(declared, medics, stays);
    let mut assignments = Vec::new();
    for (role, wanted) in declared {
        let goal = |medic: &Medic| goals.get(&(medic.id, role.as_str())).copied().unwrap_or(0);
        // What may run at this moment, wherever it is.
        let mut taken: u32 = medics
            .iter()
            .map(|medic| if medic.alive { medic.assigned(role).min(goal(medic)) } else { 0 }.max(medic.running(role)))
            .sum();
        for medic in medics.iter().filter(|medic| medic.alive) {
            let (before, goal) = (medic.assigned(role), goal(medic));
            let mut count = before.min(goal);
            // Up to what runs there anyway, then as far as there is room.
            let held = medic.running(role).max(count);
            while count < goal && (count < held || taken < *wanted) {
                taken += u32::from(count >= held);
                count += 1;
            }
            if count > 0 {
                assignments.push(Assignment { medic: medic.id, role: role.clone(), count });
            }
        }
    }
    assignments.sort();
    assignments
}

/// Where everything would run if moving took no time: of each role about as many on every machine, then of all roles
/// together, and as little moved as possible.
fn goals<'r>(declared: &'r Declared, medics: &[Medic], stays: fn(&str) -> bool) -> BTreeMap<(MemberId, &'r str), u32> {
    let mut goals: BTreeMap<(MemberId, &str), u32> = BTreeMap::new();
    let mut totals: BTreeMap<MemberId, u32> = BTreeMap::new();
    // First those that stay: the others are spread around them.
    let at_home = |role: &str| {
        let there = |medic: &&Medic| medic.alive && medic.running(role).max(medic.assigned(role)) > 0;
        medics.iter().filter(there).max_by_key(|medic| (medic.running(role), medic.assigned(role)))
    };
    for (role, _) in declared.iter().filter(|(role, wanted)| **wanted == 1 && stays(role)) {
        if let Some(medic) = at_home(role) {
            goals.insert((medic.id, role), 1);
            totals.insert(medic.id, totals.get(&medic.id).copied().unwrap_or(0) + 1);
        }
    }
    let settled: BTreeSet<&str> = goals.keys().map(|(_, role)| *role).collect();
    for (role, wanted) in declared.iter().filter(|(role, _)| !settled.contains(role.as_str())) {
        for _ in 0..*wanted {
            let of = |medic: &Medic| goals.get(&(medic.id, role.as_str())).copied().unwrap_or(0);
            let order = |medic: &&Medic| {
                let here = of(medic);
                let new_here = here >= medic.assigned(role).max(medic.running(role));
                (here, totals.get(&medic.id).copied().unwrap_or(0), new_here, medic.id)
            };
            let Some(medic) = medics.iter().filter(|medic| medic.alive).min_by_key(order) else { return goals };
            *goals.entry((medic.id, role)).or_default() += 1;
            *totals.entry(medic.id).or_default() += 1;
        }
    }
    goals
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn declared(roles: &[(&str, u32)]) -> Declared {
        roles.iter().map(|(role, count)| ((*role).to_owned(), *count)).collect()
    }

    /// As the api does.
    fn stays(role: &str) -> bool {
        role == "api" || role == "a"
    }

    fn medic(id: i64) -> Medic {
        Medic { id: MemberId(id), alive: true, assigned: BTreeMap::new(), running: BTreeMap::new() }
    }

    /// Living medics obey at once in what they shall run less of; what they shall run more of starts.
    fn obey(medics: &mut [Medic], assignments: &[Assignment]) {
        for medic in medics.iter_mut().filter(|medic| medic.alive) {
            let own = assignments.iter().filter(|assignment| assignment.medic == medic.id);
            medic.assigned = own.map(|assignment| (assignment.role.clone(), assignment.count)).collect();
            medic.running = medic.assigned.clone();
        }
    }

    fn settle(declared: &Declared, medics: &mut [Medic]) -> Vec<Assignment> {
        let mut last = Vec::new();
        for _ in 0..10 {
            let assignments = place(declared, medics, stays);
            obey(medics, &assignments);
            if assignments == last {
                break;
            }
            last = assignments;
        }
        last
    }

    fn total(medics: &[Medic], role: &str) -> u32 {
        medics.iter().map(|medic| medic.running(role)).sum()
    }

    #[test]
    fn roles_are_spread_and_stay_where_they_are() {
        let declared = declared(&[("api", 3), ("notifier", 2), ("wiki", 1)]);
        let mut medics = [medic(1), medic(2), medic(3)];
        let first = settle(&declared, &mut medics);
        for medic in &medics {
            assert_eq!(medic.running("api"), 1, "{first:?}");
            assert_eq!(medic.running.values().sum::<u32>(), 2, "{first:?}");
        }
        assert_eq!(place(&declared, &medics, stays), first);
    }

    #[test]
    fn the_roles_of_a_dead_machine_move_and_come_back_without_ever_being_too_many() {
        let declared = declared(&[("api", 2), ("notifier", 2)]);
        let mut medics = [medic(1), medic(2)];
        settle(&declared, &mut medics);
        medics[1].alive = false;
        medics[1].running.clear();
        settle(&declared, &mut medics);
        assert_eq!((medics[0].running("api"), medics[0].running("notifier")), (2, 2));
        // It is back: first the other one runs less,
        medics[1] = Medic { id: MemberId(3), ..medic(3) };
        let away = place(&declared, &medics, stays);
        assert!(away.iter().all(|assignment| assignment.medic == MemberId(1) && assignment.count == 1), "{away:?}");
        obey(&mut medics, &away);
        // then it runs its share.
        settle(&declared, &mut medics);
        assert_eq!((medics[1].running("api"), medics[1].running("notifier")), (1, 1));
    }

    #[test]
    fn the_only_api_stays_where_it_is_when_a_machine_joins() {
        let declared = declared(&[("analyst", 1), ("api", 1), ("notifier", 2), ("wiki", 1)]);
        let mut medics = vec![medic(1)];
        settle(&declared, &mut medics);
        medics.push(medic(2));
        let settled = settle(&declared, &mut medics);
        let api = Assignment { medic: MemberId(1), role: "api".into(), count: 1 };
        assert!(settled.contains(&api), "{settled:?}");
        let runs = |medic: &Medic| medic.running.values().sum::<u32>();
        assert_eq!(runs(&medics[0]).abs_diff(runs(&medics[1])), 1, "the others are spread around it: {settled:?}");
        // It moves when its machine is lost, and stays there.
        medics[0].alive = false;
        medics[0].running.clear();
        settle(&declared, &mut medics);
        assert_eq!(medics[1].running("api"), 1);
        medics[0] = medic(3);
        settle(&declared, &mut medics);
        assert_eq!((medics[0].running("api"), medics[1].running("api")), (0, 1));
    }

    #[test]
    fn what_still_runs_on_a_machine_whose_medic_is_gone_counts() {
        let declared = declared(&[("api", 2)]);
        let mut medics = [medic(1), medic(2)];
        settle(&declared, &mut medics);
        medics[1].alive = false;
        assert_eq!(place(&declared, &medics, stays), [Assignment { medic: MemberId(1), role: "api".into(), count: 1 }]);
    }

    proptest! {
        #[test]
        fn any_sequence_of_deaths_and_returns_keeps_the_numbers(
            counts in prop::collection::vec(0_u32..6, 3),
            deaths in prop::collection::vec((0_usize..4, any::<bool>()), 0..12),
        ) {
            let declared: Declared = ["a", "b", "c"].into_iter().map(String::from).zip(counts).collect();
            let mut medics: Vec<Medic> = (1..=4).map(medic).collect();
            for (which, alive) in deaths {
                medics[which].alive = alive;
                if !alive {
                    medics[which].running.clear();
                    medics[which].assigned.clear();
                }
                for _ in 0..8 {
                    let assignments = place(&declared, &medics, stays);
                    for (role, wanted) in &declared {
                        let most: u32 = medics
                            .iter()
                            .map(|medic| {
                                let told = assignments
                                    .iter()
                                    .find(|assignment| assignment.medic == medic.id && assignment.role == *role)
                                    .map_or(0, |assignment| assignment.count);
                                told.max(medic.running(role))
                            })
                            .sum();
                        prop_assert!(most <= *wanted, "{role}: {most} of {wanted}: {assignments:?}");
                    }
                    obey(&mut medics, &assignments);
                }
                if medics.iter().any(|medic| medic.alive) {
                    for (role, wanted) in &declared {
                        prop_assert_eq!(total(&medics, role), *wanted);
                    }
                }
            }
        }
    }
}
