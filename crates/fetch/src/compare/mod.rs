//! A comparison: the same pages from several places, and what differs.

mod report;
mod spec;
mod work;

pub use report::{PlaceReport, Report, Reported, UrlReport, report};
pub use spec::{CompareSpec, NewPin, Progress, fits, place_of_device};
pub(crate) use work::go;
pub use work::new_comparison;
