//! Groups and their members. For admins.

use std::collections::HashMap;

use axum::extract::{Path, State as Shared};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use malla_access::{Group, check_name};
use malla_queue::{Act, Error, GroupId, Scope, UnixMs};
use maud::{Markup, html};

use crate::caller::{Notice, Person};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::{Refusal, mendable};
use crate::visitor::{Administer, Posted, Visitor, go};
use crate::{Console, export, parts, words};

const ROWS: usize = 100;
/// Members named in the list; the group's own page has them all.
const MEMBERS_SHOWN: usize = 6;

/// The names of these groups.
pub(crate) async fn names(
    console: &Console,
    groups: impl Iterator<Item = Option<GroupId>>,
) -> Result<HashMap<GroupId, String>, Refusal> {
    let mut ids: Vec<GroupId> = groups.flatten().collect();
    ids.sort_unstable();
    ids.dedup();
    Ok(if ids.is_empty() { HashMap::new() } else { console.access.group_names(&ids).await? })
}

/// The group of this name, if it is one of theirs.
pub(crate) async fn named(console: &Console, scope: &Scope, name: &str) -> Result<GroupId, Refusal> {
    match console.access.group(scope, name).await {
        Ok(group) => Ok(group.id),
        Err(Error::NotFound(_)) => Err(Refusal::bad(say!("there is no group \"{name}\" for you", name))),
        Err(other) => Err(other.into()),
    }
}

fn path(name: &str) -> String {
    format!("/groups/{name}")
}

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<Administer>,
    params: Params,
) -> Result<Page, Refusal> {
    list(&console, &visitor, &params, "", None).await
}

async fn list(
    console: &Console,
    person: &Person,
    params: &Params,
    typed: &str,
    error: Option<&str>,
) -> Result<Page, Refusal> {
    let mut groups = console.access.groups(&Scope::All, params.get("cursor"), ROWS + 1).await?;
    let more = groups.len() > ROWS;
    groups.truncate(ROWS);
    let next = groups.last().filter(|_| more).map(|group| group.name.clone());
    Ok(Page::new("/groups", t!("Groups"))
        .csv("/groups.csv".to_owned())
        .api(person, "/api/v1/groups")
        .still(rows(console.now(), &groups))
        .still(parts::pager("/groups", &params.only(&["cursor"]), next, (t!("First"), t!("Further"))))
        .still(html! {
            section.card {
                div.card-head { h2 { (t!("New group")) } }
                (parts::error_line(error))
                form.fields method="post" action="/groups" {
                    (parts::form_secret(person))
                    (parts::field(t!("Name"), t!("Letters, digits and - _ . @"), None, html! {
                        input name="name" value=(typed) maxlength="64" autocapitalize="none" spellcheck="false"
                            autocomplete="off" required;
                    }))
                    div.buttons { button.primary { (t!("Create group")) } }
                }
            }
        }))
}

pub(crate) async fn csv(Shared(console): Shared<Console>, _: Visitor<Administer>) -> Response {
    export::csv("groups", &["group", "members", "created_at"], move |after: Option<String>, most| {
        let console = console.clone();
        async move {
            let groups = console.access.groups(&Scope::All, after.as_deref(), most).await?;
            let next = groups.last().map(|group| group.name.clone()).filter(|_| groups.len() == most);
            Ok((groups.iter().map(cells).collect(), next))
        }
    })
}

fn cells(group: &Group) -> Vec<String> {
    vec![group.name.clone(), group.members.join(" "), export::moment(Some(group.created_at))]
}

fn rows(now: UnixMs, groups: &[Group]) -> Markup {
    if groups.is_empty() {
        return parts::empty(
            t!("There are no groups yet. A group owns lanes, tasks and tokens; its members see them."),
            None,
        );
    }
    html! {
        section.card {
            table.rows {
                thead { tr { th { (t!("Group")) } th { (t!("Members")) } th { (t!("Created")) } } }
                tbody { @for group in groups { tr {
                    td data-label=(t!("Group")) { a href=(path(&group.name)) { (group.name) } }
                    td data-label=(t!("Members")) { (some_members(&group.members)) }
                    td data-label=(t!("Created")) { (words::time(now, group.created_at)) }
                } } }
            }
        }
    }
}

