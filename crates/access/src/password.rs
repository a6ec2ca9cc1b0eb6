//! Passwords: argon2id, a bounded number of hashes at once so that logins cannot eat the machine.

use std::sync::Arc;

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher as _, PasswordVerifier as _};
use malla_queue::Error;
use tokio::sync::Semaphore;

pub const PASSWORD_CHARS_MIN: usize = 10;
pub const PASSWORD_BYTES_MAX: usize = 256;

/// Each hash takes 19 MiB while it is made.
const AT_ONCE: usize = 2;

pub fn check_password(password: &str) -> Result<(), Error> {
    if password.chars().count() < PASSWORD_CHARS_MIN {
        return Err(Error::Invalid(format!("a password has at least {PASSWORD_CHARS_MIN} characters")));
    }
    if password.len() > PASSWORD_BYTES_MAX {
        return Err(Error::Invalid(format!("a password has at most {PASSWORD_BYTES_MAX} bytes")));
    }
    Ok(())
}

/// Makes and checks password hashes off the async threads.
#[derive(Clone)]
pub struct Passwords {
    turn: Arc<Semaphore>,
    /// Checked when the user does not exist, so that the answer takes as long.
    decoy: Arc<str>,
}

impl Passwords {
    pub fn new() -> Result<Self, Error> {
        Ok(Self { turn: Arc::new(Semaphore::new(AT_ONCE)), decoy: hash("a user that does not exist")?.into() })
    }

    pub async fn hash(&self, password: &str) -> Result<String, Error> {
        check_password(password)?;
        let password = password.to_owned();
        self.off_thread(move || hash(&password)).await?
    }

    /// Whether `password` is the one that `stored` was made from; `None` (no such user) is always false.
    pub async fn verify(&self, password: &str, stored: Option<&str>) -> Result<bool, Error> {
        if password.len() > PASSWORD_BYTES_MAX {
            return Ok(false);
        }
        let known = stored.is_some();
        let (password, stored) = (password.to_owned(), stored.unwrap_or(&self.decoy).to_owned());
        let matches = self.off_thread(move || verify(&password, &stored)).await?;
        Ok(matches && known)
    }

    async fn off_thread<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        let _turn = self.turn.acquire().await.map_err(|error| Error::Internal(error.to_string()))?;
        tokio::task::spawn_blocking(job).await.map_err(|error| Error::Internal(error.to_string()))
    }
}

fn hash(password: &str) -> Result<String, Error> {
    Argon2::default()
        .hash_password(password.as_bytes())
        .map(|hash| hash.to_string())
        .map_err(|error| Error::Internal(format!("cannot hash: {error}")))
}

fn verify(password: &str, stored: &str) -> bool {
    PasswordHash::new(stored)
        .is_ok_and(|stored| Argon2::default().verify_password(password.as_bytes(), &stored).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_is_known_by_its_hash_alone() {
        let passwords = Passwords::new().expect("starts");
        let stored = passwords.hash("correct horse").await.expect("hashes");
        assert!(stored.starts_with("$argon2id$"));
        assert!(passwords.verify("correct horse", Some(&stored)).await.expect("checks"));
        assert!(!passwords.verify("wrong horse!", Some(&stored)).await.expect("checks"));
        assert!(!passwords.verify("a user that does not exist", None).await.expect("checks"));
    }

    #[test]
    fn short_and_endless_passwords_are_refused() {
        assert!(check_password("short").is_err());
        assert!(check_password("long enough").is_ok());
        assert!(check_password(&"x".repeat(257)).is_err());
    }
}
