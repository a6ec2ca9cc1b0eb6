//! Standard Webhooks: who sent this, and is it what was sent? Secrets, signatures and their verification.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use hmac::{Hmac, KeyInit as _, Mac as _};
use malla_queue::{Error, Result, UnixMs};
use sha2::Sha256;

/// People cut the padding off when they copy a secret.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// An event signed longer ago, or later from now, is refused: it may be an old one sent again.
pub const TOLERANCE: Duration = Duration::from_secs(5 * 60);

const HMAC_KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;
/// Signatures in one header that are looked at.
const SIGNATURES_MAX: usize = 16;

/// `whsec_…` (HMAC-SHA256), `whsk_…` (an ed25519 private key) or `whpk_…` (its public key, which only verifies).
#[derive(Clone)]
pub struct Secret(Key);

#[derive(Clone)]
enum Key {
    Hmac(Vec<u8>),
    Private(Box<SigningKey>),
    Public(VerifyingKey),
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secret {
    /// A new HMAC secret, as text.
    pub fn generate() -> Result<String> {
        let mut key = [0u8; 24];
        getrandom::fill(&mut key).map_err(|error| Error::Internal(format!("no randomness: {error}")))?;
        Ok(format!("whsec_{}", BASE64.encode(key)))
    }

    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |why: &str| Error::Invalid(format!("a secret is not usable: {why}"));
        let (kind, key) = text
            .split_once('_')
            .ok_or_else(|| wrong("it begins with whsec_ (HMAC), whsk_ or whpk_ (ed25519), then the key in base64"))?;
        let bytes = BASE64.decode(key).map_err(|_| wrong("what follows the underscore is not base64"))?;
        match kind {
            "whsec" if HMAC_KEY_BYTES.contains(&bytes.len()) => Ok(Self(Key::Hmac(bytes))),
            "whsec" => Err(wrong("the key of a whsec_ has from 24 to 64 bytes before base64")),
            "whsk" => private_key(&bytes)
                .map(|key| Self(Key::Private(Box::new(key))))
                .ok_or_else(|| wrong("a whsk_ holds the 32 bytes of an ed25519 seed, or 64 with its public key")),
            "whpk" => public_key(&bytes)
                .map(|key| Self(Key::Public(key)))
                .ok_or_else(|| wrong("a whpk_ holds the 32 bytes of an ed25519 public key")),
            _ => Err(wrong("it begins with whsec_ (HMAC), whsk_ or whpk_ (ed25519)")),
        }
    }

    /// A secret that must be able to sign.
    pub fn parse_signing(text: &str) -> Result<Self> {
        match Self::parse(text)? {
            Self(Key::Public(_)) => Err(Error::Invalid(
                "a whpk_ key only verifies: give a whsec_ secret or the whsk_ private key to sign with".into(),
            )),
            secret => Ok(secret),
        }
    }

    /// The signature of one attempt, as it stands in the header. A public key signs nothing: `None`.
    pub fn sign(&self, id: &str, timestamp_s: i64, body: &[u8]) -> Option<String> {
        match &self.0 {
            Key::Hmac(key) => {
                let tag = keyed(key, id, timestamp_s, body).finalize().into_bytes();
                Some(format!("v1,{}", BASE64.encode(tag)))
            }
            Key::Private(key) => {
                let signature = key.sign(&signed_content(id, timestamp_s, body));
                Some(format!("v1a,{}", BASE64.encode(signature.to_bytes())))
            }
            Key::Public(_) => None,
        }
    }

    /// Whether `signature` (`v1,…` or `v1a,…`) is of this secret; in constant time where the secret matters.
    fn made(&self, signature: &str, id: &str, timestamp_s: i64, body: &[u8]) -> bool {
        let Some((version, text)) = signature.split_once(',') else { return false };
        let Ok(bytes) = BASE64.decode(text) else { return false };
        match (&self.0, version) {
            (Key::Hmac(key), "v1") => keyed(key, id, timestamp_s, body).verify_slice(&bytes).is_ok(),
            (Key::Private(key), "v1a") => verified(&key.verifying_key(), &bytes, id, timestamp_s, body),
            (Key::Public(key), "v1a") => verified(key, &bytes, id, timestamp_s, body),
            _ => false,
        }
    }
}

/// The headers of a signed event, as they came.
#[derive(Debug, Clone, Copy)]
pub struct Signed<'a> {
    pub id: &'a str,
    pub timestamp: &'a str,
    /// One or more signatures, with spaces between.
    pub signature: &'a str,
}

