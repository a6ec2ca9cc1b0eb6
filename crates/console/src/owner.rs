//! Which group a person's new things belong to.

use malla_access::Permission;
use malla_queue::{Error, GroupId};
use maud::{Markup, html};

use crate::caller::Person;
use crate::form::{Form, Trouble, Wrong};
use crate::params::Params;
use crate::refusal::Refusal;
use crate::{Console, parts};

/// More groups than these are typed instead of chosen.
const GROUPS_MAX: usize = 50;

/// The field, with the groups this person has. `none` is what an admin chooses for no group.
pub(crate) async fn field(console: &Console, person: &Person, form: &Form<'_>, none: &str) -> Result<Markup, Refusal> {
    let groups = console.access.groups(&person.principal.scope(), None, GROUPS_MAX + 1).await?;
    let typed = form.typed.typed("group");
    let control = if groups.len() > GROUPS_MAX {
        html! { input name="group" value=(typed) autocapitalize="none" spellcheck="false"; }
    } else {
        let nobody = person.may(Permission::Administer).then_some(("", none));
        let names = groups.iter().map(|group| (group.name.as_str(), group.name.as_str()));
        parts::select("group", &nobody.into_iter().chain(names).collect::<Vec<_>>(), typed)
    };
    Ok(parts::field(t!("Group"), t!("Its members see it."), form.error("group"), control))
}

/// The group that was named; else the person's only one; else none, which only an admin may.
pub(crate) async fn read(console: &Console, person: &Person, fields: &Params) -> Result<Option<GroupId>, Trouble> {
    let principal = &person.principal;
    if let Some(name) = fields.get("group") {
        return match console.access.group(&principal.scope(), name).await {
            Ok(group) => Ok(Some(group.id)),
            Err(Error::NotFound(_)) => {
                Err(Wrong::at("group", say!("There is no group \"{name}\" for you.", name)).into())
            }
            Err(error) => Err(error.into()),
        };
    }
    match *principal.groups {
        _ if person.may(Permission::Administer) => Ok(None),
        [only] => Ok(Some(only)),
        [] => {
            Err(Wrong::at("group", t!("You are in no group that could own this: ask an admin to add you to one."))
                .into())
        }
        _ => Err(Wrong::at("group", t!("Choose the group that shall own this.")).into()),
    }
}
