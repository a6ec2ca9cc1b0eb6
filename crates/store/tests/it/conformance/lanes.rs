//! Lanes and what an operator changes about them.

use std::time::Duration;

use malla_queue::{
    Error, GroupId, LaneChange, LaneFilter, LaneSettings, NewTask, Scope, State, StateCounts, TaskFilter,
};

use crate::harness::{House, act, done, lane, on_both_stores, task};

on_both_stores!(
    a_paused_lane_starts_nothing_and_its_tasks_show_as_paused,
    what_runs_in_a_lane_that_is_paused_may_finish,
    a_raised_ceiling_takes_effect_at_once,
    a_lowered_ceiling_lets_the_running_end,
    a_shorter_gap_takes_effect_at_once,
    nonsense_changes_are_refused,
    lanes_are_listed_by_key_with_counts,
    another_groups_lane_does_not_exist,
);

async fn change(house: &House, name: &str, change: LaneChange) -> malla_queue::Lane {
    house.queue.change_lane(&Scope::All, &lane(name), change, act("lane.change")).await.unwrap()
}

fn paused(paused: bool) -> LaneChange {
    LaneChange { paused: Some(paused), ..LaneChange::default() }
}

async fn a_paused_lane_starts_nothing_and_its_tasks_show_as_paused(house: House) {
    let id = house.submit(task("a")).await;
    let other = house.submit(task("b")).await;
    assert!(change(&house, "a", paused(true)).await.paused);
    assert_eq!(house.state(id).await, State::Paused);
    let counts = house.queue.counts(&Scope::All).await.unwrap()[0].counts;
    assert_eq!(counts, StateCounts { queued: 1, paused: 1, ..StateCounts::default() });
    for (state, expected) in [(State::Paused, id), (State::Queued, other)] {
        let filter = TaskFilter { states: vec![state], ..TaskFilter::all(Scope::All) };
        assert_eq!(house.ids(&filter).await, [expected]);
    }
    let late = house.submit(task("a")).await;
    assert_eq!(house.lease(10).await.len(), 1);
    change(&house, "a", paused(false)).await;
    let started: Vec<_> = house.lease(10).await.into_iter().map(|leased| leased.token.task).collect();
    assert_eq!(started, [id, late], "oldest first");
    house.verify().await;
}

async fn what_runs_in_a_lane_that_is_paused_may_finish(house: House) {
    let id = house.submit(task("a")).await;
    let leased = house.lease_one().await;
    change(&house, "a", paused(true)).await;
    assert_eq!(house.state(id).await, State::Running);
    house.finish(&leased, done()).await.unwrap();
    assert_eq!(house.state(id).await, State::Succeeded);
    house.verify().await;
}

async fn a_raised_ceiling_takes_effect_at_once(house: House) {
    house.queue.submit(vec![task("a"); 5], None).await.unwrap();
    assert_eq!(house.lease(10).await.len(), 2);
    change(&house, "a", LaneChange { ceiling: Some(4), ..LaneChange::default() }).await;
    assert_eq!(house.lease(10).await.len(), 2);
    house.verify().await;
}

async fn a_lowered_ceiling_lets_the_running_end(house: House) {
    house.queue.submit(vec![task("a"); 5], None).await.unwrap();
    let running = house.lease(10).await;
    change(&house, "a", LaneChange { ceiling: Some(1), ..LaneChange::default() }).await;
    house.finish(&running[0], done()).await.unwrap();
    assert!(house.lease(10).await.is_empty());
    house.finish(&running[1], done()).await.unwrap();
    assert_eq!(house.lease(10).await.len(), 1);
    house.verify().await;
}

async fn a_shorter_gap_takes_effect_at_once(house: House) {
    let slow = NewTask { lane_settings: LaneSettings { ceiling: 5, gap_ms: 60_000 }, ..task("a") };
    house.queue.submit(vec![slow; 3], None).await.unwrap();
    assert_eq!(house.lease(10).await.len(), 1);
    change(&house, "a", LaneChange { gap_ms: Some(1_000), ..LaneChange::default() }).await;
    house.wait(Duration::from_secs(1));
    assert_eq!(house.lease(10).await.len(), 1);
    house.verify().await;
}

async fn nonsense_changes_are_refused(house: House) {
    house.submit(task("a")).await;
    for wrong in [
        LaneChange::default(),
        LaneChange { ceiling: Some(0), ..LaneChange::default() },
        LaneChange { gap_ms: Some(u64::MAX), ..LaneChange::default() },
    ] {
        let refusal = house.queue.change_lane(&Scope::All, &lane("a"), wrong, act("lane.change")).await;
        assert!(matches!(refusal, Err(Error::Invalid(_))), "{refusal:?}");
    }
    let refusal = house.queue.change_lane(&Scope::All, &lane("none"), paused(true), act("lane.change")).await;
    assert_eq!(refusal, Err(Error::NotFound("lane drill/none".into())));
}

async fn lanes_are_listed_by_key_with_counts(house: House) {
    for name in ["c", "a_x", "b", "a%y"] {
        house.queue.submit(vec![task(name); 3], None).await.unwrap();
    }
    house.submit(NewTask { lane: "other/a".parse().unwrap(), ..task("a") }).await;
    house.lease(2).await;
    change(&house, "b", paused(true)).await;
    let all = |filter: LaneFilter, after: Option<&'static str>| {
        let queue = house.queue.clone();
        async move {
            let after = after.map(lane);
            let page = queue.lanes(&Scope::All, &filter, after.as_ref(), 3).await.unwrap();
            (page.lanes.iter().map(|lane| lane.key.name().to_owned()).collect::<Vec<_>>(), page.next.is_some())
        }
    };
    let room = || LaneFilter { room: Some("drill".into()), ..LaneFilter::default() };
    assert_eq!(all(room(), None).await, (vec!["a%y".into(), "a_x".into(), "b".into()], true));
    assert_eq!(all(room(), Some("b")).await, (vec!["c".into()], false));
    assert_eq!(all(LaneFilter { search: Some("_".into()), ..room() }, None).await.0, ["a_x"]);
    assert_eq!(all(LaneFilter { paused: Some(true), ..room() }, None).await.0, ["b"]);
    let held = house.queue.lane(&Scope::All, &lane("b")).await.unwrap();
    assert_eq!(held.counts.queued, 0);
    assert_eq!(held.counts.paused + held.counts.running, 3);
}

async fn another_groups_lane_does_not_exist(house: House) {
    house.submit(NewTask { lane_group: Some(GroupId(7)), ..task("a") }).await;
    house.submit(task("shared")).await;
    let foreign = Scope::Groups(vec![GroupId(8)]);
    assert!(matches!(house.queue.lane(&foreign, &lane("a")).await, Err(Error::NotFound(_))));
    let refusal = house.queue.change_lane(&foreign, &lane("a"), paused(true), act("lane.change")).await;
    assert!(matches!(refusal, Err(Error::NotFound(_))));
    let own = Scope::Groups(vec![GroupId(7)]);
    let listed = house.queue.lanes(&own, &LaneFilter::default(), None, 10).await.unwrap().lanes;
    assert_eq!(listed.iter().map(|lane| lane.key.name()).collect::<Vec<_>>(), ["a"]);
}