/// Whether one of these secrets signed this body just now. The error is a sentence for the sender.
pub fn verify(secrets: &[Secret], signed: Signed<'_>, body: &[u8], now: UnixMs) -> Result<(), &'static str> {
    let timestamp_s: i64 =
        signed.timestamp.parse().map_err(|_| "webhook-timestamp is not a number of seconds since 1970")?;
    let apart_ms = now.0.abs_diff(timestamp_s.saturating_mul(1_000));
    if u128::from(apart_ms) > TOLERANCE.as_millis() {
        return Err(
            "webhook-timestamp is more than 5 minutes away from now: sign each attempt anew, and set the clock",
        );
    }
    let mut signatures = signed.signature.split_ascii_whitespace().take(SIGNATURES_MAX);
    let known = signatures.any(|one| secrets.iter().any(|secret| secret.made(one, signed.id, timestamp_s, body)));
    if known { Ok(()) } else { Err("webhook-signature is not of a secret that this endpoint knows") }
}

fn private_key(bytes: &[u8]) -> Option<SigningKey> {
    match bytes.len() {
        32 => Some(SigningKey::from_bytes(bytes.try_into().ok()?)),
        64 => SigningKey::from_keypair_bytes(bytes.try_into().ok()?).ok(),
        _ => None,
    }
}

fn public_key(bytes: &[u8]) -> Option<VerifyingKey> {
    VerifyingKey::from_bytes(bytes.try_into().ok()?).ok()
}

fn keyed(key: &[u8], id: &str, timestamp_s: i64, body: &[u8]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(format!("{id}.{timestamp_s}.").as_bytes());
    mac.update(body);
    mac
}

fn verified(key: &VerifyingKey, signature: &[u8], id: &str, timestamp_s: i64, body: &[u8]) -> bool {
    Signature::from_slice(signature)
        .is_ok_and(|signature| key.verify_strict(&signed_content(id, timestamp_s, body), &signature).is_ok())
}

fn signed_content(id: &str, timestamp_s: i64, body: &[u8]) -> Vec<u8> {
    let mut content = format!("{id}.{timestamp_s}.").into_bytes();
    content.extend_from_slice(body);
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
    const ID: &str = "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk";
    const AT_S: i64 = 1_649_367_553;
    const BODY: &[u8] = br#"{"email":"test@example.com","username":"test_user"}"#;
    const SIGNATURE: &str = "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=";

    fn secret(text: &str) -> Secret {
        Secret::parse(text).expect("a secret")
    }

    fn verify_at(secrets: &[Secret], signature: &str, body: &[u8], now_s: i64) -> Result<(), &'static str> {
        let timestamp = AT_S.to_string();
        verify(secrets, Signed { id: ID, timestamp: &timestamp, signature }, body, UnixMs(now_s * 1_000))
    }

    #[test]
    fn the_known_answer_comes_out() {
        assert_eq!(secret(SECRET).sign(ID, AT_S, BODY).as_deref(), Some(SIGNATURE));
        verify_at(&[secret(SECRET)], SIGNATURE, BODY, AT_S).expect("its own signature");
    }

    #[test]
    fn any_of_several_signatures_and_secrets_will_do() {
        let other = secret(&Secret::generate().expect("random"));
        let both = format!("{} {SIGNATURE}", other.sign(ID, AT_S, BODY).expect("it signs"));
        verify_at(&[secret(SECRET)], &both, BODY, AT_S).expect("one of two signatures");
        verify_at(&[other.clone(), secret(SECRET)], SIGNATURE, BODY, AT_S).expect("one of two secrets");
        verify_at(&[other], SIGNATURE, BODY, AT_S).expect_err("another secret");
    }

    #[test]
    fn what_was_changed_or_is_old_is_refused() {
        let known = [secret(SECRET)];
        verify_at(&known, SIGNATURE, b"{}", AT_S).expect_err("another body");
        verify_at(&known, SIGNATURE, BODY, AT_S + 299).expect("within the tolerance");
        verify_at(&known, SIGNATURE, BODY, AT_S + 301).expect_err("old");
        verify_at(&known, SIGNATURE, BODY, AT_S - 301).expect_err("of the future");
        for signature in ["", "v1", "v1,", "v1,???", "v2,AAAA", &SIGNATURE.replace("v1,", "v1a,")] {
            verify_at(&known, signature, BODY, AT_S).expect_err(signature);
        }
        let headers = Signed { id: ID, timestamp: "soon", signature: SIGNATURE };
        verify(&known, headers, BODY, UnixMs(AT_S * 1_000)).expect_err("no number");
    }

    #[test]
    fn a_private_key_signs_what_its_public_key_verifies() {
        let seed = [7u8; 32];
        let public = SigningKey::from_bytes(&seed).verifying_key().to_bytes();
        let pair = [seed, public].concat();
        let (short, long) =
            (secret(&format!("whsk_{}", BASE64.encode(seed))), secret(&format!("whsk_{}", BASE64.encode(&pair))));
        let verifier = secret(&format!("whpk_{}", BASE64.encode(public)));
        let signature = short.sign(ID, AT_S, BODY).expect("it signs");
        assert!(signature.starts_with("v1a,"));
        assert_eq!(long.sign(ID, AT_S, BODY), Some(signature.clone()));
        verify_at(std::slice::from_ref(&verifier), &signature, BODY, AT_S).expect("of its private key");
        verify_at(std::slice::from_ref(&verifier), &signature, b"{}", AT_S).expect_err("another body");
        assert_eq!(verifier.sign(ID, AT_S, BODY), None);
    }

    #[test]
    fn bad_secrets_are_refused_with_a_sentence() {
        for (text, says) in [
            ("", "begins with whsec_"),
            ("hunter2", "begins with whsec_"),
            ("whsec_!!!", "not base64"),
            ("whsec_AAAA", "from 24 to 64 bytes"),
            ("whsk_AAAA", "32 bytes"),
            ("whpk_AAAA", "32 bytes"),
            ("other_AAAA", "begins with whsec_"),
        ] {
            let error = Secret::parse(text).expect_err(text).to_string();
            assert!(error.contains(says), "{text}: {error}");
            assert!(text.len() < 8 || !error.contains(text), "the error gives the secret away: {error}");
        }
        let public = format!("whpk_{}", BASE64.encode(SigningKey::from_bytes(&[7; 32]).verifying_key().to_bytes()));
        assert!(Secret::parse_signing(&public).expect_err("cannot sign").to_string().contains("only verifies"));
        assert!(Secret::parse_signing(SECRET.trim_end_matches('=')).is_ok());
        assert_eq!(format!("{:?}", secret(SECRET)), "Secret(…)");
    }
}
