//! `malla analyses`.

use std::io::Write as _;

use clap::{Args, Subcommand};
use malla_client::Client;
use malla_protocol::{Analysis, AnswerFormat, AnswerQuery};

use crate::cli::Reach;
use crate::commands::{Limit, pages};
use crate::output::{Output, fields, or_dash, table, talk, time, time_or_dash};

#[derive(Debug, Args)]
pub(crate) struct Command {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    pub reach: Reach,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List analyses, newest first
    #[command(after_help = "Example:\n  malla analyses list --limit 10")]
    List(Limit),
    /// Show one: how far it is, and lines that could not be read
    #[command(after_help = "Example:\n  malla analyses show 06a2vb2dr0000")]
    Show { id: String },
    /// Print an answer as JSON, or as CSV
    #[command(
        after_help = "Examples:\n  malla analyses answer 06a2vb2dr0000 rain\n  malla analyses answer 06a2vb2dr0000 city --csv > far.csv\n  malla analyses answer 06a2vb2dr0000 year --partial"
    )]
    Answer(Answer),
    /// End one that is under way; forget one that is over, answers included
    #[command(after_help = "Example:\n  malla analyses cancel 06a2vb2dr0000")]
    Cancel { id: String },
}

#[derive(Debug, Args)]
struct Answer {
    id: String,
    /// rain, year or city; columns of a csv-summary
    name: String,
    /// What is known so far
    #[arg(long)]
    partial: bool,
    /// As a table
    #[arg(long)]
    csv: bool,
}

pub(crate) async fn run(command: Command, client: &Client) -> anyhow::Result<()> {
    let mut output = Output::new(command.reach.json);
    match command.verb {
        Verb::List(limit) => {
            let head = ["ID", "KIND", "STATE", "BATCHES", "ROWS", "ROWS/S", "BEGUN"];
            pages(limit, async |page| client.analyses(&page).await, |some| output.rows(&head, some, row)).await?;
            output.end("no analyses: `malla bikes DIR` begins one");
            Ok(())
        }
        Verb::Show { id } => Ok(output.one(&client.analysis(&id).await?, describe)?),
        Verb::Answer(Answer { id, name, partial, csv }) => {
            let query = AnswerQuery { partial: partial.then_some(true), format: csv.then_some(AnswerFormat::Csv) };
            let mut answer = client.answer_bytes(&id, &name, &query).await?;
            if answer.last() != Some(&b'\n') {
                answer.push(b'\n');
            }
            Ok(std::io::stdout().write_all(&answer)?)
        }
        Verb::Cancel { id } => {
            client.cancel_analysis(&id).await?;
            if !command.reach.json {
                talk(&format!("the analysis {id} is ended, or forgotten if it was over"));
            }
            Ok(())
        }
    }
}

fn batches(analysis: &Analysis) -> String {
    let counts = analysis.batches;
    format!("{} of {}", counts.mapped, counts.expected.unwrap_or(counts.taken))
}

fn row(analysis: &Analysis) -> Vec<String> {
    vec![
        analysis.id.clone(),
        analysis.kind.clone(),
        analysis.state.to_string(),
        batches(analysis),
        analysis.rows.to_string(),
        analysis.rows_per_s.to_string(),
        time(&analysis.created_at),
    ]
}

fn describe(analysis: &Analysis) -> String {
    let left = analysis.left_s.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds} s"));
    let mut text = fields(&[
        ("analysis", analysis.id.clone()),
        ("kind", analysis.kind.clone()),
        ("parameters", analysis.params.to_string()),
        ("group", or_dash(analysis.group.as_deref())),
        ("state", analysis.state.to_string()),
        ("why", or_dash(analysis.why.as_deref())),
        ("begun", time(&analysis.created_at)),
        ("ended", time_or_dash(analysis.finished_at.as_deref())),
        ("batches", batches(analysis)),
        ("rows", format!("{} ({} a second)", analysis.rows, analysis.rows_per_s)),
        ("time left", left),
        ("bad lines", analysis.bad_lines.to_string()),
    ]);
    if !analysis.bad_samples.is_empty() {
        let rows = analysis.bad_samples.iter();
        let rows = rows.map(|bad| vec![bad.batch.clone(), bad.line.to_string(), bad.why.clone(), bad.text.clone()]);
        text.push_str("\n\n");
        text.push_str(&table(&["BATCH", "LINE", "WHY", "TEXT"], rows));
    }
    text
}
