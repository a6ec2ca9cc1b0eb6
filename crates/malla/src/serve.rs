//! The listening side: a socket, HTTPS if there is a certificate, limits on connections, an orderly end.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, anyhow};
use axum::Router;
use axum_server::Handle;
use axum_server::accept::DefaultAcceptor;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use hyper_util::rt::TokioTimer;
use tokio::net::TcpSocket;
use tokio::task::JoinHandle;

use crate::config::{Config, Tls};
use crate::fetching::hostname;
use crate::guard::Guard;

/// A peer over HTTP/2 that does not answer within this time is gone.
const PING: Duration = Duration::from_secs(20);
const STREAMS_MAX: u32 = 256;
/// Connections that wait to be taken up.
const BACKLOG: u32 = 4_096;
/// How often the certificate is read again, so that a renewed one needs no restart.
const CERTIFICATE_AGAIN: Duration = Duration::from_secs(600);

/// A socket that is ours, not yet answered.
pub(crate) struct Bound {
    listener: TcpListener,
    pub address: SocketAddr,
}

/// Takes the address for this process alone.
pub(crate) fn bind(wanted: SocketAddr) -> Result<Bound> {
    bound(TcpListener::bind(wanted)).map_err(|error| cannot_listen(wanted, &error))
}

/// Takes the address beside the other processes of a medic, all of which answer there.
pub(crate) fn bind_shared(config: &Config) -> Result<Bound> {
    let wanted = config.listen_address()?;
    let listener = reserve(wanted).and_then(|socket| socket.listen(BACKLOG)).and_then(|socket| socket.into_std());
    bound(listener).map_err(|error| cannot_listen(wanted, &error))
}

/// An address that is kept for the processes of a medic. It does not answer itself.
pub(crate) struct Reserved {
    _socket: TcpSocket,
    pub address: SocketAddr,
}

/// Port 0 becomes one that is free.
pub(crate) fn reserve_address(config: &Config) -> Result<Reserved> {
    let wanted = config.listen_address()?;
    let reserved = reserve(wanted).and_then(|socket| Ok(Reserved { address: socket.local_addr()?, _socket: socket }));
    reserved.map_err(|error| cannot_listen(wanted, &error))
}

/// A socket at an address that others of this user's who say so, too, may share.
fn reserve(wanted: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if wanted.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(true)?;
    socket.bind(wanted)?;
    Ok(socket)
}

fn bound(listener: io::Result<TcpListener>) -> io::Result<Bound> {
    let listener = listener?;
    listener.set_nonblocking(true)?;
    Ok(Bound { address: listener.local_addr()?, listener })
}

fn cannot_listen(wanted: SocketAddr, error: &io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            anyhow!("{wanted} is in use by another program: stop that one, or choose another address with --listen")
        }
        io::ErrorKind::AddrNotAvailable => {
            anyhow!("{wanted} is not an address of this machine: choose another one with --listen")
        }
        io::ErrorKind::PermissionDenied => {
            anyhow!("this user may not listen on {wanted}: choose a port above 1023 with --listen")
        }
        _ => anyhow!("cannot listen on {wanted}: {error}"),
    }
}

/// The address for people and for commands on this machine.
pub(crate) fn url(config: &Config, address: SocketAddr) -> String {
    let https = config.tls().is_some();
    let name = config.listen.rsplit_once(':').map_or("", |(name, _)| name);
    let host = match address.ip() {
        ip if ip.is_unspecified() && https => "localhost".to_owned(),
        ip if ip.is_unspecified() && ip.is_ipv4() => "127.0.0.1".to_owned(),
        ip if ip.is_unspecified() => "[::1]".to_owned(),
        _ => name.to_owned(),
    };
    format!("{}://{host}:{}", if https { "https" } else { "http" }, address.port())
}

/// The address for other machines: one that listens everywhere is found under its machine's name.
pub(crate) fn url_for_others(config: &Config, address: SocketAddr) -> String {
    let scheme = if config.tls().is_some() { "https" } else { "http" };
    match address.ip().is_unspecified() {
        true => format!("{scheme}://{}:{}", hostname(), address.port()),
        false => url(config, address),
    }
}

/// What a client on this machine trusts, if HTTPS is served.
pub(crate) fn ca(config: &Config) -> Result<Option<PathBuf>> {
    let Some(tls) = config.tls() else { return Ok(None) };
    let found = tls.ca.canonicalize().map_err(|error| anyhow!("cannot find {}: {error}", tls.ca.display()))?;
    Ok(Some(found))
}

/// A server at work.
pub(crate) struct Server {
    handle: Handle<SocketAddr>,
    task: JoinHandle<io::Result<()>>,
}

pub(crate) async fn start(bound: Bound, config: &Config, router: Router) -> Result<Server> {
    let handle = Handle::new();
    let head_timeout = Duration::from_secs(config.http.head_timeout_s);
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    let mut server = axum_server::from_tcp(bound.listener)?.handle(handle.clone());
    let http = server.http_builder();
    http.http1().timer(TokioTimer::new()).header_read_timeout(head_timeout);
    http.http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING)
        .max_concurrent_streams(STREAMS_MAX);
    let connections_max = config.http.connections_max;
    let task = match config.tls() {
        None => {
            let guard = Guard::new(DefaultAcceptor::new(), connections_max, head_timeout);
            tokio::spawn(server.acceptor(guard).serve(service))
        }
        Some(tls) => {
            let acceptor = RustlsAcceptor::new(certificate(&tls).await?).handshake_timeout(head_timeout);
            tokio::spawn(server.acceptor(Guard::new(acceptor, connections_max, head_timeout)).serve(service))
        }
    };
    Ok(Server { handle, task })
}

impl Server {
    /// Ends only if something is wrong.
    pub(crate) async fn failed(&mut self) -> anyhow::Error {
        match (&mut self.task).await {
            Ok(Ok(())) => anyhow!("the HTTP server ended by itself"),
            Ok(Err(error)) => anyhow!("the HTTP server failed: {error}"),
            Err(error) => anyhow!("the HTTP server failed: {error}"),
        }
    }

    /// No new connections; open requests may end within `grace`.
    pub(crate) async fn stop(self, grace: Duration) {
        self.handle.graceful_shutdown(Some(grace));
        let _ = self.task.await;
    }
}

async fn certificate(tls: &Tls<'_>) -> Result<RustlsConfig> {
    let (cert, key) = (tls.cert.to_owned(), tls.key.to_owned());
    let config = RustlsConfig::from_pem_file(&cert, &key).await.map_err(|error| {
        anyhow!("cannot serve HTTPS with tls.cert {} and tls.key {}: {error}", cert.display(), key.display())
    })?;
    let renewed = config.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(CERTIFICATE_AGAIN).await;
            if let Err(error) = renewed.reload_from_pem_file(&cert, &key).await {
                tracing::warn!(%error, "cannot read the certificate again: going on with the one in use");
            }
        }
    });
    Ok(config)
}
