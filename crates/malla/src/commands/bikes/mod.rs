//! `malla bikes`: a data set in, three answers out.

mod cut;
mod generate;
mod send;
mod show;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use malla_client::{Client, ClientOptions};
use malla_protocol::{Analysis, AnalysisState, NewAnalysis};
use serde_json::{Map, Value};

use crate::cli::{Place, Reach, Settings};
use crate::commands::{Usage, load, server_of};
use crate::data_dir;
use crate::output::talk;
use crate::throwaway::Throwaway;

/// A server that is gone is waited for this long.
const PATIENCE: Duration = Duration::from_secs(120);
/// Between two looks at an analysis that is completed: the first, and the longest.
const LOOK: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  malla bikes ./bikes\n  malla bikes ./bikes --param city=Toronto --param distance_km=4 --json > answers.json\n  malla bikes ./bikes --analysis 01ARYZ6S41TSV     go on with one that broke off\n\nParameters: precipitation_mm 30, year_base 2016, year_compared 2017, factor 2, city Montreal, distance_km 6,\nbad_lines_max 0.01.\n\nWithout a server, on this machine or named with --server, the answers are made here."
)]
pub(crate) struct Command {
    #[command(flatten)]
    pub reach: Reach,
    /// A folder a city, each with weather.csv, stations.csv and trips.csv
    #[arg(required = true)]
    dir: Option<PathBuf>,
    #[command(flatten)]
    ask: Ask,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// A parameter that shall differ from its default
    #[arg(long = "param", value_name = "K=V", value_parser = parameter)]
    params: Vec<(String, Value)>,
    /// Lines in a batch
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    batch: u32,
    /// Batches on their way at once
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=256))]
    in_flight: u32,
    /// How hard batches are packed (zstd); below 0 is faster, and larger on the way [default: 1; plain to a server on this machine]
    #[arg(long, value_name = "LEVEL", allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(-20..=19))]
    level: Option<i32>,
    /// Go on with this analysis: what it has is not sent again
    #[arg(long, value_name = "ID", conflicts_with = "params")]
    analysis: Option<String>,
    /// The group that owns the analysis
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Make a data set like the real ones: the same seed makes the same bytes
    #[command(after_help = "Example:\n  malla bikes generate ./bikes --trips 1000000 --seed 7")]
    Generate(generate::Generate),
}

fn parameter(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    // What is no number is a text.
    let number = serde_json::from_str(value).ok().filter(Value::is_number);
    Ok((name.trim().to_owned(), number.unwrap_or_else(|| Value::from(value))))
}

pub(crate) async fn run(place: &Place, command: Command) -> Result<()> {
    let dir = match (command.verb, command.dir) {
        (Some(Verb::Generate(generate)), _) => return generate::run(generate, command.reach.json),
        (None, Some(dir)) => dir,
        (None, None) => return Err(Usage("give a folder, as in: malla bikes ./bikes".into()).into()),
    };
    let cities = send::cities(&dir)?;
    let config = load(place, &Settings::default())?.config()?;
    let named = command.reach.server.iter().any(|server| !server.trim().is_empty());
    if named || data_dir::read_server(&config.data)?.is_some() {
        let client = Client::new(server_of(&config, &command.reach)?)?.patient(PATIENCE);
        let hint = format!("malla bikes {}", dir.display());
        return analyze(&client, cities, &command.ask, Some(&hint), command.reach.json).await;
    }
    let data = tempfile::tempdir().context("cannot make a temporary directory")?;
    let alone = Throwaway::start(data, &["--roles", "api,analyst,medic"], &[]).await?;
    let options = ClientOptions { servers: vec![alone.url.clone()], token: Some(alone.token.clone()), ca_pem: None };
    let done = analyze(&Client::new(options)?, cities, &command.ask, None, command.reach.json).await;
    alone.stop().await?;
    done
}

/// `hint` is the command with which it may go on if it breaks off.
async fn analyze(client: &Client, cities: Vec<send::City>, ask: &Ask, hint: Option<&str>, json: bool) -> Result<()> {
    let (analysis, taken) = match &ask.analysis {
        Some(id) => (client.analysis(id).await?, send::taken(client, id).await?),
        None => {
            let params = Value::Object(ask.params.iter().cloned().collect::<Map<_, _>>());
            let new = NewAnalysis { kind: "bike-rides".into(), params, group: ask.group.clone() };
            (client.begin_analysis(&new).await?, send::Taken::default())
        }
    };
    if let Some(hint) = hint.filter(|_| !json) {
        talk(&format!("analysis {0}; if this breaks off: {hint} --analysis {0}", analysis.id));
    }
    let sent = match analysis.state {
        AnalysisState::Collecting => {
            let bar = send::progress(&cities);
            let sent = send::all(client, &analysis.id, cities, ask, taken, &bar).await;
            bar.finish_and_clear();
            Some(sent)
        }
        _ => None,
    };
    if let Some(sent) = sent {
        let batches = match sent {
            Ok(batches) => batches,
            Err(error) => return Err(why_it_failed(client, &analysis.id).await.unwrap_or(error)),
        };
        client.complete_analysis(&analysis.id, batches).await?;
    }
    let ended = end(client, &analysis.id).await?;
    show::answers(client, &ended, json).await
}

/// A batch that is refused because the analysis has failed meanwhile tells less than the analysis itself.
async fn why_it_failed(client: &Client, id: &str) -> Option<anyhow::Error> {
    let analysis = client.analysis(id).await.ok()?;
    match analysis.state {
        AnalysisState::Failed => Some(failed(&analysis)),
        _ => None,
    }
}

fn failed(analysis: &Analysis) -> anyhow::Error {
    let why = analysis.why.as_deref().unwrap_or("see the server's log");
    anyhow::anyhow!("the analysis {} has {}: {why}", analysis.id, analysis.state)
}

/// Waits until the answers are there.
async fn end(client: &Client, id: &str) -> Result<Analysis> {
    let mut wait = LOOK.0;
    loop {
        let analysis = client.analysis(id).await?;
        match analysis.state {
            AnalysisState::Succeeded => return Ok(analysis),
            AnalysisState::Failed | AnalysisState::Cancelled => return Err(failed(&analysis)),
            AnalysisState::Collecting | AnalysisState::Computing => {}
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(LOOK.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_a_number_or_a_text() {
        assert_eq!(parameter("distance_km=4.5"), Ok(("distance_km".into(), Value::from(4.5))));
        assert_eq!(parameter("city=Toronto"), Ok(("city".into(), Value::from("Toronto"))));
        assert_eq!(parameter("city=true"), Ok(("city".into(), Value::from("true"))));
        assert!(parameter("city").is_err());
    }
}
