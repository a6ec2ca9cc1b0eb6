//! A small site of our own. Each of its pages holds a mark that only we can make, so a device that did not fetch it
//! cannot know what it says. It looks like any other page.

use sha2::{Digest as _, Sha256};

use crate::PageUrl;

/// Where it begins on an API node.
pub const PATH: &str = "/pages/";
const BLOCK: usize = 64;
/// Words that pages are made of: one for each four bits.
const WORDS: [&str; 16] = [
    "river", "stone", "winter", "garden", "letter", "market", "harbour", "silver", "morning", "bridge", "forest",
    "window", "copper", "island", "summer", "village",
];

/// HMAC-SHA256.
pub fn hmac(key: &[u8; 32], text: &[u8]) -> [u8; 32] {
    let pad = |with: u8| {
        let mut block = [with; BLOCK];
        block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        block
    };
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().into()
}

/// The mark of a page, in words; its path holds the nonce.
pub fn mark(key: &[u8; 32], path: &str) -> String {
    let digest = hmac(key, path.as_bytes());
    let word = |half: u8| WORDS[usize::from(half)];
    let words = digest.iter().take(12).flat_map(|byte| [word(byte >> 4), word(byte & 15)]);
    words.collect::<Vec<_>>().join(" ")
}

/// A page of the site under `base`, its address made of random bytes.
pub fn address(base: &str, nonce: [u8; 16]) -> Option<PageUrl> {
    let title = WORDS[usize::from(nonce[0] & 15)];
    let name: String = nonce.iter().map(|byte| format!("{byte:02x}")).collect();
    PageUrl::parse(&format!("{}{PATH}{title}-{name}.html", base.trim_end_matches('/'))).ok()
}

/// The page at this path of the site.
pub fn page(key: &[u8; 32], path: &str) -> String {
    let mark = mark(key, path);
    let title = mark.split(' ').next().unwrap_or_default();
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title></head>\
         <body><h1>{title}</h1><p>{mark}</p></body></html>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hmac_is_the_standards() {
        // RFC 4231, test case 2, has a key of four bytes; zeros behind it are what the standard fills it up with.
        let mut key = [0; 32];
        key[..4].copy_from_slice(b"Jefe");
        let hex: String =
            hmac(&key, b"what do ya want for nothing?").iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    #[test]
    fn a_page_holds_its_mark_and_no_other() {
        let (key, other) = ([1; 32], [2; 32]);
        let url = address("https://own.example/", [7; 16]).expect("a URL");
        assert!(url.as_str().starts_with("https://own.example/pages/silver-0707"));
        let path = url.as_url().path();
        assert!(page(&key, path).contains(&mark(&key, path)));
        assert!(!page(&key, path).contains(&mark(&other, path)));
        assert_ne!(mark(&key, path), mark(&key, "/pages/other.html"));
    }
}
