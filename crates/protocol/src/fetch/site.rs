//! Sites, as far as the fleet knows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SiteView {
    /// Scheme, host and port.
    pub site: String,
    /// Between two requests, in milliseconds; kept over the whole fleet.
    pub gap_ms: u64,
    /// Requests at once, over the whole fleet.
    pub ceiling: u32,
    pub paused: bool,
    /// Pages that wait.
    pub waiting: u64,
    /// Pages that a device has.
    pub running: u64,
    /// When it may be asked next; null if nothing waits or a device has it.
    pub ready_at: Option<String>,
    /// By how much its gap is longer because it pushed back (429, 503).
    pub slowed_ms: u64,
    /// Times in a row that it gave no answer.
    pub failures: u32,
    /// It asked to be left alone until then, or gave no answer too often.
    pub rest_until: Option<String>,
    /// The mean time of a page.
    pub page_ms: Option<u64>,
    /// The status of its robots.txt; null if it was not asked for yet.
    pub robots_status: Option<u16>,
    pub robots_until: Option<String>,
    /// As it was read.
    pub robots: Option<String>,
}
