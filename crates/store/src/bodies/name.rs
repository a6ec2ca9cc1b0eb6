//! Names of objects: whose they are, when they were made, and what is in them.
//!
//! `HOUSE/WINDOW/TIME-CHANCE-HASH`, all in hexadecimal. The house is the store's own number, so that several can share a
//! bucket. The time is that of the upload in milliseconds; a window is about 17 minutes of it.

use malla_queue::{Result, UnixMs};

use crate::nonces::nonces;

/// Milliseconds of a window, as a power of two.
const WINDOW_BITS: u32 = 20;

/// A new name, never given before.
pub(super) fn name(house: &str, at: UnixMs, bytes: &[u8]) -> Result<String> {
    let chance = nonces(1)?[0];
    let hash = blake3::hash(bytes).to_hex();
    Ok(format!("{house}/{}/{:012x}-{chance:016x}-{hash}", folder(window(at)), at.0))
}

/// Whether these bytes are what was put under this name.
pub(super) fn holds(name: &str, bytes: &[u8]) -> bool {
    name.rsplit_once('-').is_some_and(|(_, hash)| hash == blake3::hash(bytes).to_hex().as_str())
}

/// When it was put there; `None` if it is not one of ours.
pub(super) fn made_at(name: &str) -> Option<UnixMs> {
    let (_, last) = name.rsplit_once('/')?;
    let mut parts = last.split('-');
    let (time, chance, hash) = (parts.next()?, parts.next()?, parts.next()?);
    let ours = (time.len(), chance.len(), hash.len()) == (12, 16, 64) && parts.next().is_none();
    ours.then(|| i64::from_str_radix(time, 16).ok().map(UnixMs)).flatten()
}

/// The window that a moment is in.
pub(super) fn window(at: UnixMs) -> i64 {
    at.0 >> WINDOW_BITS
}

/// What stands for a window in a name.
pub(super) fn folder(window: i64) -> String {
    format!("{window:07x}")
}

/// The window of a folder; `None` if it is not one of ours.
pub(super) fn window_of(folder: &str) -> Option<i64> {
    (folder.len() == 7).then(|| i64::from_str_radix(folder, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_time_its_window_and_its_bytes() {
        let at = UnixMs(1_800_000_000_123);
        let one = name("00ff", at, b"hello").expect("randomness");
        let another = name("00ff", at, b"hello").expect("randomness");
        assert_ne!(one, another, "the same bytes at the same moment have two names");
        assert_eq!(made_at(&one), Some(at));
        let (house, rest) = one.split_once('/').expect("a house");
        assert_eq!((house, window_of(rest.split('/').next().expect("a folder"))), ("00ff", Some(window(at))));
        assert!(holds(&one, b"hello") && !holds(&one, b"hellO"));
    }

    #[test]
    fn what_somebody_else_put_there_is_not_ours() {
        for foreign in ["readme.txt", "00ff/1a2b3c4/notes-2026.txt", "00ff/1a2b3c4/000000000001-1-2", ""] {
            assert_eq!(made_at(foreign), None, "{foreign}");
        }
        assert_eq!((window_of("1a2b3c"), window_of("zzzzzzz")), (None, None));
    }
}
