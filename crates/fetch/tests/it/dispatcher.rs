//! A dispatcher in memory: lanes of sites, leases that end, and a memory of everything that was asked and brought.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use malla_fetch::worker::{self, WorkerOptions};
use malla_fetch::{Block, Brought, Dispatch, DispatchError, Getter, Item, PageUrl, Run, Site, Validators, What, Wish};
use malla_queue::{LeaseToken, TaskId};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How it treats its lanes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manners {
    pub(crate) gap_ms: u64,
    pub(crate) parallel: u32,
    /// Pages of a site in one run.
    pub(crate) run: usize,
    pub(crate) lease_for_ms: u64,
}

impl Default for Manners {
    fn default() -> Self {
        Self { gap_ms: 0, parallel: 1, run: 4, lease_for_ms: 30_000 }
    }
}

#[derive(Default)]
pub(crate) struct Log {
    /// Blocks given out: when, for how many pages, what was wished.
    pub(crate) leases: Vec<(Instant, usize, Wish)>,
    pub(crate) done: Vec<(PageUrl, Brought)>,
    pub(crate) given_back: Vec<(PageUrl, u64)>,
    /// Results that came after their lease was over.
    pub(crate) late: usize,
    /// How many results each call brought.
    pub(crate) calls: Vec<usize>,
}

pub(crate) struct Dispatcher {
    manners: Manners,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    lanes: BTreeMap<Site, Lane>,
    held: BTreeMap<i64, Held>,
    next: i64,
    log: Log,
    /// What the next calls of `lease` and of `results` get instead of an answer.
    lease_errors: VecDeque<DispatchError>,
    result_errors: VecDeque<DispatchError>,
    results_away: bool,
    call_all_lost: bool,
}

#[derive(Default)]
struct Lane {
    waiting: VecDeque<PageUrl>,
    held: usize,
    ready_at: Option<Instant>,
}

struct Held {
    url: PageUrl,
    ends: Instant,
}

impl Dispatcher {
    pub(crate) fn new(manners: Manners, urls: impl IntoIterator<Item = PageUrl>) -> Arc<Self> {
        let dispatcher = Self { manners, state: Mutex::default(), changed: Notify::new() };
        dispatcher.add(urls);
        Arc::new(dispatcher)
    }

    pub(crate) fn add(&self, urls: impl IntoIterator<Item = PageUrl>) {
        self.with(|state| {
            for url in urls {
                state.lanes.entry(url.site()).or_default().waiting.push_back(url);
            }
        });
    }

    /// A device at work for it, and the way to end it.
    pub(crate) fn worker(self: &Arc<Self>, getter: Getter, options: WorkerOptions) -> Worker {
        let (stop, stopped) = watch::channel(false);
        Worker { stop, task: tokio::spawn(worker::run(self.clone(), getter, options, stopped)) }
    }

    pub(crate) fn fail_lease(&self, error: DispatchError) {
        self.with(|state| state.lease_errors.push_back(error));
    }

    pub(crate) fn fail_results(&self, error: DispatchError) {
        self.with(|state| state.result_errors.push_back(error));
    }

    pub(crate) fn take_no_results(&self, away: bool) {
        self.with(|state| state.results_away = away);
    }

    /// Every result from now on comes too late.
    pub(crate) fn call_all_lost(&self) {
        self.with(|state| state.call_all_lost = true);
    }

    pub(crate) fn log<T>(&self, read: impl FnOnce(&Log) -> T) -> T {
        read(&self.state.lock().expect("no panic").log)
    }

    /// Waits until the log is as wanted.
    pub(crate) async fn until(&self, wanted: impl Fn(&Log) -> bool) {
        let wait = async {
            loop {
                let changed = self.changed.notified();
                if self.log(&wanted) {
                    return;
                }
                let _ = timeout(Duration::from_millis(100), changed).await;
            }
        };
        let waited = timeout(Duration::from_secs(30), wait).await;
        let (done, late) = self.log(|log| (log.done.len(), log.late));
        assert!(waited.is_ok(), "it does not come: {done} results, {late} late");
    }

    pub(crate) async fn until_done(&self, count: usize) {
        self.until(|log| log.done.len() >= count).await;
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state.lock().expect("no panic"));
        self.changed.notify_waiters();
        changed
    }

    fn block(&self, wish: &Wish) -> Block {
        let block = self.state.lock().expect("no panic").block(wish, &self.manners);
        if !block.runs.is_empty() {
            self.changed.notify_waiters();
        }
        block
    }
}

