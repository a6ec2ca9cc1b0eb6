//! `malla fetch`: pages in, one line of JSON for each as it arrives.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use futures_util::StreamExt as _;
use indicatif::{ProgressBar, ProgressStyle};
use malla_client::{Client, ClientOptions, Error};
use malla_protocol::{Code, FetchPages, FetchResult, JobView};

use crate::cli::{Place, Reach, Settings};
use crate::commands::{Usage, load, server_of};
use crate::data_dir;
use crate::output::{Output, talk};
use crate::throwaway::Throwaway;

/// URLs in one job: several follow each other.
const JOB_URLS: usize = 1_000;
/// A server that is gone is tried again this often, a second apart.
const TRIES_MAX: u32 = 60;
const TRY_AGAIN: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  malla fetch https://example.org/ > page.json\n  malla fetch --file urls.txt --warc pages.warc.gz > results.jsonl\n\nWithout a server, on this machine or named with --server, the pages are fetched from here."
)]
pub(crate) struct Command {
    #[command(flatten)]
    pub reach: Reach,
    #[arg(value_name = "URL", required_unless_present = "file")]
    urls: Vec<String>,
    /// A file with one URL a line; - reads standard input
    #[arg(long, value_name = "LIST")]
    file: Option<PathBuf>,
    /// Also write the pages into this WARC file
    #[arg(long, value_name = "OUT")]
    warc: Option<PathBuf>,
    /// Ask the sites even if the cache has a fresh page
    #[arg(long)]
    no_cache: bool,
    /// Wait until a second device has brought the same page
    #[arg(long)]
    verified: bool,
    /// The group that owns the job
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
}

pub(crate) async fn run(place: &Place, command: Command) -> Result<()> {
    let urls = urls(&command)?;
    if urls.is_empty() {
        return Err(Usage("there is nothing to fetch: give URLs, or a file that has some".into()).into());
    }
    let config = load(place, &Settings::default())?.config()?;
    let named = command.reach.server.iter().any(|server| !server.trim().is_empty());
    if named || data_dir::read_server(&config.data)?.is_some() {
        let client = Client::new(server_of(&config, &command.reach)?)?;
        return fetch(&client, &command, urls).await;
    }
    let data = tempfile::tempdir().context("cannot make a temporary directory")?;
    let alone = Throwaway::start(data, &["--roles", "api,fetcher,medic"], &[]).await?;
    let options = ClientOptions { servers: vec![alone.url.clone()], token: Some(alone.token.clone()), ca_pem: None };
    let done = fetch(&Client::new(options)?, &command, urls).await;
    alone.stop().await?;
    done
}

fn urls(command: &Command) -> Result<Vec<String>> {
    let mut urls = command.urls.clone();
    if let Some(file) = &command.file {
        let reader: Box<dyn std::io::BufRead> = match file.as_os_str() == "-" {
            true => Box::new(BufReader::new(std::io::stdin())),
            false => {
                let opened = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
                Box::new(BufReader::new(opened))
            }
        };
        for line in reader.lines() {
            let line = line.with_context(|| format!("cannot read {}", file.display()))?;
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                urls.push(line.to_owned());
            }
        }
    }
    Ok(urls)
}

async fn fetch(client: &Client, command: &Command, urls: Vec<String>) -> Result<()> {
    let mut warc = match &command.warc {
        Some(path) => Some(File::create(path).with_context(|| format!("cannot write {}", path.display()))?),
        None => None,
    };
    let bar = progress(urls.len() as u64);
    let output = Output::new(true);
    let mut good = 0;
    for part in urls.chunks(JOB_URLS) {
        let pages = FetchPages {
            urls: part.to_vec(),
            cached: command.no_cache.then_some(false),
            group: command.group.clone(),
            verified: command.verified.then_some(true),
        };
        let job = start(client, &pages).await?;
        good += follow(client, &job, &bar, &output).await?;
        if let Some(file) = &mut warc {
            archive(client, &job, file).await?;
        }
    }
    bar.finish_and_clear();
    if !command.reach.json {
        talk(&format!("{good} of {} pages came well", urls.len()));
    }
    Ok(())
}

/// Starts a job, when there is a server and room for it.
async fn start(client: &Client, pages: &FetchPages) -> Result<JobView> {
    let client = client.patient(TRY_AGAIN * TRIES_MAX);
    loop {
        match client.start_fetch(pages).await {
            Err(Error::Problem(problem)) if problem.code == Code::Full => {
                let wait = problem.retry_after_s.unwrap_or(5);
                tokio::time::sleep(Duration::from_secs(u64::from(wait))).await;
            }
            started => return Ok(started?),
        }
    }
}

/// Prints each result as it comes; a connection that breaks is taken up again. Returns how many came well.
async fn follow(client: &Client, job: &JobView, bar: &ProgressBar, output: &Output) -> Result<u64> {
    let (mut seen, mut good, mut tries) = (0, 0, 0);
    while seen < job.total {
        let mut results = match client.results(&job.id, seen).await {
            Ok(results) => results,
            Err(Error::Unreachable(..)) if tries < TRIES_MAX => {
                tries += 1;
                tokio::time::sleep(TRY_AGAIN).await;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        while let Some(result) = results.next().await {
            match result {
                Ok(result) => {
                    tries = 0;
                    seen += 1;
                    good += u64::from((200..300).contains(&result.status));
                    output.one(&result, |_: &FetchResult| String::new())?;
                    bar.inc(1);
                }
                Err(Error::Unreachable(..)) => break,
                Err(error) => return Err(error.into()),
            }
        }
        if seen < job.total {
            if client.job(&job.id).await.is_ok_and(|job| job.state == malla_protocol::JobState::Cancelled) {
                anyhow::bail!("the job {} was cancelled", job.id);
            }
            tries += 1;
            if tries > TRIES_MAX {
                anyhow::bail!(
                    "the results of job {} broke off: see `malla fetch` again, the cache has what came",
                    job.id
                );
            }
            tokio::time::sleep(TRY_AGAIN).await;
        }
    }
    Ok(good)
}

async fn archive(client: &Client, job: &JobView, file: &mut File) -> Result<()> {
    let mut response = client.warc(&job.id).await?;
    while let Some(chunk) = response.chunk().await.context("the archive broke off")? {
        file.write_all(&chunk).context("cannot write the archive")?;
    }
    Ok(())
}

fn progress(total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} pages, {per_sec}, {eta} left");
    let bar = ProgressBar::new(total);
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}
