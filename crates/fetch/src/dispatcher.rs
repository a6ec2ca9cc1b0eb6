//! Gives blocks of work to devices and takes in what they bring.
//!
//! Politeness is kept here and in the lanes, never by trust in a device alone: a site is given to one device at a time,
//! pages only once its robots.txt is known, and its lane rests after the last word the site said.

mod batches;
mod care;
mod checks;
mod delivery;
mod fleet;
mod hand;
mod judge;
mod known;
mod options;
mod pins;
mod reserved;
mod rests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use malla_queue::{Clock, Error, Holder, LaneKey, LaneSettings, LeaseRequest, LeaseToken, Leased, Queue, Room, UnixMs};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::trust::{FreeChecks, Party, Watch};
use crate::{
    BLOCKED, Block, Brought, CheckedBody, Commit, Device, DispatchError, Fetch, Measures, NO_ANSWER, NOT_ASKED,
    PageTask, ROBOTS, ROOM, Ready, ReadySite, Settled, Tally, What, Wish, choose,
};
use batches::{Batch, at_once, batches, narrow};
pub use care::Care;
use care::{Reputes, lapsed, with_trap};
pub use delivery::Delivery;
use fleet::Fleet;
use hand::{Hand, Held};
pub use judge::Rules;
use judge::{Case, refused_by_robots};
use known::KnownRules;
pub use options::{DispatcherOptions, Nowhere, Places};
use pins::Pins;
use reserved::Reserved;
use rests::Rests;

/// Sites that are looked at for one block, for each page it may have.
const SITES_A_PAGE: usize = 2;
/// Pages in one block at most, whatever a device wishes.
const BLOCK_MAX: usize = 2_048;
/// A lease is longer than its longest run by what a page may take and this.
const LEASE_BEYOND: Duration = Duration::from_secs(5);
/// A device that gets nothing of what is ready, because another is better placed, looks again after this.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// A site whose robots.txt is under way in another lane is looked at again after this.
const ROBOTS_ELSEWHERE: Duration = Duration::from_millis(500);

pub struct Dispatcher {
    fetch: Arc<dyn Fetch>,
    queue: Arc<dyn Queue>,
    clock: Arc<dyn Clock>,
    options: DispatcherOptions,
    waiting: Semaphore,
    hand: Hand,
    known: KnownRules,
    pins: Pins,
    rests: Rests,
    fleet: Fleet,
    reputes: Reputes,
    free: FreeChecks,
    reserved: Reserved,
}

impl Dispatcher {
    pub fn new(
        fetch: Arc<dyn Fetch>,
        queue: Arc<dyn Queue>,
        clock: Arc<dyn Clock>,
        options: DispatcherOptions,
    ) -> Arc<Self> {
        let waiting = Semaphore::new(options.waiting_max);
        let (hand, known, rests, fleet) = (Hand::default(), KnownRules::default(), Rests::default(), Fleet::default());
        let pins = Pins::new(fetch.pinned());
        let (reputes, free, reserved) = (Reputes::default(), FreeChecks::default(), Reserved::default());
        Arc::new(Self {
            fetch,
            queue,
            clock,
            options,
            waiting,
            hand,
            known,
            pins,
            rests,
            fleet,
            reputes,
            free,
            reserved,
        })
    }

    /// Work for this device; waits for it a while. An empty block means that there was none.
    pub async fn lease(&self, device: &Device, wish: Wish) -> Result<Block, DispatchError> {
        self.lease_unless(device, wish, std::future::pending()).await
    }

