//! Credit: balances, statements, top-ups and the audit.

use axum::Json;
use axum::extract::State;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use malla_access::{Permission, Principal};
use malla_fetch::Device;
use malla_fetch::ledger::{Account, Balance, Entry};
use malla_protocol::{BalanceView, Code, EntryView, LedgerAudit, Page, PageQuery, StatementQuery, TopUp};
use malla_queue::Scope;

use crate::App;
use crate::auth::{Administer, May, See};
use crate::cursor::{self, List};
use crate::problem::Refusal;
use crate::query::{Query, limit};
use crate::routes::page;
use crate::view::{GroupNames, time};
use crate::write::{AnyJson, Write};

/// Entries in a file at most.
const CSV_MAX: usize = 100_000;
/// More is a slip of the finger.
const TOP_UP_MAX: u64 = 1_000_000_000_000_000;

/// An account as it is written; a client may be named by its group.
async fn read_account(app: &App, who: &Principal, text: &str) -> Result<Account, Refusal> {
    match text.strip_prefix("client:") {
        Some(name) if !name.is_empty() && !name.bytes().all(|byte| byte.is_ascii_digit()) => {
            Ok(Account::Client(Some(app.access.group(&who.scope(), name).await?.id)))
        }
        _ => Ok(text.parse()?),
    }
}

/// Who is who, looked up once: groups by number, and devices.
struct Names {
    groups: GroupNames,
    devices: Vec<Device>,
}

impl Names {
    async fn of(app: &App, accounts: &[Account]) -> Result<Self, Refusal> {
        let groups = accounts.iter().filter_map(|account| match account {
            Account::Client(group) => Some(*group),
            _ => None,
        });
        let groups = GroupNames::of(app, groups).await?;
        let devices = match accounts.iter().any(|account| matches!(account, Account::Escrow(_))) {
            true => app.fetch.devices(&Scope::All).await?,
            false => Vec::new(),
        };
        Ok(Self { groups, devices })
    }

    fn device(&self, id: i64) -> Option<&Device> {
        self.devices.iter().find(|device| device.id.0 == id)
    }

    /// Whether the caller sees this account: all for an admin, else those of the own groups, devices and name.
    fn sees(&self, who: &Principal, account: &Account) -> bool {
        if who.may(Permission::Administer) {
            return true;
        }
        match account {
            Account::Client(group) => group.is_some() && who.scope().sees(*group),
            Account::User(_) => account.to_string() == Account::User(who.actor.clone()).to_string(),
            Account::Escrow(id) => self.device(*id).is_some_and(|device| device.owner == who.actor),
            Account::House | Account::World => false,
        }
    }

    fn shown(&self, account: &Account, balance: &Balance) -> BalanceView {
        let name = match account {
            Account::Client(None) => "who has no group".to_owned(),
            Account::Client(group) => self.groups.name(*group).unwrap_or_else(|| "a group that is gone".to_owned()),
            Account::User(_) => account.to_string(),
            Account::Escrow(id) => self.device(*id).map_or_else(
                || "a device that is gone".to_owned(),
                |device| format!("{} of {}", device.name, device.owner),
            ),
            Account::House => "the house".to_owned(),
            Account::World => "outside".to_owned(),
        };
        let Balance { account, micro, touched_at } = balance;
        BalanceView { account: account.clone(), name, micro: *micro, touched_at: time(*touched_at) }
    }
}

/// List the balances that you may see.
#[utoipa::path(get, path = "/api/v1/ledger/balances", tag = "fetch", operation_id = "list_balances",
    responses((status = 200, body = Page<BalanceView>)),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn balances(State(app): State<App>, who: May<See>) -> Result<Json<Page<BalanceView>>, Refusal> {
    let balances = app.ledger.balances().await?;
    let accounts: Vec<Account> =
        balances.iter().map(|balance| balance.account.parse()).collect::<malla_queue::Result<_>>()?;
    let names = Names::of(&app, &accounts).await?;
    let seen = accounts.iter().zip(&balances).filter(|(account, _)| names.sees(&who, account));
    let items = seen.map(|(account, balance)| names.shown(account, balance)).collect();
    Ok(Json(Page { items, next_cursor: None }))
}

/// Read an account's entries, newest first; `as=csv` for a file.
#[utoipa::path(get, path = "/api/v1/ledger/statement", tag = "fetch", operation_id = "read_statement",
    params(StatementQuery, PageQuery),
    responses((status = 200, content((Page<EntryView> = "application/json"), (String = "text/csv")))),
    extensions(("x-permission" = json!("see"))))]
