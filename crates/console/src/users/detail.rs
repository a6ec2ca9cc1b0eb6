//! One user: what it may do, a new password, the end of it.

use axum::extract::{Path, State as Shared};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use malla_access::{User, UserChange};
use malla_queue::Act;
use maud::{Markup, html};

use super::{groups_field, make_password, password_field, path, read_groups, role_field, role_name, shown_once};
use crate::caller::{Notice, Person};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::{Refusal, mendable};
use crate::visitor::{Administer, Posted, Visitor, go};
use crate::{Console, parts, words};

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    Path(name): Path<String>,
    visitor: Visitor<Administer>,
) -> Result<Page, Refusal> {
    let user = console.access.user(&name).await?;
    Ok(page(&console, &visitor, &user, &fields_of(&user), html! {}))
}

/// The form as the user is now.
fn fields_of(user: &User) -> Params {
    let groups = user.groups.join(", ");
    let disabled = if user.disabled { "yes" } else { "" };
    Params::from([("role", user.role.name()), ("groups", &groups), ("disabled", disabled)])
}

fn page(console: &Console, person: &Person, user: &User, typed: &Params, news: Markup) -> Page {
    let warning = say!("{} will be gone at once, with all sessions. Tokens and the audit log stay.", user.name);
    Page::new("/users", user.name.clone())
        .up("/users", t!("Users"))
        .lead(html! {
            (rich!("{} created {}", role_name(user.role), words::time(console.now(), user.created_at)))
            @if user.disabled { " " span.badge.s-failed { (t!("disabled")) } }
        })
        .still(news)
        .still(html! {
            section.card {
                div.card-head { h2 { (t!("Change", "user")) } }
                form.fields method="post" action=(path(&user.name)) {
                    (parts::form_secret(person))
                    (role_field(typed.typed("role")))
                    (groups_field(typed.typed("groups")))
                    (password_field(t!("New password"), t!("Empty keeps the old one. A new one ends the user's sessions.")))
                    label.check {
                        input type="checkbox" name="disabled" value="yes" checked[typed.get("disabled").is_some()];
                        span { (t!("Disabled: cannot sign in")) } }
                    label.check { input type="checkbox" name="make" value="yes";
                        span { (t!("Make a new password and show it once")) } }
                    div.buttons { button.primary { (t!("Save")) } }
                }
            }
            (parts::delete_form(person, &format!("{}/delete", path(&user.name)), &user.name, &warning))
        })
}

pub(crate) async fn change(
    Shared(console): Shared<Console>,
    Path(name): Path<String>,
    posted: Posted<Administer>,
) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = &posted;
    let before = console.access.user(&name).await?;
    let made = if fields.get("make").is_some() { Some(make_password()?) } else { None };
    let password = made.as_deref().or(Some(fields.raw("password")).filter(|own| !own.is_empty()));
    match apply(&console, visitor, &before, fields, password).await {
        Ok(user) => Ok(match made {
            Some(password) => {
                let news = shown_once(&say!("{} has this new password.", user.name), &password);
                page(&console, visitor, &user, &fields_of(&user), news).into_response()
            }
            None => go(&console, &path(&user.name), Notice::good(say!("{} is changed.", user.name))),
        }),
        Err(error) => {
            let error = parts::error_line(Some(&mendable(error)?));
            let page = page(&console, visitor, &before, fields, error);
            Ok(page.status(StatusCode::UNPROCESSABLE_ENTITY).into_response())
        }
    }
}

/// Changes only what differs: a role set anew would end the user's sessions.
async fn apply(
    console: &Console,
    person: &Person,
    before: &User,
    fields: &Params,
    password: Option<&str>,
) -> malla_queue::Result<User> {
    let (role, groups) = (fields.typed("role").parse()?, read_groups(fields.typed("groups")));
    let disabled = fields.get("disabled").is_some();
    let change = UserChange {
        role: (role != before.role).then_some(role),
        disabled: (disabled != before.disabled).then_some(disabled),
        groups: (groups != before.groups).then_some(groups),
        password_hash: match password {
            Some(password) => Some(console.passwords.hash(password).await?),
            None => None,
        },
    };
    let detail = serde_json::json!({
        "role": change.role, "disabled": change.disabled, "groups": change.groups, "password": password.is_some(),
    });
    let act = Act { detail, ..Act::new(&person.principal.actor, "user.change", &before.name) };
    console.access.change_user(&before.name, change, act).await
}

pub(crate) async fn delete(
    Shared(console): Shared<Console>,
    Path(name): Path<String>,
    posted: Posted<Administer>,
) -> Result<Response, Refusal> {
    let act = Act::new(&posted.visitor.principal.actor, "user.delete", &name);
    match console.access.delete_user(&name, act).await {
        Ok(()) => Ok(go(&console, "/users", Notice::good(say!("{name} is deleted.", name)))),
        Err(error @ malla_queue::Error::NotFound(_)) => Err(error.into()),
        Err(error) => Ok(go(&console, &path(&name), Notice::bad(mendable(error)?))),
    }
}
