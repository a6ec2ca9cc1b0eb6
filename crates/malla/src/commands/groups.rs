//! `malla groups`.

use clap::{Args, Subcommand};
use malla_client::Client;
use malla_protocol::{GroupView, NewGroup};

use crate::cli::Reach;
use crate::commands::{Limit, pages};
use crate::output::{Output, fields, talk, time};

#[derive(Debug, Args)]
pub(crate) struct Command {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    pub reach: Reach,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List groups
    #[command(after_help = "Example:\n  malla groups list")]
    List(Limit),
    /// Make a group
    #[command(after_help = "Example:\n  malla groups create research")]
    Create { name: String },
    /// Delete a group that owns nothing
    #[command(after_help = "Example:\n  malla groups delete research")]
    Delete { name: String },
    /// Make a user a member
    #[command(after_help = "Example:\n  malla groups add research ana")]
    Add { group: String, user: String },
    /// Let a user leave
    #[command(after_help = "Example:\n  malla groups remove research ana")]
    Remove { group: String, user: String },
}

pub(crate) async fn run(command: Command, client: &Client) -> anyhow::Result<()> {
    let mut output = Output::new(command.reach.json);
    let group = match command.verb {
        Verb::List(limit) => {
            let show = |groups: &[GroupView]| output.rows(&["NAME", "MEMBERS", "CREATED (UTC)"], groups, row);
            pages(limit, async |page| client.groups(&page).await, show).await?;
            output.end("no groups yet: make one with `malla groups create NAME`");
            return Ok(());
        }
        Verb::Delete { name } => {
            client.delete_group(&name).await?;
            talk(&format!("group {name} is deleted"));
            return Ok(());
        }
        Verb::Create { name } => client.create_group(&NewGroup { name }).await?,
        Verb::Add { group, user } => client.add_member(&group, &user).await?,
        Verb::Remove { group, user } => client.remove_member(&group, &user).await?,
    };
    Ok(output.one(&group, describe)?)
}

fn row(group: &GroupView) -> Vec<String> {
    vec![group.name.clone(), group.members.join(", "), time(&group.created_at)]
}

fn describe(group: &GroupView) -> String {
    fields(&[("group", group.name.clone()), ("members", group.members.join(", "))])
}