    /// As [`Dispatcher::lease`], but waits no longer once the device is `gone`.
    async fn lease_unless(
        &self,
        device: &Device,
        wish: Wish,
        gone: impl Future<Output = ()>,
    ) -> Result<Block, DispatchError> {
        let mut gone = std::pin::pin!(gone);
        let asked = Instant::now();
        let mut changes = self.fetch.devices_changed();
        if let Some(after_ms) = self.rests.left_ms(device.id, self.clock.now()) {
            return Err(DispatchError::Later { after_ms });
        }
        let Ok(_place) = self.waiting.try_acquire() else {
            return Err(DispatchError::Later { after_ms: rests::some_time_ms() });
        };
        self.refuse_blocked(device, wish.measures).await?;
        let _asking = self.fleet.asks(device, self.clock.now());
        let deadline = Instant::now() + self.options.wait;
        let mut arrivals = self.queue.arrivals(&room());
        let mut pinned = self.fetch.pinned();
        loop {
            arrivals.mark_unchanged();
            pinned.mark_unchanged();
            let waited = asked.elapsed();
            let (mut block, next_at) =
                self.take(device, wish.pages.clamp(1, BLOCK_MAX), at_once(&wish.measures)).await.map_err(away)?;
            if changes.has_changed().unwrap_or(false) {
                changes.mark_unchanged();
                if let Err(refused) = self.refuse_blocked(device, wish.measures).await {
                    self.give_back(device, block.unasked()).await?;
                    return Err(refused);
                }
            }
            if !block.runs.is_empty() || Instant::now() >= deadline {
                // The device counts from when it asked.
                block.lease_for_ms += u64::try_from(waited.as_millis()).unwrap_or(0);
                return Ok(block);
            }
            let until = next_at.map_or(deadline, |at| deadline.min(Instant::now() + self.clock.now().until(at)));
            tokio::select! {
                _ = arrivals.changed() => {}
                Ok(()) = pinned.changed() => {}
                _ = changes.changed() => self.refuse_blocked(device, wish.measures).await?,
                () = tokio::time::sleep_until(until) => {}
                () = &mut gone => return Ok(Block::default()),
            }
        }
    }

    /// Notes that the device is there, if it may be.
    async fn refuse_blocked(&self, device: &Device, measures: Measures) -> Result<(), DispatchError> {
        match self.fetch.device_seen(device.id, measures).await.map_err(away)? {
            true => Err(DispatchError::Refused(BLOCKED.to_owned())),
            false => Ok(()),
        }
    }

    /// What can be had now, and if that is nothing, when to look again.
    async fn take(
        &self,
        device: &Device,
        pages: usize,
        at_once: usize,
    ) -> malla_queue::Result<(Block, Option<UnixMs>)> {
        let here = self.pins.take(&*self.fetch, device, self.lanes(), self.clock.now()).await?;
        let line = self.fetch.ready((pages * SITES_A_PAGE).clamp(64, BLOCK_MAX)).await?;
        let now = self.clock.now();
        let line = self.without_blocked(device, line, now).await?;
        let line = self.reserved.without(line, &Party::of(device), now);
        let (ready, later): (Vec<Ready>, Vec<Ready>) = line.into_iter().partition(|ready| ready.since <= now);
        let next_at = later.first().map(|ready| ready.since);
        let anything = !ready.is_empty();
        let pinned: Vec<Ready> = ready.iter().filter(|ready| here.sites.contains(&ready.site)).cloned().collect();
        let ready = pins::first(self.choose(device, ready, pages, now), &pinned);
        let again = (anything && ready.is_empty()).then(|| now.plus(LOOK_AGAIN));
        let next_at = [next_at, again, here.again].into_iter().flatten().min();
        let (known, unknown): (Vec<_>, Vec<_>) =
            ready.into_iter().partition(|ready| ready.robots_until.is_some_and(|until| until > now));
        let known = narrow(known, pages, at_once, self.fleet.is_alone(device.id, now));
        let sites: HashMap<LaneKey, Ready> = known.iter().map(|ready| (ready.site.lane(), ready.clone())).collect();
        let mut block = Block::default();
        let mut left = pages;
        if !unknown.is_empty() {
            left -= self.take_robots(device, unknown, left, &mut block).await?;
        }
        for batch in batches(&known, self.beyond(), pages) {
            if left == 0 {
                break;
            }
            let batch = Batch { most: left.min(batch.most), ..batch };
            left -= self.take_pages(device, batch, &sites, &mut block).await?;
        }
        self.fleet.gave(device.id, pages - left);
        Ok((block, next_at))
    }

