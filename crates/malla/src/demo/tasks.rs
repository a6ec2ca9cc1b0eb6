//! Drills: tasks that only behave as told, in lanes of every kind.

use std::sync::Arc;

use malla_client::{Result, Verb};
use malla_protocol::{LaneChange, NewTask, Priority, SubmitTasks};
use serde_json::{Value, json};

use super::stage::{Stage, rest, tried};
use crate::dice::Dice;

/// A lane that is held until somebody lets it go.
const HELD: &str = "drill/waits-for-you";
/// Its tasks are confirmed by somebody, most of them.
const PARCELS: &str = "drill/parcels";
const HELD_TASKS: usize = 6;
const APART_MS: (u64, u64) = (3_000, 9_000);

pub(super) async fn prepare(stage: &Stage) -> Result<()> {
    let waiting =
        |number: usize| NewTask { dedup: Some(format!("demo-{number}")), ..drill(HELD, json!({ "work_ms": 500 })) };
    let is_new = match stage.client.lane(HELD).await {
        Ok(_) => false,
        Err(error) if error.problem().is_some_and(|problem| problem.code == malla_protocol::Code::NotFound) => true,
        Err(error) => return Err(error),
    };
    if is_new {
        stage.client.submit(&SubmitTasks { tasks: vec![drill(HELD, json!({}))] }).await?;
        let held = LaneChange { paused: Some(true), ..LaneChange::default() };
        stage.client.change_lane(HELD, &held).await?;
        stage.client.submit(&SubmitTasks { tasks: (0..HELD_TASKS).map(waiting).collect() }).await?;
    }
    Ok(())
}

pub(super) async fn run(stage: Arc<Stage>) {
    let mut dice = Dice::new(stage.now_s().unsigned_abs());
    loop {
        let tasks = some(&mut dice);
        let confirmed = tasks.iter().any(|task| task.lane == PARCELS) && !dice.one_in(4);
        let submitted = tried("submit drills", stage.client.submit(&SubmitTasks { tasks }).await);
        if let Some(task) = submitted.filter(|_| confirmed).and_then(|submitted| submitted.tasks.into_iter().next()) {
            rest(2_000).await;
            // It may not have been worked on yet: then it is late, and fails.
            let _ = stage.client.act(&task.id, Verb::Confirm).await;
        }
        rest(dice.within(APART_MS.0, APART_MS.1)).await;
    }
}

fn some(dice: &mut Dice) -> Vec<NewTask> {
    match dice.below(6) {
        0 => {
            let report = drill("drill/reports", json!({ "work_ms": dice.within(3_000, 8_000), "event": true }));
            vec![NewTask { ceiling: Some(1), ..report }]
        }
        1 => {
            let flaky = drill("drill/imports", json!({ "work_ms": 200, "fail": dice.within(1, 2) }));
            vec![NewTask { retry_delays_s: vec![2, 6], ..flaky }]
        }
        // One in a while has no attempts left.
        2 if dice.one_in(3) => vec![drill("drill/imports", json!({ "work_ms": 100, "fail": 1 }))],
        3 => vec![drill(PARCELS, json!({ "confirm_ms": 10_000 }))],
        4 => vec![NewTask { priority: Priority::High, ..drill("drill/mail", json!({ "follow_ups": 2 })) }],
        _ => {
            let thumbnail = |_| NewTask {
                ceiling: Some(2),
                gap_ms: Some(250),
                priority: Priority::Low,
                ..drill("drill/thumbnails", json!({ "work_ms": 700 }))
            };
            (0..dice.within(10, 40)).map(thumbnail).collect()
        }
    }
}

fn drill(lane: &str, payload: Value) -> NewTask {
    NewTask {
        lane: lane.into(),
        kind: "drill".into(),
        payload: Some(payload),
        priority: Priority::Normal,
        run_at: None,
        dedup: None,
        retry_delays_s: Vec::new(),
        group: None,
        ceiling: None,
        gap_ms: None,
    }
}
