//! Alerts by e-mail over TLS, in real conversations with a mail server of the tests.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::authority::Authority;
use crate::server::{DEADLINE, Place, Server, poll_until};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    StartTls,
    TlsFromTheStart,
}

/// What it heard, line by line.
#[derive(Debug, Default)]
struct Heard {
    plain: Vec<String>,
    encrypted: Vec<String>,
}

/// Takes mails over TLS and nothing without.
struct MailServer {
    address: SocketAddr,
    heard: Arc<Mutex<Heard>>,
}

impl MailServer {
    fn start(manner: Manner, config: Arc<ServerConfig>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let heard = Arc::new(Mutex::new(Heard::default()));
        let into = heard.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // Who hangs up in the middle has had enough.
                let _ = converse(stream, manner, config.clone(), &into);
            }
        });
        Self { address, heard }
    }
}

fn converse(mut stream: TcpStream, manner: Manner, config: Arc<ServerConfig>, heard: &Mutex<Heard>) -> Option<()> {
    stream.set_read_timeout(Some(DEADLINE)).ok()?;
    if manner == Manner::StartTls {
        say(&mut stream, "220 mail.example.org ESMTP")?;
        until_starttls(&mut stream, heard)?;
    }
    let mut stream = StreamOwned::new(ServerConnection::new(config).ok()?, stream);
    if manner == Manner::TlsFromTheStart {
        say(&mut stream, "220 mail.example.org ESMTP")?;
    }
    talk(&mut stream, heard)
}

fn until_starttls(stream: &mut TcpStream, heard: &Mutex<Heard>) -> Option<()> {
    loop {
        let line = line(stream)?;
        heard.lock().expect("no panic").plain.push(line.clone());
        match word(&line).as_str() {
            "EHLO" => say(stream, "250-mail.example.org\r\n250 STARTTLS")?,
            "STARTTLS" => return say(stream, "220 go ahead"),
            _ => say(stream, "530 must issue a STARTTLS command first")?,
        }
    }
}

fn talk(stream: &mut (impl Read + Write), heard: &Mutex<Heard>) -> Option<()> {
    let mut in_mail = false;
    loop {
        let line = line(stream)?;
        heard.lock().expect("no panic").encrypted.push(line.clone());
        match word(&line).as_str() {
            "." if in_mail => {
                in_mail = false;
                say(stream, "250 taken")?;
            }
            _ if in_mail => {}
            "EHLO" => say(stream, "250-mail.example.org\r\n250 AUTH PLAIN")?,
            // "ana" and "secret".
            "AUTH" if line.ends_with("AGFuYQBzZWNyZXQ=") => say(stream, "235 welcome")?,
            "AUTH" => say(stream, "535 who are you")?,
            "DATA" => {
                in_mail = true;
                say(stream, "354 go ahead")?;
            }
            "QUIT" => return say(stream, "221 bye"),
            _ => say(stream, "250 OK")?,
        }
    }
}

fn word(line: &str) -> String {
    line.split(' ').next().unwrap_or_default().to_ascii_uppercase()
}

fn say(stream: &mut impl Write, line: &str) -> Option<()> {
    stream.write_all(format!("{line}\r\n").as_bytes()).ok()?;
    stream.flush().ok()
}

fn line(stream: &mut impl Read) -> Option<String> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while !line.ends_with(b"\r\n") {
        stream.read_exact(&mut byte).ok()?;
        line.push(byte[0]);
    }
    Some(String::from_utf8_lossy(&line).trim_end().to_owned())
}

/// A server that trusts this authority alone, with a mail on its way to Ana; the mail's task.
fn mailing(place: &Place, authority: &Authority, smtp: &str) -> (Server, String) {
    let trusted = authority.write_to(place.root());
    let trusted = trusted.to_str().expect("a path in ASCII");
    let server = place.start_with(&[], &[("SSL_CERT_FILE", trusted), ("MALLA_SMTP_URL", smtp)]);
    server.ok(&["notify", "alerts", "create", "late", "--older-than-s", "60", "--email", "ana@example.org"]);
    let tested = server.json(&["notify", "alerts", "test", "late"]).remove(0);
    let task = tested["tasks"][0].as_str().expect("a task").to_owned();
    (server, task)
}

/// Waits for the first attempt that failed; what became of the task.
#[track_caller]
fn failed_once(server: &Server, task: &str) -> String {
    let history = poll_until(Instant::now() + DEADLINE, || {
        let shown = server.json(&["tasks", "show", task]).remove(0);
        Some(shown["history"].to_string()).filter(|history| history.contains("retried"))
    });
    history.expect("an attempt")
}

const WAYS: [(Manner, &str); 2] = [(Manner::StartTls, "smtp"), (Manner::TlsFromTheStart, "smtps")];

#[test]
fn a_mail_goes_out_encrypted_with_starttls_and_from_the_start() {
    let authority = Authority::named("ours");
    for (manner, scheme) in WAYS {
        let mail = MailServer::start(manner, authority.certify().server());
        let place = Place::new();
        let smtp = format!("{scheme}://ana:secret@localhost:{}", mail.address.port());
        let (server, task) = mailing(&place, &authority, &smtp);
        server.wait_for_state(&task, &["succeeded"]);
        let heard = mail.heard.lock().expect("no panic");
        for wanted in ["RCPT TO:<ana@example.org>", "Subject: [Malla] late: test"] {
            assert!(heard.encrypted.iter().any(|line| line.starts_with(wanted)), "{manner:?}, {wanted}: {heard:?}");
        }
        let harmless = |line: &String| ["EHLO", "STARTTLS"].contains(&word(line).as_str());
        assert!(heard.plain.iter().all(harmless), "{manner:?}: {heard:?}");
    }
}

#[test]
fn a_mail_server_that_cannot_be_trusted_gets_no_mail() {
    let (authority, stranger) = (Authority::named("ours"), Authority::named("theirs"));
    for (manner, scheme) in WAYS {
        let mail = MailServer::start(manner, stranger.certify().server());
        let place = Place::new();
        let smtp = format!("{scheme}://ana:secret@localhost:{}", mail.address.port());
        let (server, task) = mailing(&place, &authority, &smtp);
        let history = failed_once(&server, &task);
        let said = format!(
            "the mail server localhost:{} did not take it: the certificate of localhost is not valid: \
             no authority known here has signed it",
            mail.address.port()
        );
        assert!(history.contains(&said) && !history.contains("secret"), "{history}");
        assert!(mail.heard.lock().expect("no panic").encrypted.is_empty());
    }
}

#[test]
fn a_mail_server_that_refuses_the_login_is_quoted() {
    let authority = Authority::named("ours");
    let mail = MailServer::start(Manner::StartTls, authority.certify().server());
    let place = Place::new();
    let smtp = format!("smtp://ana:guess@localhost:{}", mail.address.port());
    let (server, task) = mailing(&place, &authority, &smtp);
    let history = failed_once(&server, &task);
    assert!(history.contains("who are you") && !history.contains("guess"), "{history}");
}
