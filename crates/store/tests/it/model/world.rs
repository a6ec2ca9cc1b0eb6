//! The model: tasks and lanes in plain maps, every rule written the simplest way.

use std::collections::BTreeMap;

use malla_queue::{
    Ending, LaneChange, LaneKey, LaneSettings, LeaseToken, Leased, Move, NewTask, RetryDelays, State, TaskFilter,
    TaskId, UnixMs,
};

#[derive(Debug, Clone)]
pub(crate) struct ModelTask {
    pub(crate) lane: LaneKey,
    pub(crate) prio: i16,
    pub(crate) run_at: i64,
    /// By itself: a paused lane changes nothing here.
    pub(crate) state: State,
    pub(crate) failures: u32,
    pub(crate) lapses: u32,
    pub(crate) dedup: Option<String>,
    pub(crate) retry: RetryDelays,
    pub(crate) lease: Option<(i64, i64)>,
    pub(crate) ended_by: Option<i64>,
    pub(crate) history: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct ModelLane {
    pub(crate) settings: LaneSettings,
    pub(crate) paused: bool,
    pub(crate) next_start_at: i64,
}

#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) tasks: BTreeMap<TaskId, ModelTask>,
    pub(crate) lanes: BTreeMap<LaneKey, ModelLane>,
}

impl World {
    pub(crate) fn shown_state(&self, task: &ModelTask) -> State {
        match task.state {
            State::Queued if self.lanes[&task.lane].paused => State::Paused,
            state => state,
        }
    }

    pub(crate) fn running(&self, lane: &LaneKey) -> usize {
        self.tasks.values().filter(|task| task.lane == *lane && task.state == State::Running).count()
    }

    /// The unfinished task that holds this key.
    pub(crate) fn holder_of(&self, key: Option<&String>) -> Option<TaskId> {
        let key = key?;
        let holds = |task: &ModelTask| task.dedup.as_ref() == Some(key) && !task.state.is_final();
        self.tasks.iter().find(|(_, task)| holds(task)).map(|(id, _)| *id)
    }

    pub(crate) fn submit(&mut self, id: TaskId, new: &NewTask, now: UnixMs) {
        assert!(self.lanes.contains_key(&new.lane), "a task without a lane");
        let task = ModelTask {
            lane: new.lane.clone(),
            prio: new.priority.rank(),
            run_at: new.run_at.unwrap_or(now).0,
            state: State::Queued,
            failures: 0,
            lapses: 0,
            dedup: new.dedup.clone(),
            retry: new.retry.clone(),
            lease: None,
            ended_by: None,
            history: 0,
        };
        assert!(self.tasks.insert(id, task).is_none(), "id {id} was given twice");
    }

    /// The task that the lane must start next, if it may start one now.
    pub(crate) fn next_of(&self, lane: &LaneKey, now: UnixMs) -> Option<TaskId> {
        let rules = &self.lanes[lane];
        let full = self.running(lane) >= rules.settings.ceiling as usize;
        if rules.paused || full || rules.next_start_at > now.0 {
            return None;
        }
        self.first_in_line(lane, now)
    }

    pub(crate) fn first_in_line(&self, lane: &LaneKey, now: UnixMs) -> Option<TaskId> {
        let due = |task: &ModelTask| task.lane == *lane && task.state == State::Queued && task.run_at <= now.0;
        let waiting = self.tasks.iter().filter(|(_, task)| due(task));
        waiting.min_by_key(|(id, task)| (task.prio, task.run_at, **id)).map(|(id, _)| *id)
    }

    /// Whether a lane, one of these if they are named, may start something.
    pub(crate) fn can_start(&self, of: Option<&[LaneKey]>, now: UnixMs) -> bool {
        let asked = |lane: &LaneKey| of.is_none_or(|lanes| lanes.contains(lane));
        self.lanes.keys().any(|lane| asked(lane) && self.next_of(lane, now).is_some())
    }

