//! The text of a page as people read it, and what differs between two of them.

mod differ;
mod readable;

pub use differ::{DIFF_BYTES_MAX, Ignore, passages, similarity, unified};
pub use readable::{TEXT_BYTES_MAX, check_selector, of_page, readable};
