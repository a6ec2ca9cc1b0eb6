//! Drills: tasks that do nothing but behave (take time, fail, follow up) as they are told. An operator uses them to
//! try an installation end to end; the crash tests and benchmarks use them as load.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::worker::Work;
use crate::{Error, Event, Failure, Kind, Leased, NewTask, Outcome, Room, Verdict};

pub const ROOM: &str = "drill";
pub const KIND: &str = "drill";

const WORK_MS_MAX: u64 = 600_000;
const FOLLOW_UPS_MAX: u32 = 100;

/// How a drill behaves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Drill {
    /// How long an attempt takes.
    pub work_ms: u64,
    /// This many attempts fail before one succeeds.
    pub fail: u32,
    /// This many drills follow, in the same lane.
    pub follow_ups: u32,
    /// It ends as `notified` and must be confirmed within this time.
    pub confirm_ms: Option<u64>,
    /// Emit a `drill.done` event.
    pub event: bool,
}

impl Drill {
    pub fn parse(payload: &[u8]) -> Result<Self, Error> {
        let drill: Drill = serde_json::from_slice(payload)
            .map_err(|error| Error::Invalid(format!("the payload is not a drill: {error}")))?;
        if drill.work_ms > WORK_MS_MAX || drill.follow_ups > FOLLOW_UPS_MAX {
            return Err(Error::Invalid(format!(
                "a drill takes at most {WORK_MS_MAX} ms and has at most {FOLLOW_UPS_MAX} follow-ups"
            )));
        }
        Ok(drill)
    }

    /// What the attempt on `task` comes to.
    pub fn verdict(&self, task: &Leased) -> Verdict {
        if task.failures < self.fail {
            let attempt = task.failures + 1;
            return Verdict::Failed(Failure::new(format!("failed as told, attempt {attempt} of {}", self.fail)));
        }
        let follow_up = NewTask {
            group: task.group,
            lane_group: task.group,
            priority: task.priority,
            ..NewTask::new(task.lane.clone(), Kind::new(KIND), "{}")
        };
        Verdict::Done(Outcome {
            result: Some(b"\"done\"".to_vec()),
            follow_ups: vec![follow_up; self.follow_ups as usize],
            events: self.event.then(|| self.done(task)).into_iter().collect(),
            confirm_within: self.confirm_ms.map(Duration::from_millis),
            ..Outcome::default()
        })
    }

    fn done(&self, task: &Leased) -> Event {
        let body = serde_json::json!({ "task": task.token.task, "lane": task.lane });
        Event { kind: "drill.done".into(), group: task.group, body: body.to_string().into_bytes() }
    }
}

pub fn room() -> Room {
    Room::new(ROOM).expect("a room's name")
}

/// Works on drills.
pub struct Driller;

#[async_trait]
impl Work for Driller {
    async fn work(&self, task: &Leased) -> Option<Verdict> {
        Some(match Drill::parse(&task.payload) {
            Ok(drill) => {
                if drill.work_ms > 0 {
                    tokio::time::sleep(Duration::from_millis(drill.work_ms)).await;
                }
                drill.verdict(task)
            }
            Err(error) => Verdict::Failed(Failure { next: crate::NextTry::Never, ..Failure::new(error.to_string()) }),
        })
    }
}
