//! Fetching pages: what clients ask for and get, and how devices talk to their server.

mod compare;
mod crawl;
mod fleet;
mod frame;
mod job;
mod ledger;
mod site;
mod trust;
mod watch;

pub use compare::{ComparedPlace, ComparedUrl, ComparisonReport, ComparisonView, NewComparison};
pub use crawl::{CrawlChange, CrawlView, LeftAlone, NewCrawl};
pub use fleet::{
    BlockView, DEVICE_SECRET, DeviceChange, DeviceView, FLEET_VERSION, GiveBack, GivenBack, ItemView, JoinFleet,
    Joined, LeaseBlock, Measures, ResultsTaken, RunView, Tally,
};
pub use frame::{FRAME_HEAD_BYTES_MAX, Frame, FrameError, FrameReader, ResultHead};
pub use job::{FetchPages, FetchQuery, FetchResult, Forgotten, JobState, JobView};
pub use ledger::{BalanceView, EntryView, LedgerAudit, StatementQuery, TopUp};
pub use site::SiteView;
pub use trust::{BlockSite, BlockedQuery, BlockedView, CheckQuery, CheckView, ClaimView, StandingView};
pub use watch::{NewWatch, PageDiff, PageDiffQuery, PageVersion, WatchChange, WatchView};
