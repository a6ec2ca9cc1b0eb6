//! Tokens, sessions and the audit log.

use std::time::Duration;

use deadpool_postgres::{GenericClient, Object, Transaction};
use malla_access::{AuditEntry, AuditFilter, NewToken, Principal, SecretHash, Session, Token, TokenId};
use malla_queue::{Act, Error, GroupId, Scope, UnixMs};
use tokio_postgres::Row;

use super::access_people::{group, user, user_by_id};
use super::commit::commit;
use super::perform::{Key, audit as write_audit, claim, settle_with};
use super::pool::Broken;
use super::{read, sql};
use crate::codes::read_role;
use crate::listing::Builder;

/// The secret is with the caller only, so a repeat under the same key cannot be answered.
pub(super) async fn create_token(client: &mut Object, new: &NewToken, act: &Act, now: UnixMs) -> Result<Token, Broken> {
    let tx = client.transaction().await?;
    if let Key::Used(_) = claim(&tx, act, now).await? {
        return Err(Error::ShownOnce.into());
    }
    if find_token(&tx, &new.name).await?.is_some() {
        return Err(Error::Taken(format!("a token named {} exists already", new.name)).into());
    }
    let owner = match &new.group {
        Some(name) => Some(group(&tx, &Scope::All, name).await?.id),
        None => None,
    };
    let (hash, expires_at) = (new.hash.0.as_slice(), new.expires_at.map(|at| at.0));
    let owner_id = owner.map(|id| id.0);
    let row: [&(dyn tokio_postgres::types::ToSql + Sync); 7] =
        [&new.name, &hash, &new.role.name(), &owner_id, &act.actor, &now.0, &expires_at];
    tx.execute(sql!("access/add_token"), &row).await?;
    let (token, _) = find_token(&tx, &new.name).await?.ok_or_else(|| Error::Internal("the token vanished".into()))?;
    settle_with(tx, &Act { group: owner, ..act.clone() }, now, "access", None).await?;
    Ok(token)
}

pub(super) async fn delete_token(tx: &Transaction<'_>, scope: &Scope, name: &str) -> Result<(), Broken> {
    let found = find_token(tx, name).await?.filter(|(_, owner)| scope.sees(*owner));
    let (token, _) = found.ok_or_else(|| Error::NotFound(format!("token {name}")))?;
    tx.execute(sql!("access/drop_token"), &[&token.id.0]).await?;
    Ok(())
}

pub(super) async fn tokens(
    client: &impl GenericClient,
    scope: &Scope,
    after: &str,
    limit: usize,
) -> Result<Vec<Token>, Broken> {
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut found = Vec::new();
    let mut after = after.to_owned();
    while found.len() < limit {
        let page = client.query(sql!("access/tokens"), &[&after, &most]).await?;
        let Some(last) = page.last() else { break };
        after = last.get(1);
        let mine = page.iter().map(read_token).filter(|(_, owner)| scope.sees(*owner)).map(|(token, _)| token);
        found.extend(mine.take(limit - found.len()));
        if page.len() < limit {
            break;
        }
    }
    Ok(found)
}

async fn find_token(client: &impl GenericClient, name: &str) -> Result<Option<(Token, Option<GroupId>)>, Broken> {
    Ok(client.query_opt(sql!("access/token"), &[&name]).await?.as_ref().map(read_token))
}

fn read_token(row: &Row) -> (Token, Option<GroupId>) {
    let token = Token {
        id: TokenId(row.get(0)),
        name: row.get(1),
        role: read_role(row.get(2)),
        group: row.get(3),
        created_by: row.get(4),
        created_at: UnixMs(row.get(5)),
        expires_at: row.get::<_, Option<i64>>(6).map(UnixMs),
        last_used_at: row.get::<_, Option<i64>>(7).map(UnixMs),
    };
    (token, row.get::<_, Option<i64>>(8).map(GroupId))
}

pub(super) struct KnownToken {
    pub(super) id: i64,
    pub(super) last_used_at: Option<UnixMs>,
    pub(super) principal: Principal,
}

pub(super) async fn token_by_hash(
    client: &impl GenericClient,
    hash: SecretHash,
    now: UnixMs,
) -> Result<Option<KnownToken>, Broken> {
    let statement = client.prepare_cached(sql!("access/token_by_hash")).await?;
    let row = client.query_opt(&statement, &[&hash.0.as_slice()]).await?;
    let valid = row.filter(|row| {
        stored_hash(row.get(6)) == Some(hash) && row.get::<_, Option<i64>>(4).is_none_or(|at| at > now.0)
    });
    Ok(valid.map(|row| KnownToken {
        id: row.get(0),
        last_used_at: row.get::<_, Option<i64>>(5).map(UnixMs),
        principal: Principal {
            actor: format!("token:{}", row.get::<_, &str>(1)),
            role: read_role(row.get(2)),
            groups: row.get::<_, Option<i64>>(3).map(GroupId).into_iter().collect(),
        },
    }))
}

fn stored_hash(bytes: &[u8]) -> Option<SecretHash> {
    bytes.try_into().ok().map(SecretHash)
}

pub(super) async fn open_session(
    client: &mut Object,
    name: &str,
    hash: SecretHash,
    csrf: &str,
    lasts: Duration,
    now: UnixMs,
) -> Result<Session, Broken> {
    let tx = client.transaction().await?;
    let found = user(&tx, name).await?;
    let (key, expires_at) = (hash.0.as_slice(), now.plus(lasts).0);
    tx.execute(sql!("access/add_session"), &[&key, &found.id.0, &csrf, &expires_at]).await?;
    write_audit(&tx, &Act::new(format!("user:{name}"), "session.open", name), now).await?;
    let opened = session(&tx, hash, now).await?.ok_or_else(|| Error::NotFound(format!("user {name}")))?;
    commit(tx).await?;
    Ok(opened)
}

pub(super) async fn session(
    client: &impl GenericClient,
    hash: SecretHash,
    now: UnixMs,
) -> Result<Option<Session>, Broken> {
    let statement = client.prepare_cached(sql!("access/session")).await?;
    let row = client.query_opt(&statement, &[&hash.0.as_slice(), &now.0]).await?;
    let Some(row) = row.filter(|row| stored_hash(row.get(0)) == Some(hash)) else { return Ok(None) };
    let Some((user, groups)) = user_by_id(client, row.get(3)).await? else { return Ok(None) };
    let principal = Principal { actor: format!("user:{}", user.name), role: user.role, groups };
    Ok(Some(Session { user, principal, csrf: row.get(1), expires_at: UnixMs(row.get(2)) }))
}

pub(super) async fn audit(
    client: &impl GenericClient,
    scope: &Scope,
    filter: &AuditFilter,
    below: Option<i64>,
    limit: usize,
) -> Result<Vec<AuditEntry>, Broken> {
    let rows = read::query(client, &Builder::new('$').audit(scope, filter, below, limit)).await?;
    let entry = |row: &Row| AuditEntry {
        id: row.get(0),
        at: UnixMs(row.get(1)),
        actor: row.get(2),
        action: row.get(3),
        object: row.get(4),
        group: row.get::<_, Option<i64>>(5).map(GroupId),
        detail: serde_json::from_str(row.get(6)).unwrap_or_default(),
    };
    Ok(rows.iter().map(entry).collect())
}
