//! The verbs of this room. Every change takes an [`Act`]: its audit line is written in the same transaction.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use malla_queue::{Act, Error, GroupId, Result, Scope, UnixMs};
use serde::{Deserialize, Serialize};

use crate::{Principal, Role, SecretHash};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UserId(pub i64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TokenId(pub i64);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    pub id: UserId,
    pub name: String,
    pub role: Role,
    /// Cannot log in, and its tokens do not work.
    pub disabled: bool,
    /// Names of its groups, in order.
    pub groups: Vec<String>,
    pub created_at: UnixMs,
}

#[derive(Debug, Clone)]
pub struct NewUser {
    pub name: String,
    pub role: Role,
    /// Made by [`crate::Passwords`]; a user without one cannot log in to the console.
    pub password_hash: Option<String>,
    pub groups: Vec<String>,
}

/// `None` leaves it as it is. A new password, a new role or `disabled` ends the user's sessions.
#[derive(Debug, Clone, Default)]
pub struct UserChange {
    pub role: Option<Role>,
    pub disabled: Option<bool>,
    pub password_hash: Option<String>,
    pub groups: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    pub id: GroupId,
    pub name: String,
    /// Names of its users, in order.
    pub members: Vec<String>,
    pub created_at: UnixMs,
}

/// A bearer token without its secret. It belongs to a group, or (without one) to the whole house: then it
/// must be an admin's, or it sees nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    pub id: TokenId,
    pub name: String,
    pub role: Role,
    /// The group's name.
    pub group: Option<String>,
    pub created_by: String,
    pub created_at: UnixMs,
    pub expires_at: Option<UnixMs>,
    /// To the minute.
    pub last_used_at: Option<UnixMs>,
}

#[derive(Debug, Clone)]
pub struct NewToken {
    pub name: String,
    pub hash: SecretHash,
    pub role: Role,
    pub group: Option<String>,
    pub expires_at: Option<UnixMs>,
}

/// A person at the console.
#[derive(Debug, Clone)]
pub struct Session {
    pub user: User,
    pub principal: Principal,
    /// Every form carries this.
    pub csrf: String,
    pub expires_at: UnixMs,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    pub id: i64,
    pub at: UnixMs,
    pub actor: String,
    pub action: String,
    pub object: String,
    pub group: Option<GroupId>,
    pub detail: serde_json::Value,
}

#[derive(Debug, Clone, Default)]
pub struct AuditFilter {
    pub actor: Option<String>,
    /// An action or the first part of it: `task` matches `task.discard`.
    pub action: Option<String>,
    pub object: Option<String>,
    pub from: Option<UnixMs>,
    pub to: Option<UnixMs>,
}

/// Names of users, groups and tokens: they stand in URLs and logs.
pub fn check_name(what: &str, name: &str) -> Result<()> {
    let fits = (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.@".contains(&b))
        && !name.starts_with('.');
    if fits {
        return Ok(());
    }
    Err(Error::Invalid(format!("\"{name}\" cannot name a {what}: use 1 to 64 letters, digits and - _ . @")))
}

#[async_trait]
pub trait Access: Send + Sync + 'static {
    /// Whether nobody has been made yet: the first start makes an admin.
    async fn is_empty(&self) -> Result<bool>;

    async fn create_user(&self, user: NewUser, act: Act) -> Result<User>;
    /// Refuses to leave the house without an admin who can log in.
    async fn change_user(&self, name: &str, change: UserChange, act: Act) -> Result<User>;
    /// Its sessions end. The last admin stays.
    async fn delete_user(&self, name: &str, act: Act) -> Result<()>;
    async fn user(&self, name: &str) -> Result<User>;
    /// In the order of names, after `after`.
    async fn users(&self, after: Option<&str>, limit: usize) -> Result<Vec<User>>;

    async fn create_group(&self, name: &str, act: Act) -> Result<Group>;
    /// Refused with [`Error::Taken`] while the group owns lanes, tasks or tokens.
    async fn delete_group(&self, name: &str, act: Act) -> Result<()>;
    async fn set_member(&self, group: &str, user: &str, member: bool, act: Act) -> Result<Group>;
    async fn group(&self, scope: &Scope, name: &str) -> Result<Group>;
    async fn groups(&self, scope: &Scope, after: Option<&str>, limit: usize) -> Result<Vec<Group>>;
    /// The names behind these numbers; a group that is gone is left out.
    async fn group_names(&self, ids: &[GroupId]) -> Result<HashMap<GroupId, String>>;

    /// A name is unique among living tokens. With `act.once` a repeat is [`Error::ShownOnce`]: the secret is gone.
    async fn create_token(&self, token: NewToken, act: Act) -> Result<Token>;
    async fn delete_token(&self, scope: &Scope, name: &str, act: Act) -> Result<()>;
    async fn tokens(&self, scope: &Scope, after: Option<&str>, limit: usize) -> Result<Vec<Token>>;

    /// Who has this token; `None` if nobody (wrong, expired, deleted).
    async fn principal_of_token(&self, hash: SecretHash) -> Result<Option<Principal>>;

    /// The user's stored password hash, if the user exists and may log in.
    async fn password_hash(&self, user: &str) -> Result<Option<String>>;
    /// Opens a session for a user whose password was right, and notes it in the audit log.
    async fn open_session(&self, user: &str, hash: SecretHash, csrf: &str, lasts: Duration) -> Result<Session>;
    async fn session(&self, hash: SecretHash) -> Result<Option<Session>>;
    async fn close_session(&self, hash: SecretHash) -> Result<()>;

    /// Newest first, below `below`.
    async fn audit(
        &self,
        scope: &Scope,
        filter: &AuditFilter,
        below: Option<i64>,
        limit: usize,
    ) -> Result<Vec<AuditEntry>>;
    /// Writes a line for something that no other verb records (a refused login, a blocked request).
    async fn note(&self, act: Act) -> Result<()>;
}
