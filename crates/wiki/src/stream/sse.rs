//! Server-sent events out of the bytes as they come.

/// Bytes of one event.
const EVENT_BYTES_MAX: usize = 1 << 20;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) data: String,
    /// Where to go on after a break, if the stream has said so far.
    pub(super) id: Option<String>,
}

#[derive(Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: String,
    id: Option<String>,
    /// The last byte was a carriage return: a line feed after it ends no line of its own.
    returned: bool,
    /// The event is longer than allowed: the rest of it is passed over.
    too_long: bool,
}

impl Events {
    /// Takes bytes in and gives out the events that are whole now.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for byte in bytes {
            let returned = std::mem::replace(&mut self.returned, *byte == b'\r');
            match byte {
                b'\n' if returned => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ if self.line.len() < EVENT_BYTES_MAX => self.line.push(*byte),
                _ => self.too_long = true,
            }
        }
        events
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            let too_long = std::mem::take(&mut self.too_long);
            return (!data.is_empty() && !too_long).then(|| Event { data, id: self.id.clone() });
        }
        let line = String::from_utf8_lossy(&line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" if self.data.len() + value.len() < EVENT_BYTES_MAX => {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            "data" => self.too_long = true,
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STREAM: &str =
        ":ok\n\nevent: message\nid: [1]\ndata: {\"a\":\ndata: 1}\n\ndata:two\r\n\r\nid: [3]\rdata: é\r\rdata: half";

    fn expected() -> Vec<Event> {
        let event = |data: &str, id: &str| Event { data: data.into(), id: Some(id.into()) };
        vec![event("{\"a\":\n1}", "[1]"), event("two", "[1]"), event("é", "[3]")]
    }

    #[test]
    fn an_event_beyond_all_measure_is_passed_over() {
        let mut events = Events::default();
        let long = format!("data: {}\n\ndata: next\n\n", "x".repeat(EVENT_BYTES_MAX));
        let taken = events.take(long.as_bytes());
        assert_eq!(taken, [Event { data: "next".into(), id: None }]);
    }

    proptest! {
        #[test]
        fn events_come_whole_however_the_bytes_do(chunk in 1_usize..40) {
            let mut events = Events::default();
            let taken: Vec<Event> = STREAM.as_bytes().chunks(chunk).flat_map(|bytes| events.take(bytes)).collect();
            prop_assert_eq!(taken, expected());
        }
    }
}
