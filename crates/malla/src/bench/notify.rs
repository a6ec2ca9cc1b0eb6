//! `malla bench notify`: how fast events are taken in and delivered, over real HTTP, by a server of its own.

mod isolation;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum as _;
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::report::Report;
use super::server::Server;
use super::wire::{Caller, Manners, Receiver};

/// How much work to measure with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// How long each count of callers posts.
    accept_for: Duration,
    /// Events delivered as fast as they go.
    deliveries: usize,
    /// How long events come at a steady pace.
    paced_for: Duration,
    /// Isolation is measured so often, alone and beside others; the quieter half of it counts,
    rounds: usize,
    /// each for so long.
    round_for: Duration,
    /// Notifications that wait while memory is measured.
    waiting: usize,
}

impl Load {
    pub(crate) const FULL: Load = Load {
        accept_for: Duration::from_secs(4),
        deliveries: 60_000,
        paced_for: Duration::from_secs(15),
        rounds: 20,
        round_for: Duration::from_secs(4),
        waiting: 1_000_000,
    };
    /// A tenth, to see that it works.
    pub(crate) const QUICK: Load = Load {
        accept_for: Duration::from_secs(1),
        deliveries: 6_000,
        paced_for: Duration::from_secs(3),
        rounds: 4,
        round_for: Duration::from_secs(2),
        waiting: 50_000,
    };
}

const SMALL: usize = 83;
const LARGE: usize = 1_000;
/// Deliveries at once to a receiver: what a subscription has if it says nothing, and what a busy one is given.
const USUAL: u32 = 20;
const MANY: u32 = 128;
/// How long an answer is waited for, in seconds.
const TIMEOUT_S: u64 = 5;
const WARMING: Duration = Duration::from_secs(1);
const DELIVERED_WITHIN: Duration = Duration::from_secs(120);

/// What can be measured alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    Accepts,
    Deliveries,
    Steady,
    Isolation,
    Memory,
}

/// Measures these parts (none: all) with a server on `store`, empty for the embedded one.
pub(crate) async fn run(store: &str, load: Load, parts: &[Part], report: &mut Report) -> Result<()> {
    report.store(if store.is_empty() { "sqlite" } else { "postgres" });
    let server = Server::start(store).await?;
    let bench = Bench { server };
    let parts = if parts.is_empty() { Part::value_variants() } else { parts };
    for part in parts {
        match part {
            Part::Accepts => bench.accepts(load, report).await?,
            Part::Deliveries => bench.deliveries(load, report).await?,
            Part::Steady => bench.steady(load, report).await?,
            Part::Isolation => bench.isolation(load, report).await?,
            Part::Memory => bench.memory(load, report).await?,
        }
    }
    bench.server.stop().await
}

struct Bench {
    server: Server,
}

impl Bench {
    /// An endpoint and subscriptions to it, each with its target and state.
    async fn prepare(&self, endpoint: &str, parallel: u32, subscriptions: &[(&str, String, &str)]) -> Result<()> {
        let mut caller = self.server.caller().await?;
        caller.ask("POST", "/api/v1/endpoints", &json!({ "name": endpoint })).await?;
        for (name, target, state) in subscriptions {
            let subscription = json!({
                "name": format!("{endpoint}-{name}"), "endpoint": endpoint, "target": target, "state": state,
                "parallel": parallel, "timeout_s": TIMEOUT_S, "retry_delays_s": [1, 1, 1],
            });
            caller.ask("POST", "/api/v1/subscriptions", &subscription).await?;
        }
        Ok(())
    }

    /// Events taken in, each with one notification that is held back.
    async fn accepts(&self, load: Load, report: &mut Report) -> Result<()> {
        self.prepare("accepts", USUAL, &[("held", "http://127.0.0.1:9/".into(), "suspended")]).await?;
        for size in [SMALL, LARGE] {
            for callers in [1, 16, 64, 256] {
                let posted = self.post_for("accepts", callers, size, load.accept_for).await?;
                let rate = posted.len() as f64 / load.accept_for.as_secs_f64();
                let what = format!("durable accepts of {size} bytes, {callers} callers");
                report.line(&what, rate, "events/s", &Percentiles::of(posted).to_string());
            }
        }
        Ok(())
    }

    /// Each caller posts one event after the other; the time each took.
    async fn post_for(&self, endpoint: &str, callers: usize, size: usize, lasts: Duration) -> Result<Vec<Duration>> {
        let mut tasks = JoinSet::new();
        let began = Instant::now();
        for _ in 0..callers {
            let mut caller = self.server.caller().await?;
            let path = format!("/in/{endpoint}");
            tasks.spawn(async move {
                let (mut times, body) = (Vec::new(), body(0, size));
                while began.elapsed() < lasts {
                    times.push(post(&mut caller, &path, &body).await?);
                }
                Ok::<_, anyhow::Error>(times)
            });
        }
        all(tasks).await
    }

