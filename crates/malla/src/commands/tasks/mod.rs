//! `malla tasks`: the tasks of any room.

mod act;
mod list;
mod show;
mod submit;
mod tail;

use clap::{Args, Subcommand};
use malla_client::Client;
use malla_protocol::{StateCounts, TaskQuery, TaskView};

use crate::cli::Reach;
use crate::output::{Output, or_dash, time, time_or_dash};

#[derive(Debug, Args)]
pub(crate) struct Command {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    pub reach: Reach,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List tasks, newest first
    #[command(
        after_help = "Examples:\n  malla tasks list --state failed --room notify\n  malla tasks list --from 2026-01-01 --limit 0 --json"
    )]
    List(list::List),
    /// Show one task with its history
    #[command(after_help = "Example:\n  malla tasks show 0d3j6v9kq8000")]
    Show { id: String },
    /// Submit a task, or many from a file of JSON lines
    #[command(after_help = submit::EXAMPLES)]
    Submit(submit::Submit),
    /// Send finished or failed tasks through their lanes again
    #[command(
        after_help = "Examples:\n  malla tasks retry 0d3j6v9kq8000\n  malla tasks retry --state failed --lane notify/payments --yes"
    )]
    Retry(act::Which),
    /// Decide that tasks shall not be done
    #[command(
        after_help = "Examples:\n  malla tasks discard 0d3j6v9kq8000\n  malla tasks discard --state queued --kind drill"
    )]
    Discard(act::Which),
    /// Hold waiting tasks back
    #[command(after_help = "Example:\n  malla tasks pause --lane notify/payments")]
    Pause(act::Which),
    /// Let paused tasks go on
    #[command(after_help = "Example:\n  malla tasks resume --lane notify/payments")]
    Resume(act::Which),
    /// Confirm tasks that were accepted by the far side
    #[command(after_help = "Example:\n  malla tasks confirm 0d3j6v9kq8000")]
    Confirm(act::Which),
    /// Print tasks as they come and as their states change, until interrupted
    #[command(after_help = "Example:\n  malla tasks tail --room notify --json")]
    Tail(Filters),
    /// Count tasks by kind and state
    #[command(after_help = "Example:\n  malla tasks counts --json")]
    Counts,
    /// Compare every counter with what it counts; reads everything, and exits with 1 if something is wrong
    #[command(after_help = "Example:\n  malla tasks verify")]
    Verify,
}

/// Which tasks; all conditions that are given must hold.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct Filters {
    /// queued, running, paused, notified, succeeded, failed or discarded; several with commas
    #[arg(long)]
    state: Option<String>,
    /// The first part of the lane's key
    #[arg(long)]
    room: Option<String>,
    #[arg(long)]
    kind: Option<String>,
    /// The lane's whole key
    #[arg(long, value_name = "ROOM/NAME")]
    lane: Option<String>,
    /// The group that owns it
    #[arg(long)]
    group: Option<String>,
    /// The task that they follow
    #[arg(long, value_name = "ID")]
    parent: Option<String>,
    /// Submitted at this time or later: YYYY-MM-DD or RFC 3339
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Submitted before this time; a day counts whole
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
}

impl From<Filters> for TaskQuery {
    fn from(filters: Filters) -> Self {
        let Filters { state, room, kind, lane, group, parent, from, to } = filters;
        TaskQuery { state, room, kind, lane, group, parent, from, to }
    }
}

pub(crate) async fn run(command: Command, client: &Client) -> anyhow::Result<()> {
    let mut output = Output::new(command.reach.json);
    match command.verb {
        Verb::List(list) => list::run(list, client, &mut output).await,
        Verb::Show { id } => Ok(output.one(&client.task(&id).await?, show::describe)?),
        Verb::Submit(submit) => submit::run(submit, client, &mut output).await,
        Verb::Retry(which) => act::run(which, act::RETRY, client, &mut output).await,
        Verb::Discard(which) => act::run(which, act::DISCARD, client, &mut output).await,
        Verb::Pause(which) => act::run(which, act::PAUSE, client, &mut output).await,
        Verb::Resume(which) => act::run(which, act::RESUME, client, &mut output).await,
        Verb::Confirm(which) => act::run(which, act::CONFIRM, client, &mut output).await,
        Verb::Tail(filters) => tail::run(filters, client, &mut output).await,
        Verb::Counts => show::counts(client, &mut output).await,
        Verb::Verify => show::verify(client, &output).await,
    }
}

const HEAD: [&str; 7] = ["ID", "STATE", "KIND", "LANE", "FAILURES", "SUBMITTED (UTC)", "NEXT OR LAST (UTC)"];

fn row(task: &TaskView) -> Vec<String> {
    vec![
        task.id.clone(),
        task.state.to_string(),
        task.kind.clone(),
        task.lane.clone(),
        task.failures.to_string(),
        time(&task.submitted_at),
        time_or_dash(task.run_at.as_deref().or(task.finished_at.as_deref())),
    ]
}

/// `3 queued, 1 failed`
pub(crate) fn counts_line(counts: &StateCounts) -> String {
    let some: Vec<_> = by_state(counts).into_iter().filter(|(count, _)| *count > 0).collect();
    if some.is_empty() {
        return or_dash(None);
    }
    some.iter().map(|(count, state)| format!("{count} {state}")).collect::<Vec<_>>().join(", ")
}

fn by_state(counts: &StateCounts) -> [(u64, &'static str); 7] {
    [
        (counts.queued, "queued"),
        (counts.running, "running"),
        (counts.paused, "paused"),
        (counts.notified, "notified"),
        (counts.succeeded, "succeeded"),
        (counts.failed, "failed"),
        (counts.discarded, "discarded"),
    ]
}
