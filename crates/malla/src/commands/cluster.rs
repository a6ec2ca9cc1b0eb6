//! `malla cluster`.

use clap::{Args, Subcommand};
use malla_client::Client;
use malla_protocol::{ClusterView, MemberView, RestartView, RoleView, RollingView, TermView};

use crate::cli::Reach;
use crate::output::{Output, fields, or_dash, table, time, time_or_dash};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  malla cluster\n  malla cluster --json\n  malla cluster restart --rolling")]
pub(crate) struct Command {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    pub reach: Reach,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show members, leader, roles and recent restarts
    #[command(after_help = "Example:\n  malla cluster show --json")]
    Show,
    /// Restart every supervised process, one after the other
    #[command(after_help = "Example:\n  malla cluster restart --rolling\n  malla cluster show        how far it is")]
    Restart(Restart),
    /// Who led when, newest first
    #[command(after_help = "Example:\n  malla cluster terms --limit 10")]
    Terms(Newest),
    /// Processes that medics started again, newest first
    #[command(after_help = "Example:\n  malla cluster restarts --limit 10 --json")]
    Restarts(Newest),
}

#[derive(Debug, Args)]
struct Restart {
    /// One process at a time, while every role stays complete: the only way there is
    #[arg(long, required = true)]
    rolling: bool,
}

#[derive(Debug, Args)]
struct Newest {
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
}

pub(crate) async fn run(command: Command, client: &Client) -> anyhow::Result<()> {
    let mut output = Output::new(command.reach.json);
    match command.verb.unwrap_or(Verb::Show) {
        Verb::Show => Ok(output.one(&client.cluster().await?, show)?),
        Verb::Restart(Restart { .. }) => Ok(output.one(&client.restart_cluster().await?, rolling)?),
        Verb::Terms(Newest { limit }) => {
            let terms = client.cluster_terms(Some(limit)).await?.items;
            output.rows(&["TERM", "LEADER", "BEGAN", "HELD UNTIL"], &terms, term)?;
            output.end("nobody has led yet");
            Ok(())
        }
        Verb::Restarts(Newest { limit }) => {
            let restarts = client.cluster_restarts(Some(limit)).await?.items;
            output.rows(&RESTART_HEAD, &restarts, restart)?;
            output.end("nothing was started again");
            Ok(())
        }
    }
}

const RESTART_HEAD: [&str; 6] = ["AT", "MACHINE", "ROLE", "WHY", "WAITED", "NOTE"];

/// Everything about the cluster on a page.
fn show(cluster: &ClusterView) -> String {
    let leader = cluster.leader.as_ref().map_or("nobody at the moment".to_owned(), |leader| {
        format!("{} ({}), since {}", leader.name, leader.member, time(&leader.since))
    });
    let mut about = vec![("leader", leader), ("term", or_dash(cluster.term.map(|term| term.to_string()).as_deref()))];
    if let Some(rolling) = &cluster.rolling {
        about.push(("rolling restart", rolling_line(rolling, cluster.left)));
    }
    let mut parts = vec![fields(&about)];
    let head = ["ID", "NAME", "ROLES", "STATE", "MEDIC", "ADDRESS", "TASKS", "CPU", "MEMORY", "VERSION", "LAST SEEN"];
    parts.push(table(&head, cluster.members.iter().map(member)));
    parts.push(table(&["ROLE", "ASSIGNED", "RUNNING"], cluster.roles.iter().map(role)));
    if !cluster.restarts.is_empty() {
        parts.push(table(&RESTART_HEAD, cluster.restarts.iter().map(restart)));
    }
    parts.join("\n\n")
}

fn member(member: &MemberView) -> Vec<String> {
    let mut state = member.state.to_string();
    for (is, word) in [(member.leads, ", leads"), (member.supervises, ", medic"), (member.to_restart, ", restarts")] {
        if is {
            state.push_str(word);
        }
    }
    vec![
        member.id.to_string(),
        member.name.clone(),
        member.roles.join(","),
        state,
        or_dash(member.medic.map(|medic| medic.to_string()).as_deref()),
        or_dash(member.address.as_deref()),
        member.load.tasks.to_string(),
        format!("{:.0} %", member.load.cpu * 100.0),
        format!("{} MB", member.load.memory_bytes / 1_000_000),
        member.version.clone(),
        time(&member.seen_at),
    ]
}

/// Where no medic was told to run it, there is no number to come up to.
fn role(role: &RoleView) -> Vec<String> {
    let assigned = Some(role.assigned).filter(|assigned| *assigned > 0).map(|assigned| assigned.to_string());
    vec![role.role.clone(), or_dash(assigned.as_deref()), role.running.to_string()]
}

fn restart(restart: &RestartView) -> Vec<String> {
    vec![
        time(&restart.at),
        restart.machine.clone(),
        restart.role.clone(),
        restart.why.to_string(),
        format!("{} ms", restart.delay_ms),
        restart.note.clone(),
    ]
}

fn term(term: &TermView) -> Vec<String> {
    vec![term.term.to_string(), term.leader.clone(), time(&term.began_at), time(&term.held_until)]
}

fn rolling(rolling: &RollingView) -> String {
    fields(&[
        ("rolling restart", rolling.id.to_string()),
        ("by", rolling.by.clone()),
        ("begun", time(&rolling.begun_at)),
        ("ended", time_or_dash(rolling.ended_at.as_deref())),
        ("note", or_dash(rolling.note.as_deref())),
    ])
}

fn rolling_line(rolling: &RollingView, left: u64) -> String {
    let begun = format!("begun {} by {}", time(&rolling.begun_at), rolling.by);
    match (&rolling.ended_at, &rolling.note) {
        (None, _) => format!("{begun}; {left} processes to go"),
        (Some(ended), None) => format!("{begun}; over {}", time(ended)),
        (Some(ended), Some(note)) => format!("{begun}; ended early {}: {note}", time(ended)),
    }
}
