//! Users, groups, tokens, the audit log and the server's own health, as they travel.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// What a caller may do: `readonly` sees its groups, `user` does everything inside them, `admin` everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    Readonly,
    User,
    Admin,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Role::Readonly => "readonly",
            Role::User => "user",
            Role::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UserView {
    pub name: String,
    pub role: Role,
    /// Cannot log in.
    pub disabled: bool,
    pub groups: Vec<String>,
    pub created_at: String,
}

/// A user to be made. (Not `Debug`, like all that holds a secret here: it must not print itself.)
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    pub name: String,
    pub role: Role,
    /// At least ten characters; without one the user cannot log in to the console.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

/// What to change; what is not given stays. A new password or role, or `disabled`, ends the user's sessions.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// The whole list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupView {
    pub name: String,
    pub members: Vec<String>,
    pub created_at: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewGroup {
    pub name: String,
}

/// A token without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenView {
    pub name: String,
    pub role: Role,
    /// Null for a token of the whole house.
    pub group: Option<String>,
    pub created_by: String,
    pub created_at: String,
    pub expires_at: Option<String>,
    /// To the minute.
    pub last_used_at: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    pub name: String,
    /// Not above the caller's own. If not given: `user` for a token of a group, else the caller's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// May be left out by who has one group, and by an admin for a token of the whole house.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// It does not expire if this is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_s: Option<u64>,
}

/// A new token. Its secret is in this answer and nowhere else.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenMade {
    pub token: String,
    #[serde(flatten)]
    pub view: TokenView,
}

/// One line of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditView {
    pub id: i64,
    pub at: String,
    /// `user:ana`, `token:deploy`, `anonymous`, `malla`.
    pub actor: String,
    /// `task.discard`, `lane.change`, `user.create`, …
    pub action: String,
    pub object: String,
    pub group: Option<String>,
    pub detail: Value,
}

/// Which lines of the audit log. Every condition that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// An action or the first part of it: `task` matches `task.discard`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// At this time or later: RFC 3339, or YYYY-MM-DD in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Before this time: RFC 3339, or YYYY-MM-DD in UTC, which takes in the whole day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// Who the server takes the caller for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Me {
    pub actor: String,
    pub role: Role,
    pub groups: Vec<String>,
}

/// What a comparison of every counter with what it counts found: nothing, if all is well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Verification {
    pub problems: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// `ok`
    pub status: String,
    /// What does not work at the moment, although the rest does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
