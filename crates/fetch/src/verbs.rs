//! The verbs of this room. Each is one whole transaction.

use async_trait::async_trait;
use malla_queue::{Act, Arrivals, Ending, LaneSettings, LeaseToken, Leased, Result, Scope, UnixMs};

use crate::ledger::Prices;
use crate::trust::{Settling, Watch};
use crate::{
    Answered, Device, DeviceId, Job, JobId, Measures, NewDevice, NewJob, NewPage, PageId, PageTask, PageUrl, Renewal,
    Seen, Shelf, Site, SiteState, Tally, UrlKey,
};

/// A site in line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    pub site: Site,
    /// From when on it may be asked.
    pub since: UnixMs,
    pub gap_ms: u64,
    pub ceiling: u32,
    pub state: SiteState,
    /// Tasks that wait there or are out.
    pub waiting: u64,
    /// Its robots.txt is known until then; pages wait for it otherwise.
    pub robots_until: Option<UnixMs>,
}

/// What a site allows, as it was last told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRobots {
    /// The status of its robots.txt.
    pub status: u16,
    pub text: Vec<u8>,
    pub fetched_at: UnixMs,
    pub until: UnixMs,
}

/// A site as people see it, beside its lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownSite {
    pub site: Site,
    pub state: SiteState,
    pub robots: Option<KnownRobots>,
}

/// What becomes of a leased task of this room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    pub token: LeaseToken,
    pub ending: Ending,
    pub outcome: Settlement,
    /// What it tells of its site.
    pub seen: Option<(Site, Seen)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// It is tried again, or was given back: nobody is told.
    Open,
    /// Told to all who wait, and kept in the cache if it may be.
    Page { url: PageUrl, page: NewPage, shelf: Option<Shelf> },
    /// The page in the cache is still the same: its headers and what was said now decide how long it is fresh. If it is
    /// gone meanwhile, it is fetched anew.
    Unchanged { url: PageUrl, base: PageId, renewal: Renewal, hops: u32 },
    /// All who wait go on waiting for another URL.
    Moved { to: PageTask },
    /// A fetch for a check: nobody but the judge waits for it.
    Checked(Box<Settling>),
    /// A robots.txt.
    Robots { of: Site, robots: KnownRobots, gap_ms: u64 },
}

/// What a device brought, judged.
#[derive(Debug, Clone, Default)]
pub struct Commit {
    pub device: Option<DeviceId>,
    pub settled: Vec<Settled>,
    pub tally: Tally,
    /// For the lanes of sites that are met for the first time.
    pub lanes: LaneSettings,
    /// How far the device is believed; `None`: nothing is checked.
    pub watch: Option<Watch>,
    pub prices: Prices,
}

/// What may be kept.
#[derive(Debug, Clone, Copy)]
pub struct Keep {
    pub cache_entries_max: u64,
    pub cache_bytes_max: u64,
    /// Jobs with their answers, from their end on.
    pub jobs_for: std::time::Duration,
    /// Devices that were not heard.
    pub devices_for: std::time::Duration,
    /// Rows in one step.
    pub step: usize,
}

/// What the cache holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheSize {
    pub entries: u64,
    /// Packed.
    pub bytes: u64,
}

