//! Asks for blocks: the next one when half of the last is done.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::lease::{Lease, Uptime};
use super::pace::BlockSize;
use super::{BACK_OFF, Device, WorkerOptions, later};
use crate::{Block, Dispatch, DispatchError, Wish};

/// A dispatcher waits for work before it answers that there is none; one that does not is not asked without pause.
const EMPTY_WAIT: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(1));

pub(super) struct Asker {
    device: Arc<Device>,
    dispatch: Arc<dyn Dispatch>,
    size: BlockSize,
    back_off: Duration,
    empty_wait: Duration,
}

impl Asker {
    pub(super) fn new(device: &Arc<Device>, dispatch: Arc<dyn Dispatch>, options: &WorkerOptions) -> Self {
        Self {
            device: device.clone(),
            dispatch,
            size: BlockSize::new(options.pages, options.pages_max),
            back_off: BACK_OFF.0,
            empty_wait: EMPTY_WAIT.0,
        }
    }

    /// Asks and sets to work, until the dispatcher refuses.
    pub(super) async fn ask(&mut self, blocks: &mut JoinSet<()>) -> DispatchError {
        let mut given: Option<Instant> = None;
        loop {
            while blocks.try_join_next().is_some() {}
            self.device.hand.fewer_than(self.size.pages().div_ceil(2)).await;
            if let Some(given) = given.take() {
                self.size.lasted(given.elapsed());
            }
            let (asked, asked_at) = (Uptime::now(), Instant::now());
            let wish = Wish { pages: self.size.pages(), measures: self.device.pace().measures() };
            match self.dispatch.lease(wish).await {
                Ok(block) if block.runs.is_empty() => {
                    self.device.outbox.work_is_scarce(true);
                    self.pause(asked_at.elapsed()).await;
                }
                Ok(block) => {
                    // A block that is smaller than the wish says nothing about the wish.
                    let scarce = pages(&block) < self.size.pages();
                    given = (!scarce).then(Instant::now);
                    self.device.outbox.work_is_scarce(scarce);
                    self.begin(block, asked, blocks);
                }
                Err(DispatchError::Later { after_ms }) => sleep(later(after_ms)).await,
                Err(DispatchError::Away(why)) => {
                    tracing::debug!(why, "cannot lease, trying again in {:?}", self.back_off);
                    self.device.observer.dispatcher_away(&why);
                    sleep(self.back_off).await;
                    self.back_off = (self.back_off * 2).min(BACK_OFF.1);
                }
                Err(fatal) => return fatal,
            }
        }
    }

    fn begin(&mut self, block: Block, asked: Uptime, blocks: &mut JoinSet<()>) {
        (self.back_off, self.empty_wait) = (BACK_OFF.0, EMPTY_WAIT.0);
        let lease = Lease::new(asked, Duration::from_millis(block.lease_for_ms));
        blocks.spawn(self.device.begin(block, lease));
    }

    /// There was no work after waiting for it so long.
    async fn pause(&mut self, waited: Duration) {
        self.back_off = BACK_OFF.0;
        if waited >= self.empty_wait {
            self.empty_wait = EMPTY_WAIT.0;
            return;
        }
        sleep(self.empty_wait).await;
        self.empty_wait = (self.empty_wait * 2).min(EMPTY_WAIT.1);
    }
}

fn pages(block: &Block) -> usize {
    block.runs.iter().map(|run| run.items.len()).sum()
}
