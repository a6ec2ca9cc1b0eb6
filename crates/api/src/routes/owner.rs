//! Which group a caller's new things belong to.

use malla_access::{Principal, Role};
use malla_queue::GroupId;

use crate::App;
use crate::problem::Refusal;
use crate::view::GroupNames;

#[derive(Debug, Clone)]
pub(super) struct Owner {
    pub(super) id: GroupId,
    pub(super) name: String,
}

/// The group that was named, if the caller has it; else its only one; else none, which only an admin may.
pub(super) async fn owner(app: &App, who: &Principal, named: Option<&str>) -> Result<Option<Owner>, Refusal> {
    if let Some(name) = named {
        let group = app.access.group(&who.scope(), name).await?;
        return Ok(Some(Owner { id: group.id, name: group.name }));
    }
    if let [id] = *who.groups {
        let names = GroupNames::of(app, [Some(id)]).await?;
        return Ok(names.sorted().pop().map(|name| Owner { id, name }));
    }
    match (who.role, who.groups.len()) {
        (Role::Admin, _) => Ok(None),
        (_, 0) => Err(Refusal::invalid("you belong to no group that could own this: ask an admin to add you to one")),
        (_, count) => Err(Refusal::invalid(format!("you belong to {count} groups: name the one that shall own this"))),
    }
}
