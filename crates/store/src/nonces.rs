//! Fresh nonces for leases.

use malla_queue::{Error, Result};

/// From the system's randomness, in one call.
pub(crate) fn nonces(count: usize) -> Result<Vec<i64>> {
    let mut bytes = vec![0u8; count * 8];
    getrandom::fill(&mut bytes).map_err(|error| Error::Internal(format!("no randomness: {error}")))?;
    Ok(bytes.as_chunks::<8>().0.iter().map(|chunk| i64::from_le_bytes(*chunk)).collect())
}
