//! An event as it is stored: headers as JSON, a larger body compressed. This is done before a store is asked, so that
//! nobody waits for it.

use std::borrow::Cow;

use malla_notify::{Accept, EndpointOptions, NewEvent, SubscriptionId};
use malla_queue::{Error, Once, Result};

/// Smaller bodies are stored as they are.
const PACK_FROM: usize = 2 * 1024;
/// Larger bodies are compressed where nobody waits for the thread.
const PACK_APART_FROM: usize = 64 * 1024;
/// Fast, and most of what can be saved.
const LEVEL: i32 = 3;

/// How a body lies in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    Raw = 0,
    Zstd = 1,
}

/// An event on its way into the store.
pub(crate) struct Incoming {
    pub(crate) endpoint: i64,
    pub(crate) version: i64,
    pub(crate) method: String,
    pub(crate) query: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) topic: Option<String>,
    pub(crate) headers: Option<String>,
    pub(crate) packing: Packing,
    /// Of the body as it came.
    pub(crate) bytes: i64,
    pub(crate) body: Vec<u8>,
    pub(crate) to: Vec<SubscriptionId>,
    pub(crate) once: Option<Once>,
}

impl Incoming {
    pub(crate) async fn pack(accept: Accept) -> Result<Self> {
        let Accept { endpoint, version, event, to, once } = accept;
        let NewEvent { method, query, content_type, headers, topic, body } = event;
        let max = EndpointOptions::MAX_BODY_MAX;
        if body.len() as u64 > max {
            return Err(Error::Invalid(format!("a body of {} bytes is too large: at most {max}", body.len())));
        }
        let bytes = i64::try_from(body.len()).unwrap_or(i64::MAX);
        let (packing, body) = if body.len() > PACK_APART_FROM {
            tokio::task::spawn_blocking(move || pack(body)).await.map_err(|error| Error::Internal(error.to_string()))?
        } else {
            pack(body)
        };
        let headers = (!headers.is_empty()).then(|| serde_json::to_string(&headers).expect("texts are JSON"));
        Ok(Self {
            endpoint: endpoint.0,
            version,
            method,
            query,
            content_type,
            topic,
            headers,
            packing,
            bytes,
            body,
            to,
            once,
        })
    }
}

fn pack(body: Vec<u8>) -> (Packing, Vec<u8>) {
    if body.len() <= PACK_FROM {
        return (Packing::Raw, body);
    }
    match zstd::bulk::compress(&body, LEVEL) {
        Ok(packed) if packed.len() < body.len() => (Packing::Zstd, packed),
        _ => (Packing::Raw, body),
    }
}

/// The body as it came.
pub(crate) fn unpack(packed: i64, body: Vec<u8>) -> Result<Vec<u8>> {
    if packed == Packing::Raw as i64 {
        return Ok(body);
    }
    let max = usize::try_from(EndpointOptions::MAX_BODY_MAX).unwrap_or(usize::MAX);
    zstd::bulk::decompress(&body, max)
        .map_err(|error| Error::Internal(format!("a stored body cannot be read: {error}")))
}

/// The beginning of a body as it came, `max` bytes at most; of the stored body the beginning is enough.
pub(crate) fn unpack_beginning(packed: i64, body: &[u8], max: usize) -> Result<Cow<'_, [u8]>> {
    use std::io::Read as _;
    if packed == Packing::Raw as i64 {
        return Ok(Cow::Borrowed(&body[..body.len().min(max)]));
    }
    let unreadable = |error: std::io::Error| Error::Internal(format!("a stored body cannot be read: {error}"));
    let mut beginning = Vec::new();
    let decoder = zstd::stream::read::Decoder::with_buffer(body).map_err(unreadable)?;
    match decoder.take(max as u64).read_to_end(&mut beginning) {
        // Only its beginning was fetched.
        Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => Err(unreadable(error)),
        _ => Ok(Cow::Owned(beginning)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_read_back_byte_for_byte() {
        let mut noise = vec![0; 5_000];
        getrandom::fill(&mut noise).unwrap();
        check(b"".to_vec(), Packing::Raw);
        check(vec![b'a'; PACK_FROM], Packing::Raw);
        check(vec![b'a'; PACK_FROM + 1], Packing::Zstd);
        check(vec![b'a'; 1 << 20], Packing::Zstd);
        check(noise, Packing::Raw);
    }

    fn check(body: Vec<u8>, expected: Packing) {
        let (packing, packed) = pack(body.clone());
        assert_eq!(packing, expected, "{} bytes", body.len());
        assert_eq!(unpack_beginning(packing as i64, &packed, 100).unwrap(), &body[..body.len().min(100)]);
        assert_eq!(unpack(packing as i64, packed).unwrap(), body);
    }
}
