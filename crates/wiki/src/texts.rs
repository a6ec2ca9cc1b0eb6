//! Texts of a page's revisions, packed together: neighbours differ little, so a block of them takes hardly more room than
//! one. A text that comes again (a revert) is kept once.
//!
//! A block is bounded, so that reading any revision unpacks a bounded number of bytes. The last block of a page takes new
//! texts until it is full; the others never change, except to erase.

use std::collections::HashMap;
use std::fmt;

use malla_queue::{Error, Result};
use serde::{Deserialize, Serialize};

/// Unpacked bytes of a block, unless a single text is larger.
pub const BLOCK_BYTES_MAX: usize = 4 << 20;
/// Unpacked bytes of one text. MediaWiki allows 2 MiB unless told otherwise.
pub const TEXT_BYTES_MAX: usize = 64 << 20;
const LEVEL: i32 = 6;
/// As long as a block, so that its last text is packed against its first.
const WINDOW_LOG: u32 = 23;

/// Of a text's bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TextHash(pub [u8; 16]);

impl TextHash {
    pub fn of(text: &[u8]) -> Self {
        let mut hash = [0; 16];
        hash.copy_from_slice(&blake3::hash(text).as_bytes()[..16]);
        Self(hash)
    }
}

impl fmt::Debug for TextHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Where a text is in its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPlace {
    pub block: u32,
    pub start: u32,
    pub length: u32,
}

/// A block as it is kept, with what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub number: u32,
    /// zstd.
    pub packed: Vec<u8>,
    /// Unpacked bytes.
    pub bytes: u32,
    pub texts: Vec<(TextHash, TextPlace)>,
    /// The store's: where it has put the bytes, if not beside the row.
    pub object: Option<String>,
}

/// Puts texts into blocks.
pub struct Packer {
    open: Open,
    full: Vec<Block>,
    placed: HashMap<TextHash, TextPlace>,
}

struct Open {
    number: u32,
    bytes: Vec<u8>,
    texts: Vec<(TextHash, TextPlace)>,
    /// Something came that is not in the block as it is kept.
    changed: bool,
}

impl Packer {
    /// For a page without texts.
    pub fn new() -> Self {
        Self::at(0, Vec::new(), Vec::new())
    }

    /// Goes on with the last block of a page.
    pub fn after(last: &Block) -> Result<Self> {
        Ok(Self::at(last.number, unpack(&last.packed, last.bytes)?, last.texts.clone()))
    }

    fn at(number: u32, bytes: Vec<u8>, texts: Vec<(TextHash, TextPlace)>) -> Self {
        let placed = texts.iter().copied().collect();
        Self { open: Open { number, bytes, texts, changed: false }, full: Vec::new(), placed }
    }

    /// Adds a text, unless it is in these blocks already. What is in older ones, the caller leaves out.
    pub fn add(&mut self, text: &[u8]) -> Result<TextHash> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(Error::Invalid(format!(
                "a text of {} bytes is too large: at most {TEXT_BYTES_MAX}",
                text.len()
            )));
        }
        let hash = TextHash::of(text);
        if self.placed.contains_key(&hash) {
            return Ok(hash);
        }
        if !self.open.bytes.is_empty() && self.open.bytes.len() + text.len() > BLOCK_BYTES_MAX {
            self.close()?;
        }
        let open = &mut self.open;
        let place = TextPlace { block: open.number, start: offset(open.bytes.len())?, length: offset(text.len())? };
        open.bytes.extend_from_slice(text);
        open.texts.push((hash, place));
        open.changed = true;
        self.placed.insert(hash, place);
        Ok(hash)
    }

    fn close(&mut self) -> Result<()> {
        let next = Open { number: self.open.number + 1, bytes: Vec::new(), texts: Vec::new(), changed: false };
        let open = std::mem::replace(&mut self.open, next);
        if open.changed {
            self.full.push(open.pack()?);
        }
        Ok(())
    }

    /// The blocks that are new or have changed.
    pub fn finish(mut self) -> Result<Vec<Block>> {
        if self.open.changed {
            self.full.push(self.open.pack()?);
        }
        Ok(self.full)
    }
}

impl Default for Packer {
    fn default() -> Self {
        Self::new()
    }
}

impl Open {
    fn pack(self) -> Result<Block> {
        Ok(Block {
            number: self.number,
            packed: pack(&self.bytes)?,
            bytes: offset(self.bytes.len())?,
            texts: self.texts,
            object: None,
        })
    }
}

/// The block without these texts: their bytes are in it no more.
pub fn erase(block: &Block, gone: &[TextHash]) -> Result<Block> {
    let bytes = unpack(&block.packed, block.bytes)?;
    let (mut kept, mut texts) = (Vec::with_capacity(bytes.len()), Vec::new());
    for (hash, place) in &block.texts {
        if gone.contains(hash) {
            continue;
        }
        let start = offset(kept.len())?;
        kept.extend_from_slice(part(&bytes, *place)?);
        texts.push((*hash, TextPlace { start, ..*place }));
    }
    Ok(Block { number: block.number, packed: pack(&kept)?, bytes: offset(kept.len())?, texts, object: None })
}

