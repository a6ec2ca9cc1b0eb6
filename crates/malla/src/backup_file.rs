//! A backup as a file: a line of JSON that says what it is, then the store's file packed with zstd.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read, Seek as _, Write};
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Changes when an older program could not read what a newer one wrote.
const FORMAT: u32 = 1;
/// What every backup begins with.
const MARK: &[u8] = b"{\"malla_backup\":";
/// The first line is shorter than this.
const HEADER_BYTES_MAX: u64 = 4_096;
const LEVEL: i32 = 3;
/// Bytes moved between two words about it.
const STEP: usize = 1 << 20;
/// As long as a real one: it takes its place.
const NO_HASH: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What a backup says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    malla_backup: u32,
    /// The version of the program that made it.
    pub(crate) program: String,
    /// The version of the store's schema.
    pub(crate) schema: i64,
    pub(crate) made_at: String,
    /// Bytes of the store's file.
    pub(crate) bytes: u64,
    /// Of the store's file.
    pub(crate) sha256: String,
}

/// Hears how many bytes of how many are done, and may end it by an error.
pub(crate) type Step<'a> = dyn FnMut(u64, u64) -> Result<()> + 'a;

/// Packs the store's file at `store` into `file`, which is empty. All is on disk when this returns.
pub(crate) fn pack(store: &Path, mut file: &File, schema: i64, made_at: String, step: &mut Step<'_>) -> Result<Header> {
    let cannot_read = || format!("cannot read {}", store.display());
    let mut from = File::open(store).with_context(cannot_read)?;
    let bytes = from.metadata().with_context(cannot_read)?.len();
    let program = env!("CARGO_PKG_VERSION").to_owned();
    let mut header = Header { malla_backup: FORMAT, program, schema, made_at, bytes, sha256: NO_HASH.into() };
    file.write_all(&header.line()?)?;
    let mut packed = zstd::Encoder::new(BufWriter::new(file), LEVEL)?;
    packed.include_checksum(true)?;
    header.sha256 = pump(&mut from, &mut packed, bytes, step)?;
    packed.finish()?.flush()?;
    // The hash is known now. The line stays as long as it is.
    file.rewind()?;
    file.write_all(&header.line()?)?;
    file.sync_all()?;
    Ok(header)
}

/// A backup that is being read.
pub(crate) struct Packed {
    pub(crate) header: Header,
    rest: BufReader<File>,
}

impl Packed {
    /// Opens a backup that this program can read.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        let file = File::open(path).with_context(|| format!("cannot read {shown}"))?;
        let mut rest = BufReader::with_capacity(STEP, file);
        let mut line = Vec::new();
        (&mut rest).take(HEADER_BYTES_MAX).read_until(b'\n', &mut line)?;
        ensure!(line.starts_with(MARK), "{shown} is no backup of Malla");
        let said: serde_json::Value = serde_json::from_slice(&line).map_err(|_| anyhow!("{shown} is damaged"))?;
        let newer = "use that version, or a newer one, to restore it";
        ensure!(said["malla_backup"] == FORMAT, "{shown} was made by another version of Malla: {newer}");
        let header: Header = serde_json::from_value(said).map_err(|_| anyhow!("{shown} is damaged"))?;
        let known = malla_store::sqlite::backup::schema_known();
        ensure!(
            header.schema <= known,
            "{shown} was made by Malla {} (schema {}, this program knows {known}): {newer}",
            header.program,
            header.schema
        );
        Ok(Self { header, rest })
    }

    /// Writes the store's file to `to`. It is the one that was packed, to the byte, if this succeeds.
    pub(crate) fn unpack(self, to: &mut impl Write, step: &mut Step<'_>) -> Result<Header> {
        let Self { header, rest } = self;
        let unpacked = zstd::Decoder::with_buffer(rest)?;
        // One byte more than it should have is enough to see that it is wrong.
        let hash = pump(&mut unpacked.take(header.bytes + 1), to, header.bytes, step)?;
        ensure!(hash == header.sha256, "it is damaged: its content is not what was backed up");
        Ok(header)
    }
}

impl Header {
    fn line(&self) -> Result<Vec<u8>> {
        Ok(serde_json::to_string(self)?.into_bytes().into_iter().chain([b'\n']).collect())
    }
}

/// Moves all bytes and gives their hash.
fn pump(from: &mut impl Read, to: &mut impl Write, bytes: u64, step: &mut Step<'_>) -> Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; STEP];
    let mut done = 0;
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(anyhow!("it cannot be read to its end: {error}")),
        };
        hash.update(&buffer[..read]);
        to.write_all(&buffer[..read]).context("cannot write")?;
        done += read as u64;
        step(done, bytes)?;
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(content: &[u8]) -> (tempfile::TempDir, std::path::PathBuf, Header) {
        let place = tempfile::tempdir().expect("a directory");
        let (store, file) = (place.path().join("store"), place.path().join("backup"));
        std::fs::write(&store, content).expect("written");
        let to = File::create(&file).expect("made");
        let header = pack(&store, &to, 1, "2026-01-02T03:04:05Z".into(), &mut |_, _| Ok(())).expect("packed");
        (place, file, header)
    }

    fn unpack(file: &Path) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        Packed::open(file)?.unpack(&mut content, &mut |_, _| Ok(())).map(|_| content)
    }

    #[test]
    fn what_was_packed_comes_back() {
        for content in [&b""[..], b"a", &vec![7; 3 * STEP + 1]] {
            let (_place, file, header) = packed(content);
            assert_eq!(header.bytes, content.len() as u64);
            assert_eq!(Packed::open(&file).expect("opens").header, header);
            assert!(unpack(&file).expect("unpacks") == content);
        }
    }

    #[test]
    fn every_damaged_byte_after_the_first_line_is_noticed() {
        let (_place, file, _) = packed(b"some content that is short enough to damage every byte of it");
        let whole = std::fs::read(&file).expect("reads");
        let head = whole.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
        for at in head..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            std::fs::write(&file, damaged).expect("written");
            // A bit that means nothing to zstd may change nothing.
            let found = unpack(&file);
            assert!(found.is_err() || found.is_ok_and(|content| content.starts_with(b"some content")), "byte {at}");
        }
        for length in 0..whole.len() {
            std::fs::write(&file, &whole[..length]).expect("written");
            assert!(unpack(&file).is_err(), "cut to {length} bytes");
        }
    }

    #[test]
    fn what_is_no_backup_or_too_new_gets_one_sentence() {
        let place = tempfile::tempdir().expect("a directory");
        let file = place.path().join("file");
        let header = |format: u32, schema: i64| {
            let header = Header {
                malla_backup: format,
                program: "9.9.9".into(),
                schema,
                made_at: String::new(),
                bytes: 0,
                sha256: NO_HASH.into(),
            };
            header.line().expect("a line")
        };
        for (content, words) in [
            (Vec::new(), "is no backup of Malla"),
            (vec![b'x'; 10_000], "is no backup of Malla"),
            (b"{\"malla_backup\":".to_vec(), "is damaged"),
            (b"{\"malla_backup\":1}\n".to_vec(), "is damaged"),
            (header(2, 1), "made by another version"),
            (header(1, 1_000_000), "made by Malla 9.9.9"),
        ] {
            std::fs::write(&file, content).expect("written");
            let said = unpack(&file).expect_err("refused").to_string();
            assert!(said.contains(words) && !said.contains('\n'), "{said}");
        }
    }
}