    /// As many as go, from the first post to the last delivery.
    async fn deliveries(&self, load: Load, report: &mut Report) -> Result<()> {
        let arrivals = Arc::new(Arrivals::new(load.deliveries));
        let receiver = Receiver::start(arrivals.manners()).await?;
        self.prepare("rush", MANY, &[("all", format!("http://{}/", receiver.address), "active")]).await?;
        let began = Instant::now();
        let next = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        for _ in 0..64 {
            let mut caller = self.server.caller().await?;
            let (arrivals, next) = (arrivals.clone(), next.clone());
            tasks.spawn(async move {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= arrivals.sent.len() {
                        return Ok::<_, anyhow::Error>(Vec::new());
                    }
                    arrivals.post(&mut caller, "/in/rush", n).await?;
                }
            });
        }
        all(tasks).await?;
        let posted = began.elapsed();
        arrivals.complete().await?;
        let rate = load.deliveries as f64 / began.elapsed().as_secs_f64();
        let note = format!("{} events, the last accepted after {:.1} s", load.deliveries, posted.as_secs_f64());
        report.line("deliveries end to end, 64 callers", rate, "events/s", &note);
        Ok(())
    }

    async fn steady(&self, load: Load, report: &mut Report) -> Result<()> {
        let arrivals = self.paced("steady", 200, load.paced_for, &[]).await?;
        let (accepted, delivered) = percentiles(&[arrivals]);
        report.line("200 events/s: accepted, p99", accepted.p99_ms(), "ms", &accepted.to_string());
        report.line("200 events/s: post to delivery, p99", delivered.p99_ms(), "ms", &delivered.to_string());
        Ok(())
    }

    /// Posts `rate` events a second, whatever the answers take, to an endpoint with a healthy subscriber and others. The
    /// first second does not count: connections are made in it.
    async fn paced(
        &self,
        endpoint: &str,
        rate: u32,
        lasts: Duration,
        others: &[(&str, std::net::SocketAddr)],
    ) -> Result<Arc<Arrivals>> {
        let count = ((lasts + WARMING).as_secs_f64() * f64::from(rate)) as usize;
        let arrivals = Arc::new(Arrivals { warming: WARMING, ..Arrivals::new(count) });
        let receiver = Receiver::start(arrivals.manners()).await?;
        let mut subscriptions = vec![("healthy", format!("http://{}/", receiver.address), "active")];
        subscriptions.extend(others.iter().map(|(name, address)| (*name, format!("http://{address}/"), "active")));
        self.prepare(endpoint, USUAL, &subscriptions).await?;
        let idle: Arc<Mutex<Vec<Caller>>> = Arc::default();
        let mut tick = tokio::time::interval(Duration::from_secs(1) / rate);
        let mut tasks = JoinSet::new();
        for n in 0..count {
            tick.tick().await;
            let ready = idle.lock().expect("nobody panics with it").pop();
            let mut caller = match ready {
                Some(caller) => caller,
                None => self.server.caller().await?,
            };
            let (arrivals, idle, path) = (arrivals.clone(), idle.clone(), format!("/in/{endpoint}"));
            tasks.spawn(async move {
                arrivals.post(&mut caller, &path, n).await?;
                idle.lock().expect("nobody panics with it").push(caller);
                Ok::<_, anyhow::Error>(Vec::new())
            });
        }
        all(tasks).await?;
        arrivals.complete().await?;
        Ok(arrivals)
    }

    /// What the server has in memory when this many notifications wait.
    async fn memory(&self, load: Load, report: &mut Report) -> Result<()> {
        self.prepare("waiting", USUAL, &[("held", "http://127.0.0.1:9/".into(), "suspended")]).await?;
        let before = self.server.memory_mb();
        let left = Arc::new(AtomicUsize::new(load.waiting));
        let mut tasks = JoinSet::new();
        for _ in 0..256 {
            let (mut caller, left) = (self.server.caller().await?, left.clone());
            tasks.spawn(async move {
                let body = body(0, SMALL);
                let take = |left: usize| left.checked_sub(1);
                while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
                    post(&mut caller, "/in/waiting", &body).await?;
                }
                Ok::<_, anyhow::Error>(Vec::new())
            });
        }
        all(tasks).await?;
        let note = format!("resident; {before:.0} MB before");
        report.line(&format!("memory with {} waiting", load.waiting), self.server.memory_mb(), "MB", &note);
        self.let_go(load, report).await
    }

    /// What it costs others when the subscription for which all of them wait is disabled.
    async fn let_go(&self, load: Load, report: &mut Report) -> Result<()> {
        let mut caller = self.server.caller().await?;
        let began = Instant::now();
        caller.ask("PATCH", "/api/v1/subscriptions/waiting-held", &json!({ "state": "disabled" })).await?;
        let took = began.elapsed().as_secs_f64() * 1_000.0;
        report.line(&format!("disable a subscription with {} waiting", load.waiting), took, "ms", "");
        let (accepted, delivered) = percentiles(&[self.paced("meanwhile", 200, load.paced_for, &[]).await?]);
        let note = format!("{delivered}; accepted p99 {:.1}", accepted.p99_ms());
        report.line("200 events/s meanwhile: post to delivery, p99", delivered.p99_ms(), "ms", &note);
        Ok(())
    }
}

