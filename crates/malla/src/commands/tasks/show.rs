//! `malla tasks show`, `counts` and `verify`.

use anyhow::bail;
use malla_client::Client;
use malla_protocol::{HistoryEntry, KindCounts, TaskDetail};
use serde_json::Value;

use super::by_state;
use crate::output::{Output, fields, or_dash, table, time, time_or_dash};

pub(super) fn describe(detail: &TaskDetail) -> String {
    let task = &detail.task;
    let delays: Vec<_> = detail.retry_delays_ms.iter().map(|ms| format!("{ms} ms")).collect();
    let pairs = [
        ("id", Some(task.id.clone())),
        ("state", Some(task.state.to_string())),
        ("kind", Some(task.kind.clone())),
        ("lane", Some(task.lane.clone())),
        ("group", task.group.clone()),
        ("priority", Some(task.priority.to_string())),
        ("submitted", Some(time(&task.submitted_at))),
        ("due", task.run_at.as_deref().map(time)),
        ("finished", task.finished_at.as_deref().map(time)),
        ("holder", task.holder.clone()),
        ("parent", task.parent.clone()),
        ("dedup", detail.dedup.clone()),
        ("retry after", (!delays.is_empty()).then(|| delays.join(", "))),
        ("payload", Some(detail.payload.to_string())),
        ("result", detail.result.as_ref().map(Value::to_string)),
    ];
    let pairs: Vec<_> = pairs.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let mut text = fields(&pairs);
    if !detail.history.is_empty() {
        let head = ["WHAT", "BEGAN (UTC)", "ENDED (UTC)", "BY", "NOTE"];
        text.push_str("\n\n");
        text.push_str(&table(&head, detail.history.iter().map(history_row)));
    }
    text
}

fn history_row(entry: &HistoryEntry) -> Vec<String> {
    vec![
        entry.what.clone(),
        time_or_dash(entry.started_at.as_deref()),
        time(&entry.at),
        or_dash(entry.by.as_deref()),
        entry.note.clone().unwrap_or_default(),
    ]
}

pub(super) async fn counts(client: &Client, output: &mut Output) -> anyhow::Result<()> {
    let counts = client.counts().await?;
    let states = by_state(&counts.total).map(|(_, state)| state.to_uppercase());
    let mut head = vec!["KIND"];
    head.extend(states.iter().map(String::as_str));
    output.rows(&head, &counts.kinds, |row: &KindCounts| {
        let numbers = by_state(&row.counts).map(|(count, _)| count.to_string());
        std::iter::once(row.kind.clone()).chain(numbers).collect()
    })?;
    output.end("no tasks yet");
    Ok(())
}

pub(super) async fn verify(client: &Client, output: &Output) -> anyhow::Result<()> {
    let verification = client.verify().await?;
    output.one(&verification, |verification| match verification.problems.as_slice() {
        [] => "all counters and lanes agree with their tasks".into(),
        problems => problems.join("\n"),
    })?;
    if !verification.problems.is_empty() {
        bail!("{} things do not agree: report this with the lines above", verification.problems.len());
    }
    Ok(())
}
