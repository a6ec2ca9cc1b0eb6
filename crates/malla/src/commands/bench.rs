//! `malla bench`: figures of this machine. A benchmark prints what it measured; it never passes or fails.

use anyhow::Context as _;
use clap::{Args, Subcommand};

use crate::bench::queue::{self, Load};
use crate::bench::report::Report;
use crate::output::talk;

#[derive(Debug, Args)]
pub(crate) struct Command {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Submitting, leasing and committing tasks
    #[command(
        after_help = "Examples:\n  malla bench queue --quick\n  malla bench queue --postgres postgres://postgres@127.0.0.1/bench\n\nThe embedded store is made in a temporary directory and removed. A PostgreSQL database must be empty, and is left full."
    )]
    Queue(Queue),
}

#[derive(Debug, Args)]
struct Queue {
    /// Measure this PostgreSQL database too: an empty one that may be thrown away
    #[arg(long, value_name = "URL")]
    postgres: Option<String>,
    /// Leave out the embedded store
    #[arg(long, requires = "postgres")]
    no_sqlite: bool,
    /// A tenth of the load
    #[arg(long)]
    quick: bool,
    /// Print JSON, one line a figure
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(command: Command) -> anyhow::Result<()> {
    let What::Queue(queue) = command.what;
    let load = if queue.quick { Load::QUICK } else { Load::FULL };
    let mut report = Report::new(queue.json);
    if !queue.no_sqlite {
        let place = tempfile::tempdir_in(".").context("cannot make a temporary directory here")?;
        talk("measuring the embedded store");
        queue::run(&format!("sqlite:{}", place.path().join("bench.db").display()), load, &mut report).await?;
    }
    if let Some(url) = &queue.postgres {
        talk("measuring PostgreSQL");
        queue::run(url, load, &mut report).await?;
    }
    Ok(())
}
