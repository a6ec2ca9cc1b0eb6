//! Notices by e-mail, through the house's SMTP server.

use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

use lettre::message::Mailbox;
use lettre::message::header::{ContentType, Date, HeaderName, HeaderValue};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};
use malla_queue::{Error, Result, TaskId, UnixMs};
use malla_reach::explain;
use percent_encoding::percent_decode_str;
use url::Url;

use super::Notice;

/// For each word of the conversation, and for all of it.
const STEP_MAX: Duration = Duration::from_secs(20);
const WHOLE_MAX: Duration = Duration::from_secs(60);

/// The house's SMTP server. It does not print its password.
#[derive(Clone)]
pub struct Mail {
    host: String,
    port: u16,
    security: Security,
    login: Option<(String, String)>,
    from: Mailbox,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Security {
    None,
    /// Plain at first, then TLS or nothing.
    StartTls,
    Tls,
}

impl fmt::Debug for Mail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mail({}:{} as {})", self.host, self.port, self.from)
    }
}

impl Mail {
    /// `smtp://[user:password@]host[:587]` (STARTTLS), `smtps://host[:465]` or `smtp://host[:25]?tls=none`, and who
    /// sends. The error does not repeat the address: there may be a password in it.
    pub fn new(url: &str, from: &str) -> Result<Self> {
        let wrong = |why: &str| Error::Invalid(format!("it is not an SMTP server: {why}"));
        let url = Url::parse(url).map_err(|_| wrong("give an address such as smtp://user:password@host:587"))?;
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| wrong("it names no host"))?;
        let (security, port) = match (url.scheme(), url.query()) {
            ("smtps", None) => (Security::Tls, 465),
            ("smtp", None) => (Security::StartTls, 587),
            ("smtp", Some("tls=none")) => (Security::None, 25),
            ("smtp" | "smtps", Some(_)) => return Err(wrong("after the ? only tls=none may stand, and only for smtp")),
            _ => return Err(wrong("it begins with smtp:// or smtps://")),
        };
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let login = (!url.username().is_empty())
            .then(|| (decoded(url.username()), url.password().map(decoded).unwrap_or_default()));
        Ok(Self {
            host: host.trim_matches(['[', ']']).to_owned(),
            port: url.port().unwrap_or(port),
            security,
            login,
            from: Self::check_from(from)?,
        })
    }

    /// The sender as it stands in a mail.
    pub fn check_from(from: &str) -> Result<Mailbox> {
        from.parse()
            .map_err(|_| Error::Invalid("it is not a sender: give one such as Malla <malla@example.org>".into()))
    }

    pub(super) async fn send(&self, to: &str, notice: &Notice, task: TaskId) -> Result<(), String> {
        let mail = self.write(to, notice, task)?;
        let server = format!("{}:{}", self.host, self.port);
        match tokio::time::timeout(WHOLE_MAX, self.transport()?.send(mail)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => {
                let why = explain::tls(&error, &self.host).unwrap_or_else(|| causes(&error));
                Err(format!("the mail server {server} did not take it: {why}"))
            }
            Err(_) => Err(format!("the mail server {server} did not take it within {} s", WHOLE_MAX.as_secs())),
        }
    }

    fn transport(&self) -> Result<AsyncSmtpTransport<Tokio1Executor>, String> {
        let parameters = || {
            TlsParameters::new(self.host.clone())
                .map_err(|error| format!("no TLS to the mail server is possible: {}", causes(&error)))
        };
        let tls = match self.security {
            Security::None => Tls::None,
            Security::StartTls => Tls::Required(parameters()?),
            Security::Tls => Tls::Wrapper(parameters()?),
        };
        let builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&self.host)
            .port(self.port)
            .tls(tls)
            .timeout(Some(STEP_MAX));
        Ok(match &self.login {
            Some((user, password)) => builder.credentials(Credentials::new(user.clone(), password.clone())).build(),
            None => builder.build(),
        })
    }

    fn write(&self, to: &str, notice: &Notice, task: TaskId) -> Result<Message, String> {
        let to: Mailbox = to.parse().map_err(|error| format!("\"{to}\" is not an e-mail address: {error}"))?;
        let sent_at = UNIX_EPOCH + UnixMs(0).until(notice.at);
        let mut mail = Message::builder()
            .from(self.from.clone())
            .to(to)
            .subject(notice.headline())
            .header(Date::new(sent_at))
            // The same over all attempts: a mail that was taken after all does not come twice for a careful reader.
            .message_id(Some(format!("<alr_{task}@{}>", self.from.email.domain())))
            .header(ContentType::TEXT_PLAIN)
            .body(body(notice))
            .map_err(|error| format!("the mail cannot be written: {error}"))?;
        let automatic = HeaderName::new_from_ascii_str("Auto-Submitted");
        mail.headers_mut().insert_raw(HeaderValue::new(automatic, "auto-generated".into()));
        Ok(mail)
    }
}

fn body(notice: &Notice) -> String {
    let at = jiff::Timestamp::from_millisecond(notice.at.0).unwrap_or_default();
    let mut body = format!("{}\n\nAlert: {}\nTime: {at}\n", notice.text, notice.alert);
    for subject in &notice.subjects {
        body.push_str(&format!("Subscription: {subject}\n"));
    }
    body
}

/// An error with what is behind it.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const FROM: &str = "Malla <malla@example.org>";

    #[test]
    fn the_address_says_how_to_talk() {
        for (url, port, security, login) in [
            ("smtp://ana:p%40ss@mail.example.org", 587, Security::StartTls, Some(("ana", "p@ss"))),
            ("smtp://ana:secret@mail.example.org:2525", 2_525, Security::StartTls, Some(("ana", "secret"))),
            ("smtps://mail.example.org", 465, Security::Tls, None),
            ("smtp://localhost?tls=none", 25, Security::None, None),
            ("smtp://[::1]:1025?tls=none", 1_025, Security::None, None),
        ] {
            let mail = Mail::new(url, FROM).expect(url);
            let known = mail.login.as_ref().map(|(user, password)| (user.as_str(), password.as_str()));
            assert_eq!((mail.port, mail.security, known), (port, security, login), "{url}");
            assert!(!format!("{mail:?}").contains("secret"));
        }
    }

    #[test]
    fn what_is_no_server_is_refused_without_its_password() {
        for url in ["", "mail.example.org", "http://ana:secret@host", "smtp://", "smtp://ana:secret@host?tls=maybe"] {
            let error = Mail::new(url, FROM).expect_err(url).to_string();
            assert!(error.starts_with("it is not an SMTP server") && !error.contains("secret"), "{error}");
        }
        assert!(Mail::new("smtp://host", "nobody").expect_err("no sender").to_string().contains("not a sender"));
    }
}
