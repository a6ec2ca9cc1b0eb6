//! What a target said, cut to what a history can hold.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Response;
use serde_json::{Value, json};

/// Bytes of a body that are read.
const BODY_READ_MAX: usize = 16 * 1024;
/// Bytes of a body and of all headers, as written in JSON.
const BODY_WRITTEN_MAX: usize = 15 * 1024;
const HEADERS_WRITTEN_MAX: usize = 8 * 1024;
const HEADERS_MAX: usize = 64;

#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(super) status: u16,
    /// The status in words.
    pub(super) reason: &'static str,
    /// Values of the same name are joined by commas.
    pub(super) headers: BTreeMap<String, String>,
    body: Vec<u8>,
    /// There was more than is kept here.
    pub(super) truncated: bool,
    pub(super) took: Duration,
}

impl Answer {
    pub(super) fn new(response: &Response) -> Self {
        let mut answer = Self {
            status: response.status().as_u16(),
            reason: response.status().canonical_reason().unwrap_or_default(),
            headers: BTreeMap::new(),
            body: Vec::new(),
            truncated: false,
            took: Duration::ZERO,
        };
        let mut written = 0;
        for (name, value) in response.headers() {
            let value = String::from_utf8_lossy(value.as_bytes());
            written += name.as_str().len() + written_len(&value) + 6;
            if written > HEADERS_WRITTEN_MAX || answer.headers.len() >= HEADERS_MAX {
                answer.truncated = true;
                break;
            }
            let have = answer.headers.entry(name.to_string()).or_default();
            if !have.is_empty() {
                have.push_str(", ");
            }
            have.push_str(&value);
        }
        answer
    }

    /// Adds to the body; false when no more is wanted.
    pub(super) fn take(&mut self, chunk: &[u8]) -> bool {
        let room = BODY_READ_MAX - self.body.len();
        self.body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        self.truncated |= chunk.len() > room;
        chunk.len() <= room
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut truncated = self.truncated;
        let mut answer = json!({
            "status": self.status,
            "headers": self.headers,
            "ms": u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
        });
        match text_of(&self.body, self.truncated) {
            Some(text) => {
                let kept = cut(text);
                truncated |= kept.len() < text.len();
                answer["body"] = json!(kept);
            }
            None => {
                let kept = &self.body[..self.body.len().min(BODY_WRITTEN_MAX / 4 * 3)];
                truncated |= kept.len() < self.body.len();
                answer["body_base64"] = json!(STANDARD.encode(kept));
            }
        }
        answer["truncated"] = json!(truncated);
        answer
    }
}

/// The body as text, if it is text. A character cut in half at the end of a truncated body does not spoil it.
fn text_of(body: &[u8], truncated: bool) -> Option<&str> {
    let text = match std::str::from_utf8(body) {
        Ok(text) => text,
        Err(error) if truncated && error.error_len().is_none() => {
            std::str::from_utf8(&body[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    let plain = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    text.chars().all(plain).then_some(text)
}

/// As much of a text as may be written.
fn cut(text: &str) -> &str {
    let mut written = 0;
    let end = text.char_indices().find(|(_, c)| {
        written += escaped_len(*c);
        written > BODY_WRITTEN_MAX
    });
    end.map_or(text, |(at, _)| &text[..at])
}

fn written_len(text: &str) -> usize {
    text.chars().map(escaped_len).sum()
}

/// Bytes of a character inside a JSON string.
fn escaped_len(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        c if c < ' ' => 6,
        c => c.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(body: &[u8]) -> Answer {
        let mut answer = Answer {
            status: 200,
            reason: "OK",
            headers: BTreeMap::new(),
            body: Vec::new(),
            truncated: false,
            took: Duration::from_millis(3),
        };
        for chunk in body.chunks(5_000) {
            if !answer.take(chunk) {
                break;
            }
        }
        answer
    }

    #[test]
    fn a_short_answer_is_kept_whole() {
        let told = answer("grüß\n".as_bytes()).to_json();
        assert_eq!(told, json!({"status": 200, "headers": {}, "body": "grüß\n", "truncated": false, "ms": 3}));
        assert_eq!(answer(&[0xff, 0]).to_json()["body_base64"], json!("/wA="));
        assert_eq!(answer(b"\0").to_json()["body_base64"], json!("AA=="));
    }

    #[test]
    fn a_long_answer_is_cut_to_what_a_history_can_hold() {
        for body in [vec![b'x'; 100_000], vec![b'"'; 16_384], vec![0; 16_384], "ü€".repeat(10_000).into_bytes()] {
            let told = answer(&body).to_json();
            assert_eq!(told["truncated"], json!(true));
            let len = told.to_string().len();
            assert!((12 * 1024..16 * 1024).contains(&len), "{len}");
        }
        assert!(answer("ü€".repeat(10_000).as_bytes()).to_json()["body"].is_string());
    }
}
