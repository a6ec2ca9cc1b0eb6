//! What was paid: balances, an account's entries, and the form that gives credit.

use axum::extract::State as Shared;
use axum::response::Response;
use malla_access::{Permission, Principal};
use malla_fetch::ledger::{Account, Balance, Entry};
use malla_queue::{Act, UnixMs};
use maud::{Markup, html};

use super::super::LEDGER;
use crate::caller::{Notice, Person};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Administer, Posted, See, Visitor, go};
use crate::{Console, parts, words};

const ENTRIES: usize = 100;

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

/// All for an admin; others see what is theirs.
fn sees(principal: &Principal, account: &Account) -> bool {
    principal.may(Permission::Administer)
        || match account {
            Account::Client(group) => group.is_some() && principal.scope().sees(*group),
            Account::User(_) => account.to_string() == Account::User(principal.actor.clone()).to_string(),
            _ => false,
        }
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let page = Page::new(LEDGER, t!("Ledger")).lead(
        html! { (t!("Clients pay for pages, and devices' users are paid for them. All accounts sum up to zero.")) },
    );
    let mut balances = console.ledger.balances().await?;
    balances.retain(|balance| balance.account.parse().is_ok_and(|account| sees(&person.principal, &account)));
    let now = console.now();
    let mut page = page.live("balances", table(now, &balances));
    if let Some(Ok(account)) = params.get("account").map(str::parse::<Account>)
        && sees(&person.principal, &account)
    {
        let entries = console.ledger.statement(&account, None, ENTRIES).await?;
        page = page.live("statement", statement(now, &account, &entries));
    }
    Ok(if person.may(Permission::Administer) { page.still(form(person, params)) } else { page })
}

fn credits(micro: i64) -> String {
    let sign = if micro < 0 { "−" } else { "" };
    let micro = micro.unsigned_abs();
    format!("{sign}{}.{:06}", words::count(micro / 1_000_000), micro % 1_000_000)
}

fn table(now: UnixMs, balances: &[Balance]) -> Markup {
    if balances.is_empty() {
        let why = t!("Nothing was paid yet. Credit is off unless the configuration turns it on (credit.enabled).");
        return parts::empty(why, None);
    }
    html! {
        section.card {
            table.rows {
                thead { tr { th { (t!("Account")) } th.num { (t!("Credits")) } th { (t!("Last change")) } } }
                tbody { @for balance in balances { tr {
                    td data-label=(t!("Account")) {
                        a href=(Params::default().with("account", &balance.account).link(LEDGER)) { (balance.account) }
                    }
                    td.num data-label=(t!("Credits")) { (credits(balance.micro)) }
                    td data-label=(t!("Last change")) { (words::time(now, balance.touched_at)) }
                } } }
            }
        }
    }
}

fn statement(now: UnixMs, account: &Account, entries: &[Entry]) -> Markup {
    let file = format!("/api/v1/ledger/statement?as=csv&account={account}");
    html! {
        section.card {
            div.card-head { h2 { (account) } a href=(file) { (t!("All as CSV")) } }
            table.rows.dense {
                thead { tr { th { (t!("When")) } th.num { (t!("Credits")) } th.num { (t!("Pages")) } th { (t!("What")) } th { (t!("Note")) } } }
                tbody { @for entry in entries { tr {
                    td data-label=(t!("When")) { (words::time(now, entry.at)) }
                    td.num data-label=(t!("Credits")) { (credits(entry.micro)) }
                    td.num.quiet[entry.pages == 0] data-label=(t!("Pages")) { (words::count(entry.pages)) }
                    td data-label=(t!("What")) { (entry.what) }
                    td data-label=(t!("Note")) { (entry.note.as_deref().unwrap_or("–")) }
                } } }
            }
        }
    }
}

fn form(person: &Person, params: &Params) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { (t!("Give credit")) } }
            form.fields method="post" action=(format!("{LEDGER}/topup")) {
                (parts::form_secret(person))
                (parts::field(t!("Account"), t!("client:N, user:NAME or house"), None, html! {
                    input name="account" required value=(params.typed("account")) placeholder="client:1";
                }))
                (parts::field(t!("Micro-credits"), t!("A credit has a million. A negative amount is paid out."), None, html! {
                    input name="micro" required inputmode="numeric" placeholder="25000000";
                }))
                (parts::field(t!("Note"), "", None, html! { input name="note" maxlength="200"; }))
                div.buttons { button.primary { (t!("Give")) } }
            }
        }
    }
}

pub(crate) async fn top_up(Shared(console): Shared<Console>, posted: Posted<Administer>) -> Result<Response, Refusal> {
    let account: Account = posted.fields.typed("account").trim().parse()?;
    let micro: i64 = posted.fields.typed("micro").trim().parse().unwrap_or(0);
    if micro == 0 || micro.unsigned_abs() > 1_000_000_000_000_000 || account == Account::World {
        return Err(Refusal::bad(t!(
            "Give a whole number of micro-credits other than 0, and an account other than world."
        )));
    }
    let note = posted.fields.typed("note").to_owned();
    let mut act = Act::new(&posted.visitor.principal.actor, "ledger.topup", format!("account {account}"));
    act.detail = serde_json::json!({ "micro": micro, "note": note });
    let balance = console.ledger.top_up(account, micro, note, act).await?;
    let sentence = say!("{} has {} credits now.", balance.account, credits(balance.micro));
    let back = Params::default().with("account", &balance.account).link(LEDGER);
    Ok(go(&console, &back, Notice::good(sentence)))
}
