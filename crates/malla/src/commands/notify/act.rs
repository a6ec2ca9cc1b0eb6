//! A person's verbs on notifications: on some by id, or on all that match.

use std::io::IsTerminal as _;

use anyhow::bail;
use clap::Args;
use indicatif::ProgressBar;
use malla_client::{Client, Verb};
use malla_protocol::{Bulk, NotificationQuery};

use super::notifications::{Filters, HEAD, row};
use crate::commands::Usage;
use crate::output::{Output, ask, can_ask, talk};

#[derive(Debug, Args)]
pub(super) struct Which {
    /// The notifications' ids
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    filters: Filters,
    /// Every notification, if no filter is given
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

pub(super) const RESEND: Deed = Deed { verb: Verb::Resend, name: "resend", done: "resent" };
pub(super) const DISCARD: Deed = Deed { verb: Verb::Discard, name: "discard", done: "discarded" };
pub(super) const CONFIRM: Deed = Deed { verb: Verb::Confirm, name: "confirm", done: "confirmed" };

pub(super) async fn run(which: Which, deed: Deed, client: &Client, output: &mut Output) -> anyhow::Result<()> {
    let query = NotificationQuery::from(which.filters.clone());
    let filtered = query != NotificationQuery::default();
    match (which.ids.is_empty(), filtered || which.all) {
        (false, false) => by_id(&which.ids, deed, client, output).await,
        (true, true) => {
            agree(&which, filtered, deed)?;
            by_filter(&query, deed, client, output).await
        }
        (false, true) => Err(Usage("give ids or filters, not both".into()).into()),
        (true, false) => {
            let name = deed.name;
            let text = format!("say which notifications to {name}: ids, filters, or --all for every one");
            Err(Usage(text).into())
        }
    }
}

/// One after the other; one that cannot be moved does not stop the others.
async fn by_id(ids: &[String], deed: Deed, client: &Client, output: &mut Output) -> anyhow::Result<()> {
    let mut refused = 0;
    for id in ids {
        match client.act_on_notification(id, deed.verb).await {
            Ok(notification) => output.rows(&HEAD, &[notification], row)?,
            Err(error) if ids.len() > 1 => {
                refused += 1;
                talk(&format!("{id}: {error}"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    if refused > 0 {
        bail!("{refused} of {} notifications could not be {}", ids.len(), deed.done);
    }
    Ok(())
}

/// A person at a terminal is asked; a script must have said yes.
fn agree(which: &Which, filtered: bool, deed: Deed) -> anyhow::Result<()> {
    if which.yes {
        return Ok(());
    }
    let all = if filtered { "all notifications that match" } else { "every notification there is" };
    if !can_ask() {
        return Err(Usage(format!("this would {} {all}: say --yes to do it", deed.name)).into());
    }
    if !ask(&format!("{} {all}?", deed.name))? {
        bail!("nothing was changed");
    }
    Ok(())
}

async fn by_filter(query: &NotificationQuery, deed: Deed, client: &Client, output: &Output) -> anyhow::Result<()> {
    let bar = if std::io::stderr().is_terminal() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    let mut total = Bulk::default();
    let mut from = None;
    loop {
        let step = match client.act_on_notifications(query, deed.verb, from).await {
            Ok(step) => step,
            Err(error) => {
                bar.finish_and_clear();
                talk(&format!("{} notifications were {} before this failed", total.changed, deed.done));
                return Err(error.into());
            }
        };
        total.changed += step.changed;
        bar.set_message(format!("{} notifications {}", total.changed, deed.done));
        bar.tick();
        from = step.next_cursor;
        if from.is_none() {
            break;
        }
    }
    bar.finish_and_clear();
    Ok(output.one(&total, |total| format!("{} notifications {}", total.changed, deed.done))?)
}
