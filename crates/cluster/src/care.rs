//! What a medic does with its processes: which it starts, stops and kills.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use malla_queue::UnixMs;

use crate::member::MemberId;
use crate::placing::Declared;
use crate::slot::Slot;

/// A process that a medic has started and that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    pub slot: Slot,
    /// The medic's number at that time. A medic that was forgotten has another one now, and starts anew.
    pub medic: MemberId,
    pub started_at: UnixMs,
    /// Its last heartbeat; `None` until it joins.
    pub seen_at: Option<UnixMs>,
    /// The leader wants another one in its place.
    pub to_restart: bool,
    /// When it was told to end.
    pub told_at: Option<UnixMs>,
}

/// What a medic knows.
#[derive(Debug, Clone, Copy)]
pub struct Ward<'a> {
    pub medic: MemberId,
    /// What it shall run.
    pub wanted: &'a Declared,
    pub children: &'a [Child],
    /// Slots whose process ended by itself, and when the next one may start there.
    pub waiting: &'a BTreeMap<Slot, UnixMs>,
    /// Whether the medic itself has reached the store for as long as a member may be silent.
    pub steady: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// A member that is silent for this long is dead.
    pub dead_after: Duration,
    /// From the start of a process to its first heartbeat.
    pub start_within: Duration,
    /// From the word to its end.
    pub stop_within: Duration,
    /// Of these roles the next process is there before the last one goes: somebody waits for their answers.
    pub before_the_last_goes: fn(&str) -> bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Start(Slot),
    /// It may finish what it has in hand.
    Stop(Slot),
    /// It did not end in time.
    Kill(Slot),
    /// It lives, but its heart does not beat: it is killed, and another one comes.
    Replace(Slot),
    /// Nothing shall start there any more.
    Forget(Slot),
}

/// What is to be done now. Done often enough, as many processes run as shall, and while roles move never more.
pub fn care(ward: &Ward<'_>, rules: &Rules, now: UnixMs) -> Vec<Step> {
    let mut steps = Vec::new();
    for child in ward.children {
        match child.told_at {
            Some(told_at) if told_at.until(now) >= rules.stop_within => steps.push(Step::Kill(child.slot.clone())),
            Some(_) => {}
            None if ward.steady && child.is_silent(rules, now) => steps.push(Step::Replace(child.slot.clone())),
            None if child.medic != ward.medic => steps.push(Step::Stop(child.slot.clone())),
            None => {}
        }
    }
    let roles: BTreeSet<&str> = (ward.wanted.keys().map(String::as_str))
        .chain(ward.children.iter().map(|child| child.slot.role.as_str()))
        .chain(ward.waiting.keys().map(|slot| slot.role.as_str()))
        .collect();
    for role in roles {
        care_for_role(role, ward, rules, now, &mut steps);
    }
    steps
}

fn care_for_role(role: &str, ward: &Ward<'_>, rules: &Rules, now: UnixMs, steps: &mut Vec<Step>) {
    let wanted = ward.wanted.get(role).map_or(0, |count| *count as usize);
    let overlap = (rules.before_the_last_goes)(role);
    let all: Vec<&Child> = ward.children.iter().filter(|child| child.slot.role == role).collect();
    let own = |child: &&&Child| child.medic == ward.medic && child.told_at.is_none();
    let (old, staying): (Vec<&Child>, Vec<&Child>) =
        all.iter().filter(own).copied().partition(|child| child.to_restart);
    let waiting: Vec<(&Slot, &UnixMs)> = ward.waiting.iter().filter(|(slot, _)| slot.role == role).collect();

    // Too many: first those that are not there, then the last ones.
    let surplus = (staying.len() + waiting.len()).saturating_sub(wanted);
    let forgotten = surplus.min(waiting.len());
    let (kept, dropped) = waiting.split_at(waiting.len() - forgotten);
    steps.extend(dropped.iter().map(|(slot, _)| Step::Forget((*slot).clone())));
    let mut last: Vec<&Slot> = staying.iter().map(|child| &child.slot).collect();
    last.sort();
    steps.extend(last.into_iter().rev().take(surplus - forgotten).map(|slot| Step::Stop(slot.clone())));

    let there = staying.iter().filter(|child| child.seen_at.is_some()).count();
    if !overlap || there >= wanted {
        steps.extend(old.iter().map(|child| Step::Stop(child.slot.clone())));
    }

    steps.extend(kept.iter().filter(|(_, at)| **at <= now).map(|(slot, _)| Step::Start((*slot).clone())));
    let occupied = all.iter().filter(|child| !(overlap && child.to_restart)).count() + kept.len();
    let mut taken: BTreeSet<u32> =
        all.iter().map(|child| child.slot.number).chain(waiting.iter().map(|(slot, _)| slot.number)).collect();
    for _ in occupied..wanted {
        let number = (1..).find(|number| !taken.contains(number)).expect("there are more numbers than processes");
        taken.insert(number);
        steps.push(Step::Start(Slot { role: role.to_owned(), number }));
    }
}

