//! `malla notify events`.

use std::io::Write as _;

use clap::{Args, Subcommand};
use malla_client::Client;
use malla_protocol::{EventDetail, EventQuery, EventView};

use super::send;
use crate::commands::{Limit, pages};
use crate::output::{Output, fields, or_dash, time};

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// List events, newest first
    #[command(
        after_help = "Examples:\n  malla notify events list --endpoint orders --content 4711\n  malla notify events list --from 2026-01-01 --limit 0 --json"
    )]
    List(List),
    /// Show one event with its headers and body
    #[command(
        after_help = "Examples:\n  malla notify events show 0d3j6v9kq8000\n  malla notify events show 0d3j6v9kq8000 --body > body.bin"
    )]
    Show {
        id: String,
        /// Print the body alone, byte for byte
        #[arg(long)]
        body: bool,
    },
    /// Post an event to an endpoint: the body is an argument, a file or stdin
    #[command(after_help = send::EXAMPLES)]
    Send(send::Send),
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// Of this endpoint
    #[arg(long, value_name = "NAME")]
    endpoint: Option<String>,
    /// A word or id inside the body
    #[arg(long, value_name = "WORD")]
    content: Option<String>,
    /// Received at this time or later: YYYY-MM-DD or RFC 3339
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Received before this time; a day counts whole
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    #[command(flatten)]
    limit: Limit,
}

pub(super) async fn run(verb: Verb, client: &Client, output: &mut Output) -> anyhow::Result<()> {
    match verb {
        Verb::List(list) => run_list(list, client, output).await,
        Verb::Show { id, body: false } => Ok(output.one(&client.event(&id).await?, describe)?),
        Verb::Show { id, body: true } => {
            let bytes = client.event_body(&id).await?;
            let mut stdout = std::io::stdout().lock();
            stdout.write_all(&bytes)?;
            Ok(stdout.flush()?)
        }
        Verb::Send(event) => send::run(event, client, output).await,
    }
}

async fn run_list(list: List, client: &Client, output: &mut Output) -> anyhow::Result<()> {
    let List { endpoint, content, from, to, limit } = list;
    let query = EventQuery { endpoint, content, from, to };
    let show = |events: &[EventView]| output.rows(&HEAD, events, row);
    pages(limit, async |page| client.events(&query, &page).await, show).await?;
    output.end("no events match");
    Ok(())
}

pub(super) const HEAD: [&str; 6] = ["ID", "RECEIVED (UTC)", "ENDPOINT", "METHOD", "BYTES", "CONTENT TYPE"];

pub(super) fn row(event: &EventView) -> Vec<String> {
    vec![
        event.id.clone(),
        time(&event.received_at),
        event.endpoint.clone(),
        event.kind.clone().or_else(|| event.topic.clone()).unwrap_or_else(|| event.method.clone()),
        event.bytes.to_string(),
        or_dash(event.content_type.as_deref()),
    ]
}

fn describe(detail: &EventDetail) -> String {
    let event = &detail.event;
    let headers: Vec<_> = detail.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let pairs = [
        ("id", Some(event.id.clone())),
        ("endpoint", Some(event.endpoint.clone())),
        ("group", detail.group.clone()),
        ("received", Some(time(&event.received_at))),
        ("kind", event.kind.clone()),
        ("topic", event.topic.clone()),
        ("method", Some(event.method.clone())),
        ("query", detail.query.clone()),
        ("content type", event.content_type.clone()),
        ("bytes", Some(event.bytes.to_string())),
        ("headers", (!headers.is_empty()).then(|| headers.join("\n"))),
        ("body", detail.body.clone().filter(|body| !body.is_empty())),
        ("body (base64)", detail.body_base64.clone()),
    ];
    let pairs: Vec<_> = pairs.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    fields(&pairs)
}
