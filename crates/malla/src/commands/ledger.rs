//! `malla ledger`.

use std::io::Write as _;

use clap::{Args, Subcommand};
use malla_client::Client;
use malla_protocol::{BalanceView, EntryView, LedgerAudit, TopUp};

use crate::cli::Reach;
use crate::commands::{Limit, Usage, pages};
use crate::output::{Output, fields, or_dash};

#[derive(Debug, Args)]
pub(crate) struct Command {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    pub reach: Reach,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List balances: clients, users who lend devices, pledges of devices, the house
    #[command(after_help = "Example:\n  malla ledger balances --json")]
    Balances,
    /// Read an account's entries, newest first
    #[command(
        after_help = "Examples:\n  malla ledger statement client:1\n  malla ledger statement user:ana --csv > ana.csv"
    )]
    Statement {
        /// client:GROUP, user:NAME, escrow:N, house or world
        account: String,
        /// All entries as CSV
        #[arg(long)]
        csv: bool,
        #[command(flatten)]
        limit: Limit,
    },
    /// Give credit to an account; a negative amount is paid out
    #[command(
        after_help = "Examples:\n  malla ledger topup client:1 25\n  malla ledger topup user:ana -3.5 --note 'paid out in May'"
    )]
    Topup {
        account: String,
        /// Credits, with up to six digits behind the point
        #[arg(allow_negative_numbers = true, value_parser = credits)]
        credits: i64,
        #[arg(long, default_value = "")]
        note: String,
    },
    /// Check that all accounts sum up to zero, and each to its entries
    #[command(after_help = "Example:\n  malla ledger audit && echo good")]
    Audit,
}

/// Credits as micro-credits.
fn credits(text: &str) -> Result<i64, String> {
    let wrong = || "give credits as a number with up to six digits behind the point, as in 2.5".to_owned();
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 12 || part.len() > 6 || !plain(whole) || !plain(part) {
        return Err(wrong());
    }
    let micro: i64 = format!("{whole}{part:0<6}").parse().map_err(|_| wrong())?;
    Ok(sign * micro)
}

/// Micro-credits as credits.
fn shown(micro: i64) -> String {
    let sign = if micro < 0 { "-" } else { "" };
    let micro = micro.unsigned_abs();
    format!("{sign}{}.{:06}", micro / 1_000_000, micro % 1_000_000)
}

pub(crate) async fn run(command: Command, client: &Client) -> anyhow::Result<()> {
    let mut output = Output::new(command.reach.json);
    match command.verb {
        Verb::Balances => {
            let balances = client.balances().await?.items;
            output.rows(&["ACCOUNT", "NAME", "CREDITS", "LAST CHANGE"], &balances, balance)?;
            output.end(
                "no accounts: credit is off (see credit.enabled in `malla config print`), or nothing was paid yet",
            );
        }
        Verb::Statement { account, csv: true, .. } => {
            std::io::stdout().write_all(&client.statement_csv(&account).await?)?;
        }
        Verb::Statement { account, limit, .. } => {
            let head = ["AT", "CREDITS", "PAGES", "WHAT", "NOTE"];
            let fetch = async |page| client.statement(&account, &page).await;
            pages(limit, fetch, |entries| output.rows(&head, entries, entry)).await?;
            output.end("no entries");
        }
        Verb::Topup { account, credits, note } => {
            if credits == 0 {
                return Err(Usage("give an amount other than 0".into()).into());
            }
            let balance = client.top_up(&TopUp { account, micro: credits, note }).await?;
            output.one(&balance, |balance| format!("{} has {}\n", balance.account, shown(balance.micro)))?;
        }
        Verb::Audit => {
            let audit = client.audit_ledger().await?;
            output.one(&audit, describe)?;
            if !audit.good {
                anyhow::bail!("the ledger is not in order");
            }
        }
    }
    Ok(())
}

fn balance(balance: &BalanceView) -> Vec<String> {
    vec![balance.account.clone(), balance.name.clone(), shown(balance.micro), balance.touched_at.clone()]
}

fn entry(entry: &EntryView) -> Vec<String> {
    let pages = entry.pages.to_string();
    vec![entry.at.clone(), shown(entry.micro), pages, entry.what.clone(), or_dash(entry.note.as_deref())]
}

fn describe(audit: &LedgerAudit) -> String {
    let list = |items: Vec<String>| if items.is_empty() { "none".to_owned() } else { items.join(", ") };
    fields(&[
        ("in order", if audit.good { "yes" } else { "no" }.into()),
        ("sum over all accounts", audit.sum.to_string()),
        ("accounts", audit.accounts.to_string()),
        ("entries", audit.entries.to_string()),
        ("pages charged", audit.pages_charged.to_string()),
        ("pages paid", audit.pages_paid.to_string()),
        ("accounts that differ from their entries", list(audit.wrong_accounts.clone())),
        ("transfers that do not sum up to zero", list(audit.wrong_transfers.iter().map(i64::to_string).collect())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_are_read_to_the_millionth() {
        for (text, micro) in [("25", 25_000_000), ("-3.5", -3_500_000), ("0.000001", 1), ("2.50", 2_500_000)] {
            assert_eq!(credits(text), Ok(micro));
        }
        for wrong in ["", "x", "1.1234567", "1e3", "--1", ".5", "9999999999999"] {
            assert!(credits(wrong).is_err(), "{wrong}");
        }
        assert_eq!((shown(-3_500_000), shown(1)), ("-3.500000".to_owned(), "0.000001".to_owned()));
    }
}
