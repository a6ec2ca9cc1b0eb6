//! A web site on loopback that a crawl could get lost in: pages by rule, loops, a calendar without end, names of sessions,
//! paths that grow out of themselves. Its own log says how often each page was asked for.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use clap::Args;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// A request's head is no longer.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Pages of one section: more would be a shape of their own.
const SECTION: usize = 1_000;

#[derive(Debug, Clone, Args)]
pub(crate) struct Plan {
    /// Pages that a crawl shall find
    #[arg(long, default_value_t = 1_000)]
    pub pages: usize,
    /// Bytes of text on each
    #[arg(long, default_value_t = 2_000)]
    pub bytes: usize,
}

/// What was asked for.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub requests: u64,
    /// Pages of sections that were asked for, and those asked for more than once.
    pub pages: u64,
    pub again: u64,
    pub calendar: u64,
    pub private: u64,
    /// With the name of a session, or a path that grew.
    pub lost: u64,
}

/// A maze in a process of its own.
pub(crate) struct Maze {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    port: u16,
}

impl Maze {
    pub(crate) async fn start(plan: &Plan) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
        let (pages, bytes) = (plan.pages.to_string(), plan.bytes.to_string());
        command.args(["bench", "maze", "--pages", &pages, "--bytes", &bytes]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().context("cannot start a maze")?;
        let stdin = child.stdin.take().context("no way to the maze")?;
        let mut stdout = BufReader::new(child.stdout.take().context("no way from the maze")?);
        let mut line = String::new();
        stdout.read_line(&mut line).await?;
        let port = line.trim().parse().context("the maze did not start")?;
        Ok(Self { child, stdin, stdout, port })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Ends it and tells what it saw.
    pub(crate) async fn stop(self) -> Result<Seen> {
        let Self { mut child, stdin, mut stdout, .. } = self;
        drop(stdin);
        let mut line = String::new();
        stdout.read_line(&mut line).await?;
        child.wait().await?;
        serde_json::from_str(&line).context("the maze did not tell what it saw")
    }
}

#[derive(Default)]
struct Log {
    seen: Seen,
    asked: HashMap<String, u32>,
}

/// Serves until its standard input ends, then prints what it saw.
pub(crate) async fn serve(plan: Plan) -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("cannot listen")?;
    println!("{}", listener.local_addr()?.port());
    std::io::stdout().flush()?;
    let log = Arc::new(Mutex::new(Log::default()));
    let served = async {
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            let (log, plan) = (log.clone(), plan.clone());
            tokio::spawn(async move {
                let _ = answer(stream, &plan, &log).await;
            });
        }
    };
    let mut nothing = Vec::new();
    tokio::select! {
        () = served => {}
        _ = async { tokio::io::stdin().read_to_end(&mut nothing).await } => {}
    }
    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
    log.seen.pages = log.asked.len() as u64;
    log.seen.again = log.asked.values().filter(|times| **times > 1).count() as u64;
    println!("{}", serde_json::to_string(&log.seen)?);
    Ok(())
}

async fn answer(mut stream: TcpStream, plan: &Plan, log: &Mutex<Log>) -> Result<()> {
    stream.set_nodelay(true)?;
    let host = format!("http://{}", stream.local_addr()?);
    let mut head = Vec::with_capacity(1_024);
    loop {
        head.clear();
        while !head.ends_with(b"\r\n\r\n") {
            if stream.read_buf(&mut head).await? == 0 || head.len() > HEAD_BYTES_MAX {
                return Ok(());
            }
        }
        let text = String::from_utf8_lossy(&head);
        let target = text.split(' ').nth(1).unwrap_or("/").to_owned();
        let count = {
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            log.seen.requests += 1;
            log.seen.requests
        };
        let (status, kind, more, body) = page(plan, &host, &target, count, log);
        let length = body.len();
        let answer =
            format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n{more}content-length: {length}\r\n\r\n{body}");
        stream.write_all(answer.as_bytes()).await?;
    }
}

/// Status, type, further headers and body.
type Answer = (&'static str, &'static str, String, String);

