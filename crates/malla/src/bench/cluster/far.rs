//! The way between a node and a store that is far from it: everything arrives, in order, a little later.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::commands::Usage;

/// Bytes that travel together.
const PIECE: usize = 64 * 1024;
/// Pieces under way at once in one direction of a connection; then the sender has to wait.
const UNDER_WAY: usize = 256;

/// Where a PostgreSQL server is, in the parts that matter here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// `postgres://USER:PASSWORD@`
    before: String,
    host: String,
    port: u16,
    /// With the question mark, or empty.
    query: String,
}

impl Address {
    pub(super) fn parse(url: &str) -> Result<Self> {
        const WANTED: &str = "give one server over TCP, as in postgres://postgres@127.0.0.1:5432/postgres";
        let Some((scheme @ ("postgres" | "postgresql"), rest)) = url.split_once("://") else {
            return Err(Usage(format!("--store names no PostgreSQL: {WANTED}")).into());
        };
        let (place, query) = match rest.find('?') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let server = place.split_once('/').map_or(place, |(server, _)| server);
        let (user, host) = server.rfind('@').map_or(("", server), |at| server.split_at(at + 1));
        // The port of [::1]:5432 follows the bracket.
        let (host, port) = match host.rfind(':').filter(|at| !host[*at..].contains(']')) {
            Some(at) => (&host[..at], host[at + 1..].parse().ok()),
            None => (host, Some(5432)),
        };
        let Some(port) = port.filter(|_| !host.is_empty() && !host.contains([',', '%'])) else {
            return Err(Usage(format!("--store names no server or several: {WANTED}")).into());
        };
        Ok(Self { before: format!("{scheme}://{user}"), host: host.into(), port, query: query.into() })
    }

    /// A database there.
    pub(super) fn database(&self, name: &str) -> String {
        let Self { before, host, port, query } = self;
        format!("{before}{host}:{port}/{name}{query}")
    }

    /// The same through another address. The host's name stays: a certificate may be for it.
    fn through(&self, address: SocketAddr, name: &str) -> String {
        let Self { before, host, query, .. } = self;
        let and = if query.is_empty() { '?' } else { '&' };
        let host = host.trim_start_matches('[').trim_end_matches(']').replace(':', "%3A");
        format!("{before}{host}:{}/{name}{query}{and}hostaddr={}", address.port(), address.ip())
    }
}

/// One way to the server. It ends when this is dropped.
pub(super) struct Far {
    pub(super) url: String,
    listening: AbortHandle,
}

impl Far {
    /// To this database, with so much delay in each direction.
    pub(super) async fn start(server: &Address, database: &str, delay: Duration) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen on loopback")?;
        let url = server.through(listener.local_addr()?, database);
        let server = format!("{}:{}", server.host, server.port);
        let listening = tokio::spawn(async move {
            while let Ok((node, _)) = listener.accept().await {
                tokio::spawn(connect(node, server.clone(), delay));
            }
        });
        Ok(Self { url, listening: listening.abort_handle() })
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Whoever cannot be reached hangs up, as a server that is down does.
async fn connect(node: TcpStream, server: String, delay: Duration) {
    let Ok(server) = TcpStream::connect(&server).await else { return };
    let _ = (node.set_nodelay(true), server.set_nodelay(true));
    let ((from_node, to_node), (from_server, to_server)) = (node.into_split(), server.into_split());
    tokio::join!(carry(from_node, to_server, delay), carry(from_server, to_node, delay));
}

/// One direction: pieces are read as they come and written when they are due, so a delay costs time and no throughput.
async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, delay: Duration) {
    let (send, mut pieces) = mpsc::channel::<(Instant, Vec<u8>)>(UNDER_WAY);
    let reading = async move {
        loop {
            let mut piece = Vec::with_capacity(PIECE);
            match from.read_buf(&mut piece).await {
                Ok(read) if read > 0 => {}
                _ => return,
            }
            if send.send((Instant::now() + delay, piece)).await.is_err() {
                return;
            }
        }
    };
    let writing = async move {
        while let Some((due, piece)) = pieces.recv().await {
            tokio::time::sleep_until(due).await;
            if to.write_all(&piece).await.is_err() {
                return;
            }
        }
        let _ = to.shutdown().await;
    };
    tokio::join!(reading, writing);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str) -> Address {
        Address::parse(url).expect("an address")
    }

    #[test]
    fn addresses_lead_to_a_database_and_around() {
        let far: SocketAddr = "127.0.0.1:9".parse().expect("an address");
        let check = |url: &str, database: &str, through: &str| {
            assert_eq!(address(url).database("b"), database);
            assert_eq!(address(url).through(far, "b"), through);
        };
        check("postgres://u@db/x", "postgres://u@db:5432/b", "postgres://u@db:9/b?hostaddr=127.0.0.1");
        check(
            "postgresql://u:p%40q@db:77/x?sslmode=require",
            "postgresql://u:p%40q@db:77/b?sslmode=require",
            "postgresql://u:p%40q@db:9/b?sslmode=require&hostaddr=127.0.0.1",
        );
        check("postgres://u@[::1]:77", "postgres://u@[::1]:77/b", "postgres://u@%3A%3A1:9/b?hostaddr=127.0.0.1");
    }

    #[test]
    fn what_is_not_one_server_is_refused() {
        for url in ["sqlite:x", "postgres:///x", "postgres://u@a,b/x", "postgres://u@%2Ftmp/x", "postgres://u@a:b/x"] {
            let why = Address::parse(url).expect_err(url).to_string();
            assert!(why.contains("as in postgres://postgres@127.0.0.1:5432/postgres"), "{url}: {why}");
        }
    }

    #[tokio::test]
    async fn everything_arrives_in_order_and_later() {
        let server = TcpListener::bind("127.0.0.1:0").await.expect("a server");
        let at = address(&format!("postgres://u@{}/x", server.local_addr().expect("an address")));
        let delay = Duration::from_millis(30);
        let far = Far::start(&at, "b", delay).await.expect("a way");
        let port = far.url.split_once("127.0.0.1:").and_then(|(_, rest)| rest.split('/').next()).expect("a port");
        let mut node = TcpStream::connect(format!("127.0.0.1:{port}")).await.expect("connects");
        let (mut served, _) = server.accept().await.expect("arrives");
        let began = Instant::now();
        node.write_all(b"one").await.expect("sent");
        node.write_all(b"two").await.expect("sent");
        let mut read = [0; 6];
        served.read_exact(&mut read).await.expect("arrives");
        assert_eq!(&read, b"onetwo");
        assert!(began.elapsed() >= delay);
        drop(node);
        assert_eq!(served.read(&mut read).await.expect("ends"), 0);
    }
}
