//! Members, who of them leads, and what they shall run.

use std::time::Duration;

use malla_cluster::{Assignment, Load, MemberId, NewMember, Restarted, Term, Why};
use malla_queue::{Clock as _, Error, State};

use crate::harness::{House, act, done, on_both_stores, task};

on_both_stores!(
    a_member_is_there_until_it_leaves,
    one_that_falls_silent_is_given_up_with_an_event_and_forgotten_later,
    one_that_was_given_up_is_back_with_its_next_heartbeat,
    what_a_member_says_of_itself_is_checked,
    there_is_one_leader_at_a_time_and_terms_grow,
    whoever_leaves_or_resigns_leads_no_more,
    what_one_that_is_gone_had_in_hand_goes_back_soon,
    an_unknown_member_cannot_lead,
    terms_are_remembered,
    what_medics_shall_run_is_replaced_as_a_whole,
    the_assignments_of_one_that_leaves_go_with_it,
    one_rolling_restart_at_a_time,
    a_child_is_asked_to_restart,
    the_newest_thousand_restarts_are_kept,
);

const LEASE: Duration = Duration::from_secs(7);
const DEAD_AFTER: Duration = Duration::from_secs(15);
const KEEP: Duration = Duration::from_secs(600);

pub(super) fn member(name: &str) -> NewMember {
    NewMember {
        name: name.into(),
        machine: "m1".into(),
        address: Some("http://10.0.0.1:7070".into()),
        roles: vec!["api".into(), "medic".into()],
        version: "1.2.3".into(),
        medic: None,
        supervises: true,
    }
}

impl House {
    pub(crate) async fn new_member(&self, name: &str) -> MemberId {
        self.cluster.join(member(name)).await.expect("joins")
    }

    /// Stands for the leadership; its term if it leads.
    pub(crate) async fn stand(&self, id: MemberId) -> Option<Term> {
        let leadership = self.cluster.campaign(id, LEASE).await.expect("stands");
        (leadership.member == id).then_some(leadership.term)
    }

    async fn member_ids(&self) -> Vec<MemberId> {
        self.cluster.members().await.unwrap().iter().map(|member| member.id).collect()
    }
}

async fn what_one_that_is_gone_had_in_hand_goes_back_soon(house: House) {
    let (a, b) = (house.new_member("a").await, house.new_member("b").await);
    let ids = [house.submit(task("one")).await, house.submit(task("two")).await];
    let (of_a, of_b) = (house.lease_as("a", 1).await, house.lease_as("b", 1).await);
    assert_eq!((of_a.len(), of_b.len()), (1, 1));
    assert_eq!(house.queue.reap(9).await.unwrap(), 0);
    house.cluster.leave(a).await.unwrap();
    house.wait(Duration::from_secs(1));
    assert_eq!(house.queue.reap(9).await.unwrap(), 1);
    let again = house.lease_as("b", 9).await;
    assert_eq!(again.iter().map(|leased| leased.token.task).collect::<Vec<_>>(), [of_a[0].token.task]);
    // It was not quite gone, and is too late.
    assert_eq!(house.finish(&of_a[0], done()).await, Err(Error::LeaseLost(of_a[0].token.task)));
    house.finish(&of_b[0], done()).await.unwrap();
    house.finish(&again[0], done()).await.unwrap();
    for id in ids {
        assert_eq!(house.state(id).await, State::Succeeded);
    }
    house.cluster.leave(b).await.unwrap();
    house.verify().await;
}

