//! `malla healthcheck`: for container engines and monitors.

use anyhow::Context as _;
use clap::Args;
use malla_client::Client;

use crate::cli::Reach;
use crate::output::Output;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  malla healthcheck --server http://127.0.0.1:7070 && echo ready")]
pub(crate) struct Command {
    #[command(flatten)]
    pub reach: Reach,
}

pub(crate) async fn run(command: Command, client: &Client) -> anyhow::Result<()> {
    let health = client.ready().await.context("not ready")?;
    Ok(Output::new(command.reach.json).one(&health, |health| health.status.clone())?)
}
