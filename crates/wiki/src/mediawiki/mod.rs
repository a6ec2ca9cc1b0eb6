//! MediaWiki from the outside: what is asked of it, and what its answers say.

mod answer;
mod ask;
mod discover;
mod http;
mod judge;
mod revisions;
mod scrape;
mod siteinfo;
mod template;

pub(crate) use answer::{Answer, Cursor, RawPage};
pub(crate) use ask::{Api, PROBE_MAX, WITH_TEXT_MAX};
pub(crate) use discover::{Clue, clues, usual_places};
pub(crate) use http::{Broken, Http, HttpOptions, Response};
pub(crate) use judge::{Trouble, judge, status};
pub(crate) use revisions::Listed;
pub(crate) use scrape::{History, Line, history, history_url, last_modified, raw_url, revision};
pub(crate) use siteinfo::{Site, Subject, named_in_query};
pub(crate) use template::Template;
pub use template::check_template;
