//! `malla wiki extract`: asks for histories and waits for them; and how far they are.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use malla_client::Client;
use malla_protocol::{Extract as Wanted, ExtractionState, ExtractionStatus, ExtractionView};

use crate::commands::{Limit, pages};
use crate::output::{Output, fields, or_dash, talk, time, time_or_dash};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(500);
/// A server that is gone is waited for this long.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug, Args)]
pub(crate) struct Extract {
    /// Titles, or addresses of pages in any MediaWiki
    #[arg(value_name = "TITLE-OR-URL", required = true)]
    pages: Vec<String>,
    /// The language of the titles [default: en]
    #[arg(long, value_name = "L")]
    locale: Option<String>,
    /// Print the extractions' ids at once instead of waiting for their ends
    #[arg(long)]
    no_wait: bool,
    /// The group that owns the histories
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
}

impl Extract {
    fn wanted(&self, page: &str) -> Wanted {
        let group = self.group.clone();
        match page.starts_with("http://") || page.starts_with("https://") {
            true => Wanted { url: Some(page.into()), group, ..Wanted::default() },
            false => Wanted { title: Some(page.into()), locale: self.locale.clone(), group, url: None },
        }
    }
}

pub(super) async fn run(client: &Client, extract: Extract, json: bool) -> Result<()> {
    let client = client.patient(PATIENCE);
    let mut ids = Vec::new();
    for page in &extract.pages {
        ids.push(client.extract(&extract.wanted(page)).await?);
    }
    let mut output = Output::new(json);
    if extract.no_wait {
        let mut begun = Vec::new();
        for id in &ids {
            begun.push(client.extraction(id).await?.extraction);
        }
        return Ok(output.rows(&["ID", "PAGE", "STATE"], &begun, |one| {
            vec![one.id.clone(), one.asked.clone(), one.state.to_string()]
        })?);
    }
    let bar = progress();
    let failed = follow(&client, &ids, &bar, &mut output).await;
    bar.finish_and_clear();
    match failed? {
        0 => Ok(()),
        failed => bail!("{failed} of {} extractions failed", ids.len()),
    }
}

/// Until it is known how much there is, it says what is going on.
fn progress() -> ProgressBar {
    let bar = ProgressBar::new(0);
    styled(&bar, "{spinner} {msg}");
    bar
}

fn styled(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}

/// Shows each as it ends. Returns how many failed.
async fn follow(client: &Client, ids: &[String], bar: &ProgressBar, output: &mut Output) -> Result<usize> {
    let mut waiting: Vec<&String> = ids.iter().collect();
    let (mut failed, mut ended) = (0, Sum::default());
    loop {
        let (mut under_way, mut sum) = (Vec::new(), ended);
        for id in waiting {
            let status = client.extraction(id).await?;
            sum.add(&status.extraction);
            if !status.extraction.state.is_over() {
                bar.set_message(status.status);
                under_way.push(id);
                continue;
            }
            ended.add(&status.extraction);
            failed += usize::from(status.extraction.state == ExtractionState::Failure);
            bar.suspend(|| show(&status, output))?;
        }
        if sum.total > 0 && bar.length() == Some(0) {
            styled(bar, "{bar:30} {pos}/{len} revisions, {per_sec}, {eta} left  {msg}");
            bar.reset_eta();
        }
        bar.set_length(sum.total);
        bar.set_position(sum.done);
        if under_way.is_empty() {
            return Ok(failed);
        }
        waiting = under_way;
        tokio::time::sleep(LOOK).await;
    }
}

/// Over several extractions.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    done: u64,
    total: u64,
}

impl Sum {
    fn add(&mut self, extraction: &ExtractionView) {
        self.done += extraction.done;
        self.total += extraction.total.unwrap_or(0).max(extraction.done);
    }
}

fn show(status: &ExtractionStatus, output: &mut Output) -> std::io::Result<()> {
    let extraction = &status.extraction;
    let failed = extraction.state == ExtractionState::Failure;
    // Why it failed is talk, unless a program reads it.
    if failed {
        talk(&format!("malla: {}: {}", extraction.asked, status.status));
    }
    output.one(status, |_| match failed {
        true => format!("{}: {}", extraction.asked, extraction.state),
        false => format!("{}: {}", extraction.title.as_deref().unwrap_or(&extraction.asked), status.status),
    })
}

/// Shows one; it is no failure that it failed.
pub(super) async fn status(client: &Client, id: &str, output: &Output) -> Result<()> {
    Ok(output.one(&client.extraction(id).await?, describe)?)
}

pub(super) async fn list(client: &Client, limit: Limit, mut output: Output) -> Result<()> {
    let head = ["ID", "PAGE", "STATE", "REVISIONS", "NEW", "REQUESTS", "ASKED"];
    pages(limit, async |page| client.extractions(&page).await, |some| output.rows(&head, some, row)).await?;
    output.end("no extractions: `malla wiki extract TITLE` begins one");
    Ok(())
}

fn row(extraction: &ExtractionView) -> Vec<String> {
    vec![
        extraction.id.clone(),
        extraction.title.clone().unwrap_or_else(|| extraction.asked.clone()),
        extraction.state.to_string(),
        done(extraction),
        extraction.new.to_string(),
        extraction.requests.to_string(),
        time(&extraction.asked_at),
    ]
}

fn done(extraction: &ExtractionView) -> String {
    match extraction.total {
        Some(total) => format!("{} of {total}", extraction.done),
        None => extraction.done.to_string(),
    }
}

fn describe(status: &ExtractionStatus) -> String {
    let one = &status.extraction;
    fields(&[
        ("extraction", one.id.clone()),
        ("asked", one.asked.clone()),
        ("state", one.state.to_string()),
        ("status", status.status.clone()),
        ("page", or_dash(one.title.as_deref())),
        ("pageid", or_dash(one.pageid.map(|id| id.to_string()).as_deref())),
        ("wiki", or_dash(one.wiki.map(|id| id.to_string()).as_deref())),
        ("group", or_dash(one.group.as_deref())),
        ("revisions", done(one)),
        ("new", one.new.to_string()),
        ("erased", one.erased.to_string()),
        ("requests", one.requests.to_string()),
        ("time left", one.left_s.map_or_else(|| "-".into(), |seconds| format!("{seconds} s"))),
        ("asked at", time(&one.asked_at)),
        ("ended", time_or_dash(one.finished_at.as_deref())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_a_title_unless_it_is_an_address() {
        let extract = Extract { pages: Vec::new(), locale: Some("de".into()), no_wait: false, group: None };
        let title = extract.wanted("Erde");
        assert_eq!((title.title.as_deref(), title.url, title.locale.as_deref()), (Some("Erde"), None, Some("de")));
        let url = extract.wanted("https://de.wikipedia.org/wiki/Erde");
        assert_eq!((url.title, url.locale), (None, None));
        assert!(url.url.is_some());
    }
}
