//! A mail server that takes one mail, or says what it has against it.

use std::net::SocketAddr;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

#[derive(Debug, Default)]
pub(crate) struct Letter {
    pub(crate) from: String,
    pub(crate) to: String,
    /// Headers and body.
    pub(crate) mail: String,
}

pub(crate) struct MailServer {
    pub(crate) address: SocketAddr,
    talk: JoinHandle<Letter>,
}

impl MailServer {
    /// `to_recipient` is what it says to each recipient.
    pub(crate) async fn start(to_recipient: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let talk = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.expect("a connection");
            talk(BufStream::new(stream), to_recipient).await
        });
        Self { address, talk }
    }

    /// What it was given when the conversation was over.
    pub(crate) async fn got(self) -> Letter {
        self.talk.await.expect("it did not panic")
    }
}

async fn say(stream: &mut BufStream<TcpStream>, line: &str) {
    stream.write_all(format!("{line}\r\n").as_bytes()).await.expect("the client listens");
    stream.flush().await.expect("the client listens");
}

async fn talk(mut stream: BufStream<TcpStream>, to_recipient: &str) -> Letter {
    let mut letter = Letter::default();
    let inside = |line: &str| line.split(['<', '>']).nth(1).unwrap_or_default().to_owned();
    say(&mut stream, "220 mail.example.org ESMTP").await;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return letter;
        }
        match line.to_ascii_uppercase().split([' ', '\r']).next().unwrap_or_default() {
            "EHLO" => say(&mut stream, "250-mail.example.org\r\n250 8BITMIME").await,
            "MAIL" => {
                letter.from = inside(&line);
                say(&mut stream, "250 OK").await;
            }
            "RCPT" => {
                letter.to = inside(&line);
                say(&mut stream, to_recipient).await;
            }
            "DATA" => {
                say(&mut stream, "354 go ahead").await;
                while !letter.mail.ends_with("\r\n.\r\n") {
                    stream.read_line(&mut letter.mail).await.expect("the mail");
                }
                say(&mut stream, "250 taken").await;
            }
            "QUIT" => {
                say(&mut stream, "221 bye").await;
                return letter;
            }
            _ => say(&mut stream, "250 OK").await,
        }
    }
}
