//! `malla bench queue`: how fast a store takes tasks in, leases and commits them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use malla_queue::{
    Clock as _, Holder, Kind, LaneKey, LaneSettings, LeaseRequest, Leased, Limits, NewTask, Outcome, Queue, Room,
    SystemClock, Verdict,
};

use super::report::{Report, memory_mb};

/// How much work to measure with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// How long each count of submitters runs.
    pub(crate) submit_for: Duration,
    /// Tasks leased and committed.
    pub(crate) commits: usize,
    /// Tasks that wait, few and many, and the lanes of the many.
    pub(crate) few: usize,
    pub(crate) many: usize,
    pub(crate) lanes: usize,
}

impl Load {
    pub(crate) const FULL: Load =
        Load { submit_for: Duration::from_secs(4), commits: 100_000, few: 10_000, many: 1_000_000, lanes: 100_000 };
    /// A tenth, to see that it works.
    pub(crate) const QUICK: Load =
        Load { submit_for: Duration::from_secs(1), commits: 10_000, few: 1_000, many: 100_000, lanes: 10_000 };
}

const BATCH: usize = 256;
const LEASE_FOR: Duration = Duration::from_secs(600);

/// Measures the store at `url`, which should be empty and is left full.
pub(crate) async fn run(url: &str, load: Load, report: &mut Report) -> Result<()> {
    let clock = Arc::new(SystemClock::default());
    let limits = Limits { pending_max: 100_000_000, ..Limits::default() };
    let opened = malla_store::open(url, clock.clone(), limits).await.context("cannot open the store")?;
    report.store(opened.backend);
    let bench = Bench { queue: opened.queue.clone(), clock };

    let mut single = 0.0;
    for callers in [1, 16, 256] {
        let rate = bench.submits(callers, load.submit_for).await?;
        single = if callers == 1 { rate } else { single };
        let note = if callers == 1 { String::new() } else { format!("{:.1} × one caller", rate / single) };
        report.line(&format!("durable submits, {callers} callers"), rate, "tasks/s", &note);
    }
    for (loops, lanes) in [(1, 1_000), (4, 1_000), (4, 20)] {
        let rate = bench.lease_and_commit(loops, load.commits, lanes).await?;
        let what = format!("lease + commit in batches of {BATCH}, {loops} at once");
        report.line(&what, rate, "tasks/s", &format!("from {lanes} lanes"));
    }
    let few = bench.lease_times("few", load.few, load.few.min(load.lanes)).await?;
    report.line(&format!("lease 100 of {} waiting", load.few), few, "ms", "median");
    let many = bench.lease_times("many", load.many, load.lanes).await?;
    let note = format!("median; {:.2} × the time above", many / few);
    report.line(&format!("lease 100 of {} waiting in {} lanes", load.many, load.lanes), many, "ms", &note);
    let alone = bench.single_task_wait("alone", None).await?;
    report.line("a task alone: submit to lease", alone, "ms", "median");
    // The lease brings tasks of the neighbour along, so what shows is the difference between these two.
    for (room, waiting) in [("beside-few", load.few), ("beside-many", load.many)] {
        let beside = bench.single_task_wait(room, Some(waiting)).await?;
        report.line(&format!("the same beside a lane with {waiting} waiting"), beside, "ms", "median");
    }
    report.line("memory of this process", memory_mb(), "MB", "resident");
    opened.close().await;
    Ok(())
}

struct Bench {
    queue: Arc<dyn Queue>,
    clock: Arc<SystemClock>,
}

