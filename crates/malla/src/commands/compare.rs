//! `malla compare`: the same pages from several countries or devices.

use std::time::Duration;

use clap::Args;
use malla_client::Client;
use malla_protocol::{ComparedPlace, ComparisonView, NewComparison};

use crate::cli::Reach;
use crate::output::{Output, or_dash, table, talk};

const LOOK_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  malla compare https://example.org/ --countries AR,DE,US\n  malla compare https://example.org/ --devices 3 --json\n  malla compare https://example.org/ --countries AR,DE --every-s 3600      again and again; prints its number\n\nPages are fetched by the fleet's devices: `malla devices list` shows their countries."
)]
pub(crate) struct Command {
    #[command(flatten)]
    pub reach: Reach,
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    /// Two capital letters each, with commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', required_unless_present = "devices")]
    countries: Vec<String>,
    /// From so many devices, wherever they are
    #[arg(long, value_name = "N", conflicts_with = "countries")]
    devices: Option<u32>,
    /// Again after so many seconds
    #[arg(long, value_name = "S")]
    every_s: Option<u64>,
    /// How long a page waits for a device of its place [default: 300]
    #[arg(long, value_name = "S")]
    wait_s: Option<u64>,
    /// The group that owns the comparison
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
}

pub(crate) async fn run(command: Command, client: &Client) -> anyhow::Result<()> {
    let Command { reach, urls, countries, devices, every_s, wait_s, group } = command;
    let output = Output::new(reach.json);
    let countries = (!countries.is_empty()).then_some(countries);
    let repeated = every_s.is_some();
    let mut comparison =
        client.compare(&NewComparison { urls, countries, devices, every_s, wait_s, wait: None, group }).await?;
    if repeated && !reach.json {
        talk(&format!("comparison {}", comparison.id));
    }
    while comparison.report.is_none() && comparison.state == "running" {
        tokio::time::sleep(LOOK_EVERY).await;
        comparison = client.comparison(&comparison.id).await?;
    }
    output.one(&comparison, describe)?;
    if comparison.state == "failed" {
        anyhow::bail!("{}", comparison.note.unwrap_or_else(|| "the comparison failed".into()));
    }
    Ok(())
}

fn describe(comparison: &ComparisonView) -> String {
    let Some(report) = &comparison.report else { return comparison.note.clone().unwrap_or_default() };
    let mut text = String::new();
    for url in &report.urls {
        let word = if url.differs { "differs" } else { "is the same everywhere" };
        text.push_str(&format!("{} {word}\n", url.url));
        text.push_str(&table(&["PLACE", "STATUS", "ALIKE", "FINAL URL", "NOTE"], url.places.iter().map(row)));
        text.push('\n');
        for place in url.places.iter().filter(|place| place.differs) {
            for (sign, lines) in [('-', &place.missing), ('+', &place.extra)] {
                lines.iter().for_each(|line| text.push_str(&format!("  {} {sign} {line}\n", place.place)));
            }
        }
    }
    text.trim_end().to_owned()
}

fn row(place: &ComparedPlace) -> Vec<String> {
    let alike = place.similarity.map_or_else(|| "-".to_owned(), |alike| format!("{:.0} %", alike * 100.0));
    vec![
        if place.differs { format!("{} !", place.place) } else { place.place.clone() },
        place.status.to_string(),
        alike,
        place.final_url.clone(),
        or_dash(place.note.as_deref()),
    ]
}
