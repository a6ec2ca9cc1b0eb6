//! `malla users`.

use std::io::Read as _;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use malla_client::Client;
use malla_protocol::{NewUser, Role, UserChange, UserView};
use serde::Serialize;

use crate::cli::Reach;
use crate::commands::{Limit, pages, parse_role};
use crate::first_run::readable_password;
use crate::output::{Output, fields, talk, time};

/// A password is a line; more is a mistake.
const PASSWORD_BYTES_MAX: u64 = 4 * 1024;

#[derive(Debug, Args)]
pub(crate) struct Command {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    pub reach: Reach,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List users
    #[command(after_help = "Example:\n  malla users list")]
    List(Limit),
    /// Make a user; a password is made up and printed once unless one comes on stdin
    #[command(
        after_help = "Examples:\n  malla users create ana --role user --group research\n  malla users create ana --password-stdin < password.txt"
    )]
    Create(Create),
    /// Change a user; a new password or role ends the user's sessions
    #[command(
        after_help = "Examples:\n  malla users change ana --role admin\n  malla users change ana --new-password\n  malla users change ana --disabled true"
    )]
    Change(Change),
    /// Delete a user
    #[command(after_help = "Example:\n  malla users delete ana")]
    Delete { name: String },
}

#[derive(Debug, Args)]
struct Create {
    name: String,
    /// readonly, user or admin
    #[arg(long, value_parser = parse_role, default_value = "user")]
    role: Role,
    /// A group to join; may be repeated
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,
    /// Read the password from stdin
    #[arg(long)]
    password_stdin: bool,
}

#[derive(Debug, Args)]
struct Change {
    name: String,
    /// readonly, user or admin
    #[arg(long, value_parser = parse_role)]
    #[arg(required_unless_present_any = ["disabled", "new_password", "password_stdin"])]
    role: Option<Role>,
    /// Whether the user is kept from logging in
    #[arg(long, value_name = "true|false")]
    disabled: Option<bool>,
    /// Make up a new password and print it once
    #[arg(long, conflicts_with = "password_stdin")]
    new_password: bool,
    /// Read a new password from stdin
    #[arg(long)]
    password_stdin: bool,
}

/// A user with the password that was made up for it.
#[derive(Serialize)]
struct Made {
    #[serde(flatten)]
    user: UserView,
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<String>,
}

pub(crate) async fn run(command: Command, client: &Client) -> anyhow::Result<()> {
    let mut output = Output::new(command.reach.json);
    let made = match command.verb {
        Verb::List(limit) => {
            let head = ["NAME", "ROLE", "GROUPS", "DISABLED", "CREATED (UTC)"];
            let show = |users: &[UserView]| output.rows(&head, users, row);
            pages(limit, async |page| client.users(&page).await, show).await?;
            output.end("no users");
            return Ok(());
        }
        Verb::Delete { name } => {
            client.delete_user(&name).await?;
            talk(&format!("user {name} is deleted"));
            return Ok(());
        }
        Verb::Create(Create { name, role, groups, password_stdin }) => {
            let (password, made_up) = password(password_stdin)?;
            let user = NewUser { name, role, password: Some(password), groups };
            Made { user: client.create_user(&user).await?, password: made_up }
        }
        Verb::Change(Change { name, role, disabled, new_password, password_stdin }) => {
            let (password, made_up) = match new_password || password_stdin {
                true => password(password_stdin).map(|(password, made_up)| (Some(password), made_up))?,
                false => (None, None),
            };
            let change = UserChange { role, disabled, password, groups: None };
            Made { user: client.change_user(&name, &change).await?, password: made_up }
        }
    };
    Ok(output.one(&made, describe)?)
}

/// The password, and once more if it was made up and must be shown.
fn password(stdin: bool) -> anyhow::Result<(String, Option<String>)> {
    if !stdin {
        let password = readable_password()?;
        return Ok((password.clone(), Some(password)));
    }
    let mut text = String::new();
    std::io::stdin().take(PASSWORD_BYTES_MAX).read_to_string(&mut text)?;
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err(anyhow!("no password came on stdin")),
        password => Ok((password.to_owned(), None)),
    }
}

fn row(user: &UserView) -> Vec<String> {
    let disabled = if user.disabled { "yes" } else { "-" };
    vec![user.name.clone(), user.role.to_string(), user.groups.join(", "), disabled.into(), time(&user.created_at)]
}

fn describe(made: &Made) -> String {
    let user = &made.user;
    let mut pairs = vec![("user", user.name.clone()), ("role", user.role.to_string())];
    if !user.groups.is_empty() {
        pairs.push(("groups", user.groups.join(", ")));
    }
    if user.disabled {
        pairs.push(("disabled", "yes".into()));
    }
    if let Some(password) = &made.password {
        pairs.push(("password", format!("{password} (not shown again)")));
    }
    fields(&pairs)
}
