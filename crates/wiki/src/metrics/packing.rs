//! What was counted, as it is kept: the number of its format, then JSON, packed.

use std::io::Read as _;

use super::tally::Tally;

/// Another number whenever what is counted changes: bytes of other formats are not read.
const FORMAT: u8 = 1;
const LEVEL: i32 = 3;
/// What is larger is not kept: about half a million different texts.
const BYTES_MAX: usize = 4 * 1024 * 1024;
const UNPACKED_MAX: usize = 64 * 1024 * 1024;

/// `None` if it is too large.
pub(super) fn pack(tally: &Tally) -> Option<Vec<u8>> {
    let plain = serde_json::to_vec(tally).ok().filter(|plain| plain.len() <= UNPACKED_MAX)?;
    let mut bytes = vec![FORMAT];
    bytes.extend(zstd::bulk::compress(&plain, LEVEL).ok()?);
    (bytes.len() <= BYTES_MAX).then_some(bytes)
}

/// `None` if the bytes are of another format, or damaged.
pub(super) fn unpack(bytes: &[u8]) -> Option<Tally> {
    let (_, packed) = bytes.split_first().filter(|(format, _)| **format == FORMAT)?;
    let mut plain = Vec::new();
    let unpacked = zstd::stream::read::Decoder::new(packed).ok()?;
    unpacked.take(UNPACKED_MAX as u64).read_to_end(&mut plain).ok()?;
    serde_json::from_slice(&plain).ok()
}
