//! A web of many sites on loopback, as another process: every address of 127.0.0.0/8 is one. Its own log is the truth
//! about politeness.

use std::collections::HashMap;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::Args;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// A request's head is no longer.
const HEAD_BYTES_MAX: usize = 16 * 1024;

#[derive(Debug, Clone, Args)]
pub(crate) struct Manners {
    /// Bytes of a page
    #[arg(long, default_value_t = 10_000)]
    pub bytes: usize,
    /// Milliseconds before an answer
    #[arg(long, default_value_t = 0)]
    pub delay_ms: u64,
    /// The gap that must be kept, in milliseconds
    #[arg(long, default_value_t = 0)]
    pub gap_ms: u64,
    /// So many of the first sites take a request and never answer
    #[arg(long, default_value_t = 0)]
    pub hanging: usize,
}

/// What the sites saw.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub requests: u64,
    pub pages: u64,
    pub sites: usize,
    /// Requests that came before the gap was over, and the shortest gap.
    pub gaps_short: u64,
    pub gap_min_ms: Option<f64>,
    /// Requests that came while another was being answered.
    pub overlapping: u64,
}

/// The address of a site.
pub(crate) fn site(number: usize) -> Ipv4Addr {
    let number = u32::try_from(number).unwrap_or(0) + 1;
    Ipv4Addr::from(0x7f01_0000 + number)
}

fn number_of(site: Ipv4Addr) -> usize {
    (u32::from(site).saturating_sub(0x7f01_0001)) as usize
}

/// An origin in a process of its own.
pub(crate) struct Origin {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    pub(crate) port: u16,
}

impl Origin {
    pub(crate) async fn start(manners: &Manners) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
        command.args(["bench", "origin"]);
        for (flag, value) in [
            ("--bytes", manners.bytes as u64),
            ("--delay-ms", manners.delay_ms),
            ("--gap-ms", manners.gap_ms),
            ("--hanging", manners.hanging as u64),
        ] {
            command.args([flag, &value.to_string()]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().context("cannot start an origin")?;
        let stdin = child.stdin.take().context("no way to the origin")?;
        let mut stdout = BufReader::new(child.stdout.take().context("no way from the origin")?);
        let mut line = String::new();
        stdout.read_line(&mut line).await?;
        let port = line.trim().parse().context("the origin did not start")?;
        Ok(Self { child, stdin, stdout, port })
    }

    pub(crate) fn url(&self, site_number: usize, page: usize) -> String {
        format!("http://{}:{}/{page}", site(site_number), self.port)
    }

    /// Ends it and tells what it saw.
    pub(crate) async fn stop(self) -> Result<Seen> {
        let Self { mut child, stdin, mut stdout, .. } = self;
        drop(stdin);
        let mut line = String::new();
        stdout.read_line(&mut line).await?;
        child.wait().await?;
        serde_json::from_str(&line).context("the origin did not tell what it saw")
    }
}

#[derive(Default)]
struct Log {
    sites: HashMap<Ipv4Addr, Watched>,
    seen: Seen,
}

#[derive(Default)]
struct Watched {
    last: Option<Instant>,
    open: u32,
}

impl Log {
    fn began(&mut self, site: Ipv4Addr, gap: Duration) {
        let now = Instant::now();
        let watched = self.sites.entry(site).or_default();
        if let Some(since) = watched.last.map(|last| now - last) {
            let ms = since.as_secs_f64() * 1_000.0;
            self.seen.gap_min_ms = Some(self.seen.gap_min_ms.map_or(ms, |least| least.min(ms)));
            self.seen.gaps_short += u64::from(since < gap);
        }
        watched.last = Some(now);
        self.seen.overlapping += u64::from(watched.open > 0);
        watched.open += 1;
        self.seen.requests += 1;
    }

