//! `malla tasks list`.

use clap::Args;
use malla_client::Client;
use malla_protocol::{TaskQuery, TaskView};

use super::{Filters, HEAD, row};
use crate::commands::{Limit, pages};
use crate::output::Output;

#[derive(Debug, Args)]
pub(super) struct List {
    #[command(flatten)]
    filters: Filters,
    #[command(flatten)]
    limit: Limit,
}

pub(super) async fn run(list: List, client: &Client, output: &mut Output) -> anyhow::Result<()> {
    let query = TaskQuery::from(list.filters);
    let show = |tasks: &[TaskView]| output.rows(&HEAD, tasks, row);
    pages(list.limit, async |page| client.tasks(&query, &page).await, show).await?;
    output.end("no tasks match");
    Ok(())
}
