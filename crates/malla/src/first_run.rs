//! The first start on a new store: a token for the commands on this machine and an admin for the console.
//!
//! The token comes first: whoever is killed before reading the password can set another one with it.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use malla_access::{Access, NewToken, NewUser, Passwords, Role, Secret};
use malla_queue::{Act, Error};

use crate::data_dir::DataDir;

const ADMIN: &str = "admin";
const TOKEN_PREFIX: &str = "malla_";
/// No letters that look alike: it is read from a screen and typed.
const ALPHABET: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";

/// Makes what is missing. Gives the admin's password if the admin was made just now.
pub(crate) async fn prepare(access: &Arc<dyn Access>, passwords: &Passwords, data: &DataDir) -> Result<Option<String>> {
    make_token(access, data).await.context("cannot make the admin's token")?;
    if !access.is_empty().await? {
        return Ok(None);
    }
    let password = readable_password()?;
    let admin = NewUser {
        name: ADMIN.into(),
        role: Role::Admin,
        password_hash: Some(passwords.hash(&password).await?),
        groups: Vec::new(),
    };
    match access.create_user(admin, Act::new("malla", "user.create", ADMIN)).await {
        Ok(_) => Ok(Some(password)),
        Err(Error::Taken(_)) => Ok(None), // another node on the same store was faster
        Err(error) => Err(error).context("cannot make the first admin"),
    }
}

/// Whatever moment a crash comes at, the next start ends with a file that the store knows, or says why not.
async fn make_token(access: &Arc<dyn Access>, data: &DataDir) -> Result<()> {
    if data.has_admin_token() {
        return Ok(());
    }
    let secret = match data.unsettled_admin_token()? {
        Some(text) => Secret::from_text(text),
        None => Secret::random(TOKEN_PREFIX)?,
    };
    if access.principal_of_token(secret.hash()).await?.is_none() {
        data.prepare_admin_token(secret.reveal())?;
        let token =
            NewToken { name: ADMIN.into(), hash: secret.hash(), role: Role::Admin, group: None, expires_at: None };
        match access.create_token(token, Act::new("malla", "token.create", ADMIN)).await {
            Ok(_) => {}
            Err(Error::Taken(_)) => {
                data.drop_prepared_admin_token();
                tracing::warn!(
                    "{} has no admin.token, and the store knows a token \"{ADMIN}\" already: commands here need --token. \
                     Delete that token and start again to get a new file.",
                    data.path().display()
                );
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
    }
    data.settle_admin_token()
}

/// Twenty letters and digits in four groups: a hundred random bits.
pub(crate) fn readable_password() -> Result<String> {
    let mut bytes = [0u8; 20];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
    let letters: Vec<u8> = bytes.iter().map(|byte| ALPHABET[usize::from(byte % 32)]).collect();
    let groups: Vec<String> = letters.chunks(5).map(|group| String::from_utf8_lossy(group).into_owned()).collect();
    Ok(groups.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_readable_strong_and_different() {
        let (one, two) = (readable_password().expect("random"), readable_password().expect("random"));
        assert_ne!(one, two);
        assert_eq!(one.len(), 23);
        assert!(one.bytes().all(|b| ALPHABET.contains(&b) || b == b'-'), "{one}");
        malla_access::check_password(&one).expect("fit to be one");
    }
}
