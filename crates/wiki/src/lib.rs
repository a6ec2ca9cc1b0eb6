//! Revision histories of MediaWikis: every version of a page, kept complete and fresh, and asked about.

mod asking;
pub mod diff;
pub mod dump;
mod extraction;
mod mediawiki;
pub mod metrics;
mod page;
pub mod pipeline;
pub mod questions;
mod reading;
mod revision;
pub mod revisit;
mod shelving;
mod site;
pub mod stream;
pub mod texts;
mod verbs;
mod walker;

pub use asking::{Asking, Target};
pub use extraction::{Counts, EXTRACT, Extraction, ExtractionId, ExtractionState, NewExtraction, PROBE, ROOM, VISIT};
pub use mediawiki::check_template;
pub use page::{Mark, Page, PageFacts, PageId, Pulse};
pub use reading::{Dates, Reader};
pub use revision::{Known, RevId, Revision};
pub use shelving::{Fetched, Fresh, prepare};
pub use site::{NewWiki, Wiki, WikiId, lane_of, lane_settings};
pub use texts::{Block, TextHash, TextPlace};
pub use verbs::{
    Committed, Import, ImportId, Imported, Limits, NewImport, PageChange, Row, Settled, Step, Value, Visited, Wikis,
};
pub use walker::{Walker, WalkerOptions};
