//! Each method reaches its route.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt as _;
use malla_client::Verb;
use malla_protocol::{
    AuditQuery, Bulk, LaneChange, LaneQuery, NewGroup, NewTask, NewToken, NewUser, PageQuery, Priority, Role,
    SubmitTasks, TaskQuery, TaskState, UserChange,
};

use crate::server::{Server, client};

fn drill(lane: &str) -> NewTask {
    NewTask {
        lane: lane.into(),
        kind: "drill".into(),
        payload: None,
        priority: Priority::Low,
        run_at: None,
        dedup: None,
        retry_delays_s: vec![1],
        group: None,
        ceiling: None,
        gap_ms: None,
    }
}

fn page() -> PageQuery {
    PageQuery { limit: Some(1), cursor: None }
}

#[tokio::test]
async fn tasks_and_lanes() {
    let server = Server::start().await;
    let client = server.client();
    let lane = "drill/https://example.org/?a=ü%20";
    let submitted = client.submit(&SubmitTasks { tasks: vec![drill(lane), drill(lane)] }).await.unwrap();
    let id = &submitted.tasks[0].id;
    let task = client.task(id).await.unwrap();
    assert_eq!(
        (task.task.lane.as_str(), task.task.priority, &*task.retry_delays_ms),
        (lane, Priority::Low, &[1000][..])
    );

    let query = TaskQuery { state: Some("queued".into()), lane: Some(lane.into()), ..TaskQuery::default() };
    let first = client.tasks(&query, &page()).await.unwrap();
    let second = client.tasks(&query, &PageQuery { cursor: first.next_cursor.clone(), ..page() }).await.unwrap();
    assert_eq!(second.items[0].id, *id);
    assert_eq!(first.items.len() + second.items.len(), 2);

    assert_eq!(client.act(id, Verb::Pause).await.unwrap().state, TaskState::Paused);
    assert_eq!(client.act(id, Verb::Resume).await.unwrap().state, TaskState::Queued);
    assert_eq!(client.act_on_all(&query, Verb::Discard, None).await.unwrap(), Bulk { changed: 2, ..Bulk::default() });
    let everything = TaskQuery::default();
    assert_eq!(client.act_on_all(&everything, Verb::Resend, None).await.unwrap().changed, 0, "none has failed");
    assert_eq!(client.act(id, Verb::Resend).await.unwrap().state, TaskState::Queued);
    assert_eq!(client.act_on_all(&everything, Verb::Confirm, None).await.unwrap().changed, 0);
    let counts = client.counts().await.unwrap();
    assert_eq!((counts.total.queued, counts.kinds[0].counts.discarded), (1, 1));

    let change = LaneChange { paused: Some(true), ..LaneChange::default() };
    assert!(client.change_lane(lane, &change).await.unwrap().paused);
    assert_eq!(client.lane(lane).await.unwrap().counts.paused, 1);
    let paused = LaneQuery { paused: Some(true), ..LaneQuery::default() };
    assert_eq!(client.lanes(&paused, &page()).await.unwrap().items[0].key, lane);
    assert_eq!(client.verify().await.unwrap().problems, Vec::<String>::new());
}

#[tokio::test]
async fn people_and_tokens() {
    let server = Server::start().await;
    let admin = server.client();
    admin.create_group(&NewGroup { name: "alpha".into() }).await.unwrap();
    let user = NewUser { name: "ana".into(), role: Role::User, password: None, groups: vec![] };
    assert_eq!(admin.create_user(&user).await.unwrap().role, Role::User);
    let change = UserChange { role: Some(Role::Readonly), ..UserChange::default() };
    assert_eq!(admin.change_user("ana", &change).await.unwrap().role, Role::Readonly);
    assert_eq!(admin.add_member("alpha", "ana").await.unwrap().members, ["ana"]);
    assert_eq!(admin.user("ana").await.unwrap().groups, ["alpha"]);
    assert!(admin.remove_member("alpha", "ana").await.unwrap().members.is_empty());
    assert_eq!(admin.users(&page()).await.unwrap().items[0].name, "ana");
    assert_eq!(admin.groups(&page()).await.unwrap().items[0].name, "alpha");

    let token = NewToken { name: "ci".into(), role: None, group: Some("alpha".into()), expires_in_s: Some(60) };
    let made = admin.create_token(&token).await.unwrap();
    let ci = client(&[&server.url], Some(&made.token));
    let me = ci.me().await.unwrap();
    assert_eq!((me.actor.as_str(), me.role, me.groups), ("token:ci", Role::User, vec!["alpha".to_owned()]));
    assert_eq!(admin.tokens(&PageQuery::default()).await.unwrap().items.len(), 2);
    admin.delete_token("ci").await.unwrap();
    let gone = ci.me().await.unwrap_err();
    assert!(gone.problem().is_some_and(|problem| problem.status == 401), "{gone}");

    admin.delete_user("ana").await.unwrap();
    admin.delete_group("alpha").await.unwrap();
    let gone = admin.group("alpha").await.unwrap_err();
    assert_eq!(gone.to_string(), "group alpha does not exist");
    let query = AuditQuery { action: Some("user".into()), ..AuditQuery::default() };
    assert_eq!(admin.audit(&query, &page()).await.unwrap().items[0].action, "user.delete");
}

#[tokio::test]
async fn health() {
    let server = Server::start().await;
    let stranger = client(&[&server.url], None);
    assert_eq!(stranger.live().await.unwrap().status, "ok");
    assert_eq!(stranger.ready().await.unwrap().status, "ok");
    server.ready.store(false, Ordering::SeqCst);
    assert_eq!(stranger.ready().await.unwrap_err().to_string(), "not ready: stopping");
}

#[tokio::test]
async fn a_tail_tells_tasks_and_ends_with_the_server() {
    let server = Server::start().await;
    let client = server.client();
    let query = TaskQuery { room: Some("drill".into()), ..TaskQuery::default() };
    let mut tail = client.tail(&query).await.unwrap();
    let submitted = client.submit(&SubmitTasks { tasks: vec![drill("drill/a")] }).await.unwrap();
    let next = tokio::time::timeout(Duration::from_secs(20), tail.next()).await.expect("an event in time");
    let task = next.expect("the tail goes on").unwrap();
    assert_eq!((&task.id, task.state), (&submitted.tasks[0].id, TaskState::Queued));
    server.ready.store(false, Ordering::SeqCst);
    let end = tokio::time::timeout(Duration::from_secs(20), tail.next()).await.expect("an end in time");
    assert!(end.is_none());
}
