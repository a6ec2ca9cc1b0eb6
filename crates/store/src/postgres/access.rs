//! The verbs of access: who may do what, and what was done.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use malla_access::{
    Access, AuditEntry, AuditFilter, Group, NewToken, NewUser, Principal, SecretHash, Session, Token, User, UserChange,
    check_name,
};
use malla_queue::{Act, GroupId, Result, Scope};

use super::commit::commit;
use super::perform::{audit, first_answer, settle};
use super::pool::{broken, with_retries};
use super::{Postgres, access_people as people, access_secrets as secrets, point, said, sql, verb};

/// A token's last use is written at most this often.
const USED_EVERY: Duration = Duration::from_secs(60);

/// A change in a transaction of its own, with its audit line.
macro_rules! change {
    ($store:ident, $act:ident, |$tx:ident, $now:ident| $body:expr) => {
        verb!($store, "access", |client, $now| async {
            let $tx = client.transaction().await?;
            if let Some(answer) = first_answer(&$tx, &$act, $now).await? {
                return Ok(answer);
            }
            let answer = $body.await?;
            settle($tx, &$act, $now, "access", answer).await
        })
    };
}

#[async_trait]
impl Access for Postgres {
    async fn is_empty(&self) -> Result<bool> {
        let row = self.client().await?.query_one(sql!("access/any_user"), &[]).await;
        Ok(!row.map_err(|error| broken(&error))?.get::<_, bool>(0))
    }

    async fn create_user(&self, user: NewUser, act: Act) -> Result<User> {
        check_name("user", &user.name)?;
        Ok(change!(self, act, |tx, now| people::create_user(&tx, &user, now)))
    }

    async fn change_user(&self, name: &str, change: UserChange, act: Act) -> Result<User> {
        Ok(change!(self, act, |tx, now| people::change_user(&tx, name, &change)))
    }

    async fn delete_user(&self, name: &str, act: Act) -> Result<()> {
        change!(self, act, |tx, now| people::delete_user(&tx, name));
        Ok(())
    }

    async fn user(&self, name: &str) -> Result<User> {
        people::user(&self.client().await?, name).await.map_err(said)
    }

    async fn users(&self, after: Option<&str>, limit: usize) -> Result<Vec<User>> {
        people::users(&self.client().await?, after.unwrap_or_default(), limit).await.map_err(said)
    }

    async fn create_group(&self, name: &str, act: Act) -> Result<Group> {
        check_name("group", name)?;
        Ok(change!(self, act, |tx, now| people::create_group(&tx, name, now)))
    }

    async fn delete_group(&self, name: &str, act: Act) -> Result<()> {
        change!(self, act, |tx, now| people::delete_group(&tx, name));
        Ok(())
    }

    async fn set_member(&self, group: &str, user: &str, member: bool, act: Act) -> Result<Group> {
        Ok(change!(self, act, |tx, now| people::set_member(&tx, group, user, member)))
    }

    async fn group(&self, scope: &Scope, name: &str) -> Result<Group> {
        people::group(&self.client().await?, scope, name).await.map_err(said)
    }

    async fn groups(&self, scope: &Scope, after: Option<&str>, limit: usize) -> Result<Vec<Group>> {
        people::groups(&self.client().await?, scope, after.unwrap_or_default(), limit).await.map_err(said)
    }

    async fn group_names(&self, ids: &[GroupId]) -> Result<HashMap<GroupId, String>> {
        let ids: Vec<i64> = ids.iter().map(|id| id.0).collect();
        let rows = self.client().await?.query(sql!("access/group_names"), &[&ids]).await;
        let rows = rows.map_err(|error| broken(&error))?;
        Ok(rows.iter().map(|row| (GroupId(row.get(0)), row.get(1))).collect())
    }

    async fn create_token(&self, token: NewToken, act: Act) -> Result<Token> {
        check_name("token", &token.name)?;
        Ok(verb!(self, "access", |client, now| secrets::create_token(&mut client, &token, &act, now)))
    }

    async fn delete_token(&self, scope: &Scope, name: &str, act: Act) -> Result<()> {
        change!(self, act, |tx, now| secrets::delete_token(&tx, scope, name));
        Ok(())
    }

    async fn tokens(&self, scope: &Scope, after: Option<&str>, limit: usize) -> Result<Vec<Token>> {
        secrets::tokens(&self.client().await?, scope, after.unwrap_or_default(), limit).await.map_err(said)
    }

    async fn principal_of_token(&self, hash: SecretHash) -> Result<Option<Principal>> {
        let now = self.clock.now();
        let client = self.client().await?;
        let Some(known) = secrets::token_by_hash(&client, hash, now).await.map_err(said)? else { return Ok(None) };
        if known.last_used_at.is_none_or(|used| used.plus(USED_EVERY) < now) {
            let noted = client.execute(sql!("access/token_used"), &[&known.id, &now.0]).await;
            noted.map_err(|error| broken(&error))?;
        }
        Ok(Some(known.principal))
    }

    async fn password_hash(&self, user: &str) -> Result<Option<String>> {
        let row = self.client().await?.query_opt(sql!("access/password"), &[&user]).await;
        Ok(row.map_err(|error| broken(&error))?.and_then(|row| row.get(0)))
    }

    async fn open_session(&self, user: &str, hash: SecretHash, csrf: &str, lasts: Duration) -> Result<Session> {
        Ok(verb!(self, "access", |client, now| secrets::open_session(&mut client, user, hash, csrf, lasts, now)))
    }

    async fn session(&self, hash: SecretHash) -> Result<Option<Session>> {
        secrets::session(&self.client().await?, hash, self.clock.now()).await.map_err(said)
    }

    async fn close_session(&self, hash: SecretHash) -> Result<()> {
        let closed = self.client().await?.execute(sql!("access/drop_session"), &[&hash.0.as_slice()]).await;
        closed.map(|_| ()).map_err(|error| broken(&error))
    }

    async fn audit(
        &self,
        scope: &Scope,
        filter: &AuditFilter,
        below: Option<i64>,
        limit: usize,
    ) -> Result<Vec<AuditEntry>> {
        secrets::audit(&self.client().await?, scope, filter, below, limit).await.map_err(said)
    }

    async fn note(&self, act: Act) -> Result<()> {
        verb!(self, "access", |client, now| async {
            let tx = client.transaction().await?;
            audit(&tx, &act, now).await?;
            commit(tx).await
        });
        Ok(())
    }
}