async fn a_member_is_there_until_it_leaves(house: House) {
    let (a, b) = (house.new_member("a").await, house.new_member("b").await);
    assert!(a < b);
    house.wait(Duration::from_secs(3));
    let load = Load { tasks: 7, cpu: 0.25, memory_bytes: 1 << 20 };
    house.cluster.beat(b, load).await.unwrap();
    let members = house.cluster.members().await.unwrap();
    assert_eq!(members.len(), 2);
    let (first, second) = (&members[0], &members[1]);
    assert_eq!((first.id, first.name.as_str(), first.machine.as_str()), (a, "a", "m1"));
    assert_eq!(first.address.as_deref(), Some("http://10.0.0.1:7070"));
    assert_eq!(
        (first.roles.as_slice(), first.version.as_str()),
        (&["api".to_owned(), "medic".to_owned()][..], "1.2.3")
    );
    assert!(first.supervises && first.medic.is_none() && first.lost_at.is_none() && !first.to_restart);
    assert_eq!((second.load, second.seen_at), (load, house.clock.now()));
    assert_eq!(second.joined_at, first.seen_at);
    let child = house.cluster.join(NewMember { medic: Some(a), supervises: false, ..member("c") }).await.unwrap();
    house.cluster.leave(a).await.unwrap();
    house.cluster.leave(a).await.unwrap();
    assert_eq!(house.member_ids().await, [b, child]);
    assert_eq!(house.cluster.members().await.unwrap()[1].medic, Some(a));
    assert!(matches!(house.cluster.beat(a, load).await, Err(Error::NotFound(_))));
    // A number is never given again.
    house.cluster.leave(child).await.unwrap();
    assert!(house.new_member("d").await > child);
}

async fn one_that_falls_silent_is_given_up_with_an_event_and_forgotten_later(house: House) {
    let (silent, awake) = (house.new_member("silent").await, house.new_member("awake").await);
    let shall = [silent, awake].map(|medic| Assignment { medic, role: "api".into(), count: 1 });
    house.cluster.assign(&shall).await.unwrap();
    house.wait(DEAD_AFTER - Duration::from_millis(1));
    assert!(house.cluster.give_up(DEAD_AFTER, KEEP).await.unwrap().is_empty());
    house.cluster.beat(awake, Load::default()).await.unwrap();
    house.wait(Duration::from_millis(1));
    let given_up = house.cluster.give_up(DEAD_AFTER, KEEP).await.unwrap();
    assert_eq!(given_up.iter().map(|member| member.id).collect::<Vec<_>>(), [silent]);
    assert_eq!(given_up[0].lost_at, Some(house.clock.now()));
    // Once, not at every look.
    assert!(house.cluster.give_up(DEAD_AFTER, KEEP).await.unwrap().is_empty());
    let told = house.notify.own_events(9).await.unwrap();
    assert_eq!(told.len(), 1);
    let body: serde_json::Value = serde_json::from_slice(&told[0].body).unwrap();
    assert_eq!((told[0].kind.as_str(), told[0].group), ("member.lost", None));
    assert_eq!((&body["member"], &body["name"], &body["machine"]), (&silent.0.into(), &"silent".into(), &"m1".into()));
    assert_eq!(house.member_ids().await, [silent, awake]);
    house.wait(KEEP);
    house.cluster.beat(awake, Load::default()).await.unwrap();
    house.cluster.give_up(DEAD_AFTER, KEEP).await.unwrap();
    assert_eq!(house.member_ids().await, [awake]);
    assert_eq!(house.cluster.assignments().await.unwrap(), shall[1..]);
    assert!(matches!(house.cluster.beat(silent, Load::default()).await, Err(Error::NotFound(_))));
}

async fn one_that_was_given_up_is_back_with_its_next_heartbeat(house: House) {
    let id = house.new_member("a").await;
    house.cluster.ask_to_restart(id).await.unwrap();
    house.wait(DEAD_AFTER);
    assert_eq!(house.cluster.give_up(DEAD_AFTER, KEEP).await.unwrap().len(), 1);
    // Nobody waits for the restart of one that is gone.
    assert!(!house.cluster.members().await.unwrap()[0].to_restart);
    house.cluster.beat(id, Load::default()).await.unwrap();
    assert_eq!(house.cluster.members().await.unwrap()[0].lost_at, None);
    house.wait(DEAD_AFTER);
    assert_eq!(house.cluster.give_up(DEAD_AFTER, KEEP).await.unwrap().len(), 1);
    assert_eq!(house.notify.own_events(9).await.unwrap().len(), 2);
}

