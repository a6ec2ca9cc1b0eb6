//! What was paid: balances, an account's entries, and the form that gives credit.

use std::num::IntErrorKind;

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use malla_access::{Permission, Principal};
use malla_fetch::ledger::{Account, Balance, Entry};
use malla_queue::{Act, UnixMs};
use maud::{Markup, html};

use super::super::LEDGER;
use crate::caller::{Notice, Person};
use crate::form::{Form, Trouble, Wrong};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Administer, Posted, See, Visitor, go};
use crate::{Console, export, parts, words};

const TOP_UP: &str = "/fetch/ledger/topup";
const ENTRIES: usize = 100;
const MICRO_MAX: u64 = 1_000_000_000_000_000;
const NOTE_CHARS_MAX: usize = 200;

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params, &Form { typed: &params.only(&["account"]), wrong: None }).await
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

async fn balances(console: &Console, person: &Person) -> Result<Vec<Balance>, Refusal> {
    let mut balances = console.ledger.balances().await?;
    balances.retain(|balance| balance.account.parse().is_ok_and(|account| sees(&person.principal, &account)));
    Ok(balances)
}

pub(crate) async fn page(
    console: &Console,
    person: &Person,
    params: &Params,
    form: &Form<'_>,
) -> Result<Page, Refusal> {
    let page = Page::new(LEDGER, t!("Ledger"))
        .lead(
            html! { (t!("Clients pay for pages, and devices' users are paid for them. All accounts sum up to zero.")) },
        )
        .csv("/fetch/ledger.csv".to_owned())
        .api(person, "/api/v1/ledger");
    let (balances, now) = (balances(console, person).await?, console.now());
    let mut page = page.live("balances", table(now, &balances));
    if let Some(Ok(account)) = params.get("account").map(str::parse::<Account>)
        && sees(&person.principal, &account)
    {
        let entries = console.ledger.statement(&account, None, ENTRIES).await?;
        page = page.live("statement", statement(now, &account, &entries));
    }
    Ok(if person.may(Permission::Administer) { page.still(card(person, form)) } else { page })
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

pub(crate) async fn csv(Shared(console): Shared<Console>, visitor: Visitor<See>) -> Result<Response, Refusal> {
    let cells = |balance: &Balance| {
        vec![balance.account.clone(), balance.micro.to_string(), export::moment(Some(balance.touched_at))]
    };
    let balances = balances(&console, &visitor).await?;
    let rows = balances.iter().take(export::ROWS_MAX).map(cells).collect();
    Ok(export::csv_of("ledger", &["account", "micro_credits", "changed_at"], rows))
}

fn card(person: &Person, form: &Form<'_>) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { (t!("Give credit")) } }
            (form.head())
            form.fields method="post" action=(TOP_UP) {
                (parts::form_secret(person))
                (form.text(t!("Account"), "account", t!("client:N, user:NAME or house"), "client:1"))
                (form.text(t!("Micro-credits"), "micro", t!("A credit has a million. A negative amount is paid out."), "25000000"))
                (form.text(t!("Note"), "note", "", ""))
                div.buttons { button.primary { (t!("Give")) } }
            }
        }
    }
}

pub(crate) async fn top_up(Shared(console): Shared<Console>, posted: Posted<Administer>) -> Result<Response, Refusal> {
    match give(&console, &posted.visitor, &posted.fields).await {
        Ok(balance) => {
            let sentence = say!("{} has {} credits now.", balance.account, credits(balance.micro));
            let back = Params::default().with("account", &balance.account).link(LEDGER);
            Ok(go(&console, &back, Notice::good(sentence)))
        }
        Err(trouble) => {
            let wrong = trouble.mend()?;
            let form = Form { typed: &posted.fields, wrong: Some(&wrong) };
            let page = page(&console, &posted.visitor, &Params::NONE, &form).await?;
            Ok(page.at_rest().status(StatusCode::UNPROCESSABLE_ENTITY).into_response())
        }
    }
}

async fn give(console: &Console, person: &Person, fields: &Params) -> Result<Balance, Trouble> {
    let account: Account = fields.typed("account").parse().map_err(|error| Trouble::at("account", error))?;
    if account == Account::World {
        return Err(Wrong::at("account", t!("Credit comes from world: give it to another account.")).into());
    }
    let (micro, note) = (read_amount(fields)?, fields.typed("note"));
    if note.chars().count() > NOTE_CHARS_MAX {
        return Err(Wrong::at("note", say!("Write at most {} characters.", NOTE_CHARS_MAX)).into());
    }
    let mut act = Act::new(&person.principal.actor, "ledger.topup", format!("account {account}"));
    act.detail = serde_json::json!({ "micro": micro, "note": note });
    Ok(console.ledger.top_up(account, micro, note.to_owned(), act).await?)
}

/// A whole number other than 0, in digits.
fn read_amount(fields: &Params) -> Result<i64, Wrong> {
    let typed = fields.typed("micro");
    let most = || Wrong::at("micro", say!("Give at most {} micro-credits at once.", words::count(MICRO_MAX)));
    match typed.parse::<i64>() {
        Ok(0) => Err(Wrong::at("micro", t!("Give an amount other than 0."))),
        Ok(micro) if micro.unsigned_abs() > MICRO_MAX => Err(most()),
        Ok(micro) => Ok(micro),
        Err(error) => Err(match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => most(),
            _ => {
                Wrong::at("micro", say!("\"{typed}\" is not a whole number: write the micro-credits in digits", typed))
            }
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_a_whole_number_and_never_guessed() {
        let read = |text: &str| read_amount(&Params::from([("micro", text)])).map_err(Wrong::into_sentence);
        assert_eq!((read("25000000"), read(" -7 ")), (Ok(25_000_000), Ok(-7)));
        for (text, says) in [
            ("", "is not a whole number"),
            ("much", "\"much\" is not a whole number"),
            ("2.5", "is not a whole number"),
            ("1,000", "is not a whole number"),
            ("0", "other than 0"),
            ("9999999999999999999999", "at most 1,000,000,000,000,000 micro-credits"),
            ("-1000000000000001", "at most"),
        ] {
            let sentence = read(text).expect_err(text);
            assert!(sentence.contains(says), "{text}: {sentence}");
        }
    }
}
