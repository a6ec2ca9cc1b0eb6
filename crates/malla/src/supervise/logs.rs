//! What a medic's processes say: passed on line by line under the name of their slot, and the last line remembered.

use std::sync::{Arc, Mutex, PoisonError};

use malla_cluster::Slot;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

use crate::config::LogFormat;
use crate::output;

/// Bytes of one line; what is longer goes on in the next.
const LINE_MAX: usize = 16 * 1024;

/// The last line that a process said.
#[derive(Debug, Clone, Default)]
pub(super) struct LastLine(Arc<Mutex<String>>);

impl LastLine {
    pub(super) fn get(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, line: &str) {
        line.clone_into(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Until the process closes its end.
pub(super) async fn pass_on(from: impl AsyncRead + Unpin, slot: Slot, format: LogFormat, last: LastLine) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while let Ok(part) = from.fill_buf().await {
        let ended = part.is_empty();
        let newline = part.iter().position(|byte| *byte == b'\n');
        let taken = newline.unwrap_or(part.len()).min(LINE_MAX - line.len());
        line.extend_from_slice(&part[..taken]);
        let whole = newline == Some(taken);
        from.consume(taken + usize::from(whole));
        if whole || line.len() == LINE_MAX || ended {
            let text = String::from_utf8_lossy(&line);
            if !text.trim().is_empty() {
                output::talk(&prefixed(&slot, format, &text));
                last.set(text.trim());
            }
            line.clear();
        }
        if ended {
            return;
        }
    }
}

/// The line with the slot that said it. In JSON it stays one object.
fn prefixed(slot: &Slot, format: LogFormat, line: &str) -> String {
    match (format, line.trim_end().strip_prefix('{')) {
        (LogFormat::Text, _) => format!("{slot} | {line}"),
        (LogFormat::Json, Some(rest)) if rest.len() > 1 && rest.ends_with('}') => {
            format!("{{\"slot\":\"{slot}\",{rest}")
        }
        (LogFormat::Json, _) => serde_json::json!({ "slot": slot.to_string(), "message": line }).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_who_said_them() {
        let slot: Slot = "wiki-1".parse().expect("a slot");
        assert_eq!(prefixed(&slot, LogFormat::Text, "hello"), "wiki-1 | hello");
        for line in ["{\"message\":\"hello\"}", "hello"] {
            let line = prefixed(&slot, LogFormat::Json, line);
            let value: serde_json::Value = serde_json::from_str(&line).expect("JSON");
            assert_eq!((value["slot"].as_str(), value["message"].as_str()), (Some("wiki-1"), Some("hello")));
        }
    }

    #[tokio::test]
    async fn the_last_line_is_kept_and_long_ones_are_cut() {
        let last = LastLine::default();
        let slot: Slot = "wiki-1".parse().expect("a slot");
        let text = format!("first\n{}\n\nthe end", "x".repeat(LINE_MAX + 10));
        pass_on(text.as_bytes(), slot.clone(), LogFormat::Text, last.clone()).await;
        assert_eq!(last.get(), "the end");
        let long = "y".repeat(LINE_MAX + 10);
        pass_on(long.as_bytes(), slot, LogFormat::Text, last.clone()).await;
        assert_eq!(last.get(), "y".repeat(10));
    }
}