    /// Which of the ready sites this device gets, the best first.
    fn choose(&self, device: &Device, ready: Vec<Ready>, pages: usize, now: UnixMs) -> Vec<Ready> {
        let sites: Vec<ReadySite> = ready
            .iter()
            .map(|ready| ReadySite {
                waiting_since: ready.since,
                tasks: usize::try_from(ready.waiting).unwrap_or(usize::MAX),
                gap_ms: ready.gap_ms,
                country: self.options.places.country(&ready.site),
                page_ms: self.fleet.times(&ready.site),
            })
            .collect();
        let (own, fleet) = self.fleet.views(device.id, now);
        let shares = choose(self.options.strategy, &own, &sites, pages, &fleet);
        let mut ready: Vec<Option<Ready>> = ready.into_iter().map(Some).collect();
        shares.into_iter().filter_map(|share| ready.get_mut(share.site)?.take()).collect()
    }

    async fn lease_from(&self, device: &Device, batch: &Batch) -> malla_queue::Result<Vec<Leased>> {
        let request = LeaseRequest {
            lanes: Some(batch.lanes.clone()),
            run_max: batch.run_max,
            ..LeaseRequest::new(vec![room()], batch.most, holder(device), batch.lease_for)
        };
        Ok(self.queue.lease(request).await?.tasks)
    }

    /// A site whose robots.txt is not known gives that and nothing else.
    async fn take_robots(
        &self,
        device: &Device,
        unknown: Vec<Ready>,
        left: usize,
        block: &mut Block,
    ) -> malla_queue::Result<usize> {
        let sites: Vec<_> = unknown.iter().take(left).map(|ready| ready.site.clone()).collect();
        self.fetch.want_robots(sites.clone(), self.lanes()).await?;
        let lanes = sites.iter().map(crate::Site::lane).collect();
        let batch = Batch { lanes, run_max: 1, most: left, lease_for: self.beyond() };
        let leased = self.lease_from(device, &batch).await?;
        let (robots, early): (Vec<_>, Vec<_>) = leased.into_iter().partition(|leased| leased.kind.as_str() == ROBOTS);
        self.put_off(early).await?;
        let gaps: HashMap<LaneKey, u64> = unknown.into_iter().map(|ready| (ready.site.lane(), ready.gap_ms)).collect();
        let mut taken = 0;
        for leased in robots {
            let gap_ms = gaps.get(&leased.lane).copied().unwrap_or(self.options.rules.gap_ms);
            let Ok(task) = PageTask::from_payload(&leased.payload) else { continue };
            block.add(batch.lease_for, &leased, task.clone(), gap_ms, 1, What::Robots);
            self.hand.take_up(Held { leased, task, gap_ms, trap: None });
            taken += 1;
        }
        Ok(taken)
    }

    /// Pages that came before their robots.txt: it is under way in another site's lane.
    async fn put_off(&self, early: Vec<Leased>) -> malla_queue::Result<()> {
        let mut settled = Vec::with_capacity(early.len());
        for leased in early {
            let task = PageTask::from_payload(&leased.payload)?;
            let gap_ms = u64::try_from(ROBOTS_ELSEWHERE.as_millis()).unwrap_or(0);
            settled.push(self.case(&leased, &task, gap_ms, 0, None).release("its robots.txt is not known yet"));
        }
        self.commit(None, settled, Tally::default()).await.map(drop)
    }

