//! The same client without a dispatcher: blocks come from memory and results go nowhere. What this machine can do.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use async_trait::async_trait;
use malla_fetch::worker::{self, WorkerOptions};
use malla_fetch::{Block, Brought, Dispatch, DispatchError, Getter, Item, PageUrl, Run, Site, Validators, What, Wish};
use malla_queue::{LeaseToken, TaskId};
use malla_reach::Guard;
use tokio::sync::{Notify, watch};

use super::report::cpu_of;

/// Pages of a site in one run.
const RUN: usize = 16;

/// Gives out what is left, site by site, one run of each at a time.
pub(super) struct Direct {
    state: Mutex<State>,
    changed: Notify,
    done: watch::Sender<bool>,
}

struct State {
    /// Pages of each site that are left.
    left: BTreeMap<Site, Vec<Item>>,
    /// Pages of each site that are out.
    out: HashMap<LeaseToken, Site>,
    busy: BTreeMap<Site, usize>,
    missing: usize,
}

impl Direct {
    /// Fetches these and waits for the last, with so many requests at once or as many as prove to be good.
    pub(super) async fn fetch(urls: &[String], at_once: Option<usize>) -> Result<()> {
        let mut left: BTreeMap<Site, Vec<Item>> = BTreeMap::new();
        for (number, url) in urls.iter().enumerate() {
            let url = PageUrl::parse(url)?;
            let token = LeaseToken { task: TaskId(i64::try_from(number)?), nonce: 1 };
            let item = Item { token, what: What::Page, validators: Validators::default(), url };
            left.entry(item.url.site()).or_default().push(item);
        }
        let (done, stop) = watch::channel(false);
        let state = State { left, out: HashMap::new(), busy: BTreeMap::new(), missing: urls.len() };
        let direct = Arc::new(Self { state: Mutex::new(state), changed: Notify::new(), done });
        let getter = Getter::new(Guard::new(true, Vec::new()), "MallaBot/bench")?;
        let mut options = WorkerOptions::default();
        options.parallel_max = at_once.unwrap_or(options.parallel_max);
        Ok(worker::run(direct, getter, options, stop).await?)
    }

    fn take(&self, pages: usize) -> Block {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { left, out, busy, .. } = &mut *state;
        let mut block = Block { runs: Vec::new(), lease_for_ms: 60_000 };
        let mut room = pages;
        let free = left.iter().filter(|(site, items)| !items.is_empty() && !busy.contains_key(*site)).count();
        // Many sites, for each is asked for one page at a time; but not for a page or two alone.
        let share = pages.div_ceil(free.max(1)).clamp(8, RUN);
        for (site, items) in left.iter_mut() {
            if room == 0 {
                break;
            }
            if items.is_empty() || busy.contains_key(site) {
                continue;
            }
            let count = items.len().min(share).min(room);
            room -= count;
            let run: Vec<Item> = items.split_off(items.len() - count);
            busy.insert(site.clone(), count);
            out.extend(run.iter().map(|item| (item.token, site.clone())));
            block.runs.push(Run { site: site.clone(), gap_ms: 0, parallel: 1, items: run });
        }
        block
    }

    fn bring(&self, tokens: impl Iterator<Item = LeaseToken>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for token in tokens {
            let Some(site) = state.out.remove(&token) else { continue };
            state.missing -= 1;
            if let Some(count) = state.busy.get_mut(&site) {
                *count -= 1;
                if *count == 0 {
                    state.busy.remove(&site);
                }
            }
        }
        if state.missing == 0 {
            self.done.send_replace(true);
        }
        drop(state);
        self.changed.notify_waiters();
    }
}

#[async_trait]
impl Dispatch for Direct {
    async fn lease(&self, wish: Wish) -> Result<Block, DispatchError> {
        loop {
            let changed = self.changed.notified();
            let block = self.take(wish.pages);
            if !block.runs.is_empty() {
                return Ok(block);
            }
            changed.await;
        }
    }

    async fn results(&self, brought: Vec<Brought>) -> Result<Vec<LeaseToken>, DispatchError> {
        self.bring(brought.iter().map(|brought| brought.token));
        Ok(Vec::new())
    }

    async fn give_back(&self, _: Vec<(LeaseToken, u64)>) -> Result<(), DispatchError> {
        Ok(())
    }
}

/// CPU-seconds of this process so far.
pub(super) fn cpu_of_self() -> f64 {
    cpu_of(std::process::id())
}
