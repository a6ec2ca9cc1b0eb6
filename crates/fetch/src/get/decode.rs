//! Undoes the content encoding of a body, up to a limit.

use std::io::{self, Read};

use brotli_decompressor::Decompressor;
use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};
use hyper::HeaderMap;
use hyper::header::CONTENT_ENCODING;

/// More layers than this are nobody's honest encoding.
const LAYERS_MAX: usize = 4;
/// What RFC 9659 grants a zstd window on the web: 8 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
const BROTLI_BUFFER_BYTES: usize = 8_192;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// What has become of a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decoded {
    Whole,
    /// More than fits: the rest is left out.
    TooLarge,
    /// Not in the encoding it claims, or it stops before its end.
    Broken,
}

/// The encodings of an answer in the order in which they were applied. One that nobody knows is taken for none, as
/// browsers do: the bytes then stay as they are.
pub(super) fn encodings(headers: &HeaderMap) -> Vec<Encoding> {
    let names = headers.get_all(CONTENT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let known = names.flat_map(|value| value.split(',')).filter_map(|name| encoding(name.trim()));
    known.take(LAYERS_MAX).collect()
}

fn encoding(name: &str) -> Option<Encoding> {
    let known = [
        ("gzip", Encoding::Gzip),
        ("x-gzip", Encoding::Gzip),
        ("deflate", Encoding::Deflate),
        ("br", Encoding::Brotli),
        ("zstd", Encoding::Zstd),
    ];
    known.into_iter().find(|(known, _)| name.eq_ignore_ascii_case(known)).map(|(_, encoding)| encoding)
}

/// Undoes the encodings into `out`, which holds at most `max` bytes afterwards. If the body is broken, `out` holds what
/// came before the break.
pub(super) fn decode(encodings: &[Encoding], raw: &[u8], max: usize, out: &mut Vec<u8>) -> Decoded {
    let mut state = Decoded::Whole;
    let mut input = raw;
    let mut between = Vec::new();
    for (n, encoding) in encodings.iter().rev().enumerate() {
        if n > 0 {
            between = std::mem::take(out);
            input = &between;
        }
        match undo(*encoding, input, max, out) {
            Ok(()) if out.len() > max => {
                out.truncate(max);
                state = Decoded::TooLarge;
            }
            Ok(()) => {}
            // The end of what was cut at the limit is missing by our own doing.
            Err(_) if state == Decoded::TooLarge => {}
            Err(_) => {
                out.truncate(max);
                state = Decoded::Broken;
            }
        }
    }
    drop(between);
    state
}

/// Writes at most one byte more than `max`.
fn undo(encoding: Encoding, input: &[u8], max: usize, out: &mut Vec<u8>) -> io::Result<()> {
    out.clear();
    if input.is_empty() {
        return Ok(());
    }
    match encoding {
        Encoding::Gzip => gunzip(input, max, out),
        Encoding::Deflate if is_zlib(input) => fill(ZlibDecoder::new(input), max, out),
        Encoding::Deflate => fill(DeflateDecoder::new(input), max, out),
        Encoding::Brotli => fill(Decompressor::new(input, BROTLI_BUFFER_BYTES), max, out),
        Encoding::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(input)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            fill(decoder, max, out)
        }
    }
}

/// A file may have several members. What follows the last and is none is ignored, as `gzip` does.
fn gunzip(mut input: &[u8], max: usize, out: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let mut member = GzDecoder::new(input);
        fill(&mut member, max, out)?;
        input = member.into_inner();
        if out.len() > max || !input.starts_with(&[0x1f, 0x8b]) {
            return Ok(());
        }
    }
}

/// Many servers send deflate without the zlib frame that HTTP asks for.
fn is_zlib(input: &[u8]) -> bool {
    match input {
        [first, second, ..] => first & 0x0f == 8 && (u16::from(*first) << 8 | u16::from(*second)).is_multiple_of(31),
        _ => false,
    }
}