    async fn take_pages(
        &self,
        device: &Device,
        batch: Batch,
        sites: &HashMap<LaneKey, Ready>,
        block: &mut Block,
    ) -> malla_queue::Result<usize> {
        let leased = self.lease_from(device, &batch).await?;
        if leased.is_empty() {
            return Ok(0);
        }
        let tokens: Vec<LeaseToken> = leased.iter().map(|leased| leased.token).collect();
        let wanted: std::collections::HashSet<LeaseToken> = self.fetch.wanted(&tokens).await?.into_iter().collect();
        let (mut settled, mut taken) = (Vec::new(), 0);
        let traps = self.traps(device).await?;
        for leased in leased {
            let task = PageTask::from_payload(&leased.payload)?;
            let Some(ready) = sites.get(&leased.lane) else { continue };
            let case = self.case(&leased, &task, 0, 0, None);
            let what = if leased.kind.as_str() == ROBOTS { What::Robots } else { What::Page };
            if what == What::Page {
                if let Some(elsewhere) = pins::not_here(&task, device, &case) {
                    settled.push(elsewhere);
                    continue;
                }
                if let Some(passed_on) = self.pass_on(device, &case) {
                    settled.push(passed_on);
                    continue;
                }
                if task.check.is_none() && !wanted.contains(&leased.token) {
                    let note = "nobody waits for it any more".to_owned();
                    let why = crate::Trouble { what: crate::TroubleKind::Refused, note };
                    settled.push(case.refuse(NOT_ASKED, why));
                    continue;
                }
                let known = self.known.of(&*self.fetch, &ready.site, ready.robots_until).await?;
                if let Some((status, why)) =
                    refused_by_robots(&ready.site, &task.url, &known, &self.options.rules.agent)
                {
                    settled.push(if task.check.is_some() {
                        case.drop_it(lapsed(&case))
                    } else {
                        case.refuse(status, why)
                    });
                    continue;
                }
            }
            let trap = if what == What::Page && task.check.is_none() { traps.draw() } else { None };
            block.add(batch.lease_for, &leased, with_trap(&task, trap.as_ref()), ready.gap_ms, ready.ceiling, what);
            self.hand.take_up(Held { leased, task, gap_ms: ready.gap_ms, trap });
            taken += 1;
        }
        self.commit(None, settled, Tally::default()).await?;
        Ok(taken)
    }

    /// Takes in what a device brought. Returns the tokens whose lease is lost, or that it never held.
    pub async fn results(&self, device: &Device, brought: Vec<Brought>) -> Result<Vec<LeaseToken>, DispatchError> {
        let now = self.clock.now();
        let tokens: Vec<LeaseToken> = brought.iter().map(|brought| brought.token).collect();
        let mut held = self.held(device, &tokens).await.map_err(away)?;
        let mut watch = self.watch(device).await.map_err(away)?;
        let (mut settled, mut tally, mut lost) = (Vec::with_capacity(brought.len()), Tally::default(), Vec::new());
        for Brought { token, answer, quiet_ms } in brought {
            let Some(held) = held.remove(&token) else {
                lost.push(token);
                continue;
            };
            let Held { leased, task, gap_ms, trap } = &*held;
            let case = Case { now, ..self.case(leased, task, *gap_ms, quiet_ms, Some(&device.name)) };
            let taken = if device.is_trusted() { CheckedBody::believe } else { CheckedBody::check };
            match taken(&answer.body, self.options.body_bytes_max) {
                Ok(body) => {
                    tally.count(answer.status, answer.body.bytes, answer.took_ms);
                    self.fleet.took(device.id, &task.url.site(), answer.took_ms);
                    self.rests.note(device.id, answer.status == NO_ANSWER, now);
                    settled.push(match &mut watch {
                        _ if task.check.is_some() => self.compare(device, &case, answer, body).await.map_err(away)?,
                        Some(watch) if watch.checks() => self.watched(watch, &case, trap.as_deref(), answer, body),
                        _ => case.settle(answer, body),
                    });
                }
                Err(error) => {
                    tracing::warn!(device = device.name, %error, url = %task.url, "a device sent a damaged page");
                    settled.push(case.spoilt(error.to_string()));
                }
            }
        }
        if !lost.is_empty() {
            tracing::warn!(device = device.name, "{} results came without a lease: refused", lost.len());
            tally.refused += lost.len() as u64;
        }
        lost.extend(self.commit_watched(Some(device), settled, tally, watch).await.map_err(away)?);
        self.hand.put_down(&tokens);
        self.fleet.got_back(device.id, tokens.len());
        Ok(lost)
    }