impl Bench {
    fn task(room: &str, lane: usize) -> NewTask {
        let key: LaneKey = format!("{room}/{lane}").parse().expect("a lane key");
        NewTask {
            lane_settings: LaneSettings { ceiling: 10_000, gap_ms: 0 },
            ..NewTask::new(key, Kind::new("bench"), r#"{"email":"test@example.com","username":"test_user"}"#)
        }
    }

    /// Each caller submits one task after the other; all of them together, per second.
    async fn submits(&self, callers: usize, lasts: Duration) -> Result<f64> {
        let done = Arc::new(AtomicU64::new(0));
        let began = Instant::now();
        let mut tasks = tokio::task::JoinSet::new();
        for caller in 0..callers {
            let (queue, done) = (self.queue.clone(), done.clone());
            tasks.spawn(async move {
                let mut lane = caller;
                while began.elapsed() < lasts {
                    queue.submit(vec![Self::task("submits", lane % 1_000)], None).await?;
                    done.fetch_add(1, Ordering::Relaxed);
                    lane += 7;
                }
                Ok::<_, malla_queue::Error>(())
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended??;
        }
        Ok(done.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64())
    }

    async fn fill(&self, room: &str, count: usize, lanes: usize) -> Result<()> {
        let mut tasks = tokio::task::JoinSet::new();
        for part in 0..4 {
            let (queue, room) = (self.queue.clone(), room.to_owned());
            tasks.spawn(async move {
                let own: Vec<usize> = (0..count).filter(|n| n % 4 == part).collect();
                for chunk in own.chunks(1_000) {
                    let batch = chunk.iter().map(|n| Self::task(&room, n % lanes)).collect();
                    queue.submit(batch, None).await?;
                }
                Ok::<_, malla_queue::Error>(())
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended??;
        }
        Ok(())
    }

    async fn lease(queue: &Arc<dyn Queue>, room: &str, limit: usize) -> Result<Vec<Leased>> {
        let request = LeaseRequest::new(vec![Room::new(room)?], limit, Holder::Member("bench".into()), LEASE_FOR);
        Ok(queue.lease(request).await?.tasks)
    }

    async fn lease_and_commit(&self, loops: usize, count: usize, lanes: usize) -> Result<f64> {
        // Each measurement in a room of its own; all of them are empty in the end.
        let room = if lanes == 20 { "narrow" } else { "wide" };
        self.fill(room, count, lanes).await?;
        let began = Instant::now();
        let left = Arc::new(AtomicU64::new(count as u64));
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..loops {
            let (queue, clock, left) = (self.queue.clone(), self.clock.clone(), left.clone());
            tasks.spawn(async move {
                while left.load(Ordering::Relaxed) > 0 {
                    let leased = Self::lease(&queue, room, BATCH).await?;
                    if leased.is_empty() {
                        tokio::task::yield_now().await;
                        continue;
                    }
                    let now = clock.now();
                    let ending = |leased: &Leased| {
                        let outcome = Outcome { result: Some(b"\"done\"".to_vec()), ..Outcome::default() };
                        (leased.token, Verdict::Done(outcome).ending(leased, now))
                    };
                    let answers = queue.finish(leased.iter().map(ending).collect()).await?;
                    left.fetch_sub(answers.iter().filter(|answer| answer.is_ok()).count() as u64, Ordering::Relaxed);
                }
                Ok::<_, anyhow::Error>(())
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended??;
        }
        Ok(count as f64 / began.elapsed().as_secs_f64())
    }

    /// The median time to lease 100 tasks while `waiting` wait.
    async fn lease_times(&self, room: &str, waiting: usize, lanes: usize) -> Result<f64> {
        self.fill(room, waiting, lanes).await?;
        let mut times = Vec::new();
        for _ in 0..40 {
            let began = Instant::now();
            let leased = Self::lease(&self.queue, room, 100).await?;
            times.push(began.elapsed());
            anyhow::ensure!(leased.len() == 100, "leased {} of 100", leased.len());
            let back = |leased: &Leased| {
                let released = Verdict::Released { note: "measured".into() };
                (leased.token, released.ending(leased, self.clock.now()))
            };
            self.queue.finish(leased.iter().map(back).collect()).await?;
        }
        Ok(median_ms(times))
    }

    /// How long a task in a lane of its own takes from its submission to its lease, with or without a neighbour that
    /// has `beside` tasks waiting.
    async fn single_task_wait(&self, room: &str, beside: Option<usize>) -> Result<f64> {
        if let Some(count) = beside {
            self.fill(room, count, 1).await?;
        }
        let mut times = Vec::new();
        for n in 0..50 {
            let began = Instant::now();
            self.queue.submit(vec![Self::task(room, 1_000 + n)], None).await?;
            let own = format!("{room}/{}", 1_000 + n);
            loop {
                let leased = Self::lease(&self.queue, room, 10).await?;
                if leased.iter().any(|leased| leased.lane.as_str() == own) {
                    break;
                }
            }
            times.push(began.elapsed());
        }
        Ok(median_ms(times))
    }
}

fn median_ms(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1_000.0
}
