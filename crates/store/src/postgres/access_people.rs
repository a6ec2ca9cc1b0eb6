//! Users and groups.

use deadpool_postgres::{GenericClient, Transaction};
use malla_access::{Group, NewUser, User, UserChange, UserId};
use malla_queue::{Error, GroupId, Scope, UnixMs};
use tokio_postgres::Row;

use super::pool::Broken;
use super::sql;
use crate::codes::read_role;

pub(super) async fn create_user(tx: &Transaction<'_>, new: &NewUser, now: UnixMs) -> Result<User, Broken> {
    if tx.query_opt(sql!("access/user"), &[&new.name]).await?.is_some() {
        return Err(Error::Taken(format!("a user named {} exists already", new.name)).into());
    }
    let row = tx.query_one(sql!("access/add_user"), &[&new.name, &new.role.name(), &new.password_hash, &now.0]).await?;
    set_groups(tx, row.get(0), &new.groups).await?;
    user(tx, &new.name).await
}

pub(super) async fn change_user(tx: &Transaction<'_>, name: &str, change: &UserChange) -> Result<User, Broken> {
    one_at_a_time(tx).await?;
    let found = user(tx, name).await?;
    let role = change.role.unwrap_or(found.role);
    let disabled = change.disabled.unwrap_or(found.disabled);
    tx.execute(sql!("access/change_user"), &[&found.id.0, &role.name(), &disabled, &change.password_hash]).await?;
    if let Some(groups) = &change.groups {
        tx.execute(sql!("access/drop_members_of_user"), &[&found.id.0]).await?;
        set_groups(tx, found.id.0, groups).await?;
    }
    if change.role.is_some() || change.disabled == Some(true) || change.password_hash.is_some() {
        tx.execute(sql!("access/drop_sessions"), &[&found.id.0]).await?;
    }
    an_admin_is_left(tx).await?;
    user(tx, name).await
}

pub(super) async fn delete_user(tx: &Transaction<'_>, name: &str) -> Result<(), Broken> {
    one_at_a_time(tx).await?;
    let found = user(tx, name).await?;
    tx.execute(sql!("access/drop_user"), &[&found.id.0]).await?;
    an_admin_is_left(tx).await
}

/// Two admins who demote each other at the same moment must not both succeed.
async fn one_at_a_time(tx: &Transaction<'_>) -> Result<(), Broken> {
    Ok(tx.batch_execute("LOCK TABLE usr IN SHARE ROW EXCLUSIVE MODE").await?)
}

async fn an_admin_is_left(tx: &Transaction<'_>) -> Result<(), Broken> {
    let admins: i64 = tx.query_one(sql!("access/admins"), &[]).await?.get(0);
    if admins == 0 {
        return Err(Error::Taken("this is the last admin who can log in: make another one first".into()).into());
    }
    Ok(())
}

async fn set_groups(tx: &Transaction<'_>, user: i64, groups: &[String]) -> Result<(), Broken> {
    for name in groups {
        let group = group(tx, &Scope::All, name).await?;
        tx.execute(sql!("access/add_member"), &[&user, &group.id.0]).await?;
    }
    Ok(())
}

pub(super) async fn user(client: &impl GenericClient, name: &str) -> Result<User, Broken> {
    let row = client.query_opt(sql!("access/user"), &[&name]).await?;
    let row = row.ok_or_else(|| Error::NotFound(format!("user {name}")))?;
    Ok(with_groups(client, &row).await?.0)
}

/// The user with the numbers of its groups.
pub(super) async fn user_by_id(client: &impl GenericClient, id: i64) -> Result<Option<(User, Vec<GroupId>)>, Broken> {
    match client.query_opt(sql!("access/user_by_id"), &[&id]).await? {
        Some(row) => Ok(Some(with_groups(client, &row).await?)),
        None => Ok(None),
    }
}

pub(super) async fn users(client: &impl GenericClient, after: &str, limit: usize) -> Result<Vec<User>, Broken> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut users = Vec::new();
    for row in &client.query(sql!("access/users"), &[&after, &limit]).await? {
        users.push(with_groups(client, row).await?.0);
    }
    Ok(users)
}

async fn with_groups(client: &impl GenericClient, row: &Row) -> Result<(User, Vec<GroupId>), Broken> {
    let id: i64 = row.get(0);
    let groups = client.query(sql!("access/groups_of_user"), &[&id]).await?;
    let user = User {
        id: UserId(id),
        name: row.get(1),
        role: read_role(row.get(2)),
        disabled: row.get(3),
        groups: groups.iter().map(|group| group.get(1)).collect(),
        created_at: UnixMs(row.get(4)),
    };
    Ok((user, groups.iter().map(|group| GroupId(group.get(0))).collect()))
}

pub(super) async fn create_group(tx: &Transaction<'_>, name: &str, now: UnixMs) -> Result<Group, Broken> {
    if tx.query_opt(sql!("access/group"), &[&name]).await?.is_some() {
        return Err(Error::Taken(format!("a group named {name} exists already")).into());
    }
    tx.query_one(sql!("access/add_group"), &[&name, &now.0]).await?;
    group(tx, &Scope::All, name).await
}

pub(super) async fn delete_group(tx: &Transaction<'_>, name: &str) -> Result<(), Broken> {
    let found = group(tx, &Scope::All, name).await?;
    let owns: Option<String> = tx.query_one(sql!("access/group_owns"), &[&found.id.0]).await?.get(0);
    if let Some(things) = owns {
        return Err(Error::Taken(format!("group {name} still has {things}: delete these first")).into());
    }
    tx.execute(sql!("access/drop_group"), &[&found.id.0]).await?;
    Ok(())
}

pub(super) async fn set_member(
    tx: &Transaction<'_>,
    group_name: &str,
    user_name: &str,
    member: bool,
) -> Result<Group, Broken> {
    let found = group(tx, &Scope::All, group_name).await?;
    let user = user(tx, user_name).await?;
    let verb = if member { sql!("access/add_member") } else { sql!("access/drop_member") };
    tx.execute(verb, &[&user.id.0, &found.id.0]).await?;
    group(tx, &Scope::All, group_name).await
}

pub(super) async fn group(client: &impl GenericClient, scope: &Scope, name: &str) -> Result<Group, Broken> {
    let row = client.query_opt(sql!("access/group"), &[&name]).await?;
    let row = row.filter(|row| scope.sees(Some(GroupId(row.get(0)))));
    let row = row.ok_or_else(|| Error::NotFound(format!("group {name}")))?;
    with_members(client, &row).await
}

pub(super) async fn groups(
    client: &impl GenericClient,
    scope: &Scope,
    after: &str,
    limit: usize,
) -> Result<Vec<Group>, Broken> {
    let most = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut found = Vec::new();
    let mut after = after.to_owned();
    // A caller with few groups among many: read on until the page is full or the list ends.
    while found.len() < limit {
        let page = client.query(sql!("access/groups"), &[&after, &most]).await?;
        let Some(last) = page.last() else { break };
        after = last.get(1);
        for row in page.iter().filter(|row| scope.sees(Some(GroupId(row.get(0))))).take(limit - found.len()) {
            found.push(with_members(client, row).await?);
        }
        if page.len() < limit {
            break;
        }
    }
    Ok(found)
}

async fn with_members(client: &impl GenericClient, row: &Row) -> Result<Group, Broken> {
    let id: i64 = row.get(0);
    let members = client.query(sql!("access/members"), &[&id]).await?;
    Ok(Group {
        id: GroupId(id),
        name: row.get(1),
        members: members.iter().map(|member| member.get(0)).collect(),
        created_at: UnixMs(row.get(2)),
    })
}
