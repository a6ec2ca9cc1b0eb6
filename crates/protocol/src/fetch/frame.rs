//! Results on their way from a device to its server: one frame after the other, each a head in JSON and a body packed
//! with zstd.
//!
//! ```text
//! u32 length of the head | u32 length of the body | head | body      (numbers in network order)
//! ```

use std::fmt;

use serde::{Deserialize, Serialize};

/// A head is no longer than this.
pub const FRAME_HEAD_BYTES_MAX: usize = 256 * 1024;
const LENGTHS: usize = 8;

/// What is said of one result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultHead {
    pub token: String,
    pub status: u16,
    pub headers: Vec<(String, String)>,
    /// Of the body, unpacked.
    pub bytes: u64,
    /// The BLAKE3 hash of the body, unpacked, in hexadecimal digits. A device of the house is believed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub took_ms: u64,
    /// How long ago, when this was sent, the site's last word came.
    pub quiet_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub head: ResultHead,
    /// Packed.
    pub body: Vec<u8>,
}

impl Frame {
    pub fn write(head: &ResultHead, body: &[u8], into: &mut Vec<u8>) {
        let text = serde_json::to_vec(head).expect("plain text and numbers");
        for length in [text.len(), body.len()] {
            into.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
        }
        into.extend_from_slice(&text);
        into.extend_from_slice(body);
    }
}

/// Why bytes are not frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FrameError {
    TooLarge,
    Unreadable(String),
    /// They ended inside a frame.
    BrokeOff,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => f.write_str("a result is larger than is taken"),
            Self::Unreadable(why) => write!(f, "a result cannot be read: {why}"),
            Self::BrokeOff => f.write_str("the results broke off: send them again"),
        }
    }
}

impl std::error::Error for FrameError {}

/// Reads frames from bytes as they come. It never holds more than one frame and a chunk.
#[derive(Debug)]
pub struct FrameReader {
    buffer: Vec<u8>,
    /// Where the next frame begins in the buffer.
    at: usize,
    body_bytes_max: usize,
}

impl FrameReader {
    pub fn new(body_bytes_max: usize) -> Self {
        Self { buffer: Vec::new(), at: 0, body_bytes_max }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        if self.at > 0 {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole frame, if it has come.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        let rest = &self.buffer[self.at..];
        let Some(lengths) = rest.first_chunk::<LENGTHS>() else { return Ok(None) };
        let length = |at: usize| -> usize {
            u32::from_be_bytes([lengths[at], lengths[at + 1], lengths[at + 2], lengths[at + 3]]) as usize
        };
        let (head, body) = (length(0), length(4));
        if head > FRAME_HEAD_BYTES_MAX || body > self.body_bytes_max {
            return Err(FrameError::TooLarge);
        }
        let Some(frame) = rest.get(LENGTHS..LENGTHS + head + body) else { return Ok(None) };
        let (text, packed) = frame.split_at(head);
        let head = serde_json::from_slice(text).map_err(|error| FrameError::Unreadable(error.to_string()))?;
        let read = Frame { head, body: packed.to_vec() };
        self.at += LENGTHS + text.len() + packed.len();
        Ok(Some(read))
    }

    /// To be asked at the end: nothing may be left.
    pub fn finish(&self) -> Result<(), FrameError> {
        if self.at == self.buffer.len() { Ok(()) } else { Err(FrameError::BrokeOff) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(token: &str) -> ResultHead {
        ResultHead {
            token: token.into(),
            status: 200,
            headers: vec![("content-type".into(), "text/html".into())],
            bytes: 5,
            hash: None,
            trouble: None,
            note: None,
            took_ms: 7,
            quiet_ms: 3,
        }
    }

    #[test]
    fn frames_are_read_however_they_are_cut() {
        let mut bytes = Vec::new();
        for (token, body) in [("a", &b"hello"[..]), ("b", b""), ("c", &[0; 300])] {
            Frame::write(&head(token), body, &mut bytes);
        }
        for step in [1, 2, 7, 64, bytes.len()] {
            let mut reader = FrameReader::new(1_000);
            let mut seen = Vec::new();
            for chunk in bytes.chunks(step) {
                reader.push(chunk);
                while let Some(frame) = reader.next_frame().expect("frames") {
                    seen.push((frame.head.token, frame.body.len()));
                }
            }
            assert_eq!(seen, [("a".to_owned(), 5), ("b".to_owned(), 0), ("c".to_owned(), 300)], "{step}");
            assert_eq!(reader.finish(), Ok(()));
        }
    }

    #[test]
    fn nonsense_is_refused_before_it_is_gathered() {
        let mut reader = FrameReader::new(1_000);
        reader.push(&[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(reader.next_frame(), Err(FrameError::TooLarge));
        let mut reader = FrameReader::new(1_000);
        reader.push(b"\0\0\0\x02\0\0\0\0xx");
        assert!(matches!(reader.next_frame(), Err(FrameError::Unreadable(_))));
        let mut reader = FrameReader::new(1_000);
        let mut bytes = Vec::new();
        Frame::write(&head("a"), b"hello", &mut bytes);
        reader.push(&bytes[..bytes.len() - 1]);
        assert_eq!(reader.next_frame(), Ok(None));
        assert_eq!(reader.finish(), Err(FrameError::BrokeOff));
    }
}
