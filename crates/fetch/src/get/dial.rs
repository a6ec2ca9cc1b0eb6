//! Makes a connection to a site: finds its addresses, tries them, and speaks TLS if the URL says so.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use malla_reach::Unreachable;
use rustix::io::Errno;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use super::Getter;
use super::explain;
use super::wire::{Gauge, Layer, Stream, Wire};
use crate::{Trouble, TroubleKind};

/// Addresses of a site that are tried.
const ADDRESSES_MAX: usize = 4;
/// How long an address may take before the next is tried beside it.
const HEAD_START: Duration = Duration::from_millis(300);
/// Errors that say something about this machine and nothing about the site: no more files (of the process, of the
/// system), no more ports, no buffers, no memory.
const OWN_ERRORS: [Errno; 5] = [Errno::MFILE, Errno::NFILE, Errno::ADDRNOTAVAIL, Errno::NOBUFS, Errno::NOMEM];

/// Why there is no connection.
pub(super) enum Undialled {
    Site(Trouble),
    /// This machine lacks something.
    Own(String),
}

pub(super) async fn dial(
    getter: &Getter,
    url: &Url,
    gauge: &Arc<Gauge>,
    started: Instant,
) -> Result<Stream, Undialled> {
    let within = getter.limits.connect.min(getter.limits.whole);
    let host = url.host_str().unwrap_or_default();
    match timeout_at(started + within, connect(getter, url, host, gauge)).await {
        Ok(dialled) => dialled,
        Err(_) => {
            let note = format!("no connection to {host} could be made within {} s", within.as_secs_f32());
            Err(Undialled::Site(explain::trouble(TroubleKind::TimedOut, note)))
        }
    }
}

async fn connect(getter: &Getter, url: &Url, host: &str, gauge: &Arc<Gauge>) -> Result<Stream, Undialled> {
    let addresses = resolve(getter, url).await.map_err(|why| Undialled::Site(explain::unreachable(&why)))?;
    let tcp = race(addresses).await.map_err(|error| whose_fault(&error, host))?;
    let tls = url.scheme() == "https";
    if tls {
        // The end of the handshake and the request leave one after the other. Without TLS nothing is ever waiting for
        // its acknowledgement when a request leaves.
        tcp.set_nodelay(true).map_err(|error| Undialled::Site(explain::connection(&error, host)))?;
    }
    let wire = Wire::new(tcp, getter.throttle.clone(), gauge.clone());
    let layer = if tls { handshake(getter, url, host, wire).await? } else { Layer::Plain(wire) };
    Ok(Stream::new(layer, gauge.clone()))
}

fn whose_fault(error: &io::Error, host: &str) -> Undialled {
    match Errno::from_io_error(error) {
        Some(code) if OWN_ERRORS.contains(&code) => Undialled::Own(error.to_string()),
        _ => Undialled::Site(explain::connection(error, host)),
    }
}

async fn handshake(getter: &Getter, url: &Url, host: &str, wire: Wire) -> Result<Layer, Undialled> {
    let no_name = || {
        let note = format!("{host} is not a name that a certificate can have");
        Undialled::Site(explain::trouble(TroubleKind::Tls, note))
    };
    let name = match url.host() {
        Some(Host::Domain(domain)) => ServerName::try_from(domain.to_owned()).map_err(|_| no_name())?,
        Some(Host::Ipv4(address)) => ServerName::from(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => ServerName::from(IpAddr::V6(address)),
        None => return Err(no_name()),
    };
    let connected = TlsConnector::from(getter.tls.clone()).connect(name, wire).await;
    let stream = connected.map_err(|error| Undialled::Site(explain::handshake(&error, host)))?;
    Ok(Layer::Tls(Box::new(stream)))
}

/// The addresses that may be reached; at least one.
async fn resolve(getter: &Getter, url: &Url) -> Result<Vec<SocketAddr>, Unreachable> {
    let port = url.port_or_known_default().unwrap_or(80);
    let address = match url.host() {
        Some(Host::Domain(domain)) => {
            let mut addresses = getter.guard.resolve(domain, port).await?;
            mix(&mut addresses);
            return Ok(addresses);
        }
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
        None => return Err(Unreachable::NoAddress { host: String::new(), why: "there is none in the URL".into() }),
    };
    getter.guard.check(address).map_err(|what| Unreachable::Address { address, what })?;
    Ok(vec![SocketAddr::new(address, port)])
}

/// Lets the two families of addresses take turns, in the resolver's order: often only one of them works.
fn mix(addresses: &mut Vec<SocketAddr>) {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (same, other): (Vec<_>, Vec<_>) = addresses.drain(..).partition(|address| address.is_ipv6() == first_is_v6);
    let (mut same, mut other) = (same.into_iter(), other.into_iter());
    while addresses.len() < ADDRESSES_MAX {
        let before = addresses.len();
        addresses.extend(same.next());
        addresses.extend(other.next());
        if addresses.len() == before {
            break;
        }
    }
    addresses.truncate(ADDRESSES_MAX);
}

/// Connects to whichever address answers first; each has a head start before the next.
async fn race(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    if let [address] = addresses[..] {
        return TcpStream::connect(address).await;
    }
    let mut waiting = addresses.into_iter();
    let mut trying = FuturesUnordered::new();
    let mut failed = io::Error::other("there is no address");
    trying.extend(waiting.next().map(TcpStream::connect));
    loop {
        tokio::select! {
            tried = trying.next() => match tried {
                Some(Ok(stream)) => return Ok(stream),
                Some(Err(error)) => {
                    failed = error;
                    trying.extend(waiting.next().map(TcpStream::connect));
                }
                None => return Err(failed),
            },
            () = tokio::time::sleep(HEAD_START), if waiting.len() > 0 => {
                trying.extend(waiting.next().map(TcpStream::connect));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| SocketAddr::new(text.parse().expect("an address"), 80)).collect()
    }

    #[test]
    fn families_take_turns() {
        let mut found = addresses(&["::1", "::2", "::3", "1.1.1.1", "1.1.1.2"]);
        mix(&mut found);
        assert_eq!(found, addresses(&["::1", "1.1.1.1", "::2", "1.1.1.2"]));
        let mut found = addresses(&["1.1.1.1", "1.1.1.2"]);
        mix(&mut found);
        assert_eq!(found, addresses(&["1.1.1.1", "1.1.1.2"]));
    }

    #[test]
    fn what_this_machine_lacks_is_not_the_sites_fault() {
        let ours = |code: Errno| matches!(whose_fault(&code.into(), "example.org"), Undialled::Own(_));
        assert!(OWN_ERRORS.into_iter().all(ours));
        assert!(![Errno::CONNREFUSED, Errno::HOSTUNREACH, Errno::NETUNREACH, Errno::TIMEDOUT].into_iter().any(ours));
    }

    #[tokio::test]
    async fn an_address_where_nobody_is_does_not_hide_the_next() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let alive = listener.local_addr().expect("an address");
        let dead = {
            let gone = tokio::net::TcpListener::bind("127.0.0.2:0").await.expect("a port");
            gone.local_addr().expect("an address")
        };
        let stream = race(vec![dead, alive]).await.expect("a connection");
        assert_eq!(stream.peer_addr().expect("a peer"), alive);
        assert!(race(vec![dead, dead]).await.is_err());
    }
}
