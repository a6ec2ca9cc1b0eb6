//! Many devices, most of them volunteers', fetch pages for clients without ever hurting a site.
//!
//! A URL becomes a task in the lane of its site, so politeness is the lane's: one device at a time has a site, in a run
//! of pages with the site's gap between them, and the lane rests after it.

mod address;
mod block;
mod dispatch;

pub use address::{PageUrl, Site, UrlKey, WrongUrl};
pub use block::{
    Answer, Block, Brought, Item, NO_ANSWER, NOT_ASKED, PackedBody, Run, Trouble, TroubleKind, Validators, What,
};
pub use dispatch::{Dispatch, DispatchError, Measures, Wish};

/// The room whose lanes are sites.
pub const ROOM: &str = "fetch";
/// The kind of a task that fetches a page.
pub const PAGE: &str = "fetch.page";
/// The kind of a task that fetches a site's robots.txt.
pub const ROBOTS: &str = "fetch.robots";
