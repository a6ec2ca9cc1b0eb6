//! Pages as a WARC 1.1 file: one gzip member a record, so that each can be found and read by itself.

use std::fmt;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use malla_queue::UnixMs;
use sha2::{Digest, Sha256};

use crate::{NO_ANSWER, NOT_ASKED, PageUrl, TroubleKind};

/// Names a record, in this file and in all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordId([u8; 16]);

impl RecordId {
    pub fn from_random(mut bytes: [u8; 16]) -> Self {
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Self(bytes)
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<urn:uuid:")?;
        for (n, byte) in self.0.iter().enumerate() {
            let dash = if matches!(n, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        f.write_str(">")
    }
}

/// A page as it was fetched.
#[derive(Debug, Clone, Copy)]
pub struct Archived<'p> {
    pub url: &'p PageUrl,
    pub fetched_at: UnixMs,
    pub status: u16,
    pub headers: &'p [(String, String)],
    /// With its content encoding undone.
    pub body: &'p [u8],
    pub trouble: Option<TroubleKind>,
}

/// The record that opens a file and says who made it.
pub fn warcinfo(id: RecordId, at: UnixMs, software: &str, user_agent: &str) -> Vec<u8> {
    let fields = [
        ("software", software),
        ("format", "WARC File Format 1.1"),
        ("conformsTo", "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"),
        ("robots", "obey"),
        ("http-header-user-agent", user_agent),
    ];
    let mut block = Vec::new();
    fields.iter().for_each(|(name, value)| line(&mut block, name, value));
    let mut head = Head::new("warcinfo", id, at);
    head.field("WARC-Block-Digest", &digest(&block));
    head.field("Content-Type", "application/warc-fields");
    head.into_record(&block)
}

/// The record of a page, in the file that `info` opens. `None` if the site gave no answer: there is nothing to replay.
pub fn response(id: RecordId, info: RecordId, page: &Archived<'_>) -> Option<Vec<u8>> {
    if matches!(page.status, NOT_ASKED | NO_ANSWER) {
        return None;
    }
    let block = http_block(page);
    let mut head = Head::new("response", id, page.fetched_at);
    head.field("WARC-Target-URI", page.url.as_str());
    head.field("WARC-Warcinfo-ID", &info.to_string());
    if let Some(why) = page.trouble.and_then(truncated) {
        head.field("WARC-Truncated", why);
    }
    head.field("WARC-Payload-Digest", &digest(page.body));
    head.field("WARC-Block-Digest", &digest(&block));
    head.field("Content-Type", "application/http; msgtype=response");
    Some(head.into_record(&block))
}

/// Why a body is not all of it, in the words of the format.
fn truncated(trouble: TroubleKind) -> Option<&'static str> {
    match trouble {
        TroubleKind::TooLarge => Some("length"),
        TroubleKind::TimedOut => Some("time"),
        TroubleKind::BrokeOff => Some("disconnect"),
        _ => None,
    }
}

/// The answer as it would have come without any encoding. What the site said about the encoding is kept under another
/// name, as other archives do.
fn http_block(page: &Archived<'_>) -> Vec<u8> {
    let mut block = format!("HTTP/1.1 {} {}\r\n", page.status, reason(page.status)).into_bytes();
    let length = page.body.len().to_string();
    for (name, value) in page.headers {
        match name.to_ascii_lowercase().as_str() {
            "content-length" if *value == length => {}
            "content-encoding" | "content-length" | "transfer-encoding" => {
                line(&mut block, &format!("X-Archive-Orig-{name}"), value);
            }
            _ => line(&mut block, name, value),
        }
    }
    line(&mut block, "Content-Length", &length);
    block.extend_from_slice(b"\r\n");
    block.extend_from_slice(page.body);
    block
}

/// The words that people are used to see behind a status. They mean nothing to programs.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        410 => "Gone",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "",
    }
}

/// The head of a record.
struct Head(Vec<u8>);

impl Head {
    fn new(kind: &str, id: RecordId, at: UnixMs) -> Self {
        let mut head = Self(b"WARC/1.1\r\n".to_vec());
        head.field("WARC-Type", kind);
        head.field("WARC-Record-ID", &id.to_string());
        head.field("WARC-Date", &date(at));
        head
    }

    fn field(&mut self, name: &str, value: &str) {
        line(&mut self.0, name, value);
    }

    fn into_record(mut self, block: &[u8]) -> Vec<u8> {
        self.field("Content-Length", &block.len().to_string());
        let mut member = GzEncoder::new(Vec::with_capacity(self.0.len() + block.len() / 3), Compression::default());
        [&self.0, b"\r\n".as_slice(), block, b"\r\n\r\n"]
            .into_iter()
            .try_for_each(|part| member.write_all(part))
            .and_then(|()| member.finish())
            .expect("writing to memory does not fail")
    }
}

/// One header. A break inside it would make two of it.
fn line(into: &mut Vec<u8>, name: &str, value: &str) {
    let safe = |letter: char| if letter.is_control() { ' ' } else { letter };
    let text: String = name.chars().map(safe).chain(": ".chars()).chain(value.chars().map(safe)).collect();
    into.extend_from_slice(text.as_bytes());
    into.extend_from_slice(b"\r\n");
}

