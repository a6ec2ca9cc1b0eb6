//! Tokens: who has which, a new one, the end of one. For admins.

use std::time::Duration;

use axum::extract::{Path, State as Shared};
use axum::http::StatusCode;
use axum::response::Response;
use malla_access::{NewToken, Secret, Token, check_name};
use malla_queue::{Act, Error, Scope, UnixMs};
use maud::{Markup, html};

use crate::caller::{Notice, Person};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::{Refusal, mendable};
use crate::tongue::Text;
use crate::visitor::{Administer, Posted, Visitor, go};
use crate::{Console, export, parts, users, words};

const ROWS: usize = 100;
const PREFIX: &str = "malla_";
const ROLES: [(&str, Text); 3] =
    [("readonly", key!("readonly")), ("user", key!("user", "role")), ("admin", key!("admin"))];
/// How long a token may last, in days.
const LIVES: [(&str, Text); 5] = [
    ("", key!("until deleted")),
    ("7", key!("7 days")),
    ("30", key!("30 days")),
    ("90", key!("90 days")),
    ("365", key!("a year")),
];
const DAY: Duration = Duration::from_secs(24 * 3600);

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<Administer>,
    params: Params,
) -> Result<Page, Refusal> {
    list(&console, &visitor, &params, html! {}, &Params::default(), None).await
}

async fn list(
    console: &Console,
    person: &Person,
    params: &Params,
    news: Markup,
    typed: &Params,
    error: Option<&str>,
) -> Result<Page, Refusal> {
    let mut tokens = console.access.tokens(&Scope::All, params.get("cursor"), ROWS + 1).await?;
    let more = tokens.len() > ROWS;
    tokens.truncate(ROWS);
    let next = tokens.last().filter(|_| more).map(|token| token.name.clone());
    Ok(Page::new("/tokens", t!("Tokens"))
        .csv("/tokens.csv".to_owned())
        .api(person, "/api/v1/tokens")
        .still(news)
        .still(rows(person, console.now(), &tokens))
        .still(parts::pager("/tokens", &params.only(&["cursor"]), next, (t!("First"), t!("Further"))))
        .still(form(person, typed, error)))
}

/// Who has which; what they are worth nobody is told.
pub(crate) async fn csv(Shared(console): Shared<Console>, _: Visitor<Administer>) -> Response {
    const COLUMNS: [&str; 7] = ["token", "role", "group", "created_at", "created_by", "last_used_at", "expires_at"];
    export::csv("tokens", &COLUMNS, move |after: Option<String>, most| {
        let console = console.clone();
        async move {
            let tokens = console.access.tokens(&Scope::All, after.as_deref(), most).await?;
            let next = tokens.last().map(|token| token.name.clone()).filter(|_| tokens.len() == most);
            Ok((tokens.iter().map(cells).collect(), next))
        }
    })
}

fn cells(token: &Token) -> Vec<String> {
    vec![
        token.name.clone(),
        token.role.name().to_owned(),
        token.group.clone().unwrap_or_default(),
        export::moment(Some(token.created_at)),
        token.created_by.clone(),
        export::moment(token.last_used_at),
        export::moment(token.expires_at),
    ]
}

fn rows(person: &Person, now: UnixMs, tokens: &[Token]) -> Markup {
    if tokens.is_empty() {
        return parts::empty(t!("There are no tokens yet. Programs use them to call the API."), None);
    }
    html! {
        section.card {
            table.rows {
                thead { tr {
                    th { (t!("Token")) } th { (t!("Role")) } th { (t!("Group")) } th { (t!("Created")) } th { (t!("By")) } th { (t!("Last used")) }
                    th { (t!("Expires")) } th {}
                } }
                tbody { @for token in tokens { tr {
                    td data-label=(t!("Token")) { (token.name) }
                    td data-label=(t!("Role")) { span.badge.role { (parts::role_name(token.role)) } }
                    td data-label=(t!("Group")) { (token.group.as_deref().unwrap_or("–")) }
                    td data-label=(t!("Created")) { (words::time(now, token.created_at)) }
                    td data-label=(t!("By")) { (token.created_by) }
                    td data-label=(t!("Last used")) { (or_never(now, token.last_used_at)) }
                    td data-label=(t!("Expires")) { (or_never(now, token.expires_at)) }
                    td.end {
                        (parts::delete_form(person, &format!("/tokens/{}/delete", token.name), &token.name,
                            t!("Programs that use it will be refused at once.")))
                    }
                } } }
            }
        }
    }
}

