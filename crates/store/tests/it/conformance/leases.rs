//! Taking, keeping and losing leases.

use std::time::Duration;

use malla_queue::{Error, LAPSES_MAX, LaneSettings, Move, NewTask, Priority, Scope, State, UnixMs, What};

use crate::harness::{House, LEASE, act, done, failed, lane, on_both_stores, task};

on_both_stores!(
    a_lease_makes_a_task_running_and_nobody_else_gets_it,
    a_lane_runs_no_more_than_its_ceiling,
    a_full_lane_takes_the_next_when_one_ends,
    a_gap_keeps_starts_apart,
    a_long_lane_does_not_starve_a_short_one,
    lanes_share_a_lease,
    a_delayed_task_waits_for_its_time_and_next_at_says_when,
    a_run_has_its_lane_to_itself_until_all_of_it_has_ended,
    only_the_lanes_asked_for_give_tasks,
    a_lane_keeps_its_gap_after_a_lease_is_lost_or_taken_away,
    priority_decides_inside_a_lane,
    equal_tasks_go_oldest_first,
    a_late_commit_is_refused,
    an_extended_lease_lives_on,
    a_lost_lease_cannot_be_extended,
    an_expired_lease_goes_back_to_its_lane,
    a_task_that_keeps_lapsing_fails,
    a_lease_past_its_end_counts_until_it_is_reaped,
    rooms_are_apart,
);

async fn a_lease_makes_a_task_running_and_nobody_else_gets_it(house: House) {
    let id = house.submit(task("a")).await;
    let leased = house.lease_one().await;
    assert_eq!(leased.token.task, id);
    assert_eq!(house.state(id).await, State::Running);
    assert!(house.lease(10).await.is_empty());
    let holder = house.queue.task(&Scope::All, id).await.unwrap().summary.holder;
    assert_eq!(holder.as_deref(), Some("member:worker"));
    house.verify().await;
}

async fn a_lane_runs_no_more_than_its_ceiling(house: House) {
    house.queue.submit(vec![task("a"); 5], None).await.unwrap();
    assert_eq!(house.lease(10).await.len(), 2);
    assert!(house.lease(10).await.is_empty());
    house.verify().await;
}

async fn a_full_lane_takes_the_next_when_one_ends(house: House) {
    house.queue.submit(vec![task("a"); 3], None).await.unwrap();
    let running = house.lease(10).await;
    house.finish(&running[0], done()).await.unwrap();
    assert_eq!(house.lease(10).await.len(), 1);
    house.verify().await;
}

async fn a_gap_keeps_starts_apart(house: House) {
    let polite = NewTask { lane_settings: LaneSettings { ceiling: 5, gap_ms: 1_000 }, ..task("site") };
    house.queue.submit(vec![polite; 3], None).await.unwrap();
    assert_eq!(house.lease(10).await.len(), 1);
    assert!(house.lease(10).await.is_empty());
    house.wait(Duration::from_millis(999));
    assert!(house.lease(10).await.is_empty());
    house.wait(Duration::from_millis(1));
    assert_eq!(house.lease(10).await.len(), 1);
    house.verify().await;
}

async fn a_long_lane_does_not_starve_a_short_one(house: House) {
    let wide = NewTask { lane_settings: LaneSettings { ceiling: 1_000, gap_ms: 0 }, ..task("long") };
    house.queue.submit(vec![wide; 500], None).await.unwrap();
    house.wait(Duration::from_millis(1));
    let short = house.submit(task("short")).await;
    for turn in 0..3 {
        house.wait(Duration::from_millis(1));
        if house.lease(1).await[0].token.task == short {
            assert!(turn <= 1, "the short lane waited for {turn} leases");
            return;
        }
    }
    panic!("the short lane starved");
}

async fn lanes_share_a_lease(house: House) {
    let wide = |lane: &str| NewTask { lane_settings: LaneSettings { ceiling: 100, gap_ms: 0 }, ..task(lane) };
    house.queue.submit(vec![wide("a"); 50], None).await.unwrap();
    house.queue.submit(vec![wide("b"); 50], None).await.unwrap();
    let leased = house.lease(20).await;
    let from_a = leased.iter().filter(|leased| leased.lane.name() == "a").count();
    assert_eq!((from_a, leased.len()), (10, 20));
}

