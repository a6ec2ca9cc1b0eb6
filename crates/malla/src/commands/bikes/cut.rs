//! Cuts a file into batches: so many records each, every one with the header line.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use malla_analyze::Buffer;
use malla_analyze::csv::record_end;

/// Bytes read at a time.
const STEP: usize = 1 << 20;
/// A record (or the header) longer than this is a mistake in the file: a quote that is not closed, most likely.
const RECORD_MAX: usize = 1 << 20;

/// A part of a file as it is sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) seq: u64,
    /// Header and records.
    pub(super) bytes: Buffer,
    /// How many bytes of the file it is.
    pub(super) read: u64,
}

/// A file on its way out. An empty file is one empty batch, so that somebody says what is wrong with it.
pub(super) struct Cutter<R = File> {
    path: PathBuf,
    file: R,
    records: usize,
    header: Vec<u8>,
    /// What was read; up to `cut` it is cut off already.
    read: Vec<u8>,
    cut: usize,
    seq: u64,
    ended: bool,
}

impl Cutter {
    pub(super) fn open(path: &Path, records: usize) -> Result<Self> {
        let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self::new(path, file, records))
    }
}

impl<R: Read> Cutter<R> {
    fn new(path: &Path, file: R, records: usize) -> Self {
        let (header, read) = (Vec::new(), Vec::new());
        Self { path: path.to_owned(), file, records, header, read, cut: 0, seq: 0, ended: false }
    }

    /// The next batch; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<Cut>> {
        let first = self.seq == 0;
        let mut read = 0;
        if first {
            let end = self.find(1)?;
            self.header = self.cut_off(end).to_vec();
            read += end as u64;
        }
        let end = self.find(self.records)?;
        if end == 0 && !first {
            return Ok(None);
        }
        let mut batch = Buffer::with_capacity(self.header.len() + 1 + end);
        let bytes = batch.vec();
        bytes.extend_from_slice(&self.header);
        if !bytes.is_empty() && bytes.last() != Some(&b'\n') {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(self.cut_off(end));
        self.seq += 1;
        Ok(Some(Cut { seq: self.seq - 1, bytes: batch, read: read + end as u64 }))
    }

    /// The next bytes, which are gone then.
    fn cut_off(&mut self, bytes: usize) -> &[u8] {
        let from = self.cut;
        self.cut += bytes;
        &self.read[from..self.cut]
    }

    fn rest(&self) -> &[u8] {
        &self.read[self.cut..]
    }

    /// Where the first `records` records of the rest end; reads on as far as that takes.
    fn find(&mut self, records: usize) -> Result<usize> {
        let (mut end, mut found) = (0, 0);
        loop {
            while found < records {
                match record_end(&self.rest()[end..]) {
                    Some(len) if end + len < self.rest().len() => end += len + 1,
                    _ => break,
                }
                found += 1;
            }
            if found == records {
                return Ok(end);
            }
            if self.ended {
                return Ok(self.rest().len());
            }
            ensure!(
                self.rest().len() - end <= RECORD_MAX,
                "a line of {} has more than {} kB: is a quote not closed?",
                self.path.display(),
                RECORD_MAX / 1_024
            );
            self.read_on()?;
        }
    }

    fn read_on(&mut self) -> Result<()> {
        self.read.drain(..self.cut);
        self.cut = 0;
        let mut more = (&mut self.file).take(STEP as u64);
        let read = more.read_to_end(&mut self.read).with_context(|| format!("cannot read {}", self.path.display()))?;
        self.ended = read == 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts(text: &str, records: usize) -> Vec<String> {
        let mut cutter = Cutter::new(Path::new("trips.csv"), text.as_bytes(), records);
        let mut cuts = Vec::new();
        let mut read = 0;
        while let Some(cut) = cutter.next().unwrap() {
            assert_eq!(cut.seq, cuts.len() as u64);
            read += cut.read;
            cuts.push(String::from_utf8(cut.bytes.to_vec()).unwrap());
        }
        assert_eq!(read, text.len() as u64);
        cuts
    }

    #[test]
    fn each_batch_has_the_header_and_its_records() {
        assert_eq!(cuts("a,b\n1,2\n3,4\n5,6\n", 2), ["a,b\n1,2\n3,4\n", "a,b\n5,6\n"]);
        assert_eq!(cuts("a,b\n1,2\n3,4\n5,6", 2), ["a,b\n1,2\n3,4\n", "a,b\n5,6"]);
        assert_eq!(cuts("a,b\n1,2\n3,4\n", 2), ["a,b\n1,2\n3,4\n"]);
    }

    #[test]
    fn quotes_keep_a_record_together() {
        assert_eq!(cuts("a,b\n\"x\ny\",2\n3,4\n", 1), ["a,b\n\"x\ny\",2\n", "a,b\n3,4\n"]);
        assert_eq!(cuts("\"a\nb\",c\n1,2\n", 1), ["\"a\nb\",c\n1,2\n"]);
    }

    #[test]
    fn a_header_alone_and_an_empty_file_are_one_batch() {
        assert_eq!(cuts("a,b\n", 2), ["a,b\n"]);
        assert_eq!(cuts("a,b", 2), ["a,b\n"]);
        assert_eq!(cuts("", 2), [""]);
    }

    #[test]
    fn a_quote_that_is_never_closed_is_no_reason_to_read_everything() {
        let text = format!("a,b\n\"{}", "x".repeat(3 * RECORD_MAX));
        let mut cutter = Cutter::new(Path::new("trips.csv"), text.as_bytes(), 10);
        let why = cutter.next().unwrap_err().to_string();
        assert_eq!(why, "a line of trips.csv has more than 1024 kB: is a quote not closed?");
    }
}