fn or_never(now: UnixMs, at: Option<UnixMs>) -> Markup {
    html! { @match at { Some(at) => (words::time(now, at)), None => span.quiet { (t!("never")) } } }
}

fn form(person: &Person, typed: &Params, error: Option<&str>) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { (t!("New token")) } }
            (parts::error_line(error))
            form.fields method="post" action="/tokens" {
                (parts::form_secret(person))
                (parts::field(t!("Name"), t!("What it is for: letters, digits and - _ . @"), None, html! {
                    input name="name" value=(typed.typed("name")) maxlength="64" autocapitalize="none"
                        spellcheck="false" autocomplete="off" required;
                }))
                (parts::field(t!("Role"), "", None, parts::choose("role", &ROLES, typed.get("role").unwrap_or("user"))))
                (parts::field(t!("Group"), t!("Without one it must be an admin's, or it sees nothing."), None, html! {
                    input name="group" value=(typed.typed("group")) autocapitalize="none" spellcheck="false";
                }))
                (parts::field(t!("Lasts"), "", None, parts::choose("days", &LIVES, typed.typed("days"))))
                div.buttons { button.primary { (t!("Create token")) } }
            }
        }
    }
}

pub(crate) async fn create(Shared(console): Shared<Console>, posted: Posted<Administer>) -> Result<Page, Refusal> {
    let Posted { visitor, fields } = &posted;
    let secret = Secret::random(PREFIX)?;
    let none = Params::default();
    match add(&console, visitor, fields, &secret).await {
        Ok(token) => {
            let news = users::shown_once(&say!("Token {} is created.", token.name), secret.reveal());
            list(&console, visitor, &none, news, &none, None).await
        }
        Err(error) => {
            let why = mendable(error)?;
            let page = list(&console, visitor, &none, html! {}, fields, Some(&why)).await?;
            Ok(page.status(StatusCode::UNPROCESSABLE_ENTITY))
        }
    }
}

async fn add(console: &Console, person: &Person, fields: &Params, secret: &Secret) -> malla_queue::Result<Token> {
    let name = fields.typed("name");
    check_name("token", name)?;
    let group = match fields.get("group") {
        Some(group) => Some(console.access.group(&Scope::All, group).await?),
        None => None,
    };
    let token = NewToken {
        name: name.to_owned(),
        hash: secret.hash(),
        role: fields.typed("role").parse()?,
        group: group.as_ref().map(|group| group.name.clone()),
        expires_at: read_days(fields)?.map(|days| console.now().plus(DAY * days)),
    };
    let detail = serde_json::json!({ "role": token.role, "group": token.group, "expires_at": token.expires_at });
    let group = group.map(|group| group.id);
    let act = Act { detail, group, ..Act::new(&person.principal.actor, "token.create", name) };
    console.access.create_token(token, act).await
}

fn read_days(fields: &Params) -> malla_queue::Result<Option<u32>> {
    let days = fields.get("days").map(|text| text.parse().ok().filter(|days| (1..=3650).contains(days)));
    match days {
        Some(None) => Err(Error::Invalid(t!("a token lasts from 1 to 3650 days, or until deleted").into())),
        Some(days) => Ok(days),
        None => Ok(None),
    }
}

pub(crate) async fn delete(
    Shared(console): Shared<Console>,
    Path(name): Path<String>,
    posted: Posted<Administer>,
) -> Result<Response, Refusal> {
    let act = Act::new(&posted.visitor.principal.actor, "token.delete", &name);
    console.access.delete_token(&Scope::All, &name, act).await?;
    Ok(go(&console, "/tokens", Notice::good(say!("Token {name} is deleted.", name))))
}