async fn a_delayed_task_waits_for_its_time_and_next_at_says_when(house: House) {
    use malla_queue::{Clock as _, Holder, LeaseRequest};
    let at = house.clock.now().plus(Duration::from_secs(10));
    house.submit(NewTask { run_at: Some(at), ..task("a") }).await;
    let request = LeaseRequest::new(vec![malla_queue::drill::room()], 5, Holder::Member("m".into()), LEASE);
    let leases = house.queue.lease(request).await.unwrap();
    assert!(leases.tasks.is_empty());
    assert_eq!(leases.next_at, Some(at));
    house.wait(Duration::from_secs(10));
    assert_eq!(house.lease(5).await.len(), 1);
}

async fn priority_decides_inside_a_lane(house: House) {
    for priority in [Priority::Low, Priority::Normal, Priority::High] {
        house.submit(NewTask { priority, ..task("a") }).await;
    }
    // A delayed task of high priority must not stand in the way of due ones.
    house.submit(NewTask { priority: Priority::High, run_at: Some(UnixMs(i64::MAX / 2)), ..task("a") }).await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        let leased = house.lease_one().await;
        seen.push(leased.priority);
        house.finish(&leased, done()).await.unwrap();
    }
    assert_eq!(seen, [Priority::High, Priority::Normal, Priority::Low]);
    house.verify().await;
}

async fn equal_tasks_go_oldest_first(house: House) {
    let mut submitted = Vec::new();
    for _ in 0..4 {
        submitted.push(house.submit(task("a")).await);
    }
    let mut started = Vec::new();
    for _ in 0..4 {
        let leased = house.lease_one().await;
        started.push(leased.token.task);
        house.finish(&leased, done()).await.unwrap();
    }
    assert_eq!(submitted, started);
}

async fn a_late_commit_is_refused(house: House) {
    let id = house.submit(task("a")).await;
    let late = house.lease_one().await;
    house.wait(LEASE);
    assert_eq!(house.queue.reap(10).await.unwrap(), 1);
    let second = house.lease_as("second", 1).await.remove(0);
    assert_eq!(house.finish(&late, done()).await, Err(Error::LeaseLost(id)));
    assert_eq!(house.state(id).await, State::Running);
    house.finish(&second, done()).await.unwrap();
    assert_eq!(house.finish(&late, failed()).await, Err(Error::LeaseLost(id)));
    assert_eq!(house.state(id).await, State::Succeeded);
    house.verify().await;
}

async fn an_extended_lease_lives_on(house: House) {
    house.submit(task("a")).await;
    let leased = house.lease_one().await;
    house.wait(LEASE / 2);
    assert!(house.queue.extend(&[leased.token], LEASE).await.unwrap().is_empty());
    house.wait(LEASE / 2 + Duration::from_secs(1));
    assert_eq!(house.queue.reap(10).await.unwrap(), 0);
    house.finish(&leased, done()).await.unwrap();
}

async fn a_lost_lease_cannot_be_extended(house: House) {
    house.queue.submit(vec![task("a"), task("a")], None).await.unwrap();
    let leased = house.lease(2).await;
    house.finish(&leased[0], done()).await.unwrap();
    let tokens = [leased[0].token, leased[1].token];
    assert_eq!(house.queue.extend(&tokens, LEASE).await.unwrap(), [leased[0].token]);
}

async fn an_expired_lease_goes_back_to_its_lane(house: House) {
    let id = house.submit(task("a")).await;
    house.lease_one().await;
    house.wait(LEASE - Duration::from_millis(1));
    assert_eq!(house.queue.reap(10).await.unwrap(), 0);
    house.wait(Duration::from_millis(1));
    assert_eq!(house.queue.reap(10).await.unwrap(), 1);
    assert_eq!(house.state(id).await, State::Queued);
    let task = house.queue.task(&Scope::All, id).await.unwrap();
    assert_eq!(task.history.iter().map(|entry| entry.what).collect::<Vec<_>>(), [What::Lapsed]);
    assert_eq!(task.summary.failures, 0, "a lapse costs no attempt");
    house.lease_one().await;
    house.verify().await;
}

