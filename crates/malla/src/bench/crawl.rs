//! A crawl of a large site on loopback with every trap: how fast it is, whether it keeps to its limits, and what memory it
//! takes.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use malla_client::{Client, ClientOptions};
use malla_protocol::NewCrawl;

use super::maze::{Maze, Plan};
use super::report::{Report, memory_of};
use crate::output::talk;
use crate::throwaway::Throwaway;

const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Dates that the crawl takes before it sees the calendar for what it is.
const CALENDAR: u64 = 400;

async fn start(data: &Path) -> Result<(Throwaway, Client)> {
    let variables = [("MALLA_ALLOW_PRIVATE", "true"), ("MALLA_FETCH_GAP_MS", "0"), ("MALLA_FETCH_WORKERS_MIN", "1")];
    let server = Throwaway::start_in(data, &["--roles", "api,fetcher,medic"], &variables).await?;
    let options = ClientOptions { servers: vec![server.url.clone()], token: Some(server.token.clone()), ca_pem: None };
    let client = Client::new(options)?;
    Ok((server, client))
}

/// The server is killed so many times on the way, and starts again on the same data.
pub(crate) async fn run(pages: usize, kills: u64, report: &mut Report) -> Result<()> {
    let maze = Maze::start(&Plan { pages, bytes: 2_000 }).await?;
    let data = tempfile::tempdir_in(".").context("cannot make a directory here")?;
    let (mut server, mut client) = start(data.path()).await?;
    let mut killed = 0;
    let new = NewCrawl {
        seeds: vec![maze.url()],
        depth: Some(100),
        limit: Some(pages as u64 + 1_000),
        pages_per_calendar: Some(CALENDAR),
        ..NewCrawl::default()
    };
    let began = Instant::now();
    let mut crawl = client.start_crawl(&new).await?;
    let mut memory: Vec<(u64, f64)> = Vec::new();
    while crawl.finished_at.is_none() {
        tokio::time::sleep(LOOK_EVERY).await;
        crawl = client.crawl(&crawl.id).await?;
        memory.extend(server.pid().map(|pid| (crawl.pages, memory_of(&pid.to_string()))));
        talk(&format!("{} pages, {} waiting", crawl.pages, crawl.waiting));
        if killed < kills && crawl.pages * (kills + 1) >= pages as u64 * (killed + 1) {
            killed += 1;
            server.stop().await?;
            std::fs::remove_file(data.path().join("server.json")).context("the server has not said where it is")?;
            let before = crawl.pages;
            (server, client) = start(data.path()).await?;
            crawl = client.crawl(&crawl.id).await?;
            talk(&format!("killed at {before} pages; it goes on at {}", crawl.pages));
            ensure!(crawl.pages >= before, "{before} pages were known before the kill, {} after it", crawl.pages);
        }
    }
    let took = began.elapsed().as_secs_f64();
    server.stop().await?;
    let seen = maze.stop().await?;
    ensure!(crawl.state == "done", "the crawl ended {}: {:?}", crawl.state, crawl.note);
    ensure!(seen.pages == pages as u64, "{} of {pages} pages were found", seen.pages);
    ensure!(seen.lost == 0 && seen.private == 0, "the crawl went where it should not: {seen:?}");
    ensure!(seen.calendar <= CALENDAR, "the calendar has no end: {seen:?}");
    let part = |from: f64, to: f64| {
        let within = memory.iter().filter(|(at, _)| (from..=to).contains(&(*at as f64 / pages as f64)));
        within.map(|(_, mb)| *mb).fold(0.0, f64::max)
    };
    report.line("crawl pages", crawl.pages as f64, "pages", "");
    report.line("crawl speed", crawl.pages as f64 / took, "pages/s", "");
    let kills = if killed > 0 { format!("the server was killed {killed} times") } else { String::new() };
    report.line("asked for more than once", seen.again as f64, "pages", &kills);
    report.line("URLs found", crawl.found as f64, "", "");
    report.line("links left alone as traps", crawl.left_alone.trapped as f64, "", "");
    report.line("memory up to a quarter", part(0.0, 0.25), "MiB", "");
    report.line("memory after three quarters", part(0.75, 2.0), "MiB", "");
    Ok(())
}
