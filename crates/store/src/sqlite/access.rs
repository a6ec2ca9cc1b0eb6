//! The verbs of access: who may do what, and what was done.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use malla_access::{
    Access, AuditEntry, AuditFilter, Group, NewToken, NewUser, Principal, SecretHash, Session, Token, User, UserChange,
    check_name,
};
use malla_queue::{Act, Clock as _, GroupId, Result, Scope};

use super::writer::Durability::{Power, Process};
use super::{Sqlite, access_people as people, access_secrets as secrets, many, sql};

/// A token's last use is written at most this often.
const USED_EVERY: Duration = Duration::from_secs(60);

#[async_trait]
impl Access for Sqlite {
    async fn is_empty(&self) -> Result<bool> {
        self.read(|conn| {
            let any = many(conn, sql!("access/any_user"), (), |row| row.get::<_, bool>(0))?;
            Ok(any.first() != Some(&true))
        })
        .await
    }

    async fn create_user(&self, user: NewUser, act: Act) -> Result<User> {
        check_name("user", &user.name)?;
        self.write("access", Power, move |tx| tx.perform(&act, |tx| people::create_user(tx, &user))).await
    }

    async fn change_user(&self, name: &str, change: UserChange, act: Act) -> Result<User> {
        let name = name.to_owned();
        self.write("access", Power, move |tx| tx.perform(&act, |tx| people::change_user(tx, &name, &change))).await
    }

    async fn delete_user(&self, name: &str, act: Act) -> Result<()> {
        let name = name.to_owned();
        self.write("access", Power, move |tx| tx.perform(&act, |tx| people::delete_user(tx, &name))).await
    }

    async fn user(&self, name: &str) -> Result<User> {
        let name = name.to_owned();
        self.read(move |conn| people::user(conn, &name)).await
    }

    async fn users(&self, after: Option<&str>, limit: usize) -> Result<Vec<User>> {
        let after = after.unwrap_or_default().to_owned();
        self.read(move |conn| people::users(conn, &after, limit)).await
    }

    async fn create_group(&self, name: &str, act: Act) -> Result<Group> {
        check_name("group", name)?;
        let name = name.to_owned();
        self.write("access", Power, move |tx| tx.perform(&act, |tx| people::create_group(tx, &name))).await
    }

    async fn delete_group(&self, name: &str, act: Act) -> Result<()> {
        let name = name.to_owned();
        self.write("access", Power, move |tx| tx.perform(&act, |tx| people::delete_group(tx, &name))).await
    }

    async fn set_member(&self, group: &str, user: &str, member: bool, act: Act) -> Result<Group> {
        let (group, user) = (group.to_owned(), user.to_owned());
        self.write("access", Power, move |tx| tx.perform(&act, |tx| people::set_member(tx, &group, &user, member)))
            .await
    }

    async fn group(&self, scope: &Scope, name: &str) -> Result<Group> {
        let (scope, name) = (scope.clone(), name.to_owned());
        self.read(move |conn| people::group(conn, &scope, &name)).await
    }

    async fn groups(&self, scope: &Scope, after: Option<&str>, limit: usize) -> Result<Vec<Group>> {
        let (scope, after) = (scope.clone(), after.unwrap_or_default().to_owned());
        self.read(move |conn| people::groups(conn, &scope, &after, limit)).await
    }

    async fn group_names(&self, ids: &[GroupId]) -> Result<HashMap<GroupId, String>> {
        let ids = ids.to_vec();
        self.read(move |conn| {
            let mut names = HashMap::new();
            for id in ids {
                if let Some(name) = many(conn, sql!("access/group_name"), (id.0,), |row| row.get(0))?.pop() {
                    names.insert(id, name);
                }
            }
            Ok(names)
        })
        .await
    }

    async fn create_token(&self, token: NewToken, act: Act) -> Result<Token> {
        check_name("token", &token.name)?;
        self.write("access", Power, move |tx| secrets::create_token(tx, &token, &act)).await
    }

    async fn delete_token(&self, scope: &Scope, name: &str, act: Act) -> Result<()> {
        let (scope, name) = (scope.clone(), name.to_owned());
        self.write("access", Power, move |tx| tx.perform(&act, |tx| secrets::delete_token(tx, &scope, &name))).await
    }

    async fn tokens(&self, scope: &Scope, after: Option<&str>, limit: usize) -> Result<Vec<Token>> {
        let (scope, after) = (scope.clone(), after.unwrap_or_default().to_owned());
        self.read(move |conn| secrets::tokens(conn, &scope, &after, limit)).await
    }

    async fn principal_of_token(&self, hash: SecretHash) -> Result<Option<Principal>> {
        let now = self.clock.now();
        let Some(known) = self.read(move |conn| secrets::token_by_hash(conn, hash, now)).await? else {
            return Ok(None);
        };
        if known.last_used_at.is_none_or(|used| used.plus(USED_EVERY) < now) {
            let id = known.id;
            self.write("access", Process, move |tx| tx.run(sql!("access/token_used"), (id, tx.now.0))).await?;
        }
        Ok(Some(known.principal))
    }

    async fn password_hash(&self, user: &str) -> Result<Option<String>> {
        let user = user.to_owned();
        self.read(move |conn| Ok(many(conn, sql!("access/password"), (user,), |row| row.get(0))?.pop().flatten())).await
    }

    async fn open_session(&self, user: &str, hash: SecretHash, csrf: &str, lasts: Duration) -> Result<Session> {
        let (user, csrf) = (user.to_owned(), csrf.to_owned());
        self.write("access", Power, move |tx| secrets::open_session(tx, &user, hash, &csrf, lasts)).await
    }

    async fn session(&self, hash: SecretHash) -> Result<Option<Session>> {
        let now = self.clock.now();
        self.read(move |conn| secrets::session(conn, hash, now)).await
    }

    async fn close_session(&self, hash: SecretHash) -> Result<()> {
        self.write("access", Power, move |tx| tx.run(sql!("access/drop_session"), (hash.0,)).map(|_| ())).await
    }

    async fn audit(
        &self,
        scope: &Scope,
        filter: &AuditFilter,
        below: Option<i64>,
        limit: usize,
    ) -> Result<Vec<AuditEntry>> {
        let (scope, filter) = (scope.clone(), filter.clone());
        self.read(move |conn| secrets::audit(conn, &scope, &filter, below, limit)).await
    }

    async fn note(&self, act: Act) -> Result<()> {
        self.write("access", Process, move |tx| tx.audit(&act)).await
    }
}
