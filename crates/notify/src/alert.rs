//! Alerts: rules on how deliveries go, and who is told when one holds.
//!
//! An alert fires at most once in its quiet period, and says once when all is well again. Each notice is a task, so it
//! is tried again and its history is kept.

mod channel;
mod mail;
mod notice;
mod rule;
mod sender;
mod watch;

use std::time::Duration;

use async_trait::async_trait;
use malla_queue::{Act, Error, GroupId, LaneKey, NewTask, Result, Scope, UnixMs};
use serde::{Deserialize, Serialize};

use crate::Notify;
use crate::endpoint::check_name;

pub use channel::Channel;
pub use mail::Mail;
pub use notice::{Notice, NoticeState, test_notices};
pub use rule::Rule;
pub use sender::AlertSender;
pub use watch::Watch;

/// The room of notices; its lanes are alerts.
pub const ALERT_ROOM: &str = "notify-alert";
/// The kind of a task that is a notice.
pub const ALERT: &str = "notify.alert";
/// Alerts in one house.
pub const ALERTS_MAX: usize = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AlertId(pub i64);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Alert {
    pub id: AlertId,
    pub name: String,
    /// Whose subscriptions it looks at; without one, everybody's.
    pub group: Option<GroupId>,
    pub spec: AlertSpec,
    /// The subscriptions of which the last notice said that they are in trouble; none if it is well.
    pub firing: Vec<String>,
    pub last_fired_at: Option<UnixMs>,
    pub created_at: UnixMs,
}

impl Alert {
    pub fn is_firing(&self) -> bool {
        !self.firing.is_empty()
    }

    /// What it looks at.
    pub fn scope(&self) -> Scope {
        scope_of(self.group)
    }

    pub fn lane(&self) -> LaneKey {
        LaneKey::trusted(format!("{ALERT_ROOM}/{}", self.name))
    }
}

fn scope_of(group: Option<GroupId>) -> Scope {
    group.map_or(Scope::All, |group| Scope::Groups(vec![group]))
}

/// Everything about an alert that can be chosen. Stored as it is, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AlertSpec {
    pub rule: Rule,
    pub to: Vec<Channel>,
    /// After it fired, it does not fire again for this long.
    #[serde(default = "AlertSpec::quiet_s_default")]
    pub quiet_s: u64,
    #[serde(default = "AlertSpec::enabled_default")]
    pub enabled: bool,
}

impl AlertSpec {
    pub const QUIET_S_DEFAULT: u64 = 3_600;
    const QUIET_S_MAX: u64 = 30 * 86_400;
    const CHANNELS_MAX: usize = 10;

    fn quiet_s_default() -> u64 {
        Self::QUIET_S_DEFAULT
    }

    fn enabled_default() -> bool {
        true
    }

    pub fn quiet(&self) -> Duration {
        Duration::from_secs(self.quiet_s)
    }

    pub fn check(&self) -> Result<()> {
        self.rule.check()?;
        if self.to.is_empty() || self.to.len() > Self::CHANNELS_MAX {
            let max = Self::CHANNELS_MAX;
            return Err(Error::Invalid(format!("an alert goes to from 1 to {max} addresses: say in \"to\" where")));
        }
        self.to.iter().try_for_each(Channel::check)?;
        let mut places: Vec<String> = self.to.iter().map(Channel::place).collect();
        places.sort();
        if let Some(pair) = places.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::Invalid(format!("\"to\" has {} twice", pair[0])));
        }
        if self.quiet_s == 0 || self.quiet_s > Self::QUIET_S_MAX {
            return Err(Error::Invalid(format!("quiet_s is from 1 to {} (30 days)", Self::QUIET_S_MAX)));
        }
        Ok(())
    }
}

#[derive(Debug, Clone)]
pub struct NewAlert {
    pub name: String,
    pub group: Option<GroupId>,
    pub spec: AlertSpec,
}

impl NewAlert {
    pub fn check(&self) -> Result<()> {
        check_name("an alert", &self.name)?;
        self.spec.check()
    }
}

/// That the subscription a rule names is there for an alert of this group.
pub async fn check_subject(notify: &dyn Notify, group: Option<GroupId>, rule: &Rule) -> Result<()> {
    let Some(name) = rule.subscription() else { return Ok(()) };
    match notify.subscription(&scope_of(group), name).await {
        Err(Error::NotFound(_)) => Err(Error::Invalid(format!("this alert's group has no subscription {name}"))),
        other => other.map(drop),
    }
}

/// The verbs of alerts. Each is one whole transaction; every change takes an [`Act`] and writes its audit line with it.
#[async_trait]
pub trait Alerts: Send + Sync + 'static {
    /// A name is unique in the house.
    async fn create_alert(&self, alert: NewAlert, act: Act) -> Result<Alert>;
    /// Takes the spec as a whole, as the caller has read and edited it. One that is switched off forgets that it fires.
    async fn change_alert(&self, scope: &Scope, name: &str, spec: AlertSpec, act: Act) -> Result<Alert>;
    async fn delete_alert(&self, scope: &Scope, name: &str, act: Act) -> Result<()>;
    async fn alert(&self, scope: &Scope, name: &str) -> Result<Alert>;
    /// In the order of names, after `after`.
    async fn alerts(&self, scope: &Scope, after: Option<&str>, limit: usize) -> Result<Vec<Alert>>;
    /// Notes that the alert fires at `at` for these subscriptions (for none: that it is well again) and submits the
    /// notices. False, and nothing happens, if it has changed since it was read as `seen`: another node was faster.
    async fn fire(&self, seen: &Alert, at: UnixMs, firing: Vec<String>, notices: Vec<NewTask>) -> Result<bool>;
}
