//! How alerts lie in the store, and how they are read back.

use malla_notify::{ALERTS_MAX, Alert, AlertId};
use malla_queue::{Act, Error, GroupId, Result, Scope, UnixMs};

use crate::listing::{Builder, Statement};
use crate::notify_rows::from_json;

/// The columns of `both/alert/alert.sql`.
pub(crate) struct AlertRow {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) group: Option<i64>,
    pub(crate) spec: String,
    pub(crate) firing: String,
    pub(crate) last_fired_at: Option<i64>,
    pub(crate) created_at: i64,
}

impl AlertRow {
    pub(crate) fn read(self) -> Result<Alert> {
        Ok(Alert {
            id: AlertId(self.id),
            spec: from_json("an alert", &self.spec)?,
            firing: from_json("an alert", &self.firing)?,
            name: self.name,
            group: self.group.map(GroupId),
            last_fired_at: self.last_fired_at.map(UnixMs),
            created_at: UnixMs(self.created_at),
        })
    }
}

impl Builder {
    /// In the order of names, by the unique index on them.
    pub(crate) fn alerts(mut self, scope: &Scope, after: Option<&str>, limit: usize) -> Statement {
        let mut all = vec![format!("a.name > {}", self.text(after.unwrap_or_default()))];
        if let Scope::Groups(groups) = scope {
            all.push(self.in_groups("a.grp", groups));
        }
        let select = include_str!("../sql/both/alert/alert.sql");
        self.done(format!("{select} WHERE {} ORDER BY a.name LIMIT {limit}", all.join(" AND ")))
    }
}

/// How it is written down that an alert fired or was resolved.
pub(crate) fn fired(seen: &Alert, firing: &[String]) -> Act {
    let action = if firing.is_empty() { "alert.resolve" } else { "alert.fire" };
    let detail = serde_json::json!({ "subscriptions": if firing.is_empty() { &seen.firing } else { firing } });
    Act { group: seen.group, detail, ..Act::new("malla", action, &seen.name) }
}

/// When it fired last, after this.
pub(crate) fn last_fired_at(seen: &Alert, at: UnixMs, firing: &[String]) -> Option<i64> {
    if firing.is_empty() { seen.last_fired_at.map(|at| at.0) } else { Some(at.0) }
}

pub(crate) fn room_for_one(alerts: i64) -> Result<()> {
    if usize::try_from(alerts).unwrap_or(0) >= ALERTS_MAX {
        return Err(Error::Taken(format!("there are {ALERTS_MAX} alerts already: delete one first")));
    }
    Ok(())
}

pub(crate) fn name_taken(name: &str) -> Error {
    Error::Taken(format!("an alert named {name} exists already"))
}

pub(crate) fn unknown(name: &str) -> Error {
    Error::NotFound(format!("alert {name}"))
}