pub(crate) async fn statement(
    State(app): State<App>,
    who: May<See>,
    Query(query, paging): Query<StatementQuery, PageQuery>,
) -> Result<Response, Refusal> {
    let account = read_account(&app, &who, &query.account).await?;
    if !Names::of(&app, std::slice::from_ref(&account)).await?.sees(&who, &account) {
        return Err(Refusal::new(Code::NotFound, format!("account {account} does not exist")));
    }
    match query.form.as_deref() {
        None | Some("json") => {}
        Some("csv") => {
            let entries = app.ledger.statement(&account, None, CSV_MAX).await?;
            let name = format!("attachment; filename=\"{}.csv\"", query.account.replace([':', '"', '/'], "-"));
            let kind = (CONTENT_TYPE, "text/csv; charset=utf-8".to_owned());
            return Ok(([kind, (CONTENT_DISPOSITION, name)], csv(&entries)).into_response());
        }
        Some(_) => return Err(Refusal::invalid("the parameter as is json or csv")),
    }
    let (limit, after) = (limit(&paging)?, cursor::read(List::Entries, paging.cursor.as_deref())?);
    let below = after.map(|text| text.parse::<i64>()).transpose();
    let below = below.map_err(|_| Refusal::invalid("this cursor is not one of this server's"))?;
    let found = app.ledger.statement(&account, below, limit + 1).await?;
    Ok(Json(page(List::Entries, found, limit, |entry: &Entry| entry.id.to_string(), |entry| view(&entry)))
        .into_response())
}

fn view(entry: &Entry) -> EntryView {
    EntryView {
        id: entry.id,
        transfer: entry.transfer,
        at: time(entry.at),
        account: entry.account.clone(),
        micro: entry.micro,
        pages: entry.pages,
        what: entry.what.clone(),
        note: entry.note.clone(),
    }
}

fn csv(entries: &[Entry]) -> String {
    let mut text = String::from("id,transfer,at,account,micro,pages,what,note\n");
    let quoted = |text: &str| {
        // A sheet takes what begins like this for a formula.
        let text = if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text.to_owned() };
        format!("\"{}\"", text.replace('"', "\"\""))
    };
    for entry in entries {
        let EntryView { id, transfer, at, account, micro, pages, what, note } = view(entry);
        let (account, note) = (quoted(&account), quoted(note.as_deref().unwrap_or_default()));
        text.push_str(&format!("{id},{transfer},{at},{account},{micro},{pages},{what},{note}\n"));
    }
    text
}

/// Give credit to an account, or pay it out with a negative amount.
#[utoipa::path(post, path = "/api/v1/ledger/topup", tag = "fetch", operation_id = "top_up",
    request_body = TopUp, responses((status = 200, body = BalanceView)),
    extensions(("x-permission" = json!("administer"))))]
pub(crate) async fn top_up(
    State(app): State<App>,
    who: May<Administer>,
    write: Write<AnyJson<TopUp>>,
) -> Result<Json<BalanceView>, Refusal> {
    let TopUp { account, micro, note } = write.body.0.clone();
    let to = read_account(&app, &who, &account).await?;
    if micro == 0 || micro.unsigned_abs() > TOP_UP_MAX || to == Account::World || note.len() > 1_000 {
        let detail = "give an amount of micro-credits other than 0 and below 1e15, an account other than world, and a short note";
        return Err(Refusal::invalid(detail));
    }
    let names = Names::of(&app, std::slice::from_ref(&to)).await?;
    let exists = match &to {
        Account::Client(Some(group)) => names.groups.name(Some(*group)).is_some(),
        Account::Escrow(device) => names.device(*device).is_some(),
        _ => true,
    };
    if !exists {
        return Err(Refusal::new(
            Code::NotFound,
            format!("nobody has the account {to}: name a group with client:NAME"),
        ));
    }
    let mut act = write.act(&who, "ledger.topup", format!("account {to}"));
    act.detail = serde_json::json!({ "micro": micro, "note": note });
    let balance = app.ledger.top_up(to.clone(), micro, note, act).await?;
    Ok(Json(names.shown(&to, &balance)))
}

/// Check that all accounts sum up to zero, and each to its entries.
#[utoipa::path(get, path = "/api/v1/ledger/audit", tag = "fetch", operation_id = "audit_ledger",
    responses((status = 200, body = LedgerAudit)),
    extensions(("x-permission" = json!("administer"))))]
pub(crate) async fn audit(State(app): State<App>, _: May<Administer>) -> Result<Json<LedgerAudit>, Refusal> {
    let audit = app.ledger.audit().await?;
    Ok(Json(LedgerAudit {
        good: audit.is_good(),
        sum: audit.sum,
        accounts: audit.accounts,
        entries: audit.entries,
        pages_charged: audit.pages_charged,
        pages_paid: audit.pages_paid,
        wrong_accounts: audit.wrong_accounts,
        wrong_transfers: audit.wrong_transfers,
    }))
}

#[cfg(test)]
mod tests {
    use malla_queue::UnixMs;

    use super::*;

    #[test]
    fn a_file_of_entries_holds_no_formula() {
        let entry = Entry {
            id: 2,
            transfer: 1,
            at: UnixMs(0),
            account: "client:1".into(),
            micro: -5,
            pages: 1,
            what: "topup".into(),
            note: Some("=1+\"2\"".into()),
        };
        let text = csv(&[entry]);
        assert!(text.ends_with("2,1,1970-01-01T00:00:00.000Z,\"client:1\",-5,1,topup,\"'=1+\"\"2\"\"\"\n"), "{text}");
    }
}
