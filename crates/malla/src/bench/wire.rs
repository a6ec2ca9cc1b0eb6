//! HTTP/1.1 with as little work as possible, so that a benchmark measures the server and not itself: a caller that
//! sends over one connection and a receiver that answers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

const HEAD_BYTES_MAX: usize = 64 * 1024;

/// One connection to the server.
pub(super) struct Caller {
    stream: TcpStream,
    host: String,
    /// A line of the head that says who calls.
    who: String,
    read: Vec<u8>,
    write: Vec<u8>,
}

impl Caller {
    pub(super) async fn connect(host: &str, token: &str) -> Result<Self> {
        Self::saying(host, format!("authorization: Bearer {token}")).await
    }

    /// As a browser that has signed in.
    pub(super) async fn with_session(host: &str, cookie: &str) -> Result<Self> {
        Self::saying(host, format!("cookie: {cookie}")).await
    }

    async fn saying(host: &str, who: String) -> Result<Self> {
        let stream = TcpStream::connect(host).await.with_context(|| format!("cannot reach {host}"))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, host: host.into(), who, read: Vec::new(), write: Vec::new() })
    }

    /// Sends and waits for the answer: its status and body.
    pub(super) async fn send(&mut self, method: &str, path: &str, body: &[u8]) -> Result<(u16, Vec<u8>)> {
        let (status, _, body) = self.exchange(method, path, "application/json", body).await?;
        Ok((status, body))
    }

    /// Sends a form: the status and the head of the answer.
    pub(super) async fn post_form(&mut self, path: &str, form: &str) -> Result<(u16, String)> {
        let (status, head, _) =
            self.exchange("POST", path, "application/x-www-form-urlencoded", form.as_bytes()).await?;
        Ok((status, head))
    }

    async fn exchange(&mut self, method: &str, path: &str, kind: &str, body: &[u8]) -> Result<(u16, String, Vec<u8>)> {
        self.write.clear();
        let Self { host, who, .. } = self;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\n{who}\r\n\
             content-type: {kind}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.write.extend_from_slice(head.as_bytes());
        self.write.extend_from_slice(body);
        self.stream.write_all(&self.write).await?;
        let (head, body) = read_whole(&mut self.stream, &mut self.read).await?.context("the server hung up")?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).context("no status")?;
        Ok((status, head, body))
    }

    /// The same, for something that must succeed.
    pub(super) async fn ask(&mut self, method: &str, path: &str, body: &serde_json::Value) -> Result<()> {
        let (status, answer) = self.send(method, path, body.to_string().as_bytes()).await?;
        ensure!(
            (200..300).contains(&status),
            "{method} {path} was answered with {status}: {}",
            String::from_utf8_lossy(&answer)
        );
        Ok(())
    }
}

/// The next head and body; `None` at the end of the connection. What was read beyond them stays in `buffer`.
async fn read_whole(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<Option<(String, Vec<u8>)>> {
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        ensure!(buffer.len() < HEAD_BYTES_MAX, "a head without end");
        if stream.read_buf(buffer).await? == 0 {
            return if buffer.is_empty() { Ok(None) } else { bail!("broken off in a head") };
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    let length = header(&head, "content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    while buffer.len() < end + length {
        ensure!(stream.read_buf(buffer).await? > 0, "broken off in a body");
    }
    let body = buffer[end..end + length].to_vec();
    buffer.drain(..end + length);
    Ok(Some((head, body)))
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(have, _)| have.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// Gets the body of a delivery.
pub(super) type Take = Arc<dyn Fn(&[u8]) + Send + Sync>;
/// The same, and says how long the answer takes.
pub(super) type Ponder = Arc<dyn Fn(&[u8]) -> Duration + Send + Sync>;

/// What a receiver does with a delivery.
#[derive(Clone)]
pub(super) enum Manners {
    /// Takes it and hands its body on.
    Takes(Take),
    /// The same, and answers later.
    Ponders(Ponder),
    /// Answers 500.
    Fails,
    /// Never answers.
    Hangs,
}

pub(super) struct Receiver {
    pub(super) address: SocketAddr,
    listening: AbortHandle,
}

impl Receiver {
    pub(super) async fn start(manners: Manners) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let listening = tokio::spawn(async move {
            // They end with the receiver.
            let mut served = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                served.spawn(serve(stream, manners.clone()));
                while served.try_join_next().is_some() {}
            }
        });
        Ok(Self { address, listening: listening.abort_handle() })
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn serve(mut stream: TcpStream, manners: Manners) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    while let Some((_, body)) = read_whole(&mut stream, &mut buffer).await? {
        let answer: &[u8] = match &manners {
            Manners::Takes(take) => {
                take(&body);
                b"HTTP/1.1 204 No Content\r\n\r\n"
            }
            Manners::Ponders(ponder) => {
                tokio::time::sleep(ponder(&body)).await;
                b"HTTP/1.1 204 No Content\r\n\r\n"
            }
            Manners::Fails => b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n",
            Manners::Hangs => {
                tokio::time::sleep(Duration::from_secs(3_600)).await;
                return Ok(());
            }
        };
        stream.write_all(answer).await?;
    }
    Ok(())
}