    /// Takes a lease that the store gave.
    pub(crate) fn lease(&mut self, leased: &Leased, now: UnixMs) {
        let id = leased.token.task;
        let lane = &leased.lane;
        let rules = self.lanes.get_mut(lane).expect("the lane exists");
        rules.next_start_at = rules.next_start_at.max(now.0 + rules.settings.gap_ms as i64);
        let task = self.tasks.get_mut(&id).expect("the task exists");
        assert_eq!(task.state, State::Queued, "{id} was leased");
        assert!(task.run_at <= now.0, "{id} was leased before its time");
        assert_eq!((task.failures, task.prio), (leased.failures, leased.priority.rank()));
        task.state = State::Running;
        task.lease = Some((leased.token.nonce, leased.expires_at.0));
    }

    /// Whether the store must accept this ending, and if so its effect.
    pub(crate) fn finish(&mut self, token: LeaseToken, ending: &Ending) -> bool {
        let task = self.tasks.get_mut(&token.task).expect("the task exists");
        if task.lease.map(|(nonce, _)| nonce) != Some(token.nonce) {
            return task.ended_by == Some(token.nonce);
        }
        task.ended_by = Some(token.nonce);
        self.apply(token.task, ending);
        true
    }

    pub(crate) fn apply(&mut self, id: TaskId, ending: &Ending) {
        let task = self.tasks.get_mut(&id).expect("the task exists");
        task.lease = None;
        task.state = ending.state;
        task.failures = ending.failures;
        task.lapses = ending.lapses;
        task.run_at = ending.run_at.unwrap_or(ending.at).0;
        task.history += 1;
        if let Some(rest) = ending.lane_rest_until {
            let lane = self.lanes.get_mut(&task.lane).expect("the lane exists");
            lane.next_start_at = lane.next_start_at.max(rest.0);
        }
    }

    /// A person's verb; `None` if it must be refused.
    pub(crate) fn act(&mut self, id: TaskId, verb: Move, now: UnixMs) -> Option<()> {
        let task = self.tasks.get(&id)?;
        let to = task.state.after(verb)?;
        if verb == Move::Resend && task.state.is_final() && self.holder_of(task.dedup.as_ref()).is_some() {
            return None;
        }
        let task = self.tasks.get_mut(&id)?;
        let lane = self.lanes.get_mut(&task.lane).expect("the lane exists");
        if let Some((_, expires)) = task.lease.filter(|_| lane.settings.gap_ms > 0) {
            lane.next_start_at = lane.next_start_at.max(expires + lane.settings.gap_ms as i64);
        }
        task.state = to;
        task.lease = None;
        task.history += 1;
        if verb == Move::Resend {
            (task.failures, task.lapses, task.run_at) = (0, 0, now.0);
        }
        Some(())
    }

    pub(crate) fn change_lane(&mut self, key: &LaneKey, change: LaneChange, now: UnixMs) {
        let lane = self.lanes.get_mut(key).expect("the lane exists");
        lane.paused = change.paused.unwrap_or(lane.paused);
        lane.settings.ceiling = change.ceiling.unwrap_or(lane.settings.ceiling);
        if let Some(gap_ms) = change.gap_ms {
            let left = lane.next_start_at - now.0;
            if left > 0 && left <= lane.settings.gap_ms as i64 {
                lane.next_start_at += gap_ms as i64 - lane.settings.gap_ms as i64;
            }
            lane.settings.gap_ms = gap_ms;
        }
    }

    pub(crate) fn matching(&self, filter: &TaskFilter) -> Vec<TaskId> {
        let fits = |task: &ModelTask| {
            filter.lane.as_ref().is_none_or(|lane| *lane == task.lane)
                && (filter.states.is_empty() || filter.states.contains(&self.shown_state(task)))
        };
        self.tasks.iter().rev().filter(|(_, task)| fits(task)).map(|(id, _)| *id).collect()
    }
}
