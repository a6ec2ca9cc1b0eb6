//! A crawl: links followed within a scope, each page once, within limits, and never into a trap.
//!
//! Everything here is plain functions over plain data, but for `work`, which holds the task of a crawl and takes one step
//! after the other.

mod links;
mod normal;
mod reading;
mod scope;
mod sitemap;
mod spec;
mod traps;
mod work;

pub use links::{LINKS_MAX, Links, headers_say_nofollow, is_html, links};
pub use normal::{Spelling, normal};
pub use reading::{Progress, Reading};
pub use scope::{Bounds, Scope};
pub use sitemap::{Sitemap, of_robots, read as read_sitemap};
pub use spec::CrawlSpec;
pub use traps::{Trap, shape, trap};
pub(crate) use work::go;
pub use work::new_crawl;
