//! Memory for batches, used again: a batch is large, and memory that is new each time costs more than what is done in it.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

/// Buffers that wait to be used again, at most.
const SPARE_MAX: usize = 32;
/// Larger ones are given back to the system.
const BYTES_MAX: usize = 2_000_000;

static SPARE: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Bytes whose memory is used again when they are dropped.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Buffer(Vec<u8>);

impl Buffer {
    /// An empty one with room for so many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut buffer = spare.unwrap_or_default();
        buffer.reserve(bytes);
        Self(buffer)
    }

    pub fn vec(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
}

impl From<Vec<u8>> for Buffer {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.0.capacity() == 0 || self.0.capacity() > BYTES_MAX {
            return;
        }
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < SPARE_MAX {
            self.0.clear();
            spare.push(std::mem::take(&mut self.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_empty_however_it_was_used_before() {
        for n in 0..SPARE_MAX * 2 {
            let mut buffer = Buffer::with_capacity(1_000);
            assert!(buffer.is_empty() && buffer.vec().capacity() >= 1_000);
            buffer.vec().extend(std::iter::repeat_n(1, n));
        }
        drop(Buffer::from(vec![0; BYTES_MAX + 1]));
        let spare = SPARE.lock().unwrap();
        assert!(spare.len() <= SPARE_MAX && spare.iter().all(|spare| spare.capacity() <= BYTES_MAX));
    }
}
