//! Makes of a body as it came what is sent on: its encoding undone, packed with zstd.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use zstd::bulk::Compressor;
use zstd::zstd_safe::compress_bound;

use super::decode::{Decoded, Encoding, decode};
use crate::{BodyHash, PackedBody};

/// Fast: the network and the store are slower than this.
const LEVEL: i32 = 1;
/// Larger buffers are not kept for the next body.
const KEPT_BYTES_MAX: usize = 1 << 20;
/// Packers kept for later; there are about as many at work as threads.
const KEPT_MAX: usize = 16;

/// A body as it came.
pub(super) struct Raw<'r> {
    pub(super) bytes: &'r [u8],
    pub(super) encodings: &'r [Encoding],
    /// At most this much of it decoded.
    pub(super) max: usize,
    /// It was cut off before its end, and what there is shall be kept.
    pub(super) cut: bool,
}

/// Packers at rest.
#[derive(Default)]
pub(super) struct Packers(Mutex<Vec<Packer>>);

struct Packer {
    compressor: Compressor<'static>,
    decoded: Vec<u8>,
    packed: Vec<u8>,
}

impl Packers {
    /// The packed body and how decoding went. A body whose encoding is broken is empty, unless it was cut.
    pub(super) fn pack(&self, raw: &Raw<'_>) -> (PackedBody, Decoded) {
        if raw.bytes.is_empty() {
            return (PackedBody::default(), Decoded::Whole);
        }
        let kept = self.lock().pop();
        let mut packer = kept.unwrap_or_else(Packer::new);
        let done = packer.pack(raw);
        packer.decoded.shrink_to(KEPT_BYTES_MAX);
        packer.packed.shrink_to(KEPT_BYTES_MAX);
        let mut kept = self.lock();
        if kept.len() < KEPT_MAX {
            kept.push(packer);
        }
        done
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Packer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Packer {
    fn new() -> Self {
        let compressor = Compressor::new(LEVEL).expect("the level exists");
        Self { compressor, decoded: Vec::new(), packed: Vec::new() }
    }

    fn pack(&mut self, raw: &Raw<'_>) -> (PackedBody, Decoded) {
        if raw.encodings.is_empty() {
            return (self.compress(raw.bytes), Decoded::Whole);
        }
        let mut decoded = std::mem::take(&mut self.decoded);
        let state = decode(raw.encodings, raw.bytes, raw.max, &mut decoded);
        let body = if state == Decoded::Broken && !raw.cut { PackedBody::default() } else { self.compress(&decoded) };
        decoded.clear();
        self.decoded = decoded;
        (body, state)
    }

    fn compress(&mut self, body: &[u8]) -> PackedBody {
        if body.is_empty() {
            return PackedBody::default();
        }
        self.packed.clear();
        self.packed.reserve(compress_bound(body.len()));
        self.compressor.compress_to_buffer(body, &mut self.packed).expect("the buffer is as large as it can get");
        PackedBody {
            packed: Bytes::copy_from_slice(&self.packed),
            bytes: body.len() as u64,
            hash: Some(BodyHash::of(body)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], encodings: &[Encoding], cut: bool, expected: &[u8]) {
        let (body, _) = Packers::default().pack(&Raw { bytes, encodings, max: 1_000, cut });
        assert_eq!(body.bytes, expected.len() as u64);
        let size = zstd::zstd_safe::get_frame_content_size(&body.packed);
        if expected.is_empty() {
            assert!(body.packed.is_empty());
        } else {
            assert_eq!(size.ok().flatten(), Some(body.bytes), "the frame says how large it is");
            assert_eq!(body.hash, Some(BodyHash::of(expected)));
            assert_eq!(zstd::bulk::decompress(&body.packed, 1_000).expect("one frame"), expected);
        }
    }

    #[test]
    fn a_body_is_one_frame_and_an_empty_one_none() {
        check(b"", &[], false, b"");
        check(b"hello", &[], false, b"hello");
        check(b"hello", &[Encoding::Gzip], false, b"");
        let packed = zstd::bulk::compress(&[b'x'; 500], 3).expect("in memory");
        check(&packed, &[Encoding::Zstd], false, &[b'x'; 500]);
        check(b"", &[Encoding::Zstd], false, b"");
    }

    #[test]
    fn of_what_was_cut_the_beginning_is_kept() {
        let text: Vec<u8> = (0..900u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
        std::io::Write::write_all(&mut gzip, &text).expect("in memory");
        let gzip = gzip.finish().expect("in memory");
        let (body, state) =
            Packers::default().pack(&Raw { bytes: &gzip[..600], encodings: &[Encoding::Gzip], max: 1_000, cut: true });
        assert_eq!(state, Decoded::Broken);
        assert!(body.bytes > 500, "{}", body.bytes);
    }
}
