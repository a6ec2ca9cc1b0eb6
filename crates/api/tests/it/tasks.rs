//! Submitting, listing, showing and moving tasks.

use malla_queue::{Failure, Outcome, Verdict};
use serde_json::{Value, json};

use crate::house::House;

fn drills(lanes: &[&str]) -> Value {
    let tasks: Vec<_> = lanes.iter().map(|lane| json!({ "lane": lane, "kind": "drill" })).collect();
    json!({ "tasks": tasks })
}

#[tokio::test]
async fn a_submitted_task_can_be_read_back_whole() {
    let house = House::new().await;
    let body = json!({ "tasks": [{
        "lane": "drill/a", "kind": "drill", "payload": { "work_ms": 5 }, "priority": "high",
        "run_at": "2026-02-01T00:00:00Z", "dedup": "once", "retry_delays_s": [5, 60], "ceiling": 3, "gap_ms": 10,
    }]});
    let answer = house.post("/api/v1/tasks", "user", body).await;
    assert_eq!(answer.status, 201);
    let id = answer.json["tasks"][0]["id"].as_str().unwrap().to_owned();
    let task = house.get(&format!("/api/v1/tasks/{id}"), "readonly").await.ok();
    let expected = json!({
        "id": id, "lane": "drill/a", "kind": "drill", "group": "alpha", "state": "queued", "priority": "high",
        "failures": 0, "submitted_at": "2026-01-31T12:00:00.000Z", "run_at": "2026-02-01T00:00:00.000Z",
        "finished_at": null, "parent": null, "holder": null, "payload": { "work_ms": 5 }, "result": null,
        "retry_delays_ms": [5000, 60000], "dedup": "once", "history": [],
    });
    assert_eq!(task, expected);
    let lane = house.get("/api/v1/lanes/drill%2Fa", "readonly").await.ok();
    assert_eq!((&lane["ceiling"], &lane["gap_ms"], &lane["group"]), (&json!(3), &json!(10), &json!("alpha")));
}

#[tokio::test]
async fn a_submission_that_makes_no_sense_is_refused_by_its_place() {
    let house = House::new().await;
    let two = |second: Value| json!({ "tasks": [{ "lane": "drill/a", "kind": "drill" }, second] });
    let cases = [
        (json!({ "tasks": [] }), "from 1 to 1000"),
        (two(json!({ "lane": "drill/a", "kind": "fetch.page" })), "only drill"),
        (two(json!({ "lane": "notify/a", "kind": "drill" })), "begin with drill/"),
        (two(json!({ "lane": "nonsense", "kind": "drill" })), "room/name"),
        (two(json!({ "lane": "drill/a", "kind": "drill", "payload": { "work": 1 } })), "not a drill"),
        (two(json!({ "lane": "drill/a", "kind": "drill", "run_at": "soon" })), "run_at"),
        (two(json!({ "lane": "drill/a", "kind": "drill", "ceiling": 0 })), "ceiling"),
        (two(json!({ "lane": "drill/a", "kind": "drill", "retry_delays_s": vec![1; 65] })), "retry delays"),
        (two(json!({ "lane": "drill/a", "kind": "drill", "dedup": "" })), "dedup"),
    ];
    for (body, words) in cases {
        let place = if body["tasks"].as_array().unwrap().is_empty() { "tasks" } else { "tasks[1]" };
        house.post("/api/v1/tasks", "user", body).await.refused(400, "invalid", &[place, words]);
    }
    assert_eq!(house.get("/api/v1/tasks", "admin").await.ids().len(), 0, "all or none");
}

