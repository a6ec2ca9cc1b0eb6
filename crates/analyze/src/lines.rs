//! Lines that cannot be read: counted, some of them kept to be shown, and too many of them the end.

use serde::{Deserialize, Serialize};

use crate::csv::text;
use crate::wire::{Damaged, Reader, Writer};

/// Lines that are shown.
const SAMPLES_MAX: usize = 10;
/// Characters of a line that are shown.
const CHARS_MAX: usize = 200;

/// A line that could not be read, and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BadLine {
    /// `trips/montreal/17`: the batch.
    pub batch: String,
    pub line: u64,
    pub why: String,
    pub text: String,
}

/// How many lines were read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Lines {
    pub read: u64,
    pub bad: u64,
    /// The first of the bad ones, by batch and line.
    pub samples: Vec<BadLine>,
}

impl Lines {
    pub fn spoilt(&mut self, batch: &str, line: u64, why: &str, record: &[u8]) {
        self.bad += 1;
        if self.samples.len() < SAMPLES_MAX {
            let text = text(record).chars().take(CHARS_MAX).collect();
            self.samples.push(BadLine { batch: batch.to_owned(), line, why: why.to_owned(), text });
        }
    }

    /// Whether more than this share of the lines is bad.
    pub fn too_many_bad(&self, share_max: f64) -> bool {
        self.bad as f64 > (self.read + self.bad) as f64 * share_max
    }

    pub fn merge(&mut self, other: Self) {
        self.read += other.read;
        self.bad += other.bad;
        self.samples.extend(other.samples);
        self.samples.sort();
        self.samples.truncate(SAMPLES_MAX);
    }

    pub fn write(&self, writer: &mut Writer) {
        writer.number(self.read);
        writer.number(self.bad);
        writer.number(self.samples.len() as u64);
        for BadLine { batch, line, why, text } in &self.samples {
            writer.bytes(batch.as_bytes());
            writer.number(*line);
            writer.bytes(why.as_bytes());
            writer.bytes(text.as_bytes());
        }
    }

    pub fn read(reader: &mut Reader<'_>) -> Result<Self, Damaged> {
        let (read, bad) = (reader.small()?, reader.small()?);
        let text = |reader: &mut Reader<'_>| String::from_utf8(reader.bytes()?.to_vec()).map_err(|_| Damaged);
        let samples = reader.list(|reader| {
            Ok(BadLine { batch: text(reader)?, line: reader.small()?, why: text(reader)?, text: text(reader)? })
        })?;
        Ok(Self { read, bad, samples })
    }
}