/// From the post to the answer, and from the post to the delivery, over all events of these rounds.
fn percentiles(rounds: &[Arc<Arrivals>]) -> (Percentiles, Percentiles) {
    let all = |to: fn(&Arrivals) -> &[AtomicU64]| {
        Percentiles::of(rounds.iter().flat_map(|round| round.since_sent(to(round))).collect())
    };
    (all(|round| &round.accepted), all(|round| &round.delivered))
}

async fn all(mut tasks: JoinSet<Result<Vec<Duration>>>) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        times.extend(ended??);
    }
    Ok(times)
}

async fn post(caller: &mut Caller, path: &str, body: &[u8]) -> Result<Duration> {
    let began = Instant::now();
    let (status, answer) = caller.send("POST", path, body).await?;
    ensure!(status == 200, "an event was answered with {status}: {}", String::from_utf8_lossy(&answer));
    Ok(began.elapsed())
}

/// A JSON body of `size` bytes that begins with its number.
fn body(n: usize, size: usize) -> Vec<u8> {
    let head = format!(r#"{{"n":{n:08},"email":"test@example.com","text":""#);
    let padding = "x".repeat(size.saturating_sub(head.len() + 2));
    format!("{head}{padding}\"}}").into_bytes()
}

fn number_of(body: &[u8]) -> Option<usize> {
    std::str::from_utf8(body.get(5..13)?).ok()?.parse().ok()
}

/// When each event was posted, accepted and first delivered, in microseconds since the beginning.
struct Arrivals {
    began: Instant,
    /// What is sent within this does not count.
    warming: Duration,
    sent: Vec<AtomicU64>,
    accepted: Vec<AtomicU64>,
    delivered: Vec<AtomicU64>,
    left: AtomicUsize,
    done: Notify,
    finished: AtomicBool,
}

impl Arrivals {
    fn new(count: usize) -> Self {
        let zeros = || (0..count).map(|_| AtomicU64::new(0)).collect();
        Self {
            began: Instant::now(),
            warming: Duration::ZERO,
            sent: zeros(),
            accepted: zeros(),
            delivered: zeros(),
            left: AtomicUsize::new(count),
            done: Notify::new(),
            finished: AtomicBool::new(false),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX).max(1)
    }

    async fn post(&self, caller: &mut Caller, path: &str, n: usize) -> Result<()> {
        self.sent[n].store(self.now(), Ordering::Relaxed);
        post(caller, path, &body(n, SMALL)).await?;
        self.accepted[n].store(self.now(), Ordering::Relaxed);
        Ok(())
    }

    fn manners(self: &Arc<Self>) -> Manners {
        let arrivals = self.clone();
        Manners::Takes(Arc::new(move |body| arrivals.arrived(body)))
    }

    fn arrived(&self, body: &[u8]) {
        let Some(slot) = number_of(body).and_then(|n| self.delivered.get(n)) else { return };
        let first = slot.compare_exchange(0, self.now(), Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if first && self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.finished.store(true, Ordering::Release);
            self.done.notify_waiters();
        }
    }

    /// Waits until everything was delivered.
    async fn complete(&self) -> Result<()> {
        let all = async {
            loop {
                let told = self.done.notified();
                if self.finished.load(Ordering::Acquire) {
                    return;
                }
                told.await;
            }
        };
        let late = || format!("{} events were not delivered in time", self.left.load(Ordering::Relaxed));
        tokio::time::timeout(DELIVERED_WITHIN, all).await.with_context(late)
    }

    fn since_sent<'a>(&'a self, to: &'a [AtomicU64]) -> impl Iterator<Item = Duration> + 'a {
        let at = |moment: &AtomicU64| Duration::from_micros(moment.load(Ordering::Relaxed));
        let times = to.iter().zip(&self.sent).map(move |(to, sent)| (at(to), at(sent)));
        times.filter(|(_, sent)| *sent >= self.warming).map(|(to, sent)| to.saturating_sub(sent))
    }
}

struct Percentiles(Vec<Duration>);

impl Percentiles {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    fn ms(&self, share: f64) -> f64 {
        let at = ((self.0.len() as f64 * share) as usize).min(self.0.len().saturating_sub(1));
        self.0.get(at).map_or(0.0, Duration::as_secs_f64) * 1_000.0
    }

    fn p99_ms(&self) -> f64 {
        self.ms(0.99)
    }
}

impl std::fmt::Display for Percentiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [p50, p90, p99, max] = [0.5, 0.9, 0.99, 1.0].map(|share| self.ms(share));
        write!(f, "p50 {p50:.2}, p90 {p90:.2}, p99 {p99:.2}, max {max:.1} ms")
    }
}
