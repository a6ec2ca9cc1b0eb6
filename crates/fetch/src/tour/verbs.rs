//! The verbs of tours. Each is one whole transaction.

use std::time::Duration;

use async_trait::async_trait;
use malla_queue::{Act, Ending, Event, LaneSettings, LeaseToken, Result, Scope};

use super::{Found, NewTour, NewVersion, Tour, TourId, TourKind, TourState, Version};
use crate::compare::NewPin;
use crate::{Site, UrlKey, Wanted};

/// What somebody changes about a tour.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TourChange {
    /// `Running`, `Paused` or `Cancelled`.
    pub state: Option<TourState>,
    pub spec: Option<String>,
}

/// What is asked for next, out of what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hand {
    /// URLs under way at once, of the tour and of one site.
    pub outstanding_max: u64,
    pub per_site_max: u64,
    /// Pages the tour may ask for in all, sitemaps apart.
    pub pages_max: u64,
    /// Whether a fresh page in the cache will do.
    pub cached: bool,
}

/// What the holder of a tour's task made of the answers it read.
#[derive(Debug, Clone)]
pub struct Step {
    pub id: TourId,
    /// Who is not its holder any more changes nothing.
    pub token: LeaseToken,
    /// Answers that were read before, and now.
    pub read: (u64, u64),
    /// Of which sites they were, each once, with how many.
    pub answered: Vec<(Site, u64)>,
    pub progress: String,
    pub weight: f64,
    pub found: Vec<Found>,
    /// URLs it may know at most.
    pub found_max: u64,
    /// Out of what was found.
    pub hand: Option<Hand>,
    /// Besides.
    pub wanted: Vec<Wanted>,
    /// And from certain places only.
    pub pins: Vec<NewPin>,
    /// Pages of everybody that may wait; of a tour's making, half of them.
    pub pending_max: u64,
    pub lanes: LaneSettings,
    pub versions: Vec<NewVersion>,
    /// Versions that are kept, and their bytes together.
    pub versions_kept: u64,
    pub versions_bytes_max: u64,
    pub events: Vec<Event>,
    /// It is over.
    pub end: Option<(TourState, Option<String>)>,
    /// The lease ends with it.
    pub ending: Option<Ending>,
    /// Ends the lease if the tour is not running any more.
    pub ending_if_over: Ending,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Stepped {
    pub tour: Tour,
    /// URLs that were asked for.
    pub handed: u64,
    /// The lease is at its end.
    pub ended: bool,
}

/// What may be kept of tours.
#[derive(Debug, Clone, Copy)]
pub struct KeepTours {
    /// From their end on.
    pub tours_for: Duration,
    /// Rows in one step.
    pub step: usize,
}

#[async_trait]
pub trait Tours: Send + Sync + 'static {
    /// Takes a tour in, with the task that stands for it. When this returns, it survives a crash.
    async fn begin(&self, tour: NewTour, act: Act) -> Result<Tour>;
    async fn tour(&self, scope: &Scope, kind: TourKind, id: TourId) -> Result<Tour>;
    /// Newest first.
    async fn tours(&self, scope: &Scope, kind: TourKind, below: Option<TourId>, limit: usize) -> Result<Vec<Tour>>;
    /// A tour that goes on has its task again. One that is over stays so
    /// ([`Error::Conflict`](malla_queue::Error::Conflict)).
    async fn change(&self, scope: &Scope, kind: TourKind, id: TourId, change: TourChange, act: Act) -> Result<Tour>;
    /// Forgets a tour that is over, or cancels it and forgets it soon.
    async fn forget_tour(&self, scope: &Scope, kind: TourKind, id: TourId, act: Act) -> Result<Tour>;
    /// What the holder of its task made of it: the mark, what was found, what is asked for next, versions and events,
    /// together or not at all. Who lost the lease is refused with [`Error::LeaseLost`](malla_queue::Error::LeaseLost).
    async fn step(&self, step: Step) -> Result<Stepped>;
    /// How deep these URLs were found, and whether as sitemaps; those that are not known are left out.
    async fn depths(&self, id: TourId, keys: &[UrlKey]) -> Result<Vec<(UrlKey, u32, bool)>>;
    /// Newest first, without their texts.
    async fn versions(&self, id: TourId, below: Option<u64>, limit: usize) -> Result<Vec<Version>>;
    async fn version(&self, id: TourId, n: u64) -> Result<Option<Version>>;
    /// The weights of all running tours of a kind together.
    async fn weight(&self, kind: TourKind) -> Result<f64>;
    /// Ends tours whose task was given up, and forgets what is old, one bounded step. Returns how many rows went.
    async fn sweep_tours(&self, keep: KeepTours) -> Result<u64>;
}