    fn ended(&mut self, site: Ipv4Addr) {
        if let Some(watched) = self.sites.get_mut(&site) {
            watched.open = watched.open.saturating_sub(1);
        }
    }
}

/// Serves until its standard input ends, then prints what it saw.
pub(crate) async fn serve(manners: Manners) -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).await.context("cannot listen")?;
    println!("{}", listener.local_addr()?.port());
    std::io::stdout().flush()?;
    let log = Arc::new(Mutex::new(Log::default()));
    let body = page(manners.bytes);
    let served = async {
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            let (log, manners, body) = (log.clone(), manners.clone(), body.clone());
            tokio::spawn(async move {
                let _ = answer(stream, &manners, &body, &log).await;
            });
        }
    };
    let mut nothing = Vec::new();
    tokio::select! {
        () = served => {}
        _ = async { tokio::io::stdin().read_to_end(&mut nothing).await } => {}
    }
    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
    log.seen.sites = log.sites.len();
    println!("{}", serde_json::to_string(&log.seen)?);
    Ok(())
}

/// A page that packs about as well and as fast as one of the web does. What comes before the text differs from one
/// request to the next, so that no two pages are the same.
fn page(bytes: usize) -> Arc<[u8]> {
    let mut text = String::with_capacity(bytes + 2_048);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut dice = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    while text.len() < bytes {
        let number = dice() % 10_000;
        text.push_str(&format!("<section class=\"entry\"><h2><a class=\"entry-link\" href=\"/entries/{number}\">"));
        for word in 0..WORDS_AN_ENTRY {
            if word == 3 {
                text.push_str("</a></h2>\n<p class=\"entry-text\">");
            }
            let mut left = dice();
            for _ in 0..2 + left % 3 {
                text.push_str(SYLLABLES[left % SYLLABLES.len()]);
                left /= SYLLABLES.len();
            }
            text.push(' ');
        }
        text.push_str(
            "</p>\n<ul class=\"entry-tags\"><li class=\"tag\">one</li><li class=\"tag\">two</li></ul></section>\n",
        );
    }
    text.truncate(bytes);
    text.into_bytes().into()
}

const WORDS_AN_ENTRY: usize = 24;
const SYLLABLES: [&str; 32] = [
    "la", "ne", "ri", "to", "ma", "ver", "con", "sta", "pro", "de", "in", "ber", "qua", "lo", "tis", "mo", "per",
    "sal", "ta", "ren", "vi", "dor", "ex", "am", "pli", "fo", "gra", "si", "ten", "ur", "ba", "ko",
];

async fn answer(mut stream: TcpStream, manners: &Manners, body: &[u8], log: &Mutex<Log>) -> Result<()> {
    stream.set_nodelay(true)?;
    let SocketAddr::V4(local) = stream.local_addr()? else { return Ok(()) };
    let site = *local.ip();
    let lock = || log.lock().unwrap_or_else(PoisonError::into_inner);
    let gap = Duration::from_millis(manners.gap_ms);
    let (mut head, mut out) = (Vec::with_capacity(1_024), Vec::with_capacity(body.len() + 256));
    let mut answered = 0;
    loop {
        head.clear();
        while !head.ends_with(b"\r\n\r\n") {
            if stream.read_buf(&mut head).await? == 0 || head.len() > HEAD_BYTES_MAX {
                return Ok(());
            }
        }
        let robots = head.starts_with(b"GET /robots.txt ");
        lock().began(site, gap);
        let hangs = number_of(site) < manners.hanging && !robots;
        if hangs {
            // Until the other side has had enough.
            let gone = stream.read_buf(&mut head).await;
            lock().ended(site);
            gone?;
            return Ok(());
        }
        if manners.delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(manners.delay_ms)).await;
        }
        out.clear();
        if robots {
            out.extend_from_slice(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
        } else {
            let own = format!("<!doctype html><title>{site} {} {answered}</title>", stream.peer_addr()?.port());
            answered += 1;
            write!(
                out,
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncache-control: max-age=600\r\ncontent-length: {}\r\n\r\n{own}",
                own.len() + body.len()
            )?;
            out.extend_from_slice(body);
        }
        {
            let mut log = lock();
            log.ended(site);
            log.seen.pages += u64::from(!robots);
        }
        stream.write_all(&out).await?;
    }
}