fn digest(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

fn date(at: UnixMs) -> String {
    let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::bufread::GzDecoder;

    use super::*;

    const AT: UnixMs = UnixMs(1_700_000_000_123);

    fn id(byte: u8) -> RecordId {
        RecordId::from_random([byte; 16])
    }

    /// The records of a file, each from a gzip member of its own.
    fn unpack(mut file: &[u8]) -> Vec<String> {
        let mut records = Vec::new();
        while !file.is_empty() {
            let mut member = GzDecoder::new(file);
            let mut record = String::new();
            member.read_to_string(&mut record).expect("a gzip member of text");
            file = member.into_inner();
            records.push(record);
        }
        records
    }

    fn page(status: u16, headers: &[(&str, &str)], body: &str, trouble: Option<TroubleKind>) -> Option<Vec<u8>> {
        let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let url = PageUrl::parse("https://example.org/ü?a=b").expect("a URL");
        let page = Archived { url: &url, fetched_at: AT, status, headers: &headers, body: body.as_bytes(), trouble };
        response(id(2), id(1), &page)
    }

    /// The HTTP part of the record.
    fn block(status: u16, headers: &[(&str, &str)], body: &str) -> String {
        let record = unpack(&page(status, headers, body, None).expect("a record")).remove(0);
        let (_, block) = record.split_once("\r\n\r\n").expect("a head and a block");
        block.strip_suffix("\r\n\r\n").expect("the end of a record").to_owned()
    }

    #[test]
    fn a_file_is_its_records_in_a_row() {
        let mut file = warcinfo(id(1), AT, "Malla/1.0", "MallaBot/1.0");
        file.extend(page(200, &[("Content-Type", "text/plain")], "hello", None).expect("a record"));
        let records = unpack(&file);
        let (info, block) = records[0].split_once("\r\n\r\n").expect("a head and a block");
        assert!(info.starts_with("WARC/1.1\r\nWARC-Type: warcinfo\r\n"), "{info}");
        assert!(info.contains("\r\nWARC-Record-ID: <urn:uuid:01010101-0101-4101-8101-010101010101>\r\n"), "{info}");
        assert!(block.starts_with("software: Malla/1.0\r\nformat: WARC File Format 1.1\r\n"), "{block}");
        let expected = "WARC/1.1\r\nWARC-Type: response\r\n\
            WARC-Record-ID: <urn:uuid:02020202-0202-4202-8202-020202020202>\r\n\
            WARC-Date: 2023-11-14T22:13:20.123Z\r\n\
            WARC-Target-URI: https://example.org/%C3%BC?a=b\r\n\
            WARC-Warcinfo-ID: <urn:uuid:01010101-0101-4101-8101-010101010101>\r\n\
            WARC-Payload-Digest: sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\r\n\
            WARC-Block-Digest: sha256:BLOCK\r\n\
            Content-Type: application/http; msgtype=response\r\nContent-Length: 69\r\n\r\n\
            HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello\r\n\r\n";
        let block = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello";
        assert_eq!(records[1], expected.replace("sha256:BLOCK", &digest(block.as_bytes())));
        assert_eq!(records.len(), 2);
    }

    #[test]
    fn headers_fit_the_body_that_is_there() {
        for (headers, expected) in [
            (vec![("content-length", "5")], "Content-Length: 5\r\n"),
            (vec![("content-length", "3")], "X-Archive-Orig-content-length: 3\r\nContent-Length: 5\r\n"),
            (
                vec![("Content-Encoding", "gzip"), ("X", "1"), ("Transfer-Encoding", "chunked")],
                "X-Archive-Orig-Content-Encoding: gzip\r\nX: 1\r\nX-Archive-Orig-Transfer-Encoding: chunked\r\n\
                 Content-Length: 5\r\n",
            ),
            (vec![("X", "a\r\n\r\nb\0")], "X: a    b \r\nContent-Length: 5\r\n"),
        ] {
            assert_eq!(block(200, &headers, "hello"), format!("HTTP/1.1 200 OK\r\n{expected}\r\nhello"), "{headers:?}");
        }
        assert_eq!(block(299, &[], ""), "HTTP/1.1 299 \r\nContent-Length: 0\r\n\r\n");
    }

    #[test]
    fn a_body_that_is_not_whole_says_why() {
        for (trouble, why) in [
            (TroubleKind::TooLarge, Some("length")),
            (TroubleKind::TimedOut, Some("time")),
            (TroubleKind::BrokeOff, Some("disconnect")),
            (TroubleKind::TooManyRedirects, None),
        ] {
            let record = unpack(&page(200, &[], "hel", Some(trouble)).expect("a record")).remove(0);
            let said = record.lines().find_map(|line| line.strip_prefix("WARC-Truncated: "));
            assert_eq!(said, why, "{trouble:?}");
        }
    }

    #[test]
    fn a_page_without_an_answer_is_no_record() {
        assert_eq!(page(NO_ANSWER, &[], "", Some(TroubleKind::NoConnection)), None);
        assert_eq!(page(NOT_ASKED, &[], "", Some(TroubleKind::Refused)), None);
    }
}
