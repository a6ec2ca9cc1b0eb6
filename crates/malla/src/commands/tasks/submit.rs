//! `malla tasks submit`: one task from the command line, or many from a file.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use indicatif::ProgressBar;
use malla_client::Client;
use malla_protocol::{NewTask, Priority, SubmitTasks, SubmittedTask};

use crate::output::{Output, talk};

pub(super) const EXAMPLES: &str = "Examples:
  malla tasks submit drill/try
  malla tasks submit drill/try '{\"work_ms\": 500, \"fail\": 1}' --retry 5,60
  seq 1000 | sed 's|.*|{\"lane\": \"drill/&\", \"kind\": \"drill\"}|' | malla tasks submit --file -";

/// A batch is sent when it has this many tasks or bytes.
const BATCH_TASKS: usize = 500;
const BATCH_BYTES: usize = 1024 * 1024;
const LINE_BYTES_MAX: u64 = 8 * 1024 * 1024;

#[derive(Debug, Args)]
pub(super) struct Submit {
    /// The lane as room/name; it is made if it is not there
    #[arg(required_unless_present = "file")]
    lane: Option<String>,
    /// What the kind understands, as JSON
    #[arg(default_value = "{}")]
    payload: String,
    /// What sort of work it is [default: the lane's room]
    #[arg(long)]
    kind: Option<String>,
    /// high, normal or low: which of a lane's tasks goes first
    #[arg(long, value_parser = parse_priority, default_value = "normal")]
    priority: Priority,
    /// Not before this time (RFC 3339)
    #[arg(long, value_name = "TIME")]
    run_at: Option<String>,
    /// While a task with this key is not finished, it answers for the new one
    #[arg(long, value_name = "KEY")]
    dedup: Option<String>,
    /// Seconds before each further attempt, with commas
    #[arg(long, value_name = "S,S,…", value_delimiter = ',')]
    retry: Vec<u64>,
    /// The group that owns it
    #[arg(long)]
    group: Option<String>,
    /// Simultaneous tasks of the lane, if this task makes it
    #[arg(long, value_name = "N")]
    ceiling: Option<u32>,
    /// Milliseconds between two starts in the lane, if this task makes it
    #[arg(long, value_name = "MS")]
    gap_ms: Option<u64>,
    /// Submit one task a line, as JSON with the fields of the API; - is stdin
    #[arg(long, value_name = "FILE", conflicts_with = "lane")]
    file: Option<PathBuf>,
}

pub(super) async fn run(submit: Submit, client: &Client, output: &mut Output) -> anyhow::Result<()> {
    match (&submit.file, &submit.lane) {
        (Some(path), _) => many(path, client, output).await,
        (None, Some(lane)) => {
            let task = one(&submit, lane)?;
            send(vec![task], client, output).await
        }
        (None, None) => unreachable!("clap asks for one of them"),
    }
}

fn one(submit: &Submit, lane: &str) -> anyhow::Result<NewTask> {
    let payload = serde_json::from_str(&submit.payload).context("the payload is not JSON")?;
    let room = lane.split('/').next().unwrap_or_default();
    Ok(NewTask {
        lane: lane.to_owned(),
        kind: submit.kind.clone().unwrap_or_else(|| room.to_owned()),
        payload: Some(payload),
        priority: submit.priority,
        run_at: submit.run_at.clone(),
        dedup: submit.dedup.clone(),
        retry_delays_s: submit.retry.clone(),
        group: submit.group.clone(),
        ceiling: submit.ceiling,
        gap_ms: submit.gap_ms,
    })
}

async fn many(path: &Path, client: &Client, output: &mut Output) -> anyhow::Result<()> {
    let mut reader: Box<dyn BufRead> = match path.to_str() {
        Some("-") => Box::new(io::stdin().lock()),
        _ => Box::new(BufReader::new(File::open(path).with_context(|| format!("cannot read {}", path.display()))?)),
    };
    let bar = if io::stderr().is_terminal() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    let (mut batch, mut bytes, mut number) = (Vec::new(), 0, 0_u64);
    let sent = async {
        while let Some(line) = next_line(&mut reader)? {
            number += 1;
            if line.trim().is_empty() {
                continue;
            }
            let task: NewTask = serde_json::from_str(&line).map_err(|error| anyhow!("line {number}: {error}"))?;
            bytes += line.len();
            batch.push(task);
            if batch.len() >= BATCH_TASKS || bytes >= BATCH_BYTES {
                bytes = 0;
                send(std::mem::take(&mut batch), client, output).await?;
                bar.set_message(format!("{number} lines"));
                bar.tick();
            }
        }
        send(batch, client, output).await
    };
    let sent = sent.await;
    bar.finish_and_clear();
    if sent.is_err() {
        talk(&format!("stopped at line {number}: tasks whose ids were printed are submitted, later ones are not"));
    }
    sent
}

fn next_line(reader: &mut dyn BufRead) -> anyhow::Result<Option<String>> {
    let mut line = String::new();
    let read = reader.take(LINE_BYTES_MAX).read_line(&mut line)?;
    if read as u64 == LINE_BYTES_MAX {
        bail!("a line is longer than {LINE_BYTES_MAX} bytes");
    }
    Ok((read > 0).then_some(line))
}

async fn send(tasks: Vec<NewTask>, client: &Client, output: &mut Output) -> anyhow::Result<()> {
    if tasks.is_empty() {
        return Ok(());
    }
    let submitted = client.submit(&SubmitTasks { tasks }).await?;
    let row = |task: &SubmittedTask| {
        let note = if task.new { String::new() } else { "was waiting already".into() };
        vec![task.id.clone(), note]
    };
    Ok(output.rows(&[], &submitted.tasks, row)?)
}

fn parse_priority(text: &str) -> Result<Priority, String> {
    serde_json::from_value(text.into()).map_err(|_| "priorities are high, normal and low".into())
}
