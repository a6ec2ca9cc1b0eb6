//! What an operator decides about the fleet.

use std::sync::Arc;
use std::time::Duration;

use super::{Care, Rules};
use crate::{Country, Site, Strategy};

#[derive(Debug, Clone)]
pub struct DispatcherOptions {
    pub rules: Rules,
    /// Bodies are taken up to this size.
    pub body_bytes_max: u64,
    /// How long a device waits for work in one call.
    pub wait: Duration,
    /// Devices that wait at once.
    pub waiting_max: usize,
    /// What one page may take.
    pub page_time_max: Duration,
    pub strategy: Strategy,
    /// Where sites are, if anybody knows.
    pub places: Arc<dyn Places>,
    /// Whom to believe, what to pay, and what is never fetched.
    pub care: Care,
}

/// Knows where sites are.
pub trait Places: std::fmt::Debug + Send + Sync + 'static {
    /// At once: who has to look it up says nothing this time.
    fn country(&self, site: &Site) -> Option<Country>;
}

/// Knows nothing.
#[derive(Debug)]
pub struct Nowhere;

impl Places for Nowhere {
    fn country(&self, _: &Site) -> Option<Country> {
        None
    }
}

impl Default for DispatcherOptions {
    fn default() -> Self {
        let fresh_for = Duration::from_secs(3_600);
        Self {
            rules: Rules { agent: "MallaBot".into(), gap_ms: crate::GAP_MS, fresh_for },
            body_bytes_max: 10 << 20,
            wait: Duration::from_secs(20),
            waiting_max: 256,
            page_time_max: Duration::from_secs(30),
            strategy: Strategy::default(),
            places: Arc::new(Nowhere),
            care: Care::default(),
        }
    }
}
