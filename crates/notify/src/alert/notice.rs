//! What an alert says, and the task that carries it to one address.

use malla_queue::{Kind, LaneSettings, NewTask, Result, RetryDelays, UnixMs};
use serde::{Deserialize, Serialize};

use super::{ALERT, Alert, Channel, Rule};

/// Before each further attempt: in all a little over half an hour.
const RETRY_DELAYS_S: [u64; 4] = [10, 60, 300, 1_800];
/// Notices of one alert on their way at once.
const AT_ONCE: u32 = 4;
/// Subscriptions that a notice names.
pub(super) const NAMED_MAX: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoticeState {
    Firing,
    Resolved,
    /// Nothing is wrong: somebody wants to see a notice arrive.
    Test,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// The alert's name.
    pub alert: String,
    pub rule: Rule,
    pub state: NoticeState,
    /// The subscriptions it is about.
    pub subjects: Vec<String>,
    #[serde(with = "iso")]
    pub at: UnixMs,
    /// All of it in words.
    pub text: String,
}

/// What a task of kind [`ALERT`] holds. The secret of a webhook is not in it: the sender reads that from the alert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Payload {
    pub(super) channel: Channel,
    pub(super) notice: Notice,
}

impl Notice {
    /// That the alert holds for these subscriptions, and for `more` that are not named.
    pub(super) fn firing(alert: &Alert, subjects: Vec<String>, more: usize, at: UnixMs) -> Self {
        let others = if more > 0 { format!(" and {more} more") } else { String::new() };
        let text = format!("{}: {} ({}{others})", alert.name, alert.spec.rule.in_words(), subjects.join(", "));
        Self {
            alert: alert.name.clone(),
            rule: alert.spec.rule.clone(),
            state: NoticeState::Firing,
            subjects,
            at,
            text,
        }
    }

    pub(super) fn resolved(alert: &Alert, at: UnixMs) -> Self {
        let (subjects, condition) = (alert.firing.clone(), alert.spec.rule.in_words());
        let text = format!("{}: resolved ({}); it is no longer so that {condition}", alert.name, subjects.join(", "));
        let (alert, rule) = (alert.name.clone(), alert.spec.rule.clone());
        Self { alert, rule, state: NoticeState::Resolved, subjects, at, text }
    }

    fn test(alert: &Alert, at: UnixMs) -> Self {
        let text = format!("{}: a test; this alert fires when {}", alert.name, alert.spec.rule.in_words());
        let (name, rule) = (alert.name.clone(), alert.spec.rule.clone());
        Self { alert: name, rule, state: NoticeState::Test, subjects: Vec::new(), at, text }
    }

    /// A line for those who see only one.
    pub(super) fn headline(&self) -> String {
        let state = match self.state {
            NoticeState::Firing => "firing",
            NoticeState::Resolved => "resolved",
            NoticeState::Test => "test",
        };
        format!("[Malla] {}: {state}", self.alert)
    }

    /// The tasks that carry this to each address of the alert.
    pub(super) fn tasks(&self, alert: &Alert) -> Result<Vec<NewTask>> {
        alert.spec.to.iter().map(|channel| self.task(alert, channel)).collect()
    }

    fn task(&self, alert: &Alert, channel: &Channel) -> Result<NewTask> {
        let payload = Payload { channel: channel.without_secret(), notice: self.clone() };
        let payload = serde_json::to_vec(&payload).map_err(|error| malla_queue::Error::Internal(error.to_string()))?;
        Ok(NewTask {
            lane_settings: LaneSettings { ceiling: AT_ONCE, gap_ms: 0 },
            lane_group: alert.group,
            group: alert.group,
            retry: RetryDelays::seconds(RETRY_DELAYS_S),
            ..NewTask::new(alert.lane(), Kind::new(ALERT), payload)
        })
    }
}

/// A moment as others read it.
mod iso {
    use jiff::Timestamp;
    use malla_queue::UnixMs;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(at: &UnixMs, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Timestamp::from_millisecond(at.0).unwrap_or_default())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<UnixMs, D::Error> {
        Timestamp::deserialize(deserializer).map(|at| UnixMs(at.as_millisecond()))
    }
}

/// The tasks that send a test to each address of the alert.
pub fn test_notices(alert: &Alert, at: UnixMs) -> Result<Vec<NewTask>> {
    Notice::test(alert, at).tasks(alert)
}
