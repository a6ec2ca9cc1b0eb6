//! Plays a strategy in a world, event by event.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use malla_queue::UnixMs;

use super::{Played, World};
use crate::strategy::{Country, DeviceView, FleetView, ReadySite, Strategy, choose};

/// From asking for work to having it.
const ASK_MS: u64 = 50;

/// Fetches every page of the world.
pub fn play(world: &World, strategy: Strategy) -> Played {
    let mut game = Game::new(world, strategy);
    game.sites.iter_mut().for_each(|site| site.ready_since = Some(0));
    game.hand_out(world.devices.len());
    while let Some(Reverse((at, _, event))) = game.events.pop() {
        game.now = at;
        match event {
            Event::Due(run) => game.due(run),
            Event::Done(run) => game.done(run),
            Event::Ready(site) => {
                game.sites[site].ready_since = Some(at);
                game.hand_out(game.asking.len());
            }
        }
    }
    game.result()
}

/// Pages of one site in the hands of one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    site: usize,
    device: usize,
    left: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The site may be asked for the run's next page.
    Due(Run),
    /// The page is there.
    Done(Run),
    /// The site may be given to a device.
    Ready(usize),
}

#[derive(Default)]
struct SiteNow {
    fetched: usize,
    ready_since: Option<u64>,
    /// Not before this may it be asked.
    rests_until: u64,
    /// Mean times of its pages as the devices of a country saw them.
    measured: BTreeMap<Country, f64>,
}

#[derive(Default)]
struct DeviceNow {
    given: u64,
    in_hand: usize,
    under_way: usize,
    slower_ms: f64,
    /// Runs that are due while all its requests are under way.
    due: VecDeque<Run>,
}

struct Game<'w> {
    world: &'w World,
    strategy: Strategy,
    now: u64,
    /// By time, then in the order in which they were planned.
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    planned: u64,
    sites: Vec<SiteNow>,
    devices: Vec<DeviceNow>,
    /// Devices that want work, longest first.
    asking: VecDeque<usize>,
    pages: usize,
    last_at: u64,
    page_ms: f64,
    km: f64,
    hurried: usize,
}

impl<'w> Game<'w> {
    fn new(world: &'w World, strategy: Strategy) -> Self {
        Self {
            world,
            strategy,
            now: 0,
            events: BinaryHeap::new(),
            planned: 0,
            sites: world.sites.iter().map(|_| SiteNow::default()).collect(),
            devices: world.devices.iter().map(|_| DeviceNow::default()).collect(),
            asking: (0..world.devices.len()).collect(),
            pages: 0,
            last_at: 0,
            page_ms: 0.0,
            km: 0.0,
            hurried: 0,
        }
    }

    fn plan(&mut self, after_ms: u64, event: Event) {
        self.planned += 1;
        self.events.push(Reverse((self.now + after_ms, self.planned, event)));
    }

    /// The first `devices` of those that ask get what the strategy gives them; who wants more goes on asking.
    fn hand_out(&mut self, devices: usize) {
        let (mut ready, mut views) = self.ready();
        for _ in 0..devices {
            if ready.is_empty() {
                return;
            }
            let Some(device) = self.asking.pop_front() else { return };
            if self.give(device, &ready, &views) {
                (ready, views) = self.ready();
            }
            if self.wants_more(device) {
                self.asking.push_back(device);
            }
        }
    }

    fn ready(&self) -> (Vec<usize>, Vec<ReadySite>) {
        let ready = (0..self.sites.len()).filter(|site| self.sites[*site].ready_since.is_some());
        ready.map(|site| (site, self.site_view(site))).unzip()
    }

    fn wants_more(&self, device: usize) -> bool {
        self.devices[device].in_hand * 2 <= self.world.devices[device].parallel
    }

