//! `malla completions`.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::output::write_all;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  malla completions bash > ~/.local/share/bash-completion/completions/malla")]
pub(crate) struct Command {
    shell: Shell,
}

pub(crate) fn run(command: &Command) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(command.shell, &mut Cli::command(), "malla", &mut script);
    Ok(write_all(&String::from_utf8(script)?)?)
}
