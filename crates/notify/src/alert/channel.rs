//! Where the notices of an alert go.

use lettre::message::Mailbox;
use malla_queue::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::Target;
use crate::signing::Secret;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Channel {
    Email {
        to: String,
    },
    Webhook {
        url: String,
        /// Standard Webhooks: `whsec_…` (HMAC-SHA256) or `whsk_…` (ed25519).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secret: Option<String>,
    },
}

impl Channel {
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Email { to } if to.len() <= 320 && to.parse::<Mailbox>().is_ok() => Ok(()),
            Self::Email { to } => {
                Err(Error::Invalid(format!("\"{to}\" is not an e-mail address: give one such as ana@example.org")))
            }
            Self::Webhook { url, secret } => {
                let target = Target(url.clone());
                target.check()?;
                if target.is_mqtt() {
                    return Err(Error::Invalid("an alert goes by e-mail or to an http or https address".into()));
                }
                secret.as_deref().map_or(Ok(()), |secret| Secret::parse_signing(secret).map(drop))
            }
        }
    }

    /// The address, by which a channel is told from others.
    pub fn place(&self) -> String {
        match self {
            Self::Email { to } => to.clone(),
            Self::Webhook { url, .. } => url.clone(),
        }
    }

    /// Without what only the sender needs.
    pub(super) fn without_secret(&self) -> Self {
        match self {
            Self::Webhook { url, .. } => Self::Webhook { url: url.clone(), secret: None },
            email => email.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked() {
        check(r#"{"kind":"email","to":"ana@example.org"}"#, None);
        check(r#"{"kind":"email","to":"Ana <ana@example.org>"}"#, None);
        check(r#"{"kind":"email","to":"ana"}"#, Some("is not an e-mail address"));
        check(r#"{"kind":"email","to":"a@b\r\nBcc: x@y"}"#, Some("is not an e-mail address"));
        check(r#"{"kind":"webhook","url":"https://example.org/hook"}"#, None);
        check(r#"{"kind":"webhook","url":"mqtt://broker/topic"}"#, Some("http or https"));
        check(r#"{"kind":"webhook","url":"example"}"#, Some("is not a target"));
        check(r#"{"kind":"webhook","url":"https://example.org","secret":"hunter2"}"#, Some("whsec_"));
    }

    fn check(text: &str, says: Option<&str>) {
        let channel: Channel = serde_json::from_str(text).expect(text);
        match says {
            None => channel.check().expect(text),
            Some(says) => {
                let error = channel.check().expect_err(text).to_string();
                assert!(error.contains(says), "{text}: {error}");
            }
        }
    }
}