async fn what_a_member_says_of_itself_is_checked(house: House) {
    for bad in [
        NewMember { name: String::new(), ..member("a") },
        NewMember { machine: "m".repeat(201), ..member("a") },
        NewMember { roles: vec!["api".into(); 33], ..member("a") },
    ] {
        assert!(matches!(house.cluster.join(bad).await, Err(Error::Invalid(_))));
    }
    assert!(house.member_ids().await.is_empty());
}

async fn there_is_one_leader_at_a_time_and_terms_grow(house: House) {
    let (a, b) = (house.new_member("a").await, house.new_member("b").await);
    assert_eq!(house.cluster.leadership().await.unwrap(), None);
    let first = house.stand(a).await.expect("it is free");
    assert_eq!(house.stand(b).await, None);
    house.wait(LEASE - Duration::from_millis(1));
    assert_eq!(house.stand(b).await, None);
    // Prolonged, it is the same term.
    assert_eq!(house.stand(a).await, Some(first));
    let leader = house.cluster.leadership().await.unwrap().unwrap();
    assert_eq!((leader.term, leader.member, leader.name.as_str()), (first, a, "a"));
    assert_eq!(leader.until, house.clock.now().plus(LEASE));
    house.wait(LEASE - Duration::from_millis(1));
    assert_eq!(house.stand(b).await, None);
    house.wait(Duration::from_millis(1));
    let second = house.stand(b).await.expect("it ran out");
    assert!(second > first);
    assert_eq!(house.stand(a).await, None);
    // One that was late gets a new term too, even if nobody led meanwhile.
    house.wait(LEASE);
    assert!(house.stand(b).await.expect("it is free") > second);
}

async fn whoever_leaves_or_resigns_leads_no_more(house: House) {
    let (a, b) = (house.new_member("a").await, house.new_member("b").await);
    let first = house.stand(a).await.unwrap();
    house.cluster.resign(Term(first.0 + 1)).await.unwrap();
    assert_eq!(house.stand(b).await, None);
    house.cluster.resign(first).await.unwrap();
    let second = house.stand(b).await.expect("it is free at once");
    // An old term's resignation is nobody's business.
    house.cluster.resign(first).await.unwrap();
    assert_eq!(house.stand(a).await, None);
    house.cluster.leave(b).await.unwrap();
    assert!(house.stand(a).await.expect("it is free at once") > second);
    // The name outlives the member.
    let names: Vec<_> = house.cluster.terms(9).await.unwrap().into_iter().map(|term| term.name).collect();
    assert_eq!(names, ["a", "b", "a"]);
}

async fn an_unknown_member_cannot_lead(house: House) {
    let a = house.new_member("a").await;
    house.cluster.leave(a).await.unwrap();
    assert!(matches!(house.cluster.campaign(a, LEASE).await, Err(Error::NotFound(_))));
    assert_eq!(house.cluster.leadership().await.unwrap(), None);
}

async fn terms_are_remembered(house: House) {
    let a = house.new_member("a").await;
    let began = house.clock.now();
    let first = house.stand(a).await.unwrap();
    house.wait(Duration::from_secs(2));
    house.stand(a).await.unwrap();
    house.wait(Duration::from_secs(60));
    let second = house.stand(a).await.unwrap();
    house.wait(Duration::from_secs(1));
    house.cluster.resign(second).await.unwrap();
    let terms = house.cluster.terms(9).await.unwrap();
    assert_eq!(terms.iter().map(|term| term.term).collect::<Vec<_>>(), [second, first]);
    assert_eq!((terms[1].began_at, terms[1].held_until), (began, began.plus(Duration::from_secs(2))));
    assert_eq!((terms[0].began_at, terms[0].held_until), (began.plus(Duration::from_secs(62)), house.clock.now()));
    assert_eq!(house.cluster.terms(1).await.unwrap(), terms[..1]);
}

