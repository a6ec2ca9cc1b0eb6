//! `malla audit`.

use clap::Args;
use malla_client::Client;
use malla_protocol::{AuditQuery, AuditView};

use crate::cli::Reach;
use crate::commands::{Limit, pages};
use crate::output::{Output, time};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  malla audit --limit 20\n  malla audit --action task --actor user:ana --from 2026-01-01 --json"
)]
pub(crate) struct Command {
    /// Who: user:NAME, token:NAME, anonymous, malla
    #[arg(long)]
    actor: Option<String>,
    /// What: an action or the first part of it, as in task or task.discard
    #[arg(long)]
    action: Option<String>,
    /// What it was done to
    #[arg(long)]
    object: Option<String>,
    /// At this time or later: YYYY-MM-DD or RFC 3339
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Before this time; a day counts whole
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    #[command(flatten)]
    limit: Limit,
    #[command(flatten)]
    pub reach: Reach,
}

pub(crate) async fn run(command: Command, client: &Client) -> anyhow::Result<()> {
    let mut output = Output::new(command.reach.json);
    let Command { actor, action, object, from, to, limit, .. } = command;
    let query = AuditQuery { actor, action, object, from, to };
    let head = ["TIME (UTC)", "WHO", "ACTION", "OBJECT", "DETAIL"];
    let show = |lines: &[AuditView]| output.rows(&head, lines, row);
    pages(limit, async |page| client.audit(&query, &page).await, show).await?;
    output.end("no lines match");
    Ok(())
}

fn row(line: &AuditView) -> Vec<String> {
    let detail = if line.detail.is_null() { String::new() } else { line.detail.to_string() };
    vec![time(&line.at), line.actor.clone(), line.action.clone(), line.object.clone(), detail]
}
