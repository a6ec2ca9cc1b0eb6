//! Elements of a dump one after another, each piece bounded, with the place in the file for whoever must say where it broke.

use std::io::{self, BufRead, ErrorKind, Read};

use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Error, XmlVersion};

use super::Broken;

/// Bytes between one tag and the next. A text is the longest of what a dump has.
const PIECE_BYTES_MAX: usize = crate::texts::TEXT_BYTES_MAX + (1 << 20);

/// What comes next. Text between elements that is nobody's is passed over.
pub(super) enum Step {
    Open(Element),
    /// The element that was opened last and not closed yet ends.
    Close,
}

/// An element that begins. One without content is closed by the next step all the same.
pub(super) struct Element {
    pub(super) name: String,
    pub(super) attributes: Vec<(String, String)>,
    /// Written as `<x />`.
    pub(super) empty: bool,
}

impl Element {
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str())
    }

    /// The wiki hides its content.
    pub(super) fn hidden(&self) -> bool {
        self.attribute("deleted").is_some()
    }
}

pub(super) struct Xml<R> {
    reader: quick_xml::Reader<Bounded<R>>,
    buffer: Vec<u8>,
    /// The element just opened was written without content: its end is still to be told.
    close: bool,
}

impl<R: BufRead> Xml<R> {
    pub(super) fn new(input: R) -> Self {
        let reader = quick_xml::Reader::from_reader(Bounded { input, left: PIECE_BYTES_MAX, ended: false });
        Self { reader, buffer: Vec::new(), close: false }
    }

    pub(super) fn wrong(&self, why: impl Into<String>) -> Broken {
        Broken::Wrong { at: self.reader.buffer_position(), why: why.into() }
    }

    /// The next beginning or end of an element.
    pub(super) fn step(&mut self) -> Result<Step, Broken> {
        if std::mem::take(&mut self.close) {
            return Ok(Step::Close);
        }
        loop {
            let (start, empty) = match self.event()? {
                Event::Start(start) => (element(&start, false), false),
                Event::Empty(start) => (element(&start, true), true),
                Event::End(_) => return Ok(Step::Close),
                _ => continue,
            };
            self.close = empty;
            return start.map(Step::Open).map_err(|error| self.wrong(error.to_string()));
        }
    }

    /// The text of the element just opened, up to its end. What is nested in it is passed over.
    pub(super) fn text(&mut self, bytes_max: usize) -> Result<String, Broken> {
        if std::mem::take(&mut self.close) {
            return Ok(String::new());
        }
        let mut text = String::new();
        loop {
            let (mut nested, mut unknown) = (false, None);
            match self.event()? {
                Event::Text(part) => text.push_str(&part),
                Event::CData(part) => text.push_str(&part),
                Event::GeneralRef(reference) => match character(&reference) {
                    Some(letter) => text.push(letter),
                    None => unknown = Some(reference.to_string()),
                },
                Event::Start(_) => nested = true,
                Event::End(_) => return Ok(text),
                _ => {}
            }
            if nested {
                self.skip()?;
            }
            if let Some(name) = unknown {
                return Err(self.wrong(format!("\"&{name};\" is not a character")));
            }
            if text.len() > bytes_max {
                return Err(self.wrong(format!("a text is longer than {bytes_max} bytes")));
            }
        }
    }

    /// Passes over the rest of the element just opened, up to its end.
    pub(super) fn skip(&mut self) -> Result<(), Broken> {
        if std::mem::take(&mut self.close) {
            return Ok(());
        }
        let mut depth = 1_u64;
        while depth > 0 {
            match self.event()? {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }

    fn event(&mut self) -> Result<Event<'_>, Broken> {
        self.buffer.clear();
        self.reader.get_mut().left = PIECE_BYTES_MAX;
        let at = self.reader.buffer_position();
        match self.reader.read_event_into(&mut self.buffer) {
            Ok(Event::Eof) => Err(Broken::Cut { at }),
            Ok(event) => Ok(event),
            // What lacks its end because the file does is cut off, not wrong.
            Err(_) if self.reader.get_ref().ended => Err(Broken::Cut { at }),
            Err(Error::Io(error)) if error.kind() == ErrorKind::UnexpectedEof => Err(Broken::Cut { at }),
            Err(error) => Err(Broken::Wrong { at: self.reader.error_position(), why: error.to_string() }),
        }
    }
}

fn element(start: &BytesStart<'_>, empty: bool) -> Result<Element, Error> {
    let mut attributes = Vec::new();
    for attribute in start.attributes().with_checks(false) {
        let attribute = attribute?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0)?;
        attributes.push((attribute.key.into_inner().to_owned(), value.into_owned()));
    }
    Ok(Element { name: start.name().into_inner().to_owned(), attributes, empty })
}

fn character(reference: &BytesRef<'_>) -> Option<char> {
    match &**reference {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => reference.resolve_char_ref().ok().flatten(),
    }
}

/// Gives out no more than `left` bytes, so that a file without tags cannot fill the memory, and notes that the input ended.
struct Bounded<R> {
    input: R,
    left: usize,
    ended: bool,
}

impl<R: BufRead> BufRead for Bounded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 {
            return Err(io::Error::other(format!("more than {PIECE_BYTES_MAX} bytes without a tag")));
        }
        let bytes = self.input.fill_buf()?;
        self.ended |= bytes.is_empty();
        Ok(&bytes[..bytes.len().min(self.left)])
    }

    fn consume(&mut self, amount: usize) {
        self.left = self.left.saturating_sub(amount);
        self.input.consume(amount);
    }
}

impl<R: BufRead> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let count = bytes.len().min(into.len());
        into[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }
}