fn some_members(members: &[String]) -> Markup {
    let shown = &members[..members.len().min(MEMBERS_SHOWN)];
    html! {
        @if members.is_empty() { span.quiet { (t!("nobody")) } } @else { (shown.join(", ")) }
        @if members.len() > shown.len() { span.quiet { " " (rich!("and {} more", members.len() - shown.len())) } }
    }
}

pub(crate) async fn create(Shared(console): Shared<Console>, posted: Posted<Administer>) -> Result<Response, Refusal> {
    let name = posted.fields.typed("name");
    let act = Act::new(&posted.visitor.principal.actor, "group.create", name);
    let made = match check_name("group", name) {
        Ok(()) => console.access.create_group(name, act).await,
        Err(error) => Err(error),
    };
    match made {
        Ok(group) => Ok(go(&console, &path(&group.name), Notice::good(say!("Group {} is created.", group.name)))),
        Err(error) => {
            let why = mendable(error)?;
            let page = list(&console, &posted.visitor, &Params::default(), name, Some(&why)).await?;
            Ok(page.status(StatusCode::UNPROCESSABLE_ENTITY).into_response())
        }
    }
}

pub(crate) async fn show_one(
    Shared(console): Shared<Console>,
    Path(name): Path<String>,
    visitor: Visitor<Administer>,
) -> Result<Page, Refusal> {
    let group = console.access.group(&Scope::All, &name).await?;
    let tasks = Params::from([("group", group.name.as_str())]).link("/tasks");
    let warning = t!("A group can go when it owns no lanes, tasks or tokens any more.");
    Ok(Page::new("/groups", group.name.clone())
        .up("/groups", t!("Groups"))
        .lead(html! { (rich!("Created {} ·", words::time(console.now(), group.created_at))) " " a href=(tasks) { (t!("its tasks")) } })
        .still(members(&visitor, &group))
        .still(parts::delete_form(&visitor, &format!("{}/delete", path(&group.name)), &group.name, warning)))
}

fn members(person: &Person, group: &Group) -> Markup {
    let action = format!("{}/members", path(&group.name));
    html! {
        section.card {
            div.card-head { h2 { (t!("Members")) } }
            @if group.members.is_empty() { p.quiet.pad { (t!("Nobody yet.")) } }
            table.rows { tbody { @for member in &group.members { tr {
                td data-label=(t!("User")) { a href={ "/users/" (member) } { (member) } }
                td.end {
                    form.actions method="post" action=(action) {
                        (parts::form_secret(person))
                        input type="hidden" name="user" value=(member);
                        button.small name="member" value="no" { (t!("Remove")) }
                    }
                }
            } } } }
            form.fields method="post" action=(action) {
                (parts::form_secret(person))
                (parts::field(t!("Add a user"), "", None, html! {
                    input name="user" maxlength="64" autocapitalize="none" spellcheck="false" required;
                }))
                div.buttons { button name="member" value="yes" { (t!("Add")) } }
            }
        }
    }
}

pub(crate) async fn set_member(
    Shared(console): Shared<Console>,
    Path(name): Path<String>,
    posted: Posted<Administer>,
) -> Result<Response, Refusal> {
    let (user, member) = (posted.fields.typed("user"), posted.fields.typed("member") == "yes");
    let action = if member { "group.add" } else { "group.remove" };
    let detail = serde_json::json!({ "user": user });
    let act = Act { detail, ..Act::new(&posted.visitor.principal.actor, action, &name) };
    let notice = match console.access.set_member(&name, user, member, act).await {
        Ok(group) if member => Notice::good(say!("{user} is in {} now.", user, group.name)),
        Ok(group) => Notice::good(say!("{user} is no longer in {}.", user, group.name)),
        Err(error) => Notice::bad(mendable(error)?),
    };
    Ok(go(&console, &path(&name), notice))
}

pub(crate) async fn delete(
    Shared(console): Shared<Console>,
    Path(name): Path<String>,
    posted: Posted<Administer>,
) -> Result<Response, Refusal> {
    let act = Act::new(&posted.visitor.principal.actor, "group.delete", &name);
    match console.access.delete_group(&name, act).await {
        Ok(()) => Ok(go(&console, "/groups", Notice::good(say!("Group {name} is deleted.", name)))),
        Err(error @ Error::NotFound(_)) => Err(error.into()),
        Err(error) => Ok(go(&console, &path(&name), Notice::bad(mendable(error)?))),
    }
}