fn page(plan: &Plan, host: &str, target: &str, count: u64, log: &Mutex<Log>) -> Answer {
    let html = |body: String| ("200 OK", "text/html; charset=utf-8", String::new(), body);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
    log.seen.lost += u64::from(query.contains("sid=") || path.contains("/x/x/x"));
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    match parts[..] {
        [] => html(front(plan, count)),
        ["robots.txt"] => {
            let text = format!("User-agent: *\nDisallow: /private/\nSitemap: {host}/map.xml\n");
            ("200 OK", "text/plain", String::new(), text)
        }
        ["map.xml"] => {
            let text =
                format!("<urlset><url><loc>{host}/aa/1</loc></url><url><loc>{host}/only/mapped</loc></url></urlset>");
            ("200 OK", "application/xml", String::new(), text)
        }
        ["only", "mapped"] => html("<p>nothing leads here but a map</p>".into()),
        ["private", ..] => {
            log.seen.private += 1;
            html("<p>this is not for you</p>".into())
        }
        ["moved", number] => ("302 Found", "text/plain", format!("location: /aa/{number}\r\n"), String::new()),
        ["loop", ..] => html(format!("<a href='x/'>deeper</a> <a href='/loop/'>around</a> <a href='{path}'>here</a>")),
        ["calendar", year, month] => {
            log.seen.calendar += 1;
            html(calendar(year.parse().unwrap_or(2026), month.parse().unwrap_or(1)))
        }
        [section, number] => match (number_of(section), number.parse::<usize>()) {
            (Some(section_number), Ok(number))
                if number >= 1 && number <= SECTION.min(plan.pages - section_number * SECTION) =>
            {
                *log.asked.entry(path.to_owned()).or_default() += 1;
                html(leaf(plan, section, section_number, number, count))
            }
            _ => missing(),
        },
        _ => missing(),
    }
}

fn missing() -> Answer {
    ("404 Not Found", "text/plain", String::new(), "there is nothing here".into())
}

/// Two letters a section.
fn name_of(section: usize) -> String {
    let letter = |n: usize| char::from(b'a' + u8::try_from(n % 26).unwrap_or(0));
    [letter(section / 26), letter(section)].iter().collect()
}

fn number_of(name: &str) -> Option<usize> {
    let [first, second] = name.as_bytes() else { return None };
    let place = |byte: u8| byte.is_ascii_lowercase().then(|| usize::from(byte - b'a'));
    Some(place(*first)? * 26 + place(*second)?)
}

fn front(plan: &Plan, count: u64) -> String {
    let mut text = String::from("<!doctype html><title>A maze</title>");
    for section in 0..plan.pages.div_ceil(SECTION) {
        let _ = write!(text, "<a href='/{0}/1?sid={count}'>{0}</a> <a href=\"/{0}/1\">{0}</a>", name_of(section));
    }
    text.push_str(
        "<a href='/calendar/2026/11'>calendar</a> <a href='/loop/'>loop</a> <a href='/private/a'>private</a>",
    );
    text.push_str("<a href='/moved/2'>moved</a> <a href='/gone'>gone</a> <a href='/film.mp4'>film</a> <a href='http://127.0.0.9/'>away</a>");
    text
}

/// Each page leads to the two below it, and everywhere it should not be followed to.
fn leaf(plan: &Plan, section: &str, section_number: usize, number: usize, count: u64) -> String {
    let most = SECTION.min(plan.pages - section_number * SECTION);
    let mut text = format!("<!doctype html><title>{section} {number}</title><h1>{section} {number}</h1>");
    for next in [number * 2, number * 2 + 1].into_iter().filter(|next| *next <= most) {
        let _ = write!(text, "<a href='/{section}/{next}?utm_source=here'>{next}</a> <a href='{next}#top'>{next}</a> ");
    }
    let _ = write!(text, "<a href='/'>home</a> <a href='/{section}/{number}?PHPSESSID={count}'>session</a> ");
    let _ = write!(text, "<a href='/calendar/2026/11'>calendar</a> <a href='/loop/x/'>loop</a> ");
    let _ = write!(text, "<a href='/private/{number}'>private</a> <a rel=nofollow href='/trap/{number}'>trap</a>");
    let line = format!("<p>Words of page {number} in section {section}, one after the other.</p>\n");
    while text.len() < plan.bytes {
        text.push_str(&line);
    }
    text
}

fn calendar(year: i64, month: i64) -> String {
    let at = |months: i64| (year + (month - 1 + months).div_euclid(12), (month - 1 + months).rem_euclid(12) + 1);
    let ((before_year, before), (after_year, after)) = (at(-1), at(1));
    format!("<a href='/calendar/{before_year}/{before}'>before</a> <a href='/calendar/{after_year}/{after}'>after</a>")
}
