//! Tokens, sessions and the audit log.

use std::time::Duration;

use malla_access::{AuditEntry, AuditFilter, NewToken, Principal, SecretHash, Session, Token, TokenId};
use malla_queue::{Act, Error, GroupId, Result, Scope, UnixMs};
use rusqlite::{Connection, Row};

use super::access_people::{group, user, user_by_id};
use super::tx::Tx;
use super::{many, read, sql};
use crate::codes::read_role;
use crate::listing::Builder;

/// The secret is with the caller only, so a repeat under the same key cannot be answered.
pub(super) fn create_token(tx: &mut Tx<'_>, new: &NewToken, act: &Act) -> Result<Token> {
    if tx.first_answer(act.once.as_ref())?.is_some() {
        return Err(Error::ShownOnce);
    }
    if find_token(tx.conn, &new.name)?.is_some() {
        return Err(Error::Taken(format!("a token named {} exists already", new.name)));
    }
    let owner = new.group.as_ref().map(|name| group(tx.conn, &Scope::All, name)).transpose()?.map(|group| group.id);
    let expires_at = new.expires_at.map(|at| at.0);
    let row = (&new.name, new.hash.0, new.role.name(), owner.map(|id| id.0), &act.actor, tx.now.0, expires_at);
    tx.run(sql!("access/add_token"), row)?;
    tx.audit(&Act { group: owner, ..act.clone() })?;
    tx.keep_answer(act.once.as_ref(), None)?;
    let (token, _) = find_token(tx.conn, &new.name)?.ok_or_else(|| Error::Internal("the token vanished".into()))?;
    Ok(token)
}

pub(super) fn delete_token(tx: &mut Tx<'_>, scope: &Scope, name: &str) -> Result<()> {
    let (token, _) = find_token(tx.conn, name)?
        .filter(|(_, owner)| scope.sees(*owner))
        .ok_or_else(|| Error::NotFound(format!("token {name}")))?;
    tx.run(sql!("access/drop_token"), (token.id.0,))?;
    Ok(())
}

pub(super) fn tokens(conn: &Connection, scope: &Scope, after: &str, limit: usize) -> Result<Vec<Token>> {
    let mut found = Vec::new();
    let mut after = after.to_owned();
    while found.len() < limit {
        let page = many(conn, sql!("access/tokens"), (&after, limit), read_token)?;
        let Some((last, _)) = page.last() else { break };
        after.clone_from(&last.name);
        let end = page.len() < limit;
        let mine = page.into_iter().filter(|(_, owner)| scope.sees(*owner)).map(|(token, _)| token);
        found.extend(mine.take(limit - found.len()));
        if end {
            break;
        }
    }
    Ok(found)
}

fn find_token(conn: &Connection, name: &str) -> Result<Option<(Token, Option<GroupId>)>> {
    Ok(many(conn, sql!("access/token"), (name,), read_token)?.pop())
}

fn read_token(row: &Row<'_>) -> rusqlite::Result<(Token, Option<GroupId>)> {
    let token = Token {
        id: TokenId(row.get(0)?),
        name: row.get(1)?,
        role: read_role(&row.get::<_, String>(2)?),
        group: row.get(3)?,
        created_by: row.get(4)?,
        created_at: UnixMs(row.get(5)?),
        expires_at: row.get::<_, Option<i64>>(6)?.map(UnixMs),
        last_used_at: row.get::<_, Option<i64>>(7)?.map(UnixMs),
    };
    Ok((token, row.get::<_, Option<i64>>(8)?.map(GroupId)))
}

pub(super) struct KnownToken {
    pub(super) id: i64,
    pub(super) last_used_at: Option<UnixMs>,
    pub(super) principal: Principal,
}

pub(super) fn token_by_hash(conn: &Connection, hash: SecretHash, now: UnixMs) -> Result<Option<KnownToken>> {
    let found = many(conn, sql!("access/token_by_hash"), (hash.0,), |row| {
        let name: String = row.get(1)?;
        let expires_at: Option<i64> = row.get(4)?;
        let group: Option<i64> = row.get(3)?;
        let known = KnownToken {
            id: row.get(0)?,
            last_used_at: row.get::<_, Option<i64>>(5)?.map(UnixMs),
            principal: Principal {
                actor: format!("token:{name}"),
                role: read_role(&row.get::<_, String>(2)?),
                groups: group.map(GroupId).into_iter().collect(),
            },
        };
        Ok((known, expires_at, SecretHash(row.get(6)?)))
    })?;
    let valid =
        found.into_iter().find(|(_, expires_at, stored)| *stored == hash && expires_at.is_none_or(|at| at > now.0));
    Ok(valid.map(|(known, ..)| known))
}

pub(super) fn open_session(
    tx: &mut Tx<'_>,
    name: &str,
    hash: SecretHash,
    csrf: &str,
    lasts: Duration,
) -> Result<Session> {
    let found = user(tx.conn, name)?;
    let expires_at = tx.now.plus(lasts);
    tx.run(sql!("access/add_session"), (hash.0, found.id.0, csrf, expires_at.0))?;
    tx.audit(&Act::new(format!("user:{name}"), "session.open", name))?;
    session(tx.conn, hash, tx.now)?.ok_or_else(|| Error::NotFound(format!("user {name}")))
}

pub(super) fn session(conn: &Connection, hash: SecretHash, now: UnixMs) -> Result<Option<Session>> {
    let found = many(conn, sql!("access/session"), (hash.0, now.0), |row| {
        Ok((SecretHash(row.get(0)?), row.get::<_, String>(1)?, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?))
    })?;
    let Some((_, csrf, expires_at, id)) = found.into_iter().find(|(stored, ..)| *stored == hash) else {
        return Ok(None);
    };
    let Some((user, groups)) = user_by_id(conn, id)? else { return Ok(None) };
    let principal = Principal { actor: format!("user:{}", user.name), role: user.role, groups };
    Ok(Some(Session { user, principal, csrf, expires_at: UnixMs(expires_at) }))
}

pub(super) fn audit(
    conn: &Connection,
    scope: &Scope,
    filter: &AuditFilter,
    below: Option<i64>,
    limit: usize,
) -> Result<Vec<AuditEntry>> {
    let statement = Builder::new('?').audit(scope, filter, below, limit);
    read::query(conn, statement, |row| {
        let detail: String = row.get(6)?;
        Ok(AuditEntry {
            id: row.get(0)?,
            at: UnixMs(row.get(1)?),
            actor: row.get(2)?,
            action: row.get(3)?,
            object: row.get(4)?,
            group: row.get::<_, Option<i64>>(5)?.map(GroupId),
            detail: serde_json::from_str(&detail).unwrap_or_default(),
        })
    })
}
