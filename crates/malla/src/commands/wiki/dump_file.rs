//! A dump on this machine: plain or packed, told by its first bytes, with a count of what was read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use indicatif::ProgressBar;
use malla_wiki::dump::{DumpSite, Item, Reader};

/// Bytes read from the disk, and unpacked, at once.
const BUFFER_BYTES: usize = 1 << 20;

pub(super) struct DumpFile {
    path: PathBuf,
    pub(super) bytes: u64,
}

/// How a file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    Plain,
    Bzip2,
    Gzip,
    Zstd,
}

impl DumpFile {
    pub(super) fn new(path: &Path) -> Result<Self> {
        let about = std::fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
        if !about.is_file() {
            return Err(anyhow!("{} is not a file: an import must be able to read it again", path.display()));
        }
        Ok(Self { path: path.to_owned(), bytes: about.len() })
    }

    /// What tells this dump from others: the same file is the same import, wherever it lies.
    pub(super) fn name(&self) -> String {
        let name = self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        format!("{name} ({} bytes)", self.bytes)
    }

    /// The wiki that it is of, if it says so before its first page.
    pub(super) fn site(&self) -> Result<Option<DumpSite>> {
        let mut items = Reader::new(self.open(&ProgressBar::hidden())?);
        match items.next().transpose().with_context(|| self.path.display().to_string())? {
            Some(Item::Site(site)) => Ok(Some(site)),
            _ => Ok(None),
        }
    }

    /// From its beginning, unpacked. The bar follows the bytes of the file.
    pub(super) fn open(&self, bar: &ProgressBar) -> Result<Box<dyn BufRead + Send>> {
        let unreadable = || format!("cannot read {}", self.path.display());
        let mut file = File::open(&self.path).with_context(unreadable)?;
        let mut first = Vec::new();
        (&mut file).take(8).read_to_end(&mut first).with_context(unreadable)?;
        file.seek(SeekFrom::Start(0)).with_context(unreadable)?;
        let packing = packing(&first).map_err(|why| anyhow!("{}: {why}", self.path.display()))?;
        let packed = BufReader::with_capacity(BUFFER_BYTES, Counted { file, bar: bar.clone() });
        Ok(match packing {
            Packing::Plain => Box::new(packed),
            // Large dumps are many streams behind each other.
            Packing::Bzip2 => buffered(bzip2::bufread::MultiBzDecoder::new(packed)),
            Packing::Gzip => buffered(flate2::bufread::MultiGzDecoder::new(packed)),
            Packing::Zstd => buffered(zstd::stream::read::Decoder::with_buffer(packed).with_context(unreadable)?),
        })
    }
}

fn buffered(reader: impl Read + Send + 'static) -> Box<dyn BufRead + Send> {
    Box::new(BufReader::with_capacity(BUFFER_BYTES, reader))
}

fn packing(first: &[u8]) -> Result<Packing, &'static str> {
    match first {
        [b'B', b'Z', b'h', ..] => Ok(Packing::Bzip2),
        [0x1f, 0x8b, ..] => Ok(Packing::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Ok(Packing::Zstd),
        [b'7', b'z', 0xbc, 0xaf, ..] => Err("it is packed with 7-Zip: unpack it, or get the same dump as bz2"),
        _ => Ok(Packing::Plain),
    }
}

/// Tells a bar of every byte.
struct Counted {
    file: File,
    bar: ProgressBar,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(into)?;
        self.bar.inc(read as u64);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    const TEXT: &[u8] = b"<mediawiki>one and two</mediawiki>";

    fn read_back(name: &str, bytes: &[u8]) -> (Vec<u8>, u64) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).expect("written");
        let bar = ProgressBar::hidden();
        let mut text = Vec::new();
        DumpFile::new(&path).expect("a file").open(&bar).expect("opens").read_to_end(&mut text).expect("reads");
        (text, bar.position())
    }

    #[test]
    fn a_dump_is_unpacked_whatever_it_is_called() {
        let (one, two) = TEXT.split_at(15);
        let bzip2 = |part: &[u8]| {
            let mut packer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            packer.write_all(part).expect("packs");
            packer.finish().expect("packs")
        };
        let gzip = |part: &[u8]| {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packer.write_all(part).expect("packs");
            packer.finish().expect("packs")
        };
        let zstd = |part: &[u8]| zstd::bulk::compress(part, 1).expect("packs");
        for (name, bytes) in [
            ("plain.xml", TEXT.to_vec()),
            ("two-streams.xml.bz2", [bzip2(one), bzip2(two)].concat()),
            ("two-members.gz", [gzip(one), gzip(two)].concat()),
            ("two-frames", [zstd(one), zstd(two)].concat()),
        ] {
            assert_eq!(read_back(name, &bytes), (TEXT.to_vec(), bytes.len() as u64), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_unpacked_is_said() {
        assert!(packing(b"7z\xbc\xaf\x27\x1c").expect_err("refused").contains("7-Zip"));
        assert_eq!(packing(b""), Ok(Packing::Plain));
    }
}