impl State {
    fn block(&mut self, wish: &Wish, manners: &Manners) -> Block {
        self.reap(manners.gap_ms);
        let now = Instant::now();
        let (mut runs, mut pages) = (Vec::new(), 0);
        let ends = now + Duration::from_millis(manners.lease_for_ms);
        for (site, lane) in &mut self.lanes {
            let count = lane.waiting.len().min(manners.run).min(wish.pages - pages);
            if lane.held > 0 || count == 0 || lane.ready_at.is_some_and(|at| now < at) {
                continue;
            }
            lane.held = count;
            pages += count;
            let items = lane.waiting.drain(..count).map(|url| {
                self.next += 1;
                self.held.insert(self.next, Held { url: url.clone(), ends });
                let token = LeaseToken { task: TaskId(self.next), nonce: 1 };
                Item { token, url, what: What::Page, validators: Validators::default() }
            });
            let Manners { gap_ms, parallel, .. } = *manners;
            runs.push(Run { site: site.clone(), gap_ms, parallel, items: items.collect() });
        }
        if pages > 0 {
            self.log.leases.push((now, pages, wish.clone()));
        }
        Block { runs, lease_for_ms: manners.lease_for_ms }
    }

    /// What is over goes back to its lane.
    fn reap(&mut self, gap_ms: u64) {
        let now = Instant::now();
        let over: Vec<i64> = self.held.iter().filter(|(_, held)| held.ends <= now).map(|(id, _)| *id).collect();
        for id in over {
            let held = self.held.remove(&id).expect("it is there");
            let lane = self.lanes.get_mut(&held.url.site()).expect("its lane");
            lane.held -= 1;
            lane.ready_at = Some(now + Duration::from_millis(gap_ms));
            lane.waiting.push_back(held.url);
        }
    }

    /// Takes an item back, with how long its site has been quiet.
    fn end(&mut self, token: LeaseToken, quiet_ms: u64, gap_ms: u64) -> Option<PageUrl> {
        self.reap(gap_ms);
        let held = self.held.remove(&token.task.0)?;
        let lane = self.lanes.get_mut(&held.url.site()).expect("its lane");
        lane.held -= 1;
        let left = Duration::from_millis(gap_ms.saturating_sub(quiet_ms));
        lane.ready_at = lane.ready_at.max(Some(Instant::now() + left));
        Some(held.url)
    }
}

#[async_trait]
impl Dispatch for Dispatcher {
    async fn lease(&self, wish: Wish) -> Result<Block, DispatchError> {
        if let Some(error) = self.with(|state| state.lease_errors.pop_front()) {
            return Err(error);
        }
        let patience = Instant::now() + Duration::from_millis(500);
        loop {
            let changed = self.changed.notified();
            let block = self.block(&wish);
            if !block.runs.is_empty() || Instant::now() > patience {
                return Ok(block);
            }
            let _ = timeout(Duration::from_millis(5), changed).await;
        }
    }

    async fn results(&self, brought: Vec<Brought>) -> Result<Vec<LeaseToken>, DispatchError> {
        let gap_ms = self.manners.gap_ms;
        self.with(|state| {
            if state.results_away {
                return Err(DispatchError::Away("the dispatcher takes nothing".into()));
            }
            if let Some(error) = state.result_errors.pop_front() {
                return Err(error);
            }
            state.log.calls.push(brought.len());
            let mut lost = Vec::new();
            for result in brought {
                if state.call_all_lost {
                    lost.push(result.token);
                    continue;
                }
                match state.end(result.token, result.quiet_ms, gap_ms) {
                    Some(url) => state.log.done.push((url, result)),
                    None => {
                        state.log.late += 1;
                        lost.push(result.token);
                    }
                }
            }
            Ok(lost)
        })
    }

    async fn give_back(&self, items: Vec<(LeaseToken, u64)>) -> Result<(), DispatchError> {
        let gap_ms = self.manners.gap_ms;
        self.with(|state| {
            for (token, quiet_ms) in items {
                let url = state.end(token, quiet_ms, gap_ms).expect("it was held");
                state.lanes.get_mut(&url.site()).expect("its lane").waiting.push_front(url.clone());
                state.log.given_back.push((url, quiet_ms));
            }
        });
        Ok(())
    }
}

/// A device at work.
pub(crate) struct Worker {
    stop: watch::Sender<bool>,
    task: JoinHandle<Result<(), DispatchError>>,
}

impl Worker {
    /// Shuts it down; how it ended.
    pub(crate) async fn end(self) -> Result<(), DispatchError> {
        self.stop.send_replace(true);
        self.ended().await
    }

    /// How it ends by itself.
    pub(crate) async fn ended(self) -> Result<(), DispatchError> {
        timeout(Duration::from_secs(20), self.task).await.expect("it ends").expect("no panic")
    }
}
