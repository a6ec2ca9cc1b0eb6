//! A person's verbs on tasks: on some by id, or on all that match.

use std::io::IsTerminal as _;

use anyhow::bail;
use clap::Args;
use indicatif::ProgressBar;
use malla_client::{Client, Verb};
use malla_protocol::{Bulk, TaskQuery};

use super::{Filters, HEAD, row};
use crate::commands::Usage;
use crate::output::{Output, ask, can_ask, talk};

#[derive(Debug, Args)]
pub(super) struct Which {
    /// The tasks' ids
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    filters: Filters,
    /// Every task, if no filter is given
    #[arg(long)]
    all: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

/// A verb as the API knows it and as people say it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deed {
    verb: Verb,
    name: &'static str,
    done: &'static str,
}

pub(super) const RETRY: Deed = Deed { verb: Verb::Resend, name: "retry", done: "sent again" };
pub(super) const DISCARD: Deed = Deed { verb: Verb::Discard, name: "discard", done: "discarded" };
pub(super) const PAUSE: Deed = Deed { verb: Verb::Pause, name: "pause", done: "paused" };
pub(super) const RESUME: Deed = Deed { verb: Verb::Resume, name: "resume", done: "resumed" };
pub(super) const CONFIRM: Deed = Deed { verb: Verb::Confirm, name: "confirm", done: "confirmed" };

pub(super) async fn run(which: Which, deed: Deed, client: &Client, output: &mut Output) -> anyhow::Result<()> {
    let query = TaskQuery::from(which.filters.clone());
    let filtered = query != TaskQuery::default();
    match (which.ids.is_empty(), filtered || which.all) {
        (false, false) => by_id(&which.ids, deed, client, output).await,
        (true, true) => {
            agree(&which, &query, deed)?;
            by_filter(&query, deed, client, output).await
        }
        (false, true) => Err(Usage("give ids or filters, not both".into()).into()),
        (true, false) => {
            let text = format!("say which tasks to {}: ids, filters, or --all for every task", deed.name);
            Err(Usage(text).into())
        }
    }
}

/// One after the other; one that cannot be moved does not stop the others.
async fn by_id(ids: &[String], deed: Deed, client: &Client, output: &mut Output) -> anyhow::Result<()> {
    let mut refused = 0;
    for id in ids {
        match client.act(id, deed.verb).await {
            Ok(task) => output.rows(&HEAD, &[task], row)?,
            Err(error) if ids.len() > 1 => {
                refused += 1;
                talk(&format!("{id}: {error}"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    if refused > 0 {
        bail!("{refused} of {} tasks could not be {}", ids.len(), deed.done);
    }
    Ok(())
}

/// A person at a terminal is asked; a script must have said yes.
fn agree(which: &Which, query: &TaskQuery, deed: Deed) -> anyhow::Result<()> {
    if which.yes {
        return Ok(());
    }
    let all = if *query == TaskQuery::default() { "every task there is" } else { "all tasks that match" };
    if !can_ask() {
        return Err(Usage(format!("this would {} {all}: say --yes to do it", deed.name)).into());
    }
    if !ask(&format!("{} {all}?", deed.name))? {
        bail!("nothing was changed");
    }
    Ok(())
}

async fn by_filter(query: &TaskQuery, deed: Deed, client: &Client, output: &Output) -> anyhow::Result<()> {
    let bar = if std::io::stderr().is_terminal() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    let mut total = Bulk::default();
    let mut from = None;
    loop {
        let step = match client.act_on_all(query, deed.verb, from).await {
            Ok(step) => step,
            Err(error) => {
                bar.finish_and_clear();
                talk(&format!("{} tasks were {} before this failed", total.changed, deed.done));
                return Err(error.into());
            }
        };
        total.changed += step.changed;
        bar.set_message(format!("{} tasks {}", total.changed, deed.done));
        bar.tick();
        from = step.next_cursor;
        if from.is_none() {
            break;
        }
    }
    bar.finish_and_clear();
    Ok(output.one(&total, |total| format!("{} tasks {}", total.changed, deed.done))?)
}
