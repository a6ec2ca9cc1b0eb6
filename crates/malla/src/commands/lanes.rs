//! `malla lanes`.

use clap::{Args, Subcommand};
use malla_client::Client;
use malla_protocol::{LaneChange, LaneQuery, LaneView};

use crate::cli::Reach;
use crate::commands::{Limit, pages};
use crate::output::{Output, fields, or_dash, time_or_dash};

#[derive(Debug, Args)]
pub(crate) struct Command {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    pub reach: Reach,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List lanes in the order of their keys
    #[command(after_help = "Example:\n  malla lanes list --room notify --paused true")]
    List(List),
    /// Show one lane
    #[command(after_help = "Example:\n  malla lanes show notify/payments")]
    Show { key: String },
    /// Start nothing more in a lane; what runs goes on
    #[command(after_help = "Example:\n  malla lanes pause notify/payments")]
    Pause { key: String },
    /// Go on with a paused lane
    #[command(after_help = "Example:\n  malla lanes resume notify/payments")]
    Resume { key: String },
    /// Change what a lane allows
    #[command(after_help = "Example:\n  malla lanes set fetch/https://example.org --ceiling 1 --gap-ms 2000")]
    Set(Set),
}

#[derive(Debug, Args)]
struct List {
    /// The first part of the key
    #[arg(long)]
    room: Option<String>,
    /// Only paused ones, or only the others
    #[arg(long, value_name = "true|false")]
    paused: Option<bool>,
    /// A part of the key
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    #[command(flatten)]
    limit: Limit,
}

#[derive(Debug, Args)]
struct Set {
    key: String,
    /// Simultaneous tasks
    #[arg(long, value_name = "N", required_unless_present = "gap_ms")]
    ceiling: Option<u32>,
    /// Milliseconds between two starts
    #[arg(long, value_name = "MS")]
    gap_ms: Option<u64>,
}

pub(crate) async fn run(command: Command, client: &Client) -> anyhow::Result<()> {
    let mut output = Output::new(command.reach.json);
    let (key, change) = match command.verb {
        Verb::List(list) => return run_list(list, client, &mut output).await,
        Verb::Show { key } => return Ok(output.one(&client.lane(&key).await?, describe)?),
        Verb::Pause { key } => (key, LaneChange { paused: Some(true), ..LaneChange::default() }),
        Verb::Resume { key } => (key, LaneChange { paused: Some(false), ..LaneChange::default() }),
        Verb::Set(Set { key, ceiling, gap_ms }) => (key, LaneChange { ceiling, gap_ms, paused: None }),
    };
    Ok(output.one(&client.change_lane(&key, &change).await?, describe)?)
}

async fn run_list(list: List, client: &Client, output: &mut Output) -> anyhow::Result<()> {
    let query = LaneQuery { room: list.room, paused: list.paused, search: list.search };
    let head = ["LANE", "GROUP", "CEILING", "GAP", "PAUSED", "QUEUED", "RUNNING", "FAILED"];
    let show = |lanes: &[LaneView]| output.rows(&head, lanes, row);
    pages(list.limit, async |page| client.lanes(&query, &page).await, show).await?;
    output.end("no lanes match");
    Ok(())
}

fn row(lane: &LaneView) -> Vec<String> {
    vec![
        lane.key.clone(),
        or_dash(lane.group.as_deref()),
        lane.ceiling.to_string(),
        format!("{} ms", lane.gap_ms),
        yes_or_dash(lane.paused),
        lane.counts.queued.to_string(),
        lane.counts.running.to_string(),
        lane.counts.failed.to_string(),
    ]
}

fn describe(lane: &LaneView) -> String {
    fields(&[
        ("lane", lane.key.clone()),
        ("group", or_dash(lane.group.as_deref())),
        ("ceiling", lane.ceiling.to_string()),
        ("gap", format!("{} ms", lane.gap_ms)),
        ("paused", yes_or_dash(lane.paused)),
        ("ready at", time_or_dash(lane.ready_at.as_deref())),
        ("tasks", super::tasks::counts_line(&lane.counts)),
    ])
}

fn yes_or_dash(yes: bool) -> String {
    if yes { "yes".into() } else { "-".into() }
}
