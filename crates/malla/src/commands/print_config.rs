//! `malla config print`.

use clap::{Args, Subcommand};

use crate::cli::{Place, Settings};
use crate::commands::load;
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct Command {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show every value and where it came from; passwords are masked
    #[command(after_help = "Examples:\n  malla config print\n  MALLA_LOG_LEVEL=debug malla config print --json")]
    Print(Print),
}

#[derive(Debug, Args)]
struct Print {
    #[command(flatten)]
    settings: Settings,
    /// Print JSON, one line a value
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(place: &Place, command: &Command) -> anyhow::Result<()> {
    let Verb::Print(print) = &command.verb;
    let loaded = load(place, &print.settings)?;
    loaded.config()?;
    let row = |shown: &crate::config::Shown| vec![shown.key.clone(), shown.value.to_string(), shown.source.clone()];
    Ok(Output::new(print.json).rows(&["KEY", "VALUE", "SOURCE"], &loaded.shown(), row)?)
}
