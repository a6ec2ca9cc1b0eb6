//! The list of users and the form for a new one.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::Response;
use malla_access::{NewUser, User, check_name};
use malla_queue::{Act, UnixMs};
use maud::{Markup, html};

use super::{groups_field, make_password, password_field, path, read_groups, role_field, role_name, shown_once};
use crate::caller::Person;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::{Refusal, mendable};
use crate::visitor::{Administer, Posted, Visitor};
use crate::{Console, export, parts, words};

const ROWS: usize = 100;

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<Administer>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params, html! {}, &Params::default(), None).await
}

/// The list, after what a form had to say, above the form as it was typed.
async fn page(
    console: &Console,
    person: &Person,
    params: &Params,
    news: Markup,
    typed: &Params,
    error: Option<&str>,
) -> Result<Page, Refusal> {
    let mut users = console.access.users(params.get("cursor"), ROWS + 1).await?;
    let more = users.len() > ROWS;
    users.truncate(ROWS);
    let next = users.last().filter(|_| more).map(|user| user.name.clone());
    Ok(Page::new("/users", t!("Users"))
        .csv("/users.csv".to_owned())
        .api(person, "/api/v1/users")
        .still(news)
        .still(rows(console.now(), &users))
        .still(parts::pager("/users", &params.only(&["cursor"]), next, (t!("First"), t!("Further"))))
        .still(form(person, typed, error)))
}

pub(crate) async fn csv(Shared(console): Shared<Console>, _: Visitor<Administer>) -> Response {
    export::csv("users", &["user", "role", "groups", "disabled", "created_at"], move |after: Option<String>, most| {
        let console = console.clone();
        async move {
            let users = console.access.users(after.as_deref(), most).await?;
            let next = users.last().map(|user| user.name.clone()).filter(|_| users.len() == most);
            Ok((users.iter().map(cells).collect(), next))
        }
    })
}

fn cells(user: &User) -> Vec<String> {
    vec![
        user.name.clone(),
        user.role.name().to_owned(),
        user.groups.join(" "),
        if user.disabled { "yes" } else { "no" }.to_owned(),
        export::moment(Some(user.created_at)),
    ]
}

fn rows(now: UnixMs, users: &[User]) -> Markup {
    html! {
        section.card {
            table.rows {
                thead { tr { th { (t!("User")) } th { (t!("Role")) } th { (t!("Groups")) } th { (t!("Created")) } th {} } }
                tbody { @for user in users { tr {
                    td data-label=(t!("User")) { a href=(path(&user.name)) { (user.name) } }
                    td data-label=(t!("Role")) { (role_name(user.role)) }
                    td data-label=(t!("Groups")) { (user.groups.join(", ")) }
                    td data-label=(t!("Created")) { (words::time(now, user.created_at)) }
                    td.end { @if user.disabled { span.badge.s-failed { (t!("disabled")) } } }
                } } }
            }
        }
    }
}

fn form(person: &Person, typed: &Params, error: Option<&str>) -> Markup {
    let role = typed.get("role").unwrap_or("user");
    html! {
        section.card {
            div.card-head { h2 { (t!("New user")) } }
            (parts::error_line(error))
            form.fields method="post" action="/users" {
                (parts::form_secret(person))
                (parts::field(t!("Name"), t!("Letters, digits and - _ . @"), None, html! {
                    input name="name" value=(typed.typed("name")) maxlength="64" autocapitalize="none"
                        spellcheck="false" autocomplete="off" required;
                }))
                (role_field(role))
                (groups_field(typed.typed("groups")))
                (password_field(t!("Password"), t!("Leave it empty to have one made and shown once.")))
                div.buttons { button.primary { (t!("Create user")) } }
            }
        }
    }
}

pub(crate) async fn create(Shared(console): Shared<Console>, posted: Posted<Administer>) -> Result<Page, Refusal> {
    let Posted { visitor, fields } = &posted;
    let own = fields.raw("password");
    let made = if own.is_empty() { Some(make_password()?) } else { None };
    match add(&console, visitor, fields, made.as_deref().unwrap_or(own)).await {
        Ok(user) => {
            let news = match made {
                Some(password) => shown_once(&say!("{} is created with this password.", user.name), &password),
                None => html! { p.notice.good role="status" { (rich!("{} is created.", user.name)) } },
            };
            page(&console, visitor, &Params::default(), news, &Params::default(), None).await
        }
        Err(error) => {
            let why = mendable(error)?;
            let page = page(&console, visitor, &Params::default(), html! {}, fields, Some(&why)).await?;
            Ok(page.status(StatusCode::UNPROCESSABLE_ENTITY))
        }
    }
}

async fn add(console: &Console, person: &Person, fields: &Params, password: &str) -> malla_queue::Result<User> {
    let name = fields.typed("name");
    check_name("user", name)?;
    let user = NewUser {
        name: name.to_owned(),
        role: fields.typed("role").parse()?,
        groups: read_groups(fields.typed("groups")),
        password_hash: Some(console.passwords.hash(password).await?),
    };
    let detail = serde_json::json!({ "role": user.role, "groups": user.groups });
    let act = Act { detail, ..Act::new(&person.principal.actor, "user.create", name) };
    console.access.create_user(user, act).await
}