async fn what_medics_shall_run_is_replaced_as_a_whole(house: House) {
    let shall = |medic: i64, role: &str, count| Assignment { medic: MemberId(medic), role: role.into(), count };
    assert!(house.cluster.assignments().await.unwrap().is_empty());
    house.cluster.assign(&[shall(2, "api", 1), shall(1, "wiki", 2), shall(1, "api", 1)]).await.unwrap();
    let expected = [shall(1, "api", 1), shall(1, "wiki", 2), shall(2, "api", 1)];
    assert_eq!(house.cluster.assignments().await.unwrap(), expected);
    house.cluster.assign(&expected).await.unwrap();
    house.cluster.assign(&[shall(2, "api", 3)]).await.unwrap();
    assert_eq!(house.cluster.assignments().await.unwrap(), [shall(2, "api", 3)]);
    house.cluster.assign(&[]).await.unwrap();
    assert!(house.cluster.assignments().await.unwrap().is_empty());
}

async fn the_assignments_of_one_that_leaves_go_with_it(house: House) {
    let (a, b) = (house.new_member("a").await, house.new_member("b").await);
    let shall = [a, b].map(|medic| Assignment { medic, role: "api".into(), count: 1 });
    house.cluster.assign(&shall).await.unwrap();
    house.cluster.leave(a).await.unwrap();
    assert_eq!(house.cluster.assignments().await.unwrap(), shall[1..]);
}

async fn one_rolling_restart_at_a_time(house: House) {
    assert_eq!(house.cluster.rolling().await.unwrap(), None);
    let first = house.cluster.begin_rolling(act("cluster.restart")).await.unwrap();
    assert_eq!((first.by.as_str(), first.begun_at), ("user:ana", house.clock.now()));
    assert_eq!((first.ended_at, first.note.as_deref()), (None, None));
    assert!(matches!(house.cluster.begin_rolling(act("cluster.restart")).await, Err(Error::Conflict(_))));
    assert_eq!(house.cluster.rolling().await.unwrap(), Some(first.clone()));
    house.wait(Duration::from_secs(9));
    house.cluster.end_rolling(first.id, Some("one did not come back")).await.unwrap();
    let ended = house.cluster.rolling().await.unwrap().unwrap();
    assert_eq!((ended.ended_at, ended.note.as_deref()), (Some(house.clock.now()), Some("one did not come back")));
    // It ends once.
    house.wait(Duration::from_secs(1));
    house.cluster.end_rolling(first.id, None).await.unwrap();
    assert_eq!(house.cluster.rolling().await.unwrap(), Some(ended));
    let second = house.cluster.begin_rolling(act("cluster.restart")).await.unwrap();
    assert!(second.id > first.id);
    house.cluster.end_rolling(second.id, None).await.unwrap();
    // Only what was begun is in the audit log.
    let scope = malla_queue::Scope::All;
    let log = house.access.audit(&scope, &malla_access::AuditFilter::default(), None, 9).await.unwrap();
    assert_eq!(log.iter().filter(|entry| entry.action == "cluster.restart").count(), 2);
}

async fn a_child_is_asked_to_restart(house: House) {
    let (a, b) = (house.new_member("a").await, house.new_member("b").await);
    house.cluster.ask_to_restart(b).await.unwrap();
    let asked: Vec<_> = house.cluster.members().await.unwrap().iter().map(|member| member.to_restart).collect();
    assert_eq!(asked, [false, true]);
    house.cluster.leave(a).await.unwrap();
    assert!(matches!(house.cluster.ask_to_restart(a).await, Err(Error::NotFound(_))));
}

async fn the_newest_thousand_restarts_are_kept(house: House) {
    let restarted = |number: i64| Restarted {
        at: house.clock.now(),
        machine: "m1".into(),
        role: "wiki".into(),
        why: if number % 2 == 0 { Why::Crashed } else { Why::Frozen },
        note: format!("exit code {number}"),
        delay: Duration::from_millis(500),
    };
    for number in 0..1_003 {
        house.cluster.note_restart(restarted(number)).await.unwrap();
    }
    let all = house.cluster.restarts(5_000).await.unwrap();
    assert_eq!(all.len(), 1_000);
    assert_eq!((all.first(), all.last()), (Some(&restarted(1_002)), Some(&restarted(3))));
    assert_eq!(house.cluster.restarts(2).await.unwrap(), all[..2]);
}
