//! From the rooms' things to what travels: times become texts, groups' numbers become names.

pub(crate) mod alerts;
pub(crate) mod analyze;
pub(crate) mod cluster;
pub(crate) mod fetch;
pub(crate) mod notify;
pub(crate) mod statistics;
pub(crate) mod tours;
pub(crate) mod wiki;

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use malla_access::{AuditEntry, Group, Token, User};
use malla_protocol as wire;
use malla_queue::{Entry, GroupId, Lane, Priority, State, StateCounts, Task, TaskSummary, UnixMs};
use serde_json::Value;

use crate::App;
use crate::problem::Refusal;

/// The names of the groups that some things belong to.
pub(crate) struct GroupNames(HashMap<GroupId, String>);

impl GroupNames {
    pub(crate) async fn of(app: &App, groups: impl IntoIterator<Item = Option<GroupId>>) -> Result<Self, Refusal> {
        let mut ids: Vec<GroupId> = groups.into_iter().flatten().collect();
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() {
            return Ok(Self(HashMap::new()));
        }
        Ok(Self(app.access.group_names(&ids).await?))
    }

    pub(crate) fn name(&self, group: Option<GroupId>) -> Option<String> {
        self.0.get(&group?).cloned()
    }

    pub(crate) fn sorted(&self) -> Vec<String> {
        let mut names: Vec<String> = self.0.values().cloned().collect();
        names.sort_unstable();
        names
    }
}

pub(crate) fn time(at: UnixMs) -> String {
    // What lies outside of jiff's range (years -9999 to 9999) cannot be written as RFC 3339 either.
    Timestamp::from_millisecond(at.0).map_or_else(|_| at.0.to_string(), |at| format!("{at:.3}"))
}

pub(crate) fn task(summary: &TaskSummary, names: &GroupNames) -> wire::TaskView {
    wire::TaskView {
        id: summary.id.to_string(),
        lane: summary.lane.to_string(),
        kind: summary.kind.to_string(),
        group: names.name(summary.group),
        state: state(summary.state),
        priority: priority(summary.priority),
        failures: summary.failures,
        submitted_at: time(summary.id.submitted_at()),
        run_at: summary.run_at.map(time),
        finished_at: summary.finished_at.map(time),
        parent: summary.parent.map(|id| id.to_string()),
        holder: summary.holder.clone(),
    }
}

pub(crate) fn task_detail(whole: Task, names: &GroupNames) -> wire::TaskDetail {
    wire::TaskDetail {
        task: task(&whole.summary, names),
        payload: content(&whole.payload),
        result: whole.result.as_deref().map(content),
        retry_delays_ms: whole.retry.as_millis().to_vec(),
        dedup: whole.dedup.map(|key| shown_dedup(whole.summary.group, key)),
        history: whole.history.into_iter().map(entry).collect(),
    }
}

/// A dedup key as it is stored for a task that came from outside: each group has its own, so that nobody is answered
/// with another group's task.
pub(crate) fn scoped_dedup(group: Option<GroupId>, key: &str) -> String {
    format!("{}{key}", dedup_prefix(group))
}

fn shown_dedup(group: Option<GroupId>, key: String) -> String {
    match key.strip_prefix(&dedup_prefix(group)) {
        Some(own) => own.to_owned(),
        None => key,
    }
}

fn dedup_prefix(group: Option<GroupId>) -> String {
    format!("group {}: ", group.map_or(0, |GroupId(id)| id))
}

fn entry(entry: Entry) -> wire::HistoryEntry {
    wire::HistoryEntry {
        what: entry.what.name().to_owned(),
        at: time(entry.at),
        started_at: entry.started_at.map(time),
        by: entry.by,
        note: entry.note,
        answer: entry.answer,
    }
}

/// JSON as it is, other bytes as base64.
fn content(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|_| serde_json::json!({ "base64": STANDARD.encode(bytes) }))
}

fn state(state: State) -> wire::TaskState {
    match state {
        State::Queued => wire::TaskState::Queued,
        State::Running => wire::TaskState::Running,
        State::Paused => wire::TaskState::Paused,
        State::Notified => wire::TaskState::Notified,
        State::Succeeded => wire::TaskState::Succeeded,
        State::Failed => wire::TaskState::Failed,
        State::Discarded => wire::TaskState::Discarded,
    }
}

fn priority(priority: Priority) -> wire::Priority {
    match priority {
        Priority::High => wire::Priority::High,
        Priority::Normal => wire::Priority::Normal,
        Priority::Low => wire::Priority::Low,
    }
}

pub(crate) fn counts(counts: &StateCounts) -> wire::StateCounts {
    wire::StateCounts {
        queued: counts.queued,
        running: counts.running,
        paused: counts.paused,
        notified: counts.notified,
        succeeded: counts.succeeded,
        failed: counts.failed,
        discarded: counts.discarded,
    }
}

pub(crate) fn lane(lane: &Lane, names: &GroupNames) -> wire::LaneView {
    wire::LaneView {
        key: lane.key.to_string(),
        room: lane.key.room().to_owned(),
        group: names.name(lane.group),
        ceiling: lane.settings.ceiling,
        gap_ms: lane.settings.gap_ms,
        paused: lane.paused,
        ready_at: lane.ready_at.map(time),
        counts: counts(&lane.counts),
    }
}

pub(crate) fn role(role: malla_access::Role) -> wire::Role {
    match role {
        malla_access::Role::Readonly => wire::Role::Readonly,
        malla_access::Role::User => wire::Role::User,
        malla_access::Role::Admin => wire::Role::Admin,
    }
}

pub(crate) fn role_of(role: wire::Role) -> malla_access::Role {
    match role {
        wire::Role::Readonly => malla_access::Role::Readonly,
        wire::Role::User => malla_access::Role::User,
        wire::Role::Admin => malla_access::Role::Admin,
    }
}

pub(crate) fn user(user: User) -> wire::UserView {
    wire::UserView {
        name: user.name,
        role: role(user.role),
        disabled: user.disabled,
        groups: user.groups,
        created_at: time(user.created_at),
    }
}

pub(crate) fn group(group: Group) -> wire::GroupView {
    wire::GroupView { name: group.name, members: group.members, created_at: time(group.created_at) }
}

pub(crate) fn token(token: Token) -> wire::TokenView {
    wire::TokenView {
        name: token.name,
        role: role(token.role),
        group: token.group,
        created_by: token.created_by,
        created_at: time(token.created_at),
        expires_at: token.expires_at.map(time),
        last_used_at: token.last_used_at.map(time),
    }
}

pub(crate) fn audit(entry: AuditEntry, names: &GroupNames) -> wire::AuditView {
    wire::AuditView {
        id: entry.id,
        at: time(entry.at),
        actor: entry.actor,
        action: entry.action,
        object: entry.object,
        group: names.name(entry.group),
        detail: entry.detail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc_3339_to_the_millisecond() {
        assert_eq!(time(UnixMs(1_769_860_800_250)), "2026-01-31T12:00:00.250Z");
        assert_eq!(time(UnixMs(0)), "1970-01-01T00:00:00.000Z");
        assert_eq!(time(UnixMs(i64::MAX)), i64::MAX.to_string());
    }

    #[test]
    fn content_is_json_or_base64() {
        assert_eq!(content(br#"{"work_ms":5}"#), serde_json::json!({ "work_ms": 5 }));
        assert_eq!(content(&[0xff, 0x00]), serde_json::json!({ "base64": "/wA=" }));
    }
}
