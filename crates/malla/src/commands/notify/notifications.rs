//! `malla notify notifications`.

use clap::{Args, Subcommand};
use malla_client::Client;
use malla_protocol::{HistoryEntry, NotificationDetail, NotificationQuery, NotificationView};
use serde_json::Value;

use super::act;
use crate::commands::{Limit, pages};
use crate::output::{Output, fields, or_dash, table, time, time_or_dash};

#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// List notifications, newest first
    #[command(
        after_help = "Examples:\n  malla notify notifications list --state failed --subscription billing\n  malla notify notifications list --content 4711 --from 2026-01-01"
    )]
    List(List),
    /// Show one notification with every attempt
    #[command(after_help = "Example:\n  malla notify notifications show 0d3j6v9kq8000")]
    Show { id: String },
    /// Send notifications once more; with filters it takes those that failed
    #[command(
        after_help = "Examples:\n  malla notify notifications resend 0d3j6v9kq8000\n  malla notify notifications resend --subscription billing --yes"
    )]
    Resend(act::Which),
    /// Decide that notifications shall not be delivered
    #[command(
        after_help = "Examples:\n  malla notify notifications discard 0d3j6v9kq8000\n  malla notify notifications discard --subscription billing --state queued"
    )]
    Discard(act::Which),
    /// Confirm notifications that the far side has accepted
    #[command(after_help = "Example:\n  malla notify notifications confirm 0d3j6v9kq8000")]
    Confirm(act::Which),
}

#[derive(Debug, Args)]
pub(super) struct List {
    #[command(flatten)]
    filters: Filters,
    #[command(flatten)]
    limit: Limit,
}

/// Which notifications; all conditions that are given must hold.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Filters")]
pub(super) struct Filters {
    /// To this subscription
    #[arg(long, value_name = "NAME")]
    subscription: Option<String>,
    /// Of events of this endpoint
    #[arg(long, value_name = "NAME")]
    endpoint: Option<String>,
    /// Of this event
    #[arg(long, value_name = "ID")]
    event: Option<String>,
    /// queued, running, paused, notified, succeeded, failed or discarded; several with commas
    #[arg(long)]
    state: Option<String>,
    /// A word or id inside the event's body
    #[arg(long, value_name = "WORD")]
    content: Option<String>,
    /// Made at this time or later: YYYY-MM-DD or RFC 3339
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Made before this time; a day counts whole
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
}

impl From<Filters> for NotificationQuery {
    fn from(filters: Filters) -> Self {
        let Filters { subscription, endpoint, event, state, content, from, to } = filters;
        NotificationQuery { subscription, endpoint, event, state, content, from, to }
    }
}

pub(super) async fn run(verb: Verb, client: &Client, output: &mut Output) -> anyhow::Result<()> {
    match verb {
        Verb::List(list) => run_list(list, client, output).await,
        Verb::Show { id } => Ok(output.one(&client.notification(&id).await?, describe)?),
        Verb::Resend(which) => act::run(which, act::RESEND, client, output).await,
        Verb::Discard(which) => act::run(which, act::DISCARD, client, output).await,
        Verb::Confirm(which) => act::run(which, act::CONFIRM, client, output).await,
    }
}

async fn run_list(list: List, client: &Client, output: &mut Output) -> anyhow::Result<()> {
    let query = NotificationQuery::from(list.filters);
    let show = |notifications: &[NotificationView]| output.rows(&HEAD, notifications, row);
    pages(list.limit, async |page| client.notifications(&query, &page).await, show).await?;
    output.end("no notifications match");
    Ok(())
}

pub(super) const HEAD: [&str; 7] =
    ["ID", "STATE", "SUBSCRIPTION", "EVENT", "ATTEMPTS", "CREATED (UTC)", "NEXT OR LAST (UTC)"];

pub(super) fn row(notification: &NotificationView) -> Vec<String> {
    vec![
        notification.id.clone(),
        notification.state.to_string(),
        notification.subscription.clone(),
        notification.event.clone(),
        notification.attempts.to_string(),
        time(&notification.created_at),
        time_or_dash(notification.run_at.as_deref().or(notification.finished_at.as_deref())),
    ]
}

fn describe(detail: &NotificationDetail) -> String {
    let notification = &detail.notification;
    let pairs = [
        ("id", Some(notification.id.clone())),
        ("state", Some(notification.state.to_string())),
        ("subscription", Some(notification.subscription.clone())),
        ("endpoint", Some(notification.endpoint.clone())),
        ("event", Some(notification.event.clone())),
        ("group", notification.group.clone()),
        ("attempts", Some(notification.attempts.to_string())),
        ("created", Some(time(&notification.created_at))),
        ("due", notification.run_at.as_deref().map(time)),
        ("finished", notification.finished_at.as_deref().map(time)),
        ("holder", detail.holder.clone()),
    ];
    let pairs: Vec<_> = pairs.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let mut text = fields(&pairs);
    if !detail.history.is_empty() {
        let head = ["WHAT", "BEGAN (UTC)", "ENDED (UTC)", "BY", "STATUS", "NOTE"];
        text.push_str("\n\n");
        text.push_str(&table(&head, detail.history.iter().map(history_row)));
    }
    text
}

fn history_row(entry: &HistoryEntry) -> Vec<String> {
    let status = entry.answer.as_ref().and_then(|answer| answer.get("status")).map(Value::to_string);
    vec![
        entry.what.clone(),
        time_or_dash(entry.started_at.as_deref()),
        time(&entry.at),
        or_dash(entry.by.as_deref()),
        or_dash(status.as_deref()),
        entry.note.clone().unwrap_or_default(),
    ]
}