#[async_trait]
pub trait Fetch: Send + Sync + 'static {
    /// Takes a job in. What is fresh in the cache or refused is answered at once; a URL that waits already is not queued
    /// twice. When this returns, the job survives a crash. [`Error::Full`](malla_queue::Error::Full) if too much waits.
    async fn ask(&self, job: NewJob, act: Act) -> Result<Job>;
    async fn job(&self, scope: &Scope, id: JobId) -> Result<Job>;
    /// Newest first.
    async fn jobs(&self, scope: &Scope, below: Option<JobId>, limit: usize) -> Result<Vec<Job>>;
    /// Nothing more is fetched for it. What others wait for too goes on.
    async fn cancel(&self, scope: &Scope, id: JobId, act: Act) -> Result<Job>;
    /// Answers of a job after the `after`th, in the order in which they came, bodies included.
    async fn answers(&self, id: JobId, after: u64, limit: usize) -> Result<Vec<Answered>>;
    /// Forgets the cached pages of these URLs. Returns how many there were.
    async fn forget(&self, urls: Vec<UrlKey>, act: Act) -> Result<u64>;
    /// Changes whenever an answer may have come.
    fn answered(&self) -> Arrivals;

    /// Sites with something to be asked for, longest in line first; those whose time has not come yet stand last.
    async fn ready(&self, limit: usize) -> Result<Vec<Ready>>;
    /// Puts a task for its robots.txt first in the lane of each of these sites, unless one is under way already.
    async fn want_robots(&self, sites: Vec<Site>, lanes: LaneSettings) -> Result<()>;
    async fn robots(&self, site: &Site) -> Result<Option<KnownRobots>>;
    /// The tasks behind these leases; those that are lost are left out.
    async fn leased(&self, tokens: &[LeaseToken]) -> Result<Vec<Leased>>;
    /// Which of these tasks somebody still waits for.
    async fn wanted(&self, tokens: &[LeaseToken]) -> Result<Vec<LeaseToken>>;
    /// Ends leases, each with what it means to those who wait, to the cache, to the site and to the device: together or
    /// not at all. A lease that is lost is refused with [`Error::LeaseLost`](malla_queue::Error::LeaseLost) and the others are not touched by that.
    async fn commit(&self, commit: Commit) -> Result<Vec<Result<()>>>;
    /// Answers those who wait for a task that ended without an answer (discarded, or failed for good), one bounded
    /// step.
    async fn answer_orphans(&self, limit: usize) -> Result<u64>;

    /// Changes whenever pages may wait for a device of a place.
    fn pinned(&self) -> Arrivals {
        tokio::sync::watch::channel(0).1
    }
    /// The places that pages wait for a device of.
    async fn pinned_places(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
    /// Puts pages that wait for a device of these places into the lanes of their sites, to be taken first. Returns the sites.
    async fn take_pins(&self, _places: Vec<String>, _lanes: LaneSettings, _limit: usize) -> Result<Vec<Site>> {
        Ok(Vec::new())
    }
    /// Answers for pages of a job that still wait for a device of their place. Returns how many.
    async fn expire_pins(&self, _job: JobId) -> Result<u64> {
        Ok(0)
    }

    async fn site(&self, site: &Site) -> Result<Option<KnownSite>>;

    /// A device of this owner and name that is known already stays the same. While it is at work, only who has its secret
    /// joins under its name, and others are refused with [`Error::Taken`](malla_queue::Error::Taken); once it has left or
    /// is offline, another takes its place, with a secret of its own.
    async fn join(&self, device: NewDevice) -> Result<Device>;
    async fn device_by_secret(&self, secret_hash: &[u8]) -> Result<Option<Device>>;
    /// Notes that it is there. Returns whether it is blocked.
    async fn device_seen(&self, id: DeviceId, measures: Measures) -> Result<bool>;
    /// It said goodbye: what it took since it joined goes back to the lanes. What was taken under its name before that may
    /// still be in work somewhere, and comes back when its lease ends.
    async fn device_left(&self, id: DeviceId) -> Result<()>;
    async fn devices(&self, scope: &Scope) -> Result<Vec<Device>>;
    /// A device that is blocked gets nothing more. What it holds it may be asking for at this very moment, so that comes
    /// back when its lease ends: no site is ever asked by two.
    async fn block_device(&self, scope: &Scope, id: DeviceId, blocked: bool, act: Act) -> Result<Device>;
    /// Changes whenever a device may have been blocked or let in again.
    fn devices_changed(&self) -> Arrivals;

    async fn cache_size(&self) -> Result<CacheSize>;
    /// Forgets what is over the bounds or old, one bounded step. Returns how many rows went.
    async fn trim(&self, keep: Keep) -> Result<u64>;
}
