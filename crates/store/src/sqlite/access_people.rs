//! Users and groups.

use malla_access::{Group, NewUser, User, UserChange, UserId};
use malla_queue::{Error, GroupId, Result, Scope, UnixMs};
use rusqlite::{Connection, Row};

use super::tx::Tx;
use super::{many, sql};
use crate::codes::read_role;

pub(super) fn create_user(tx: &mut Tx<'_>, new: &NewUser) -> Result<User> {
    if find_user(tx.conn, &new.name)?.is_some() {
        return Err(Error::Taken(format!("a user named {} exists already", new.name)));
    }
    let row = (&new.name, new.role.name(), &new.password_hash, tx.now.0);
    tx.run(sql!("access/add_user"), row)?;
    let id = tx.conn.last_insert_rowid();
    set_groups(tx, id, &new.groups)?;
    user(tx.conn, &new.name)
}

pub(super) fn change_user(tx: &mut Tx<'_>, name: &str, change: &UserChange) -> Result<User> {
    let found = user(tx.conn, name)?;
    let role = change.role.unwrap_or(found.role);
    let disabled = change.disabled.unwrap_or(found.disabled);
    tx.run(sql!("access/change_user"), (found.id.0, role.name(), disabled, &change.password_hash))?;
    if let Some(groups) = &change.groups {
        tx.run(sql!("access/drop_members_of_user"), (found.id.0,))?;
        set_groups(tx, found.id.0, groups)?;
    }
    if change.role.is_some() || change.disabled == Some(true) || change.password_hash.is_some() {
        tx.run(sql!("access/drop_sessions"), (found.id.0,))?;
    }
    an_admin_is_left(tx)?;
    user(tx.conn, name)
}

pub(super) fn delete_user(tx: &mut Tx<'_>, name: &str) -> Result<()> {
    let found = user(tx.conn, name)?;
    tx.run(sql!("access/drop_user"), (found.id.0,))?;
    an_admin_is_left(tx)
}

fn an_admin_is_left(tx: &Tx<'_>) -> Result<()> {
    let admins: Option<i64> = tx.one(sql!("access/admins"), (), |row| row.get(0))?;
    if admins.unwrap_or(0) == 0 {
        return Err(Error::Taken("this is the last admin who can log in: make another one first".into()));
    }
    Ok(())
}

fn set_groups(tx: &Tx<'_>, user: i64, groups: &[String]) -> Result<()> {
    for name in groups {
        let group = group(tx.conn, &Scope::All, name)?;
        tx.run(sql!("access/add_member"), (user, group.id.0))?;
    }
    Ok(())
}

pub(super) fn user(conn: &Connection, name: &str) -> Result<User> {
    find_user(conn, name)?.ok_or_else(|| Error::NotFound(format!("user {name}")))
}

fn find_user(conn: &Connection, name: &str) -> Result<Option<User>> {
    many(conn, sql!("access/user"), (name,), read_user)?.pop().map(|user| with_groups(conn, user)).transpose()
}

/// The user with the numbers of its groups.
pub(super) fn user_by_id(conn: &Connection, id: i64) -> Result<Option<(User, Vec<GroupId>)>> {
    let Some(user) = many(conn, sql!("access/user_by_id"), (id,), read_user)?.pop() else { return Ok(None) };
    let groups = many(conn, sql!("access/groups_of_user"), (id,), |row| row.get(0).map(GroupId))?;
    Ok(Some((with_groups(conn, user)?, groups)))
}

pub(super) fn users(conn: &Connection, after: &str, limit: usize) -> Result<Vec<User>> {
    let users = many(conn, sql!("access/users"), (after, limit), read_user)?;
    users.into_iter().map(|user| with_groups(conn, user)).collect()
}

fn read_user(row: &Row<'_>) -> rusqlite::Result<User> {
    Ok(User {
        id: UserId(row.get(0)?),
        name: row.get(1)?,
        role: read_role(&row.get::<_, String>(2)?),
        disabled: row.get(3)?,
        groups: Vec::new(),
        created_at: UnixMs(row.get(4)?),
    })
}

fn with_groups(conn: &Connection, user: User) -> Result<User> {
    let groups = many(conn, sql!("access/groups_of_user"), (user.id.0,), |row| row.get(1))?;
    Ok(User { groups, ..user })
}

pub(super) fn create_group(tx: &mut Tx<'_>, name: &str) -> Result<Group> {
    if !many(tx.conn, sql!("access/group"), (name,), |_| Ok(()))?.is_empty() {
        return Err(Error::Taken(format!("a group named {name} exists already")));
    }
    tx.run(sql!("access/add_group"), (name, tx.now.0))?;
    group(tx.conn, &Scope::All, name)
}

pub(super) fn delete_group(tx: &mut Tx<'_>, name: &str) -> Result<()> {
    let found = group(tx.conn, &Scope::All, name)?;
    let owns: Option<String> = tx.one(sql!("access/group_owns"), (found.id.0,), |row| row.get(0))?.flatten();
    if let Some(things) = owns {
        return Err(Error::Taken(format!("group {name} still has {things}: delete these first")));
    }
    tx.run(sql!("access/drop_group"), (found.id.0,))?;
    Ok(())
}

pub(super) fn set_member(tx: &mut Tx<'_>, group_name: &str, user_name: &str, member: bool) -> Result<Group> {
    let found = group(tx.conn, &Scope::All, group_name)?;
    let user = user(tx.conn, user_name)?;
    let verb = if member { sql!("access/add_member") } else { sql!("access/drop_member") };
    tx.run(verb, (user.id.0, found.id.0))?;
    group(tx.conn, &Scope::All, group_name)
}

pub(super) fn group(conn: &Connection, scope: &Scope, name: &str) -> Result<Group> {
    many(conn, sql!("access/group"), (name,), read_group)?
        .pop()
        .filter(|group| scope.sees(Some(group.id)))
        .map(|group| with_members(conn, group))
        .transpose()?
        .ok_or_else(|| Error::NotFound(format!("group {name}")))
}

pub(super) fn groups(conn: &Connection, scope: &Scope, after: &str, limit: usize) -> Result<Vec<Group>> {
    let mut found = Vec::new();
    let mut after = after.to_owned();
    // A caller with few groups among many: read on until the page is full or the list ends.
    while found.len() < limit {
        let page = many(conn, sql!("access/groups"), (&after, limit), read_group)?;
        let Some(last) = page.last() else { break };
        after.clone_from(&last.name);
        let end = page.len() < limit;
        let mine = page.into_iter().filter(|group| scope.sees(Some(group.id))).take(limit - found.len());
        for group in mine {
            found.push(with_members(conn, group)?);
        }
        if end {
            break;
        }
    }
    Ok(found)
}

fn read_group(row: &Row<'_>) -> rusqlite::Result<Group> {
    let created_at = UnixMs(row.get(2)?);
    Ok(Group { id: GroupId(row.get(0)?), name: row.get(1)?, members: Vec::new(), created_at })
}

fn with_members(conn: &Connection, group: Group) -> Result<Group> {
    let members = many(conn, sql!("access/members"), (group.id.0,), |row| row.get(0))?;
    Ok(Group { members, ..group })
}
