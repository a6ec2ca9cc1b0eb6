//! `malla crawl`: links followed, one line of JSON for each page as it arrives.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use futures_util::StreamExt as _;
use indicatif::{ProgressBar, ProgressStyle};
use malla_client::{Client, ClientOptions, Error};
use malla_protocol::{CrawlView, FetchResult, NewCrawl};

use crate::cli::{Place, Reach, Settings};
use crate::commands::{load, server_of};
use crate::data_dir;
use crate::output::{Output, talk};
use crate::throwaway::Throwaway;

/// A server that is gone is tried again this often, a second apart.
const TRIES_MAX: u32 = 60;
const TRY_AGAIN: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  malla crawl https://example.org/ --depth 3 --limit 500 > pages.jsonl\n  malla crawl https://example.org/docs/ --scope prefix --warc docs.warc.gz > /dev/null\n\nWithout a server, on this machine or named with --server, the pages are fetched from here. With one, the crawl goes on\nwhatever becomes of this command: `malla crawls` shows it."
)]
pub(crate) struct Command {
    #[command(flatten)]
    pub reach: Reach,
    #[arg(value_name = "SEED", required = true)]
    seeds: Vec<String>,
    /// Steps from a seed [default: 10]
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
    /// Pages at most [default: 10000]
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Bytes of all pages together at most
    #[arg(long, value_name = "N")]
    bytes: Option<u64>,
    /// How far to go: host, domain (the registrable one) or prefix (what begins as the seeds do) [default: host]
    #[arg(long, value_name = "SCOPE")]
    scope: Option<String>,
    /// Do not read sitemaps
    #[arg(long)]
    no_sitemaps: bool,
    /// Take copies as pages of their own
    #[arg(long)]
    no_canonical: bool,
    /// Parameters in another order are the same page
    #[arg(long)]
    sort_query: bool,
    /// Also follow links to pictures, films, archives and the like
    #[arg(long)]
    files: bool,
    /// Ask the sites even if the cache has a fresh page
    #[arg(long)]
    no_cache: bool,
    /// Pages of one making on a site, as /thread/17; 0 for any number [default: 10000]
    #[arg(long, value_name = "N")]
    per_shape: Option<u64>,
    /// The same for those with a date [default: 400]
    #[arg(long, value_name = "N")]
    per_calendar: Option<u64>,
    /// Also write the pages into this WARC file
    #[arg(long, value_name = "OUT")]
    warc: Option<PathBuf>,
    /// The group that owns the crawl
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
}

pub(crate) async fn run(place: &Place, command: Command) -> Result<()> {
    let config = load(place, &Settings::default())?.config()?;
    let named = command.reach.server.iter().any(|server| !server.trim().is_empty());
    if named || data_dir::read_server(&config.data)?.is_some() {
        let client = Client::new(server_of(&config, &command.reach)?)?;
        return crawl(&client, &command).await;
    }
    let data = tempfile::tempdir().context("cannot make a temporary directory")?;
    let alone = Throwaway::start(data, &["--roles", "api,fetcher,medic"], &[]).await?;
    let options = ClientOptions { servers: vec![alone.url.clone()], token: Some(alone.token.clone()), ca_pem: None };
    let done = crawl(&Client::new(options)?, &command).await;
    alone.stop().await?;
    done
}

fn new_crawl(command: &Command) -> NewCrawl {
    NewCrawl {
        seeds: command.seeds.clone(),
        scope: command.scope.clone(),
        depth: command.depth,
        limit: command.limit,
        bytes: command.bytes,
        sitemaps: command.no_sitemaps.then_some(false),
        canonical: command.no_canonical.then_some(false),
        sort_query: command.sort_query.then_some(true),
        files: command.files.then_some(true),
        cached: command.no_cache.then_some(false),
        pages_per_shape: command.per_shape,
        pages_per_calendar: command.per_calendar,
        group: command.group.clone(),
    }
}

async fn crawl(client: &Client, command: &Command) -> Result<()> {
    let mut warc = match &command.warc {
        Some(path) => Some(File::create(path).with_context(|| format!("cannot write {}", path.display()))?),
        None => None,
    };
    let crawl = client.patient(TRY_AGAIN * TRIES_MAX).start_crawl(&new_crawl(command)).await?;
    if !command.reach.json {
        talk(&format!("crawl {}", crawl.id));
    }
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {per_sec}") {
        bar.set_style(style);
    }
    let over = follow(client, &crawl, &bar).await?;
    bar.finish_and_clear();
    if let Some(file) = &mut warc {
        archive(client, &crawl.id, file).await?;
    }
    if !command.reach.json {
        let CrawlView { pages, good, found, bytes, state, .. } = &over;
        let limit =
            over.limited_by.as_ref().map_or_else(String::new, |limit| format!(", ended by its limit of {limit}"));
        talk(&format!("{state}: {good} of {pages} pages came well, {found} URLs were found, {bytes} bytes{limit}"));
    }
    if over.state == "done" { Ok(()) } else { anyhow::bail!("the crawl {} ended {}", over.id, over.state) }
}

/// Prints each page as it comes; a connection that breaks is taken up again. Returns the crawl as it ended.
async fn follow(client: &Client, crawl: &CrawlView, bar: &ProgressBar) -> Result<CrawlView> {
    let output = Output::new(true);
    let (mut seen, mut tries) = (0, 0);
    loop {
        match client.crawl_results(&crawl.id, seen).await {
            Ok(mut results) => {
                while let Some(Ok(result)) = results.next().await {
                    tries = 0;
                    seen += 1;
                    bar.set_message(format!("{seen} pages, {}", result.url));
                    bar.inc(1);
                    output.one(&result, |_: &FetchResult| String::new())?;
                }
            }
            Err(Error::Unreachable(..)) => {}
            Err(error) => return Err(error.into()),
        }
        match client.crawl(&crawl.id).await {
            // What came between the last word and the end is there now.
            Ok(over) if over.finished_at.is_some() && seen >= over.pages + over.sitemaps => return Ok(over),
            Ok(over) if over.state == "cancelled" || over.state == "failed" => return Ok(over),
            Ok(_) | Err(Error::Unreachable(..)) => {}
            Err(error) => return Err(error.into()),
        }
        tries += 1;
        if tries > TRIES_MAX {
            anyhow::bail!("the pages of crawl {} broke off: it goes on, see `malla crawls show {0}`", crawl.id);
        }
        tokio::time::sleep(TRY_AGAIN).await;
    }
}

/// Writes the pages of a crawl as WARC.
pub(crate) async fn archive(client: &Client, id: &str, file: &mut File) -> Result<()> {
    let mut response = client.crawl_warc(id).await?;
    while let Some(chunk) = response.chunk().await.context("the archive broke off")? {
        file.write_all(&chunk).context("cannot write the archive")?;
    }
    Ok(())
}
