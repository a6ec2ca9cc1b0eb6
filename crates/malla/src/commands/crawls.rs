//! `malla crawls`: those that a server works on.

use std::fs::File;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use malla_client::Client;
use malla_protocol::CrawlView;

use crate::cli::Reach;
use crate::commands::{Limit, crawl, pages};
use crate::output::{Output, fields, or_dash, time, time_or_dash};

#[derive(Debug, Args)]
pub(crate) struct Command {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    pub reach: Reach,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List crawls, newest first
    #[command(after_help = "Example:\n  malla crawls list --limit 10")]
    List(Limit),
    /// Show how far one is
    #[command(after_help = "Example:\n  malla crawls show 06a2vb2dr0000")]
    Show { id: String },
    /// Ask for nothing more until it goes on; what is under way comes to its end
    #[command(after_help = "Example:\n  malla crawls pause 06a2vb2dr0000")]
    Pause { id: String },
    /// Let one go on
    #[command(after_help = "Example:\n  malla crawls resume 06a2vb2dr0000")]
    Resume { id: String },
    /// End one; what came stays readable
    #[command(after_help = "Example:\n  malla crawls cancel 06a2vb2dr0000")]
    Cancel { id: String },
    /// Write the pages of one into a WARC file
    #[command(after_help = "Example:\n  malla crawls warc 06a2vb2dr0000 pages.warc.gz")]
    Warc { id: String, out: PathBuf },
}

pub(crate) async fn run(command: Command, client: &Client) -> anyhow::Result<()> {
    let mut output = Output::new(command.reach.json);
    let shown = match command.verb {
        Verb::List(limit) => {
            let head = ["ID", "STATE", "PAGES", "WAITING", "SEEDS", "BEGUN"];
            pages(limit, async |page| client.crawls(&page).await, |some| output.rows(&head, some, row)).await?;
            output.end("no crawls: `malla crawl SEED` begins one");
            return Ok(());
        }
        Verb::Warc { id, out } => {
            let mut file = File::create(&out).with_context(|| format!("cannot write {}", out.display()))?;
            return crawl::archive(client, &id, &mut file).await;
        }
        Verb::Show { id } => client.crawl(&id).await?,
        Verb::Pause { id } => client.change_crawl(&id, "paused").await?,
        Verb::Resume { id } => client.change_crawl(&id, "running").await?,
        Verb::Cancel { id } => client.cancel_crawl(&id).await?,
    };
    Ok(output.one(&shown, describe)?)
}

fn row(crawl: &CrawlView) -> Vec<String> {
    vec![
        crawl.id.clone(),
        crawl.state.clone(),
        format!("{} of {}", crawl.pages, crawl.limit),
        crawl.waiting.to_string(),
        crawl.seeds.join(" "),
        time(&crawl.created_at),
    ]
}

fn describe(crawl: &CrawlView) -> String {
    let left = &crawl.left_alone;
    fields(&[
        ("crawl", crawl.id.clone()),
        ("state", crawl.state.clone()),
        ("seeds", crawl.seeds.join(" ")),
        ("scope", format!("{}, {} steps deep", crawl.scope, crawl.depth)),
        ("group", or_dash(crawl.group.as_deref())),
        ("pages", format!("{} of at most {}, {} well", crawl.pages, crawl.limit, crawl.good)),
        ("bytes", crawl.bytes.to_string()),
        ("URLs", format!("{} found, {} under way, {} waiting", crawl.found, crawl.under_way, crawl.waiting)),
        (
            "left alone",
            format!(
                "{} outside, {} too deep, {} nofollow, {} files, {} traps, {} too many",
                left.outside, left.too_deep, left.nofollow, left.files, left.trapped, left.left_out
            ),
        ),
        ("ended by", or_dash(crawl.limited_by.as_deref().or(crawl.note.as_deref()))),
        ("begun", time(&crawl.created_at)),
        ("ended", time_or_dash(crawl.finished_at.as_deref())),
    ])
}
