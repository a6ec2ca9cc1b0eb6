//! A batch as it comes in: unpacked within bounds, its header looked at, packed if it is to be kept.

use std::cell::RefCell;
use std::io::Read;
use std::sync::Arc;

use malla_queue::{Error, Result};

use crate::analysis::AnyAnalysis;
use crate::buffer::Buffer;
use crate::csv::{Table, WrongTable};
use crate::study::{BatchHash, BatchKey};

/// How hard a batch that came plain is packed: it is read once, soon.
const LEVEL: i32 = 1;

/// How a batch came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    /// By the name of a content coding.
    pub fn named(name: &str) -> Option<Self> {
        match name.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Some(Self::Plain),
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// Why a batch is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("the batch {batch} cannot be read: {why}")]
    Table { batch: String, why: WrongTable },
    #[error("the batch {batch} cannot be unpacked as {packing}: {why}")]
    Packing { batch: String, packing: &'static str, why: String },
    #[error("the batch {batch} has more than {mb} MB: send smaller ones")]
    TooLarge { batch: String, mb: usize },
}

/// A batch that can be kept.
#[derive(Debug, Clone)]
pub struct Checked {
    pub hash: BatchHash,
    pub plain: Arc<Buffer>,
    /// zstd, if it came so.
    packed: Option<Arc<Buffer>>,
}

impl Checked {
    /// As it is kept. This may work: call it where blocking is allowed.
    pub fn packed(&self) -> Result<Arc<Buffer>> {
        if let Some(packed) = &self.packed {
            return Ok(packed.clone());
        }
        let packed = zstd::bulk::compress(&self.plain, LEVEL);
        packed
            .map(|packed| Arc::new(packed.into()))
            .map_err(|error| Error::Internal(format!("cannot pack a batch: {error}")))
    }
}

/// Unpacks a batch of at most `bytes_max`, and looks whether its header has the columns that are needed. This works: call
/// it where blocking is allowed.
pub fn check(
    analysis: &dyn AnyAnalysis,
    key: &BatchKey,
    body: Buffer,
    packing: Packing,
    bytes_max: usize,
) -> Result<Checked, Refused> {
    let failed = |why: String| Refused::Packing { batch: key.to_string(), packing: packing.name(), why };
    let too_large = || Refused::TooLarge { batch: key.to_string(), mb: bytes_max / 1_000_000 };
    let (plain, packed) = match packing {
        Packing::Plain => (body, None),
        Packing::Gzip => (unpack(flate2::read::MultiGzDecoder::new(&body[..]), bytes_max).map_err(failed)?, None),
        Packing::Zstd => (unzstd(&body, bytes_max).map_err(failed)?, Some(body)),
    };
    if plain.len() > bytes_max {
        return Err(too_large());
    }
    let input = analysis.inputs().iter().find(|input| input.name == key.input);
    let columns = input.map_or(&[][..], |input| input.columns);
    has_columns(&plain, columns).map_err(|why| Refused::Table { batch: key.to_string(), why })?;
    Ok(Checked { hash: BatchHash::of(&plain), plain: Arc::new(plain), packed: packed.map(Arc::new) })
}

thread_local! {
    /// Made once: it takes longer to make than to use.
    static UNPACKER: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

/// In one go if it says how long it is, or else piece by piece.
fn unzstd(body: &[u8], bytes_max: usize) -> Result<Buffer, String> {
    let words = |error: std::io::Error| error.to_string();
    match zstd::bulk::Decompressor::upper_bound(body).filter(|size| *size <= bytes_max) {
        Some(size) => UNPACKER.with_borrow_mut(|unpacker| {
            let unpacker = match unpacker {
                Some(unpacker) => unpacker,
                None => unpacker.insert(zstd::bulk::Decompressor::new().map_err(words)?),
            };
            let mut plain = Buffer::with_capacity(size);
            unpacker.decompress_to_buffer(body, plain.vec()).map_err(words)?;
            Ok(plain)
        }),
        None => unpack(zstd::stream::read::Decoder::with_buffer(body).map_err(words)?, bytes_max),
    }
}

/// Reads to the end, or to one byte more than allowed.
fn unpack(reader: impl Read, bytes_max: usize) -> Result<Buffer, String> {
    let mut plain = Buffer::default();
    let most = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    reader.take(most).read_to_end(plain.vec()).map_err(|error| error.to_string())?;
    Ok(plain)
}

fn has_columns(bytes: &[u8], wanted: &[&str]) -> Result<(), WrongTable> {
    let table = Table::new(bytes)?;
    wanted.iter().try_for_each(|column| table.find([column]).map(drop))
}

/// A batch that was kept. It was within its bounds when it came.
pub fn unpack_kept(packed: &[u8]) -> Result<Buffer> {
    unzstd(packed, usize::MAX - 1).map_err(|why| Error::Internal(format!("a batch cannot be unpacked: {why}")))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::analysis::find;

    fn taken(input: &str, body: Vec<u8>, packing: Packing, max: usize) -> Result<Checked, String> {
        let bikes = find("bike-rides").unwrap();
        let key = BatchKey::new(bikes, input, "Montreal", 7).unwrap();
        check(bikes, &key, body.into(), packing, max).map_err(|refused| refused.to_string())
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    const WEATHER: &[u8] = b"date,prectot\n2016-01-01,3\n";

    #[test]
    fn a_batch_is_the_same_however_it_was_packed() {
        let plain = taken("weather", WEATHER.to_vec(), Packing::Plain, 1_000).unwrap();
        let gzip = taken("weather", gzip(WEATHER), Packing::Gzip, 1_000).unwrap();
        let zstd = taken("weather", zstd::encode_all(WEATHER, 3).unwrap(), Packing::Zstd, 1_000).unwrap();
        for other in [&gzip, &zstd] {
            assert_eq!((other.hash, &other.plain), (plain.hash, &plain.plain));
            assert_eq!(&unpack_kept(&other.packed().unwrap()).unwrap()[..], WEATHER);
        }
    }

    #[test]
    fn what_cannot_be_taken_is_refused_in_a_sentence() {
        let bomb = zstd::encode_all(&vec![b'a'; 10_000_000][..], 3).unwrap();
        for (body, packing, expected) in [
            (
                vec![],
                Packing::Plain,
                "the batch weather/montreal/7 cannot be read: it is empty: the first line must name the columns",
            ),
            (
                b"date;prectot\n".to_vec(),
                Packing::Plain,
                "the batch weather/montreal/7 cannot be read: the column \"date\" is missing: the header has date;prectot",
            ),
            (
                b"date,prectot\n".to_vec(),
                Packing::Gzip,
                "the batch weather/montreal/7 cannot be unpacked as gzip: invalid gzip header",
            ),
            (bomb, Packing::Zstd, "the batch weather/montreal/7 has more than 1 MB: send smaller ones"),
            (
                vec![b'x'; 1_000_001],
                Packing::Plain,
                "the batch weather/montreal/7 has more than 1 MB: send smaller ones",
            ),
        ] {
            assert_eq!(taken("weather", body, packing, 1_000_000).unwrap_err(), expected);
        }
        let cut = &zstd::encode_all(WEATHER, 3).unwrap()[..20];
        let why = taken("weather", cut.to_vec(), Packing::Zstd, 1_000).unwrap_err();
        assert!(why.starts_with("the batch weather/montreal/7 cannot be unpacked as zstd: "), "{why}");
    }

    #[test]
    fn a_header_alone_is_a_batch() {
        assert!(taken("weather", b"date,prectot".to_vec(), Packing::Plain, 1_000).is_ok());
    }
}