    /// Takes work back undone; with each item, how long ago its site spoke last.
    pub async fn give_back(&self, device: &Device, items: Vec<(LeaseToken, u64)>) -> Result<(), DispatchError> {
        let tokens: Vec<LeaseToken> = items.iter().map(|(token, _)| *token).collect();
        let held = self.held(device, &tokens).await.map_err(away)?;
        let release = |(token, quiet_ms): &(LeaseToken, u64)| {
            let Held { leased, task, gap_ms, .. } = &**held.get(token)?;
            Some(self.case(leased, task, *gap_ms, *quiet_ms, None).release("the device gave it back"))
        };
        let settled = items.iter().filter_map(release).collect();
        self.commit(None, settled, Tally::default()).await.map_err(away)?;
        self.hand.put_down(&tokens);
        self.fleet.got_back(device.id, tokens.len());
        Ok(())
    }

    /// What of these the device holds, from memory or from the store.
    async fn held(
        &self,
        device: &Device,
        tokens: &[LeaseToken],
    ) -> malla_queue::Result<HashMap<LeaseToken, Arc<Held>>> {
        let holder = holder(device).to_string();
        let (mut held, missing) = self.hand.find(tokens);
        if !missing.is_empty() {
            for leased in self.fetch.leased(&missing).await? {
                let task = PageTask::from_payload(&leased.payload)?;
                let state = self.fetch.site(&task.url.site()).await?.map(|known| known.state);
                let gap_ms = state.map_or(self.options.rules.gap_ms, |state| state.effective_gap_ms());
                held.insert(leased.token, Arc::new(Held { leased, task, gap_ms, trap: None }));
            }
        }
        held.retain(|_, held| held.leased.holder == holder);
        Ok(held)
    }

    /// Settles, and returns the tokens that were refused.
    async fn commit(
        &self,
        device: Option<&Device>,
        settled: Vec<Settled>,
        tally: Tally,
    ) -> malla_queue::Result<Vec<LeaseToken>> {
        self.commit_watched(device, settled, tally, None).await
    }

    async fn commit_watched(
        &self,
        device: Option<&Device>,
        settled: Vec<Settled>,
        tally: Tally,
        watch: Option<Watch>,
    ) -> malla_queue::Result<Vec<LeaseToken>> {
        if settled.is_empty() && tally == Tally::default() {
            return Ok(Vec::new());
        }
        let tokens: Vec<LeaseToken> = settled.iter().map(|settled| settled.token).collect();
        let (device, prices) = (device.map(|device| device.id), self.options.care.prices);
        let commit = Commit { device, settled, tally, lanes: self.lanes(), watch, prices };
        let answers = self.fetch.commit(commit).await?;
        let lost = tokens.into_iter().zip(answers).filter(|(_, answer)| matches!(answer, Err(Error::LeaseLost(_))));
        Ok(lost.map(|(token, _)| token).collect())
    }

    fn case<'c>(
        &'c self,
        leased: &'c Leased,
        task: &'c PageTask,
        gap_ms: u64,
        quiet_ms: u64,
        device: Option<&'c str>,
    ) -> Case<'c> {
        Case { leased, task, gap_ms, quiet_ms, now: self.clock.now(), device, rules: &self.options.rules }
    }

    fn beyond(&self) -> Duration {
        self.options.page_time_max + LEASE_BEYOND
    }

    /// Of sites that are met for the first time.
    fn lanes(&self) -> LaneSettings {
        LaneSettings { ceiling: 1, gap_ms: self.options.rules.gap_ms }
    }
}

fn room() -> Room {
    Room::new(ROOM).expect("it is a room")
}

fn holder(device: &Device) -> Holder {
    Holder::Device(device.id.0.to_string())
}

fn away(error: Error) -> DispatchError {
    DispatchError::Away(error.to_string())
}