/// A text out of its block.
pub fn read(packed: &[u8], bytes: u32, place: TextPlace) -> Result<Vec<u8>> {
    Ok(part(&unpack(packed, bytes)?, place)?.to_vec())
}

/// A block's bytes: several texts may be wanted of it.
pub fn unpack(packed: &[u8], bytes: u32) -> Result<Vec<u8>> {
    let damaged = |why: &dyn fmt::Display| Error::Internal(format!("a block of texts is damaged: {why}"));
    let plain = zstd::bulk::decompress(packed, bytes as usize).map_err(|error| damaged(&error))?;
    if plain.len() != bytes as usize {
        return Err(damaged(&"it has another length"));
    }
    Ok(plain)
}

/// A text out of the bytes of its block.
pub fn part(bytes: &[u8], place: TextPlace) -> Result<&[u8]> {
    let (start, length) = (place.start as usize, place.length as usize);
    bytes.get(start..start + length).ok_or_else(|| Error::Internal("a text lies outside of its block".into()))
}

fn pack(bytes: &[u8]) -> Result<Vec<u8>> {
    let trouble = |error: std::io::Error| Error::Internal(format!("cannot pack texts: {error}"));
    let mut compressor = zstd::bulk::Compressor::new(LEVEL).map_err(trouble)?;
    compressor.window_log(WINDOW_LOG).map_err(trouble)?;
    compressor.long_distance_matching(true).map_err(trouble)?;
    compressor.compress(bytes).map_err(trouble)
}

fn offset(bytes: usize) -> Result<u32> {
    u32::try_from(bytes).map_err(|_| Error::Internal("a block of texts is too large".into()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn find(blocks: &[Block], hash: TextHash) -> Option<Vec<u8>> {
        let block = blocks.iter().find(|block| block.texts.iter().any(|(known, _)| *known == hash))?;
        let (_, place) = block.texts.iter().find(|(known, _)| *known == hash)?;
        Some(read(&block.packed, block.bytes, *place).expect("it reads back"))
    }

    #[test]
    fn a_text_that_comes_again_is_kept_once() {
        let mut packer = Packer::new();
        let hashes: Vec<_> =
            [b"one".as_slice(), b"two", b"one", b""].map(|text| packer.add(text).expect("added")).into();
        let blocks = packer.finish().expect("packed");
        assert_eq!((blocks.len(), blocks[0].texts.len(), hashes[0] == hashes[2]), (1, 3, true));
        assert_eq!(find(&blocks, hashes[3]), Some(Vec::new()));
    }

    #[test]
    fn a_block_is_bounded_and_a_large_text_has_its_own() {
        let mut packer = Packer::new();
        let large = vec![b'x'; BLOCK_BYTES_MAX + 1];
        let hashes = [b"small".as_slice(), &large, b"after"].map(|text| packer.add(text).expect("added"));
        let blocks = packer.finish().expect("packed");
        assert_eq!(
            blocks.iter().map(|block| (block.number, block.texts.len())).collect::<Vec<_>>(),
            [(0, 1), (1, 1), (2, 1)]
        );
        assert_eq!(find(&blocks, hashes[1]), Some(large));
    }

    #[test]
    fn what_is_erased_is_gone_and_the_rest_reads_back() {
        let mut packer = Packer::new();
        let hashes = [b"first".as_slice(), b"a secret", b"last"].map(|text| packer.add(text).expect("added"));
        let blocks = packer.finish().expect("packed");
        let block = erase(&blocks[0], &[hashes[1]]).expect("erased");
        let plain = unpack(&block.packed, block.bytes).expect("unpacked");
        assert_eq!(plain, b"firstlast");
        assert_eq!(find(&[block], hashes[2]), Some(b"last".to_vec()));
    }

    #[test]
    fn similar_texts_take_little_room() {
        let mut packer = Packer::new();
        let base: String = (0..2_000).map(|n| format!("word{} ", n * 7_919 % 10_007)).collect();
        let raw: usize = (0..100)
            .map(|n| {
                let text = format!("{base} and edit {n}");
                packer.add(text.as_bytes()).expect("added");
                text.len()
            })
            .sum();
        let packed: usize = packer.finish().expect("packed").iter().map(|block| block.packed.len()).sum();
        assert!(packed * 50 < raw, "{raw} bytes became {packed}");
    }

    proptest! {
        #[test]
        fn every_text_reads_back_whatever_came_in_how_many_goes(
            goes in proptest::collection::vec(proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 1..8), 1..6)
        ) {
            let mut kept: HashMap<u32, Block> = HashMap::new();
            let mut texts = Vec::new();
            for go in goes {
                let mut packer = match kept.values().max_by_key(|block| block.number) {
                    Some(last) => Packer::after(last).expect("goes on"),
                    None => Packer::new(),
                };
                for text in go {
                    texts.push((packer.add(&text).expect("added"), text));
                }
                kept.extend(packer.finish().expect("packed").into_iter().map(|block| (block.number, block)));
            }
            let blocks: Vec<_> = kept.into_values().collect();
            for (hash, text) in texts {
                prop_assert_eq!(find(&blocks, hash), Some(text));
            }
        }
    }
}