fn fill(decoder: impl Read, max: usize, out: &mut Vec<u8>) -> io::Result<()> {
    let room = (max + 1).saturating_sub(out.len());
    decoder.take(room as u64).read_to_end(out).map(drop)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    /// Of "malla malla malla".
    const BROTLI: &[u8] = &[0x1b, 0x10, 0x00, 0xf8, 0xa5, 0x41, 0xc2, 0xd8, 0xda, 0x04, 0x3c, 0x71, 0x80, 0x5b, 0x02];
    /// Of ten million times `x`.
    const BROTLI_BOMB: &[u8] = &[
        0xcb, 0xff, 0xff, 0x3f, 0xf8, 0x25, 0xf0, 0xe2, 0xb1, 0x40, 0x20, 0xf7, 0xfe, 0x2f, 0xff, 0x2c, 0x31, 0xf0,
        0x4b, 0x00, 0xc4, 0x61, 0x11, 0x80, 0x8e, 0x23, 0x06,
    ];
    const TEXT: &[u8] = b"malla malla malla";

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).and_then(|()| encoder.finish()).expect("in memory")
    }

    fn zlib(text: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).and_then(|()| encoder.finish()).expect("in memory")
    }

    fn deflate(text: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).and_then(|()| encoder.finish()).expect("in memory")
    }

    fn zst(text: &[u8]) -> Vec<u8> {
        zstd::bulk::compress(text, 1).expect("in memory")
    }

    #[track_caller]
    fn check(encodings: &[Encoding], raw: &[u8], expected: Decoded, text: &[u8]) {
        let mut out = b"from before".to_vec();
        assert_eq!(decode(encodings, raw, 100, &mut out), expected);
        assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(text));
    }

    #[test]
    fn each_encoding_is_undone() {
        check(&[Encoding::Gzip], &gzip(TEXT), Decoded::Whole, TEXT);
        check(&[Encoding::Deflate], &zlib(TEXT), Decoded::Whole, TEXT);
        check(&[Encoding::Deflate], &deflate(TEXT), Decoded::Whole, TEXT);
        check(&[Encoding::Zstd], &zst(TEXT), Decoded::Whole, TEXT);
        check(&[Encoding::Brotli], BROTLI, Decoded::Whole, TEXT);
        check(&[Encoding::Zstd, Encoding::Gzip], &gzip(&zst(TEXT)), Decoded::Whole, TEXT);
        for encoding in [Encoding::Gzip, Encoding::Deflate, Encoding::Zstd, Encoding::Brotli] {
            check(&[encoding], b"", Decoded::Whole, b"");
        }
    }

    #[test]
    fn members_are_joined_and_what_follows_is_ignored() {
        let twice = [TEXT, TEXT].concat();
        check(&[Encoding::Gzip], &[gzip(TEXT), gzip(TEXT)].concat(), Decoded::Whole, &twice);
        check(&[Encoding::Zstd], &[zst(TEXT), zst(TEXT)].concat(), Decoded::Whole, &twice);
        check(&[Encoding::Gzip], &[gzip(TEXT), vec![0; 9]].concat(), Decoded::Whole, TEXT);
    }

    #[test]
    fn a_bomb_stops_at_the_limit() {
        let (bomb, fits) = (vec![b'x'; 10_000_000], vec![b'x'; 100]);
        check(&[Encoding::Gzip], &gzip(&bomb), Decoded::TooLarge, &fits);
        check(&[Encoding::Deflate], &zlib(&bomb), Decoded::TooLarge, &fits);
        check(&[Encoding::Zstd], &zst(&bomb), Decoded::TooLarge, &fits);
        check(&[Encoding::Brotli], BROTLI_BOMB, Decoded::TooLarge, &fits);
        check(&[Encoding::Gzip], &gzip(&fits), Decoded::Whole, &fits);
        let many = gzip(b"x").repeat(1_000);
        check(&[Encoding::Gzip], &many, Decoded::TooLarge, &fits);
    }

    #[test]
    fn what_is_broken_is_said_to_be() {
        check(&[Encoding::Gzip], b"no gzip at all", Decoded::Broken, b"");
        check(&[Encoding::Deflate], &[0xff; 20], Decoded::Broken, b"");
        check(&[Encoding::Zstd], b"no zstd at all", Decoded::Broken, b"");
        check(&[Encoding::Brotli], &[0xff; 20], Decoded::Broken, b"");
        let (cut, mut out) = (gzip(&[b'x'; 50]), Vec::new());
        assert_eq!(decode(&[Encoding::Gzip], &cut[..cut.len() - 4], 100, &mut out), Decoded::Broken);
        assert_eq!(out, vec![b'x'; 50]);
    }

    #[test]
    fn encodings_are_read_from_all_lines() {
        let mut headers = HeaderMap::new();
        headers.append(CONTENT_ENCODING, "identity, GZIP".parse().expect("a value"));
        headers.append(CONTENT_ENCODING, "utf-8,br".parse().expect("a value"));
        assert_eq!(encodings(&headers), [Encoding::Gzip, Encoding::Brotli]);
    }
}
