//! A device's loop: it asks for blocks, fetches their pages and returns the results, all at the same time.
//!
//! Politeness is the dispatcher's: it gives a site to one device at a time. The device keeps the gap inside a run, and
//! lets go of everything when its lease is over.

mod ask;
mod deliver;
mod hand;
mod lease;
mod lines;
mod outbox;
mod pace;
mod run;
mod slots;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout, timeout_at};

use crate::{Block, Dispatch, DispatchError, Getter, PageUrl};
use ask::Asker;
use hand::Hand;
use lease::{Lease, Ticket};
use lines::Lines;
use outbox::Outbox;
use pace::Pace;
use run::RunWork;
use slots::Slots;

/// The shortest and longest wait before something that failed is tried again.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// A dispatcher cannot send a device away for longer.
const LATER_MAX: Duration = Duration::from_secs(600);
/// How often the device looks at its own speed.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// What remains for the last results after the last request has ended.
const FAREWELL: Duration = Duration::from_millis(1_500);

/// What a device allows itself.
#[derive(Clone)]
pub struct WorkerOptions {
    /// Requests at once, to begin with.
    pub parallel: usize,
    pub parallel_max: usize,
    /// Pages in a block, to begin with and at least.
    pub pages: usize,
    pub pages_max: usize,
    /// Bytes of results that the dispatcher does not have yet. Above it, no request is made.
    pub memory_max: u64,
    /// Bytes a second of all downloads together.
    pub max_rate: Option<u64>,
    /// How long requests may go on after shutdown began.
    pub grace: Duration,
    pub observer: Arc<dyn Observer>,
}

impl Default for WorkerOptions {
    fn default() -> Self {
        Self {
            parallel: 16,
            parallel_max: 256,
            pages: 16,
            pages_max: 2_048,
            memory_max: 256 << 20,
            max_rate: None,
            grace: Duration::from_secs(8),
            observer: Arc::new(Nobody),
        }
    }
}

/// Told how the work goes, for people.
pub trait Observer: Send + Sync + 'static {
    fn page(&self, _: &Page<'_>) {}
    /// The dispatcher cannot be reached; it is tried again.
    fn dispatcher_away(&self, _why: &str) {}
}

/// A page that is done, with an answer or without.
#[derive(Debug)]
pub struct Page<'p> {
    pub url: &'p PageUrl,
    pub status: u16,
    /// Of its body, unpacked.
    pub bytes: u64,
    pub took: Duration,
}

struct Nobody;

impl Observer for Nobody {}

/// Works until `shutdown` turns true and everything in hand is returned or given back, or until the dispatcher wants no
/// more of this device: then the error says what to do.
pub async fn run(
    dispatch: Arc<dyn Dispatch>,
    getter: Getter,
    options: WorkerOptions,
    mut shutdown: watch::Receiver<bool>,
) -> Result<(), DispatchError> {
    let grace = options.grace;
    let device = Arc::new(Device::new(getter, &options));
    let mut delivery = JoinSet::new();
    delivery.spawn(deliver::deliver(device.outbox.clone(), dispatch.clone(), device.observer.clone()));
    let mut blocks = JoinSet::new();
    let mut asker = Asker::new(&device, dispatch, &options);
    tokio::select! {
        error = asker.ask(&mut blocks) => return Err(error),
        result = ended(&mut delivery) => return result,
        () = device.watch_pace() => {}
        _ = shutdown.wait_for(|stop| *stop) => {}
    }
    device.stage.send_replace(Stage::Stopping);
    let deadline = Instant::now() + grace;
    while let Ok(Some(_)) = timeout_at(deadline, blocks.join_next()).await {}
    device.stage.send_replace(Stage::CutOff);
    while blocks.join_next().await.is_some() {}
    device.outbox.close();
    timeout(FAREWELL, ended(&mut delivery)).await.unwrap_or(Ok(()))
}

/// How the delivery of results ended.
async fn ended(delivery: &mut JoinSet<Result<(), DispatchError>>) -> Result<(), DispatchError> {
    match delivery.join_next().await {
        Some(Ok(result)) => result,
        Some(Err(panic)) => Err(deliver::panicked(&panic)),
        None => Ok(()),
    }
}

fn later(after_ms: u64) -> Duration {
    Duration::from_millis(after_ms).min(LATER_MAX)
}

/// What all runs of a device share.
struct Device {
    getter: Getter,
    slots: Slots,
    hand: Hand,
    outbox: Arc<Outbox>,
    lines: Lines,
    pace: Mutex<Pace>,
    observer: Arc<dyn Observer>,
    stage: watch::Sender<Stage>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Working,
    /// No request begins any more.
    Stopping,
    /// Requests under way are cut off, and what they were for is given back.
    CutOff,
}

impl Device {
    fn new(getter: Getter, options: &WorkerOptions) -> Self {
        let pace = Pace::new(options.parallel, options.parallel_max);
        Self {
            getter: if options.max_rate.is_some() { getter.with_max_rate(options.max_rate) } else { getter },
            slots: Slots::new(pace.parallel()),
            hand: Hand::default(),
            outbox: Arc::new(Outbox::new(options.memory_max)),
            lines: Lines::default(),
            pace: Mutex::new(pace),
            observer: options.observer.clone(),
            stage: watch::Sender::new(Stage::Working),
        }
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopping(&self) -> bool {
        *self.stage.borrow() >= Stage::Stopping
    }

    async fn reaches(&self, stage: Stage) {
        // The sender is in this device, so it is there for as long as somebody waits.
        let _ = self.stage.subscribe().wait_for(|now| *now >= stage).await;
    }

    /// Does as much at once as the last seconds allow.
    async fn watch_pace(&self) {
        let mut beat = interval(LOOK_EVERY);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut since, mut taken) = (beat.tick().await, self.getter.throttle().taken());
        loop {
            let now = beat.tick().await;
            let taken_now = self.getter.throttle().taken();
            let parallel = {
                let mut pace = self.pace();
                pace.look(now - since, taken_now - taken, self.slots.were_short());
                pace.parallel()
            };
            self.slots.set_limit(parallel);
            self.lines.sweep();
            (since, taken) = (now, taken_now);
        }
    }

    /// Takes a block up, and works on it until it is done or its lease is over.
    fn begin(self: &Arc<Self>, block: Block, lease: Lease) -> impl Future<Output = ()> + use<> {
        let take_up = |run| {
            let ticket = Arc::new(Ticket::new(lease));
            (ticket.clone(), RunWork::new(self.clone(), ticket, run))
        };
        let taken: Vec<_> = block.runs.into_iter().map(take_up).collect();
        let device = self.clone();
        async move {
            let mut runs = JoinSet::new();
            for (ticket, work) in taken {
                ticket.is_for(runs.spawn(work.work()));
            }
            tokio::select! {
                () = async { while runs.join_next().await.is_some() {} } => {}
                () = lease.over() => runs.shutdown().await,
                () = device.reaches(Stage::CutOff) => runs.shutdown().await,
            }
        }
    }
}
