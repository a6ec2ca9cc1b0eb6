//! The limits on everything that can grow.

use std::time::Duration;

/// What the queue takes at most. Over a limit is a clear refusal, never memory.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Tasks that wait or run, in the whole store.
    pub pending_max: u64,
    /// Bytes of one task's payload; larger things belong into the blob store and the payload names them.
    pub payload_bytes_max: usize,
    /// Bytes of one task's result.
    pub result_bytes_max: usize,
    /// Tasks in one submission, or as follow-ups of one outcome.
    pub batch_max: usize,
    /// How long a shared store that is away is asked again whether a transaction has committed whose answer was lost: longer
    /// than its fail-over takes.
    pub doubt_max: Duration,
}

impl Limits {
    /// A lane key, a kind, a dedup key: each is a name, not a document.
    pub const NAME_BYTES_MAX: usize = 512;
    pub const RETRIES_MAX: usize = 64;
    pub const RETRY_DELAY_MAX: Duration = Duration::from_secs(30 * 24 * 3600);
    pub const CEILING_MAX: u32 = 10_000;
    pub const GAP_MAX: Duration = Duration::from_secs(24 * 3600);
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            pending_max: 10_000_000,
            payload_bytes_max: 1024 * 1024,
            result_bytes_max: 256 * 1024,
            batch_max: 1_000,
            doubt_max: Duration::from_secs(60),
        }
    }
}
