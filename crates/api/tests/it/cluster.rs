//! The cluster over the API.

use std::time::Duration;

use malla_cluster::{Assignment, Cluster as _, Load, MemberId, NewMember, Restarted, Why};
use malla_queue::Clock as _;
use serde_json::{Value, json};

use crate::house::{DEAD_AFTER, House};

const LEASE: Duration = Duration::from_secs(7);

/// A process that announces itself.
async fn join(house: &House, name: &str, roles: &[&str], medic: Option<MemberId>) -> MemberId {
    let new = NewMember {
        name: name.into(),
        machine: "one".into(),
        address: None,
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        version: "0.1.0".into(),
        medic,
        supervises: roles.contains(&"medic"),
    };
    house.store.join(new).await.unwrap()
}

pub(crate) async fn medic(house: &House) -> MemberId {
    join(house, "one/1", &["medic"], None).await
}

fn restarted(house: &House, role: &str) -> Restarted {
    Restarted {
        at: house.clock.now(),
        machine: "one".into(),
        role: role.into(),
        why: Why::Crashed,
        note: "signal 9".into(),
        delay: Duration::from_millis(500),
    }
}

#[tokio::test]
async fn the_cluster_shows_who_is_there_who_leads_and_what_runs() {
    let house = House::new().await;
    let empty = house.get("/api/v1/cluster", "admin").await.ok();
    let nothing = json!({
        "leader": null, "term": null, "members": [], "roles": [], "restarts": [], "rolling": null, "left": 0,
    });
    assert_eq!(empty, nothing);
    let medic = medic(&house).await;
    let child = join(&house, "one/2", &["wiki"], Some(medic)).await;
    house.store.campaign(medic, LEASE).await.unwrap();
    let wiki = Assignment { medic, role: "wiki".into(), count: 2 };
    house.store.assign(&[wiki]).await.unwrap();
    house.store.beat(child, Load { tasks: 3, cpu: 0.5, memory_bytes: 1 << 20 }).await.unwrap();
    house.store.note_restart(restarted(&house, "wiki")).await.unwrap();
    let seen = house.get("/api/v1/cluster", "admin").await.ok();
    let noon = "2026-01-31T12:00:00.000Z";
    assert_eq!(seen["leader"], json!({ "member": medic.0, "name": "one/1", "since": noon }));
    assert_eq!(seen["term"], 1);
    let expected = json!({
        "id": child.0, "name": "one/2", "machine": "one", "address": null, "roles": ["wiki"], "version": "0.1.0",
        "state": "alive", "leads": false, "medic": medic.0, "supervises": false,
        "load": { "tasks": 3, "cpu": 0.5, "memory_bytes": 1 << 20 },
        "joined_at": noon, "seen_at": noon, "lost_at": null, "to_restart": false,
    });
    assert_eq!(seen["members"][1], expected);
    assert_eq!(seen["members"][0]["leads"], true);
    let roles = json!([
        { "role": "medic", "assigned": 0, "running": 1 },
        { "role": "wiki", "assigned": 2, "running": 1 },
    ]);
    assert_eq!(seen["roles"], roles);
    let restart = json!({
        "at": noon, "machine": "one", "role": "wiki", "why": "crashed", "note": "signal 9", "delay_ms": 500,
    });
    assert_eq!(seen["restarts"], json!([restart]));
}

#[tokio::test]
async fn who_falls_silent_is_lost_before_anybody_gives_it_up() {
    let house = House::new().await;
    let medic = medic(&house).await;
    house.store.campaign(medic, LEASE).await.unwrap();
    house.clock.advance(DEAD_AFTER);
    let seen = house.get("/api/v1/cluster", "admin").await.ok();
    let member = &seen["members"][0];
    assert_eq!((&member["state"], &member["leads"]), (&json!("lost"), &json!(false)), "{seen}");
    assert_eq!((&seen["leader"], &seen["term"]), (&Value::Null, &json!(1)), "nobody leads, and the term is known");
    assert_eq!(seen["roles"], json!([]));
    house.store.beat(medic, Load::default()).await.unwrap();
    assert_eq!(house.get("/api/v1/cluster", "admin").await.ok()["members"][0]["state"], "alive");
}

#[tokio::test]
async fn terms_and_restarts_are_listed_newest_first() {
    let house = House::new().await;
    for name in ["one/1", "one/2", "one/3"] {
        let member = join(&house, name, &["medic"], None).await;
        let led = house.store.campaign(member, LEASE).await.unwrap();
        house.store.resign(led.term).await.unwrap();
        house.store.note_restart(restarted(&house, name)).await.unwrap();
        house.clock.advance(Duration::from_secs(1));
    }
    let of = |page: &Value, name: &str| {
        let items = page["items"].as_array().unwrap().iter();
        items.map(|item| item[name].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let terms = house.get("/api/v1/cluster/terms", "admin").await.ok();
    assert_eq!(of(&terms, "leader"), ["one/3", "one/2", "one/1"]);
    assert_eq!((&terms["items"][0]["term"], &terms["next_cursor"]), (&json!(3), &Value::Null));
    let restarts = house.get("/api/v1/cluster/restarts?limit=2", "admin").await.ok();
    assert_eq!(of(&restarts, "role"), ["one/3", "one/2"]);
    for path in ["terms?limit=0", "restarts?limit=201"] {
        let answer = house.get(&format!("/api/v1/cluster/{path}"), "admin").await;
        answer.refused(400, "invalid", &["limit is from 1 to 200"]);
    }
    house.get("/api/v1/cluster/terms?cursor=x", "admin").await.refused(400, "invalid", &["unknown parameters: cursor"]);
}

#[tokio::test]
async fn a_restart_begins_once_and_is_written_down() {
    let house = House::new().await;
    let begin = async |key| house.keyed("POST", "/api/v1/cluster/restart", "admin", None, key).await;
    begin(None).await.refused(409, "conflict", &["nothing here is supervised", "malla supervise"]);
    let medic = medic(&house).await;
    join(&house, "one/2", &["wiki"], Some(medic)).await;
    house.clock.advance(Duration::from_secs(1));
    let first = begin(Some("k")).await;
    assert_eq!((first.status.as_u16(), &first.json["by"]), (202, &json!("token:admin")), "{}", first.text);
    assert_eq!(first.json["ended_at"], Value::Null);
    begin(Some("other")).await.refused(409, "conflict", &[]);
    let again = begin(Some("k")).await;
    assert_eq!((again.status, again.text), (first.status, first.text), "the same key gets the first answer");
    let seen = house.get("/api/v1/cluster", "admin").await.ok();
    assert_eq!((&seen["rolling"], &seen["left"]), (&first.json, &json!(1)));
    let log = house.get("/api/v1/audit?action=cluster", "admin").await.ok();
    let lines = log["items"].as_array().unwrap();
    assert_eq!((lines.len(), &lines[0]["action"]), (1, &json!("cluster.restart")), "{log}");
}

#[tokio::test]
async fn a_medic_that_died_supervises_nothing() {
    let house = House::new().await;
    medic(&house).await;
    house.clock.advance(DEAD_AFTER);
    let answer = house.post("/api/v1/cluster/restart", "admin", json!({})).await;
    answer.refused(409, "conflict", &["nothing here is supervised"]);
}
