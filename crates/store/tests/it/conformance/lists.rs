//! Lists of tasks and counts.

use std::time::Duration;

use malla_queue::{Clock as _, GroupId, Kind, NewTask, Scope, State, TaskFilter, TaskId};

use crate::harness::{House, done, lane, on_both_stores, task};

on_both_stores!(
    tasks_are_listed_newest_first_in_pages,
    filters_combine,
    a_group_sees_its_own,
    a_rare_match_is_found_in_bounded_steps,
    counts_follow_every_move,
);

fn all() -> TaskFilter {
    TaskFilter::all(Scope::All)
}

async fn tasks_are_listed_newest_first_in_pages(house: House) {
    let mut submitted = Vec::new();
    for _ in 0..7 {
        submitted.push(house.submit(task("a")).await);
    }
    submitted.reverse();
    let (mut seen, mut below) = (Vec::new(), None);
    loop {
        let page = house.queue.tasks(&all(), below, 3).await.unwrap();
        seen.extend(page.tasks.iter().map(|task| task.id));
        below = page.next;
        if below.is_none() {
            break;
        }
    }
    assert_eq!(seen, submitted);
}

async fn filters_combine(house: House) {
    let a = house.submit(task("a")).await;
    let noon = house.clock.now().plus(Duration::from_millis(500));
    house.wait(Duration::from_secs(1));
    let b = house.submit(NewTask { kind: Kind::new("other"), ..task("b") }).await;
    let elsewhere = house.submit(NewTask { lane: "wiki/x".parse().unwrap(), ..task("b") }).await;
    let leased = house.lease_one().await;
    house.finish(&leased, done()).await.unwrap();
    check(&house, TaskFilter { lane: Some(lane("a")), ..all() }, &[a]).await;
    check(&house, TaskFilter { lane: Some(lane("none")), ..all() }, &[]).await;
    check(&house, TaskFilter { kind: Some(Kind::new("other")), ..all() }, &[b]).await;
    check(&house, TaskFilter { room: Some("wiki".into()), ..all() }, &[elsewhere]).await;
    check(&house, TaskFilter { to: Some(noon), ..all() }, &[a]).await;
    check(&house, TaskFilter { from: Some(noon), ..all() }, &[elsewhere, b]).await;
    check(&house, TaskFilter { states: vec![State::Succeeded], ..all() }, &[a]).await;
    check(&house, TaskFilter { states: vec![State::Queued], room: Some("drill".into()), ..all() }, &[b]).await;
    check(&house, TaskFilter { states: vec![State::Succeeded, State::Queued], ..all() }, &[elsewhere, b, a]).await;
    check(&house, TaskFilter { states: vec![State::Failed], lane: Some(lane("a")), ..all() }, &[]).await;
}

async fn check(house: &House, filter: TaskFilter, expected: &[TaskId]) {
    assert_eq!(house.ids(&filter).await, expected, "{filter:?}");
}

async fn a_group_sees_its_own(house: House) {
    let of = |group| NewTask { group: Some(GroupId(group)), ..task("shared") };
    let one = house.submit(of(1)).await;
    let two = house.submit(of(2)).await;
    house.submit(task("shared")).await;
    let scope = |groups: &[i64]| Scope::Groups(groups.iter().copied().map(GroupId).collect());
    check(&house, TaskFilter::all(scope(&[1])), &[one]).await;
    check(&house, TaskFilter::all(scope(&[1, 2])), &[two, one]).await;
    check(&house, TaskFilter::all(scope(&[])), &[]).await;
    check(&house, TaskFilter { group: Some(GroupId(2)), ..TaskFilter::all(scope(&[1])) }, &[]).await;
    check(&house, TaskFilter { group: Some(GroupId(2)), ..all() }, &[two]).await;
    let total = |counts: Vec<malla_queue::KindCounts>| counts.iter().map(|kind| kind.counts.total()).sum::<u64>();
    assert_eq!(total(house.queue.counts(&scope(&[1])).await.unwrap()), 1);
    assert_eq!(total(house.queue.counts(&Scope::All).await.unwrap()), 3);
    assert_eq!(total(house.queue.counts(&scope(&[])).await.unwrap()), 0);
}

async fn a_rare_match_is_found_in_bounded_steps(house: House) {
    let rare = house.submit(NewTask { kind: Kind::new("rare"), ..task("a") }).await;
    let wide = NewTask { kind: Kind::new("common"), ..task("b") };
    for _ in 0..10 {
        house.queue.submit(vec![wide.clone(); 999], None).await.unwrap();
    }
    for _ in 0..9 {
        house.submit(wide.clone()).await;
    }
    let filter = TaskFilter { kind: Some(Kind::new("rare")), ..all() };
    let (mut found, mut below, mut steps) = (Vec::new(), None, 0);
    loop {
        let page = house.queue.tasks(&filter, below, 10).await.unwrap();
        found.extend(page.tasks.iter().map(|task| task.id));
        steps += 1;
        if page.next.is_none() {
            break;
        }
        below = page.next;
    }
    assert_eq!(found, [rare]);
    assert!((2..=6).contains(&steps), "a full step says that there may be more, and none looks at everything: {steps}");
}

async fn counts_follow_every_move(house: House) {
    house.queue.submit(vec![task("a"); 3], None).await.unwrap();
    let leased = house.lease(2).await;
    let counts = || async { house.queue.counts(&Scope::All).await.unwrap()[0].counts };
    let now = counts().await;
    assert_eq!((now.queued, now.running), (1, 2));
    house.finish(&leased[0], done()).await.unwrap();
    let now = counts().await;
    assert_eq!((now.queued, now.running, now.succeeded), (1, 1, 1));
    let lane_counts = house.queue.lane(&Scope::All, &lane("a")).await.unwrap().counts;
    assert_eq!(lane_counts, now);
}
