//! Reads server-sent events out of a stream of bytes.

/// A line longer than this is no event of ours.
const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) data: String,
}

/// Collects bytes until an event is whole.
#[derive(Default)]
pub(crate) struct Events {
    buffer: Vec<u8>,
    name: String,
    data: Option<String>,
}

impl Events {
    /// Takes bytes in; false if they cannot be an event stream.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> bool {
        self.buffer.extend_from_slice(bytes);
        self.buffer.len() <= LINE_BYTES_MAX
    }

    /// The next whole event.
    pub(crate) fn next(&mut self) -> Option<Event> {
        while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.buffer.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            if let Some(event) = self.line(line.trim_end_matches(['\r', '\n'])) {
                return Some(event);
            }
        }
        None
    }

    fn line(&mut self, line: &str) -> Option<Event> {
        if line.is_empty() {
            let name = std::mem::take(&mut self.name);
            return self.data.take().map(|data| Event { name, data });
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match (field, &mut self.data) {
            ("event", _) => self.name = value.to_owned(),
            ("data", Some(data)) => {
                data.push('\n');
                data.push_str(value);
            }
            ("data", data) => *data = Some(value.to_owned()),
            _ => {} // a comment (a heartbeat), an id, a field of tomorrow
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_however_the_bytes_arrive() {
        let text = ": heartbeat\n\nevent: task\nid: 1\ndata: {\"a\":\ndata: 1}\n\nevent: other\r\ndata:x\r\n\r\n";
        for size in [1, 7, text.len()] {
            let mut events = Events::default();
            let mut found = Vec::new();
            for bytes in text.as_bytes().chunks(size) {
                assert!(events.push(bytes));
                found.extend(std::iter::from_fn(|| events.next()));
            }
            let expected = [
                Event { name: "task".into(), data: "{\"a\":\n1}".into() },
                Event { name: "other".into(), data: "x".into() },
            ];
            assert_eq!(found, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut events = Events::default();
        assert!(events.push(&vec![b'x'; LINE_BYTES_MAX]));
        assert!(!events.push(b"x"));
    }
}
