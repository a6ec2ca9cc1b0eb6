//! `malla wiki simulate`: judges a rule of revisits on recorded edit times.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use malla_wiki::revisit::{Rule, simulate};

use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct Simulate {
    /// Lines of {"page":id,"timestamps":[seconds since 1970, …]}; - reads standard input
    #[arg(long, value_name = "FILE.jsonl")]
    timestamps: PathBuf,
    /// Visits a day; the original rule takes what it takes
    #[arg(long, value_name = "N")]
    budget: u64,
    /// original, uniform or adaptive
    #[arg(long, value_parser = rule)]
    rule: Rule,
    /// Write each visit to this file, as {"at":seconds since 1970,"page":id}
    #[arg(long, value_name = "OUT")]
    visits: Option<PathBuf>,
}

fn rule(text: &str) -> Result<Rule, String> {
    text.parse().map_err(|error: malla_queue::Error| error.to_string())
}

/// Prints one line of JSON.
pub(crate) fn run(command: Simulate) -> Result<()> {
    let Simulate { timestamps, budget, rule, visits } = command;
    let input: Box<dyn BufRead> = match timestamps.as_os_str() == "-" {
        true => Box::new(BufReader::new(std::io::stdin())),
        false => {
            let file = File::open(&timestamps).with_context(|| format!("cannot read {}", timestamps.display()))?;
            Box::new(BufReader::new(file))
        }
    };
    let mut out = match &visits {
        Some(path) => {
            let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
            Some(BufWriter::new(file))
        }
        None => None,
    };
    let written = out.as_mut().map(|out| out as &mut dyn Write);
    let judged = simulate(input, rule, budget, written)?;
    if let Some(mut out) = out {
        out.flush().context("cannot write the visits")?;
    }
    Ok(Output::new(true).one(&judged, |_| String::new())?)
}
