//! Sites that are never fetched, with the form that adds one.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use malla_access::Permission;
use malla_fetch::blocklist::{Blocked, Pattern};
use malla_queue::{Act, UnixMs};
use maud::{Markup, html};

use super::super::BLOCKED;
use crate::caller::{Notice, Person};
use crate::form::{Form, Trouble};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Administer, Posted, See, Visitor, go};
use crate::{Console, export, parts, words};

pub(crate) async fn show(Shared(console): Shared<Console>, visitor: Visitor<See>) -> Result<Page, Refusal> {
    page(&console, &visitor, &Form::default()).await
}

pub(crate) async fn page(console: &Console, person: &Person, form: &Form<'_>) -> Result<Page, Refusal> {
    let listed = console.blocking.blocked_sites().await?;
    let all: Vec<&Blocked> = console.fetching.blocked.fixed().iter().chain(&listed).collect();
    let page = Page::new(BLOCKED, t!("Blocked sites"))
        .lead(html! { (t!("Nothing is fetched here, whoever asks: the operator's list, and owners who want to be left alone.")) })
        .csv("/fetch/blocked.csv".to_owned())
        .api(person, "/api/v1/fetch/blocked")
        .live("blocked", table(person, console.now(), &all));
    Ok(if person.may(Permission::Administer) { page.still(card(person, form)) } else { page })
}

pub(crate) async fn csv(Shared(console): Shared<Console>, _: Visitor<See>) -> Result<Response, Refusal> {
    let listed = console.blocking.blocked_sites().await?;
    let cells = |blocked: &Blocked| {
        let contact = blocked.contact.clone().unwrap_or_default();
        let since = export::moment(Some(blocked.at).filter(|at| at.0 > 0));
        vec![blocked.pattern.to_string(), blocked.why.clone(), contact, blocked.by.clone(), since]
    };
    let all = console.fetching.blocked.fixed().iter().chain(&listed);
    let rows = all.take(export::ROWS_MAX).map(cells).collect();
    Ok(export::csv_of("blocked-sites", &["site", "why", "owner", "by", "since"], rows))
}

fn table(person: &Person, now: UnixMs, all: &[&Blocked]) -> Markup {
    if all.is_empty() {
        return parts::empty(t!("No site is blocked."), None);
    }
    html! {
        section.card {
            table.rows {
                thead { tr { th { (t!("Site")) } th { (t!("Why")) } th { (t!("Its owner")) } th { (t!("By")) } th { (t!("Since")) } th {} } }
                tbody { @for blocked in all { tr {
                    td data-label=(t!("Site")) { (blocked.pattern) }
                    td data-label=(t!("Why")) { (blocked.why) }
                    td data-label=(t!("Its owner")) { (blocked.contact.as_deref().unwrap_or("–")) }
                    td data-label=(t!("By")) { (blocked.by) }
                    td data-label=(t!("Since")) {
                        @if blocked.at.0 > 0 { (words::time(now, blocked.at)) } @else { span.quiet { "–" } }
                    }
                    td.end {
                        @if blocked.at.0 > 0 && person.may(Permission::Administer) {
                            form.actions method="post" action=(format!("{BLOCKED}/remove")) {
                                (parts::form_secret(person))
                                input type="hidden" name="site" value=(blocked.pattern);
                                button.small { (t!("Fetch again")) }
                            }
                        }
                    }
                } } }
            }
        }
    }
}

fn card(person: &Person, form: &Form<'_>) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { (t!("Block a site")) } }
            (form.head())
            form.fields method="post" action=(format!("{BLOCKED}/add")) {
                (parts::form_secret(person))
                (form.text(t!("Site"), "site", t!("A host with all below it, or the beginning of a path."), "example.org"))
                (form.text(t!("Why"), "why", t!("Told to whoever asks for a page there."), ""))
                (form.text(t!("Its owner"), "contact", t!("Who asked for it, if it was the owner of the site."), "webmaster@example.org"))
                div.buttons { button.primary { (t!("Block")) } }
            }
        }
    }
}

pub(crate) async fn add(Shared(console): Shared<Console>, posted: Posted<Administer>) -> Result<Response, Refusal> {
    match block(&console, &posted.visitor, &posted.fields).await {
        Ok(made) => {
            console.fetching.blocked.set(console.blocking.blocked_sites().await?);
            Ok(go(&console, BLOCKED, Notice::good(say!("{} is not fetched any more.", made.pattern))))
        }
        Err(trouble) => {
            let wrong = trouble.mend()?;
            let form = Form { typed: &posted.fields, wrong: Some(&wrong) };
            let page = page(&console, &posted.visitor, &form).await?;
            Ok(page.at_rest().status(StatusCode::UNPROCESSABLE_ENTITY).into_response())
        }
    }
}

async fn block(console: &Console, person: &Person, fields: &Params) -> Result<Blocked, Trouble> {
    let pattern: Pattern = fields.typed("site").parse().map_err(|error| Trouble::at("site", error))?;
    let (by, contact) = (person.principal.actor.clone(), fields.get("contact").map(str::to_owned));
    let action = if contact.is_some() { "site.opt_out" } else { "site.block" };
    let act = Act::new(&by, action, format!("site {pattern}"));
    let blocked = Blocked { pattern, why: fields.typed("why").to_owned(), contact, by, at: console.now() };
    Ok(console.blocking.block_site(blocked, act).await?)
}

pub(crate) async fn remove(Shared(console): Shared<Console>, posted: Posted<Administer>) -> Result<Response, Refusal> {
    let pattern: Pattern = posted.fields.typed("site").parse()?;
    let act = Act::new(&posted.visitor.principal.actor, "site.unblock", format!("site {pattern}"));
    console.blocking.unblock_site(&pattern, act).await?;
    console.fetching.blocked.set(console.blocking.blocked_sites().await?);
    Ok(go(&console, BLOCKED, Notice::good(say!("{} is fetched again.", pattern))))
}