    /// Whether there was something for it.
    fn give(&mut self, device: usize, ready: &[usize], views: &[ReadySite]) -> bool {
        let pages = self.world.devices[device].parallel - self.devices[device].in_hand;
        let shares = choose(self.strategy, &self.device_view(device), views, pages, &self.fleet_view());
        for share in &shares {
            let site = ready[share.site];
            self.sites[site].ready_since = None;
            self.devices[device].in_hand += share.pages;
            self.devices[device].given += share.pages as u64;
            self.plan(ASK_MS, Event::Due(Run { site, device, left: share.pages }));
        }
        !shares.is_empty()
    }

    fn site_view(&self, site: usize) -> ReadySite {
        let (here, now) = (&self.world.sites[site], &self.sites[site]);
        ReadySite {
            waiting_since: UnixMs(now.ready_since.unwrap_or(self.now) as i64),
            tasks: here.pages.len() - now.fetched,
            gap_ms: here.gap_ms,
            country: Some(here.country),
            page_ms: now.measured.iter().map(|(country, mean)| (*country, *mean as u64)).collect(),
        }
    }

    fn device_view(&self, device: usize) -> DeviceView {
        let (here, now) = (&self.world.devices[device], &self.devices[device]);
        DeviceView {
            given: now.given,
            in_hand: now.in_hand,
            country: Some(here.country),
            slower_ms: now.slower_ms as i64,
        }
    }

    fn fleet_view(&self) -> FleetView {
        let given: u64 = self.devices.iter().map(|device| device.given).sum();
        let places: BTreeSet<_> = self.world.devices.iter().map(|device| device.country).collect();
        FleetView {
            now: UnixMs(self.now as i64),
            mean_given: given / self.devices.len() as u64,
            places: places.into_iter().collect(),
            asking: self.asking.iter().map(|device| self.device_view(*device)).collect(),
        }
    }

    fn due(&mut self, run: Run) {
        let device = &mut self.devices[run.device];
        if device.under_way >= self.world.devices[run.device].parallel {
            device.due.push_back(run);
            return;
        }
        device.under_way += 1;
        let site = &self.world.sites[run.site];
        let page = self.sites[run.site].fetched;
        self.hurried += usize::from(self.now < self.sites[run.site].rests_until);
        let took_ms = (self.world.mean_ms(run.site, run.device) * site.pages[page]) as u64;
        self.note(run, took_ms);
        self.plan(took_ms, Event::Done(run));
    }

    fn note(&mut self, run: Run, took_ms: u64) {
        let (site, device) = (&self.world.sites[run.site], &self.world.devices[run.device]);
        self.pages += 1;
        self.page_ms += took_ms as f64;
        self.km += self.world.km(site, device);
        let mean = self.sites[run.site].measured.entry(device.country).or_insert(took_ms as f64);
        let slower_ms = took_ms as f64 - *mean;
        *mean += slower_ms / 8.0;
        let of_device = &mut self.devices[run.device].slower_ms;
        *of_device += (slower_ms - *of_device) / 8.0;
    }

    fn done(&mut self, run: Run) {
        self.last_at = self.now;
        let site = &self.world.sites[run.site];
        self.sites[run.site].fetched += 1;
        self.sites[run.site].rests_until = self.now + site.gap_ms;
        let left = run.left - 1;
        if left > 0 {
            self.plan(site.gap_ms, Event::Due(Run { left, ..run }));
        } else if self.sites[run.site].fetched < site.pages.len() {
            self.plan(site.gap_ms, Event::Ready(run.site));
        }
        let device = &mut self.devices[run.device];
        device.under_way -= 1;
        device.in_hand -= 1;
        if let Some(next) = device.due.pop_front() {
            self.due(next);
        }
        if self.wants_more(run.device) {
            self.asking.retain(|asking| *asking != run.device);
            self.asking.push_front(run.device);
            self.hand_out(1);
        }
    }

    fn result(self) -> Played {
        let pages = self.pages.max(1) as f64;
        Played {
            strategy: self.strategy,
            pages: self.pages,
            makespan_ms: self.last_at,
            ideal_ms: self.world.ideal_ms(),
            page_ms: self.page_ms / pages,
            km: self.km / pages,
            given: self.devices.iter().map(|device| device.given).collect(),
            hurried: self.hurried,
        }
    }
}
