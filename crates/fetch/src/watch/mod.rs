//! A watch: a page that is fetched again and again, as often as it changes, with its versions and what differs between them.

mod spec;
mod visit;
mod work;

pub use spec::{Progress, WatchSpec};
pub use visit::{Change, Visit, changed_event, look};
pub(crate) use work::go;
pub use work::new_watch;