#[tokio::test]
async fn who_owns_a_task_follows_from_the_callers_groups() {
    let house = House::new().await;
    let lane = |group: Value| json!({ "tasks": [{ "lane": "drill/a", "kind": "drill", "group": group }] });
    house.post("/api/v1/tasks", "user", lane(json!("alpha"))).await.ok();
    house.post("/api/v1/tasks", "user", lane(json!("beta"))).await.refused(404, "not_found", &["tasks[0]", "beta"]);
    house.post("/api/v1/tasks", "admin", lane(json!("beta"))).await.ok();
    house.post("/api/v1/tasks", "admin", lane(Value::Null)).await.ok();
    let groups: Vec<Value> = house.get("/api/v1/tasks", "admin").await.ok()["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["group"].clone())
        .collect();
    assert_eq!(groups, [Value::Null, json!("beta"), json!("alpha")]);
}

#[tokio::test]
async fn a_lane_of_another_group_is_taken() {
    let house = House::new().await;
    house.post("/api/v1/tasks", "beta", drills(&["drill/theirs"])).await.ok();
    let answer = house.post("/api/v1/tasks", "user", drills(&["drill/ours", "drill/theirs"])).await;
    answer.refused(409, "taken", &["tasks[1]", "drill/theirs", "choose another name"]);
}

#[tokio::test]
async fn dedup_keys_of_two_groups_do_not_meet() {
    let house = House::new().await;
    let body = |lane: &str| json!({ "tasks": [{ "lane": lane, "kind": "drill", "dedup": "nightly" }] });
    let first = house.post("/api/v1/tasks", "beta", body("drill/b")).await.ok();
    let second = house.post("/api/v1/tasks", "user", body("drill/a")).await.ok();
    let third = house.post("/api/v1/tasks", "user", body("drill/a")).await.ok();
    assert_ne!(first["tasks"][0]["id"], second["tasks"][0]["id"]);
    assert_eq!(third["tasks"][0], json!({ "id": second["tasks"][0]["id"], "new": false }));
}

#[tokio::test]
async fn lists_filter_and_go_on_page_by_page() {
    let house = House::new().await;
    let lanes: Vec<String> = (0..5).map(|n| format!("drill/{n}")).collect();
    house.post("/api/v1/tasks", "user", drills(&lanes.iter().map(String::as_str).collect::<Vec<_>>())).await.ok();
    let mut found = Vec::new();
    let mut path = "/api/v1/tasks?limit=2".to_owned();
    loop {
        let page = house.get(&path, "user").await;
        assert!(page.ids().len() <= 2);
        found.extend(page.ids());
        match page.json["next_cursor"].as_str() {
            Some(cursor) => path = format!("/api/v1/tasks?limit=2&cursor={cursor}"),
            None => break,
        }
    }
    let all = house.get("/api/v1/tasks", "user").await.ids();
    assert_eq!((found.len(), &found), (5, &all));
    check_filter(&house, "lane=drill%2F3", 1).await;
    check_filter(&house, "room=drill&kind=drill&group=alpha&state=queued", 5).await;
    check_filter(&house, "state=failed&state=queued", 5).await;
    check_filter(&house, "state=failed,paused", 0).await;
    check_filter(&house, "from=2026-01-31&to=2026-01-31", 5).await;
    check_filter(&house, "from=2026-02-01", 0).await;
    check_filter(&house, "to=2026-01-31T12:00:00Z", 0).await;
    check_filter(&house, &format!("parent={}", all[0]), 0).await;
}

async fn check_filter(house: &House, query: &str, expected: usize) {
    let answer = house.get(&format!("/api/v1/tasks?{query}"), "user").await;
    assert_eq!(answer.ids().len(), expected, "{query}: {}", answer.text);
}

#[tokio::test]
async fn a_persons_verbs_move_a_task_and_stand_in_its_history() {
    let house = House::new().await;
    let id = house.drill("drill/a", "alpha").await;
    let act = async |verb: &str| house.post(&format!("/api/v1/tasks/{id}/{verb}"), "user", json!({})).await;
    assert_eq!(act("pause").await.ok()["state"], "paused");
    act("pause").await.refused(409, "wrong_state", &["paused"]);
    assert_eq!(act("resume").await.ok()["state"], "queued");
    assert_eq!(act("discard").await.ok()["state"], "discarded");
    assert_eq!(act("retry").await.ok()["state"], "queued");
    house.finish_all(Verdict::Failed(Failure::new("no luck"))).await;
    assert_eq!(act("resend").await.ok()["state"], "queued");
    let outcome = Outcome {
        confirm_within: Some(std::time::Duration::from_secs(60)),
        result: Some(vec![0xff]),
        ..Outcome::default()
    };
    house.finish_all(Verdict::Done(outcome)).await;
    assert_eq!(act("confirm").await.ok()["state"], "succeeded");
    let task = house.get(&format!("/api/v1/tasks/{id}"), "user").await.ok();
    let history: Vec<&str> =
        task["history"].as_array().unwrap().iter().map(|entry| entry["what"].as_str().unwrap()).collect();
    let expected = ["paused", "resumed", "discarded", "resent", "failed", "resent", "notified", "confirmed"];
    assert_eq!(history, expected);
    assert_eq!(task["history"][4]["note"], "no luck");
    assert_eq!(task["history"][4]["by"], "member:test");
    assert_eq!(task["history"][0]["by"], "token:user");
    assert_eq!(task["result"], json!({ "base64": "/w==" }));
}

#[tokio::test]
async fn a_bulk_verb_needs_a_filter_or_the_word_all() {
    let house = House::new().await;
    house.drill("drill/a", "alpha").await;
    let path = "/api/v1/tasks/discard";
    house.post(path, "user", json!({})).await.refused(400, "invalid", &["every task", "all=true"]);
    house.post(&format!("{path}?all=false"), "user", json!({})).await.refused(400, "invalid", &["all=true"]);
    house.post(&format!("{path}?limit=5"), "user", json!({})).await.refused(400, "invalid", &["unknown", "limit"]);
    let done = house.post(&format!("{path}?all=true"), "user", json!({})).await.ok();
    assert_eq!(done, json!({ "changed": 1, "more": false }));
}

#[tokio::test]
async fn a_bulk_retry_takes_the_failed_ones_unless_told_otherwise() {
    let house = House::new().await;
    house.drill("drill/a", "alpha").await;
    house.finish_all(Verdict::Failed(Failure::new("no luck"))).await;
    house.drill("drill/b", "alpha").await;
    house.finish_all(Verdict::Done(Outcome::default())).await;
    let retry = async |query: &str| {
        house.post(&format!("/api/v1/tasks/retry?{query}"), "user", json!({})).await.ok()["changed"].clone()
    };
    assert_eq!(retry("lane=drill%2Fb").await, 0);
    assert_eq!(retry("all=true").await, 1);
    assert_eq!(retry("state=succeeded").await, 1);
}

#[tokio::test]
async fn what_people_do_is_in_the_audit_log_of_their_group() {
    let house = House::new().await;
    let id = house.drill("drill/a", "alpha").await;
    house.post(&format!("/api/v1/tasks/{id}/pause"), "user", json!({})).await.ok();
    house.post("/api/v1/tasks/resume?lane=drill%2Fa", "user", json!({})).await.ok();
    house.post("/api/v1/tasks", "user", drills(&["drill/a"])).await.ok();
    let log = house.get("/api/v1/audit?action=task", "readonly").await.ok();
    let lines: Vec<_> = log["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| (line["action"].as_str().unwrap(), line["actor"].as_str().unwrap(), line["group"].clone()))
        .collect();
    let line = |action| (action, "token:user", json!("alpha"));
    assert_eq!(lines, [line("task.submit"), line("task.resume"), line("task.pause")]);
    assert_eq!(log["items"][1]["detail"]["filter"]["lane"], "drill/a");
    let of_task = house.get(&format!("/api/v1/audit?object={id}"), "readonly").await.ok();
    assert_eq!(of_task["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_store_verifies_itself_on_demand() {
    let house = House::new().await;
    house.drill("drill/a", "alpha").await;
    assert_eq!(house.get("/api/v1/verify", "admin").await.ok(), json!({ "problems": [] }));
}
