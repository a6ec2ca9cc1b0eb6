//! What was done is written down with the deed.

use malla_access::AuditFilter;
use malla_queue::{Clock as _, Error, GroupId, Move, NewTask, Scope};

use crate::harness::{House, act, on_both_stores, task};

on_both_stores!(a_deed_and_its_line_go_together, lines_are_filtered_and_paged, a_group_sees_its_own_lines);

async fn lines(house: &House, filter: AuditFilter) -> Vec<String> {
    let found = house.access.audit(&Scope::All, &filter, None, 50).await.unwrap();
    found.into_iter().map(|line| line.action).collect()
}

async fn a_deed_and_its_line_go_together(house: House) {
    let id = house.submit(task("a")).await;
    house.queue.act_on(&Scope::All, id, Move::Pause, act("task.pause")).await.unwrap();
    let refused = house.queue.act_on(&Scope::All, id, Move::Pause, act("task.pause")).await;
    assert!(matches!(refused, Err(Error::WrongState { .. })));
    assert_eq!(lines(&house, AuditFilter::default()).await, ["task.pause"]);
}

async fn lines_are_filtered_and_paged(house: House) {
    for action in ["task.pause", "task.discard", "lane.change", "tasks"] {
        house.access.note(act(action)).await.unwrap();
    }
    let action = |action: &str| AuditFilter { action: Some(action.into()), ..AuditFilter::default() };
    assert_eq!(lines(&house, action("task")).await, ["task.discard", "task.pause"]);
    assert_eq!(lines(&house, action("lane.change")).await, ["lane.change"]);
    assert!(lines(&house, AuditFilter { actor: Some("user:ben".into()), ..AuditFilter::default() }).await.is_empty());
    let later =
        AuditFilter { from: Some(house.clock.now().plus(std::time::Duration::from_secs(1))), ..Default::default() };
    assert!(lines(&house, later).await.is_empty());
    let first = house.access.audit(&Scope::All, &AuditFilter::default(), None, 3).await.unwrap();
    let rest = house.access.audit(&Scope::All, &AuditFilter::default(), Some(first[2].id), 3).await.unwrap();
    assert_eq!((first.len(), rest.len(), rest[0].action.as_str()), (3, 1, "task.pause"));
}

async fn a_group_sees_its_own_lines(house: House) {
    for group in [1, 2] {
        let id = house.submit(NewTask { group: Some(GroupId(group)), ..task("a") }).await;
        house.queue.act_on(&Scope::All, id, Move::Discard, act("task.discard")).await.unwrap();
    }
    let own = Scope::Groups(vec![GroupId(1)]);
    let seen = house.access.audit(&own, &AuditFilter::default(), None, 10).await.unwrap();
    assert_eq!(seen.iter().map(|line| line.group).collect::<Vec<_>>(), [Some(GroupId(1))]);
}
