//! `malla robots`: what a robots.txt means, without asking anybody.

use std::io::Read as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use malla_fetch::{PageUrl, ROBOTS_BYTES_MAX, Robots};
use serde::Serialize;

use crate::commands::Usage;
use crate::fetching::AGENT;
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct Command {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Whether a URL may be fetched: exit code 0 if it may, 1 if not
    #[command(after_help = "Example:\n  malla robots check --file robots.txt https://example.org/private/page")]
    Check(Check),
}

#[derive(Debug, Args)]
struct Check {
    /// The robots.txt; - reads it from standard input
    #[arg(long, value_name = "ROBOTS")]
    file: PathBuf,
    /// Who asks
    #[arg(long, value_name = "NAME", default_value = AGENT)]
    agent: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// What is asked for: a URL, or a path
    url: String,
}

#[derive(Serialize)]
struct Checked {
    allowed: bool,
    /// The rule that decided.
    rule: Option<String>,
    crawl_delay_ms: Option<u64>,
}

/// Returns whether the URL may be fetched.
pub(crate) fn run(command: Command) -> Result<bool> {
    let Verb::Check(check) = command.verb;
    let robots = Robots::parse(&read(&check.file)?);
    let path = match check.url.starts_with('/') {
        true => PageUrl::parse(&format!("http://localhost{}", check.url)),
        false => PageUrl::parse(&check.url),
    };
    let path = path.map_err(|why| Usage(format!("\"{}\": {why}", check.url)))?;
    let verdict = robots.verdict(&check.agent, path.path_and_query());
    let checked =
        Checked { allowed: verdict.allowed, rule: verdict.rule, crawl_delay_ms: robots.crawl_delay_ms(&check.agent) };
    Output::new(check.json).one(&checked, describe)?;
    Ok(checked.allowed)
}

fn describe(checked: &Checked) -> String {
    let word = if checked.allowed { "allowed" } else { "refused" };
    match &checked.rule {
        Some(rule) => format!("{word} by {rule}"),
        None => format!("{word}: no rule says otherwise"),
    }
}

/// As much of it as is read anyway.
fn read(file: &PathBuf) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = ROBOTS_BYTES_MAX as u64 + 1;
    if file.as_os_str() == "-" {
        std::io::stdin().take(most).read_to_end(&mut bytes).context("cannot read standard input")?;
    } else {
        let opened = std::fs::File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
        opened.take(most).read_to_end(&mut bytes).with_context(|| format!("cannot read {}", file.display()))?;
    }
    Ok(bytes)
}
