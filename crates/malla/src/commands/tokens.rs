//! `malla tokens`.

use clap::{Args, Subcommand};
use malla_client::Client;
use malla_protocol::{NewToken, Role, TokenView};

use crate::cli::Reach;
use crate::commands::{Limit, pages, parse_role};
use crate::output::{Output, or_dash, talk, time_or_dash};

const DAY_S: u64 = 24 * 3_600;
/// A hundred years: beyond it a token might as well not expire.
const DAYS_MAX: u64 = 36_500;

#[derive(Debug, Args)]
pub(crate) struct Command {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    pub reach: Reach,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List tokens; their secrets are not kept
    #[command(after_help = "Example:\n  malla tokens list")]
    List(Limit),
    /// Make a token and print its secret, once
    #[command(
        after_help = "Examples:\n  malla tokens create deploy --role user --group research --expires-days 90\n  TOKEN=$(malla tokens create ci --json | jq -r .token)"
    )]
    Create(Create),
    /// Delete a token: it stops working at once
    #[command(after_help = "Example:\n  malla tokens delete deploy")]
    Delete { name: String },
}

#[derive(Debug, Args)]
struct Create {
    name: String,
    /// readonly, user or admin, not above your own [default: user with --group, else your own]
    #[arg(long, value_parser = parse_role)]
    role: Option<Role>,
    /// The group that it belongs to
    #[arg(long)]
    group: Option<String>,
    /// After so many days it stops working
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u64).range(1..=DAYS_MAX))]
    expires_days: Option<u64>,
}

pub(crate) async fn run(command: Command, client: &Client) -> anyhow::Result<()> {
    let mut output = Output::new(command.reach.json);
    match command.verb {
        Verb::List(limit) => {
            let head = ["NAME", "ROLE", "GROUP", "MADE BY", "EXPIRES (UTC)", "LAST USED (UTC)"];
            let show = |tokens: &[TokenView]| output.rows(&head, tokens, row);
            pages(limit, async |page| client.tokens(&page).await, show).await?;
            output.end("no tokens");
        }
        Verb::Create(Create { name, role, group, expires_days }) => {
            let token = NewToken { name, role, group, expires_in_s: expires_days.map(|days| days * DAY_S) };
            let made = client.create_token(&token).await?;
            output.one(&made, |made| made.token.clone())?;
            talk("keep it now: it is not shown again");
        }
        Verb::Delete { name } => {
            client.delete_token(&name).await?;
            talk(&format!("token {name} is deleted"));
        }
    }
    Ok(())
}

fn row(token: &TokenView) -> Vec<String> {
    vec![
        token.name.clone(),
        token.role.to_string(),
        or_dash(token.group.as_deref()),
        token.created_by.clone(),
        time_or_dash(token.expires_at.as_deref()),
        time_or_dash(token.last_used_at.as_deref()),
    ]
}