async fn a_task_that_keeps_lapsing_fails(house: House) {
    let id = house.submit(task("a")).await;
    for lapses in 0..LAPSES_MAX {
        if lapses > 2 {
            assert!(house.lease(10).await.is_empty(), "after {lapses} in a row it waits for a while");
            house.wait(Duration::from_secs(128));
        }
        house.lease_one().await;
        house.wait(LEASE);
        assert_eq!(house.queue.reap(10).await.unwrap(), 1);
    }
    assert_eq!(house.state(id).await, State::Failed);
    house.verify().await;
}

async fn a_lease_past_its_end_counts_until_it_is_reaped(house: House) {
    let id = house.submit(task("a")).await;
    let leased = house.lease_one().await;
    house.wait(LEASE * 2);
    house.finish(&leased, done()).await.expect("nobody else has it, so the work counts");
    assert_eq!(house.state(id).await, State::Succeeded);
}

async fn rooms_are_apart(house: House) {
    let elsewhere = NewTask { lane: "other/a".parse().unwrap(), ..task("a") };
    house.submit(elsewhere).await;
    assert!(house.lease(10).await.is_empty());
}

fn serial(name: &str, gap_ms: u64) -> NewTask {
    NewTask { lane_settings: LaneSettings { ceiling: 1, gap_ms }, ..task(name) }
}

async fn a_run_has_its_lane_to_itself_until_all_of_it_has_ended(house: House) {
    house.queue.submit(vec![serial("a", 1_000); 5], None).await.unwrap();
    let run = house.lease_runs(10, 3, None).await;
    assert_eq!(run.len(), 3);
    for leased in &run {
        house.wait(Duration::from_secs(5));
        assert!(house.lease_runs(10, 3, None).await.is_empty(), "the run goes on");
        let rest = Some(Duration::from_millis(700));
        let outcome = malla_queue::Outcome { lane_rest: rest, ..Default::default() };
        house.finish(leased, malla_queue::Verdict::Done(outcome)).await.unwrap();
    }
    house.wait(Duration::from_millis(699));
    assert!(house.lease_runs(10, 3, None).await.is_empty(), "the lane rests after the last");
    house.wait(Duration::from_millis(1));
    assert_eq!(house.lease_runs(10, 3, None).await.len(), 2);
    house.verify().await;
}

async fn only_the_lanes_asked_for_give_tasks(house: House) {
    for name in ["a", "b", "c"] {
        house.queue.submit(vec![serial(name, 0); 4], None).await.unwrap();
    }
    let asked = Some(vec![lane("c"), lane("a"), lane("none")]);
    let leased = house.lease_runs(6, 4, asked).await;
    let names: Vec<_> = leased.iter().map(|leased| leased.lane.name()).collect();
    assert_eq!(names, ["c", "c", "c", "a", "a", "a"], "in the order asked for, each its share");
    assert_eq!(house.lease_runs(6, 4, None).await.iter().filter(|leased| leased.lane.name() == "b").count(), 4);
    house.verify().await;
}

async fn a_lane_keeps_its_gap_after_a_lease_is_lost_or_taken_away(house: House) {
    let gap = Duration::from_secs(60);
    house.queue.submit(vec![serial("lost", 60_000); 2], None).await.unwrap();
    house.lease_one().await;
    house.wait(gap + Duration::from_secs(10));
    assert_eq!(house.queue.reap(10).await.unwrap(), 1);
    assert!(house.lease(10).await.is_empty(), "who lost it may have started something just before");
    house.wait(gap);
    assert_eq!(house.lease(10).await.len(), 1);

    house.queue.submit(vec![serial("taken", 60_000); 2], None).await.unwrap();
    let taken = house.lease_one().await;
    house.queue.act_on(&malla_queue::Scope::All, taken.token.task, Move::Discard, act("task.verb")).await.unwrap();
    house.wait(gap + LEASE - Duration::from_millis(1));
    let again = house.lease_runs(10, 1, Some(vec![lane("taken")])).await;
    assert!(again.is_empty(), "its holder may go on until its lease ends");
    house.wait(Duration::from_millis(1));
    assert_eq!(house.lease_runs(10, 1, Some(vec![lane("taken")])).await.len(), 1);
    house.verify().await;
}
