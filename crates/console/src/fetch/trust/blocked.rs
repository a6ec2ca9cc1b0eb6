//! Sites that are never fetched, with the form that adds one.

use axum::extract::State as Shared;
use axum::response::Response;
use malla_access::Permission;
use malla_fetch::blocklist::{Blocked, Pattern};
use malla_queue::{Act, UnixMs};
use maud::{Markup, html};

use super::super::BLOCKED;
use crate::caller::{Notice, Person};
use crate::frame::Page;
use crate::refusal::Refusal;
use crate::visitor::{Administer, Posted, See, Visitor, go};
use crate::{Console, parts, words};

pub(crate) async fn show(Shared(console): Shared<Console>, visitor: Visitor<See>) -> Result<Page, Refusal> {
    page(&console, &visitor).await
}

pub(crate) async fn page(console: &Console, person: &Person) -> Result<Page, Refusal> {
    let listed = console.blocking.blocked_sites().await?;
    let all: Vec<&Blocked> = console.fetching.blocked.fixed().iter().chain(&listed).collect();
    let page = Page::new(BLOCKED, t!("Blocked sites"))
        .lead(html! { (t!("Nothing is fetched here, whoever asks: the operator's list, and owners who want to be left alone.")) })
        .live("blocked", table(person, console.now(), &all));
    Ok(if person.may(Permission::Administer) { page.still(form(person)) } else { page })
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

fn form(person: &Person) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { (t!("Block a site")) } }
            form.fields method="post" action=(format!("{BLOCKED}/add")) {
                (parts::form_secret(person))
                (parts::field(t!("Site"), t!("A host with all below it, or the beginning of a path."), None, html! {
                    input name="site" required placeholder="example.org";
                }))
                (parts::field(t!("Why"), t!("Told to whoever asks for a page there."), None, html! {
                    input name="why" maxlength="200";
                }))
                (parts::field(t!("Its owner"), t!("Who asked for it, if it was the owner of the site."), None, html! {
                    input name="contact" maxlength="200" placeholder="webmaster@example.org";
                }))
                div.buttons { button.primary { (t!("Block")) } }
            }
        }
    }
}

pub(crate) async fn add(Shared(console): Shared<Console>, posted: Posted<Administer>) -> Result<Response, Refusal> {
    let pattern: Pattern = posted.fields.typed("site").parse()?;
    let (by, contact) = (posted.visitor.principal.actor.clone(), posted.fields.typed("contact").trim().to_owned());
    let (why, contact) = (posted.fields.typed("why").to_owned(), (!contact.is_empty()).then_some(contact));
    let action = if contact.is_some() { "site.opt_out" } else { "site.block" };
    let act = Act::new(&by, action, format!("site {pattern}"));
    let blocked = Blocked { pattern, why, contact, by, at: console.now() };
    let made = console.blocking.block_site(blocked, act).await?;
    console.fetching.blocked.set(console.blocking.blocked_sites().await?);
    Ok(go(&console, BLOCKED, Notice::good(say!("{} is not fetched any more.", made.pattern))))
}

pub(crate) async fn remove(Shared(console): Shared<Console>, posted: Posted<Administer>) -> Result<Response, Refusal> {
    let pattern: Pattern = posted.fields.typed("site").parse()?;
    let act = Act::new(&posted.visitor.principal.actor, "site.unblock", format!("site {pattern}"));
    console.blocking.unblock_site(&pattern, act).await?;
    console.fetching.blocked.set(console.blocking.blocked_sites().await?);
    Ok(go(&console, BLOCKED, Notice::good(say!("{} is fetched again.", pattern))))
}