impl Child {
    fn is_silent(&self, rules: &Rules, now: UnixMs) -> bool {
        match self.seen_at {
            Some(seen_at) => seen_at.until(now) >= rules.dead_after,
            None => self.started_at.until(now) >= rules.start_within,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: MemberId = MemberId(1);
    const NOW: UnixMs = UnixMs(1_000_000);

    fn slot(text: &str) -> Slot {
        text.parse().expect("a slot")
    }

    fn ago(s: u64) -> UnixMs {
        NOW.minus(Duration::from_secs(s))
    }

    /// One that runs well.
    fn child(text: &str) -> Child {
        Child {
            slot: slot(text),
            medic: ME,
            started_at: ago(100),
            seen_at: Some(ago(1)),
            to_restart: false,
            told_at: None,
        }
    }

    #[track_caller]
    fn check(wanted: &[(&str, u32)], children: &[Child], waiting: &[(&str, UnixMs)], expected: &[&str]) {
        check_if(true, wanted, children, waiting, expected);
    }

    #[track_caller]
    fn check_if(
        steady: bool,
        wanted: &[(&str, u32)],
        children: &[Child],
        waiting: &[(&str, UnixMs)],
        expected: &[&str],
    ) {
        let rules = Rules {
            dead_after: Duration::from_secs(15),
            start_within: Duration::from_secs(90),
            stop_within: Duration::from_secs(10),
            before_the_last_goes: |role| role == "api",
        };
        let wanted = wanted.iter().map(|(role, count)| ((*role).to_owned(), *count)).collect();
        let waiting = waiting.iter().map(|(text, at)| (slot(text), *at)).collect();
        let ward = Ward { medic: ME, wanted: &wanted, children, waiting: &waiting, steady };
        let steps = care(&ward, &rules, NOW).into_iter().map(|step| match step {
            Step::Start(slot) => format!("start {slot}"),
            Step::Stop(slot) => format!("stop {slot}"),
            Step::Kill(slot) => format!("kill {slot}"),
            Step::Replace(slot) => format!("replace {slot}"),
            Step::Forget(slot) => format!("forget {slot}"),
        });
        assert_eq!(steps.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn as_many_run_as_shall() {
        check(&[("api", 1), ("wiki", 2)], &[], &[], &["start api-1", "start wiki-1", "start wiki-2"]);
        check(&[("wiki", 2)], &[child("wiki-2")], &[], &["start wiki-1"]);
        check(&[("wiki", 1)], &[child("wiki-1"), child("wiki-2")], &[], &["stop wiki-2"]);
        check(&[], &[child("wiki-1")], &[], &["stop wiki-1"]);
        check(&[("wiki", 1)], &[child("wiki-1")], &[], &[]);
    }

    #[test]
    fn who_ended_by_itself_is_started_again_after_its_wait() {
        check(&[("wiki", 1)], &[], &[("wiki-1", NOW.plus(Duration::from_secs(1)))], &[]);
        check(&[("wiki", 1)], &[], &[("wiki-1", NOW)], &["start wiki-1"]);
        check(&[("wiki", 1)], &[child("wiki-1")], &[("wiki-2", NOW)], &["forget wiki-2"]);
        check(&[], &[], &[("wiki-1", NOW)], &["forget wiki-1"]);
    }

    #[test]
    fn a_place_is_free_when_the_last_one_there_has_ended() {
        let leaving = Child { told_at: Some(ago(5)), ..child("wiki-1") };
        check(&[("wiki", 1)], std::slice::from_ref(&leaving), &[], &[]);
        check(&[("wiki", 2)], &[leaving], &[], &["start wiki-2"]);
        let stubborn = Child { told_at: Some(ago(10)), ..child("wiki-1") };
        check(&[], &[stubborn], &[], &["kill wiki-1"]);
    }

    #[test]
    fn who_is_silent_is_replaced_unless_the_medic_was_cut_off() {
        let frozen = Child { seen_at: Some(ago(15)), ..child("wiki-1") };
        check(&[("wiki", 1)], std::slice::from_ref(&frozen), &[], &["replace wiki-1"]);
        check_if(false, &[("wiki", 1)], &[frozen], &[], &[]);
        let starting = Child { seen_at: None, started_at: ago(60), ..child("wiki-1") };
        check(&[("wiki", 1)], std::slice::from_ref(&starting), &[], &[]);
        check(&[("wiki", 1)], &[Child { started_at: ago(90), ..starting }], &[], &["replace wiki-1"]);
    }

    #[test]
    fn the_next_api_is_there_before_the_last_one_goes() {
        let old = |text| Child { to_restart: true, ..child(text) };
        check(&[("api", 1)], &[old("api-1")], &[], &["start api-2"]);
        let next = Child { seen_at: None, started_at: ago(1), ..child("api-2") };
        check(&[("api", 1)], &[old("api-1"), next], &[], &[]);
        check(&[("api", 1)], &[old("api-1"), child("api-2")], &[], &["stop api-1"]);
        let leaving = Child { told_at: Some(ago(1)), ..old("api-1") };
        check(&[("api", 1)], &[leaving, child("api-2")], &[], &[]);
        check(&[], &[old("api-1")], &[], &["stop api-1"]);
    }

    #[test]
    fn of_other_roles_the_last_one_goes_first() {
        let old = Child { to_restart: true, ..child("wiki-1") };
        check(&[("wiki", 2)], &[old.clone(), child("wiki-2")], &[], &["stop wiki-1"]);
        let leaving = Child { told_at: Some(ago(1)), ..old };
        check(&[("wiki", 2)], &[leaving, child("wiki-2")], &[], &[]);
        check(&[("wiki", 2)], &[child("wiki-2")], &[], &["start wiki-1"]);
    }

    #[test]
    fn a_medic_that_joined_anew_starts_anew() {
        let before = Child { medic: MemberId(0), ..child("wiki-1") };
        check(&[("wiki", 1)], &[before], &[], &["stop wiki-1"]);
    }
}
