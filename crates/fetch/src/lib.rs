//! Many devices, most of them volunteers', fetch pages for clients without ever hurting a site.
//!
//! A URL becomes a task in the lane of its site, so politeness is the lane's: one device at a time has a site, in a run
//! of pages with the site's gap between them, and the lane rests after it.

mod abuse;
mod address;
mod block;
pub mod blocklist;
pub mod compare;
pub mod control;
pub mod crawl;
mod device;
mod dispatch;
mod dispatcher;
pub mod door;
mod freshness;
mod get;
mod job;
pub mod ledger;
mod page;
pub mod quota;
mod robots;
mod site;
mod strategy;
pub mod text;
pub mod tour;
pub mod trust;
mod verbs;
pub mod warc;
pub mod watch;
pub mod worker;

pub use abuse::suspicious;
pub use address::{PageUrl, Site, UrlKey, WrongUrl};
pub use block::{
    Answer, Block, Brought, Item, NO_ANSWER, NOT_ASKED, PackedBody, Run, Trouble, TroubleKind, Validators, What,
};
pub use dispatch::{Dispatch, DispatchError, LocalDispatch, Measures, Wish};
pub use freshness::{Renewal, Stored};
pub use get::{GetLimits, Getter, Got, Line};
pub use robots::{CRAWL_DELAY_MAX, ROBOTS_BYTES_MAX, Robots, Standing, Verdict};

pub use device::{About, BLOCKED, Device, DeviceId, DeviceState, NewDevice, OFFLINE_AFTER_MS, Tally};
pub use dispatcher::{Care, Delivery, Dispatcher, DispatcherOptions, Nowhere, Places, Rules};
pub use job::{Answered, JOB_URLS_MAX, Job, JobId, NewJob, Terms, Wanted};
pub use page::{BodyHash, CheckedBody, NewPage, Page, PageId, PageTask, Pinned, Shelf, unpack, unpack_page};
pub use site::{Change, GAP_MS, Seen, SiteState};
pub use strategy::{Country, DeviceView, FleetView, ReadySite, Share, Strategy, choose, world};
pub use verbs::{CacheSize, Commit, Fetch, Keep, KnownRobots, KnownSite, Ready, Settled, Settlement};

/// The room whose lanes are sites.
pub const ROOM: &str = "fetch";
/// The kind of a task that fetches a page.
pub const PAGE: &str = "fetch.page";
/// The kind of a task that fetches a site's robots.txt.
pub const ROBOTS: &str = "fetch.robots";
/// The kind of a task that fetches a page for a check.
pub const CHECK: &str = "fetch.check";
