//! `malla notify`: endpoints, subscriptions, events, notifications, statistics and alerts.

mod act;
mod alerts;
mod clear;
mod endpoints;
mod events;
mod notifications;
mod send;
mod stats;
mod subscription_flags;
mod subscriptions;
mod tail;

use clap::{Args, Subcommand};
use malla_client::Client;

use crate::cli::Reach;
use crate::output::Output;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  malla notify endpoints create orders\n  malla notify subs create billing orders https://billing.example/hook\n  malla notify events send orders '{\"id\": 7}'\n  malla notify tail"
)]
pub(crate) struct Command {
    #[command(subcommand)]
    thing: Thing,
    #[command(flatten)]
    pub reach: Reach,
}

#[derive(Debug, Subcommand)]
enum Thing {
    /// Where events come in: list, create, show, change, delete
    #[command(subcommand)]
    Endpoints(endpoints::Verb),
    /// Who gets an endpoint's events: list, create, show, change, suspend, activate, disable, delete
    #[command(subcommand, visible_alias = "subs")]
    Subscriptions(subscriptions::Verb),
    /// What came in: list, show, send
    #[command(subcommand)]
    Events(events::Verb),
    /// Events on their way to subscribers: list, show, resend, discard, confirm
    #[command(subcommand)]
    Notifications(notifications::Verb),
    /// Print notifications as they come and as their states change, until interrupted
    #[command(
        after_help = "Examples:\n  malla notify tail --subscription billing\n  malla notify tail --events --endpoint orders --json"
    )]
    Tail(tail::Tail),
    /// Show what was counted, by the minute, the hour or the day, and a summary
    #[command(
        after_help = "Examples:\n  malla notify stats\n  malla notify stats --subscription billing --step day\n  malla notify stats --endpoint orders --step hour --json"
    )]
    Stats(stats::Stats),
    /// Who is told when deliveries fail or stand still: list, create, show, change, delete, test
    #[command(subcommand)]
    Alerts(alerts::Verb),
}

pub(crate) async fn run(command: Command, client: &Client) -> anyhow::Result<()> {
    let mut output = Output::new(command.reach.json);
    match command.thing {
        Thing::Endpoints(verb) => endpoints::run(verb, client, &mut output).await,
        Thing::Subscriptions(verb) => subscriptions::run(verb, client, &mut output).await,
        Thing::Events(verb) => events::run(verb, client, &mut output).await,
        Thing::Notifications(verb) => notifications::run(verb, client, &mut output).await,
        Thing::Tail(tail) => tail::run(tail, client, &mut output).await,
        Thing::Stats(stats) => stats::run(stats, client, &mut output).await,
        Thing::Alerts(verb) => alerts::run(verb, client, &mut output).await,
    }
}

fn yes_or_dash(yes: bool) -> String {
    if yes { "yes".into() } else { "-".into() }
}
