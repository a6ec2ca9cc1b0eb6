//! Submitting tasks from outside. Today that is drills alone: every other kind comes from its own room's routes.

use std::collections::{HashMap, HashSet};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use malla_access::Principal;
use malla_protocol::{Code, NewTask as Wanted, Priority as WantedPriority, SubmitTasks, Submitted, SubmittedTask};
use malla_queue::drill::{self, Drill};
use malla_queue::{
    Act, Error, GroupId, Kind, Lane, LaneKey, LaneSettings, Limits, NewTask, Priority, RetryDelays, Scope,
};

use super::owner::owner;
use crate::App;
use crate::auth::{Change, May};
use crate::problem::Refusal;
use crate::query::time;
use crate::view::scoped_dedup;
use crate::write::Write;

/// Submit tasks, all or none.
///
/// When this answers they survive a crash. Today the only kind is `drill`, in lanes of the room `drill`: a task that
/// takes time, fails and follows up as its payload says.
#[utoipa::path(post, path = "/api/v1/tasks", tag = "tasks", operation_id = "submit_tasks",
    request_body = SubmitTasks, responses((status = 201, body = Submitted)),
    extensions(("x-permission" = json!("change"))))]
pub(super) async fn submit(
    State(app): State<App>,
    who: May<Change>,
    write: Write<SubmitTasks>,
) -> Result<(StatusCode, Json<Submitted>), Refusal> {
    let wanted = &write.body.tasks;
    let max = app.settings.limits.batch_max;
    if wanted.is_empty() || wanted.len() > max {
        return Err(Refusal::invalid(format!("tasks holds {} of them: give from 1 to {max}", wanted.len())));
    }
    let tasks = Reader { app: &app, who: &who, owners: HashMap::new(), lanes: HashSet::new() }.read(wanted).await?;
    let act = written_down(&tasks, write.act(&who, "task.submit", ""));
    let submitted = app.queue.submit(tasks, Some(act)).await?;
    let tasks = submitted.into_iter().map(|task| SubmittedTask { id: task.id.to_string(), new: task.new }).collect();
    Ok((StatusCode::CREATED, Json(Submitted { tasks })))
}

/// One audit line for all: with their lane and group where they have one in common.
fn written_down(tasks: &[NewTask], act: Act) -> Act {
    let first = &tasks[0];
    let object = match tasks.iter().all(|task| task.lane == first.lane) {
        true => first.lane.to_string(),
        false => "several lanes".to_owned(),
    };
    let group = first.group.filter(|_| tasks.iter().all(|task| task.group == first.group));
    Act { object, group, detail: serde_json::json!({ "tasks": tasks.len() }), ..act }
}

/// Reads the wanted tasks, looking each group and lane up once.
struct Reader<'a> {
    app: &'a App,
    who: &'a Principal,
    owners: HashMap<Option<String>, Option<GroupId>>,
    /// Lanes that this caller may use.
    lanes: HashSet<LaneKey>,
}

impl Reader<'_> {
    async fn read(mut self, wanted: &[Wanted]) -> Result<Vec<NewTask>, Refusal> {
        let mut tasks = Vec::with_capacity(wanted.len());
        for (index, wanted) in wanted.iter().enumerate() {
            let task = self.read_one(wanted).await.map_err(|refusal| refusal.within(&format!("tasks[{index}]")))?;
            tasks.push(task);
        }
        Ok(tasks)
    }

    async fn read_one(&mut self, wanted: &Wanted) -> Result<NewTask, Refusal> {
        let task = without_owner(wanted, &self.app.settings.limits)?;
        let group = self.owner(wanted.group.as_deref()).await?;
        self.check_lane(&task.lane).await?;
        let dedup = task.dedup.map(|key| scoped_dedup(group, &key));
        Ok(NewTask { group, lane_group: group, dedup, ..task })
    }

    async fn owner(&mut self, named: Option<&str>) -> Result<Option<GroupId>, Refusal> {
        let key = named.map(str::to_owned);
        if let Some(known) = self.owners.get(&key) {
            return Ok(*known);
        }
        let group = owner(self.app, self.who, named).await?.map(|owner| owner.id);
        self.owners.insert(key, group);
        Ok(group)
    }

    /// A lane that another group made is not for this caller.
    async fn check_lane(&mut self, key: &LaneKey) -> Result<(), Refusal> {
        if self.lanes.contains(key) {
            return Ok(());
        }
        match self.app.queue.lane(&Scope::All, key).await {
            Ok(Lane { group, .. }) if !self.who.scope().sees(group) => {
                let detail = format!("the lane {key} is not your group's: choose another name");
                return Err(Refusal::new(Code::Taken, detail));
            }
            Ok(_) | Err(Error::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
        self.lanes.insert(key.clone());
        Ok(())
    }
}

fn without_owner(wanted: &Wanted, limits: &Limits) -> Result<NewTask, Refusal> {
    if wanted.kind != drill::KIND {
        let (kind, only) = (&wanted.kind, drill::KIND);
        return Err(Refusal::invalid(format!("the kind \"{kind}\" cannot be submitted here: only {only} can")));
    }
    let lane: LaneKey = wanted.lane.parse()?;
    if lane.room() != drill::ROOM {
        let room = drill::ROOM;
        return Err(Refusal::invalid(format!("the lane {lane} is not for drills: theirs begin with {room}/")));
    }
    let payload = wanted.payload.as_ref().map_or_else(|| "{}".to_owned(), |payload| payload.to_string());
    Drill::parse(payload.as_bytes())?;
    let defaults = LaneSettings::default();
    let task = NewTask {
        lane_settings: LaneSettings {
            ceiling: wanted.ceiling.unwrap_or(defaults.ceiling),
            gap_ms: wanted.gap_ms.unwrap_or(defaults.gap_ms),
        },
        priority: priority(wanted.priority),
        run_at: wanted.run_at.as_deref().map(|text| time("run_at", text, false)).transpose()?,
        dedup: wanted.dedup.clone(),
        retry: RetryDelays::seconds(wanted.retry_delays_s.iter().copied()),
        ..NewTask::new(lane, Kind::new(drill::KIND), payload)
    };
    task.check(limits)?;
    Ok(task)
}

fn priority(priority: WantedPriority) -> Priority {
    match priority {
        WantedPriority::High => Priority::High,
        WantedPriority::Normal => Priority::Normal,
        WantedPriority::Low => Priority::Low,
    }
}
