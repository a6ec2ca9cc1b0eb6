//! Random secrets: bearer tokens, sessions. The secret is shown once; only its hash is kept.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use malla_queue::Error;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

/// 256 random bits as text. It does not print itself by accident.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// A new secret with a prefix that tells what it is (and lets leak scanners find it).
    pub fn random(prefix: &str) -> Result<Self, Error> {
        let mut bytes = [0u8; 32];
        getrandom::fill(&mut bytes).map_err(|error| Error::Internal(format!("no randomness: {error}")))?;
        Ok(Self(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(bytes))))
    }

    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is stored. A plain hash is enough for 256 random bits; passwords get argon2.
    pub fn hash(&self) -> SecretHash {
        SecretHash(Sha256::digest(self.0.as_bytes()).into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[derive(Debug, Clone, Copy)]
pub struct SecretHash(pub [u8; 32]);

impl PartialEq for SecretHash {
    /// In constant time.
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for SecretHash {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_are_long_and_do_not_print_themselves() {
        let (one, two) = (Secret::random("malla_").expect("random"), Secret::random("malla_").expect("random"));
        assert_ne!(one.hash(), two.hash());
        assert_eq!(one.hash(), Secret::from_text(one.reveal()).hash());
        assert_eq!(one.reveal().len(), "malla_".len() + 43);
        assert_eq!(format!("{one:?}"), "Secret(…)");
    }
}
