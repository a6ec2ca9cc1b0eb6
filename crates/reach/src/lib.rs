//! Which addresses may be reached from here. Whoever may name a target must not reach the machine Malla runs on or its
//! neighbours by it, unless the operator allows it.

pub mod explain;
mod wait;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;

use malla_queue::Error;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

pub use wait::retry_after;

/// A block of addresses: `10.0.0.0/8`, `fd00::/8`, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u32,
}

impl Network {
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(ours), IpAddr::V4(theirs)) => within(theirs, ours, self.prefix),
            (IpAddr::V6(ours), IpAddr::V6(theirs)) => within6(theirs, ours, self.prefix),
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Invalid(format!("\"{text}\" is not a network: write 10.0.0.0/8 or fd00::/8"));
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, rest)| (address, Some(rest)));
        let address: IpAddr = address.trim().parse().map_err(|_| wrong())?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Ok(bits), |prefix| prefix.trim().parse().map_err(|_| wrong()))?;
        if prefix > bits {
            return Err(wrong());
        }
        Ok(Self { address, prefix })
    }
}

/// Lets through what is public or allowed.
#[derive(Debug, Clone, Default)]
pub struct Guard(Arc<Rules>);

#[derive(Debug, Default)]
struct Rules {
    allow_private: bool,
    allowed: Vec<Network>,
}

impl Guard {
    /// With `allow_private` everything is let through; without, what is public and what is in `allowed`.
    pub fn new(allow_private: bool, allowed: Vec<Network>) -> Self {
        Self(Arc::new(Rules { allow_private, allowed }))
    }

    /// Whether this address may be reached; if not, what it is.
    pub fn check(&self, address: IpAddr) -> Result<(), &'static str> {
        let true_address = embedded(address);
        let allowed = |network: &Network| network.contains(address) || network.contains(true_address);
        match what_is(true_address) {
            Some(_) if self.0.allow_private || self.0.allowed.iter().any(allowed) => Ok(()),
            Some(what) => Err(what),
            None => Ok(()),
        }
    }

    /// Checks a URL whose host is an address: no resolver is asked for those.
    pub fn check_url(&self, url: &Url) -> Result<(), Unreachable> {
        let address = match url.host() {
            Some(Host::Ipv4(address)) => IpAddr::V4(address),
            Some(Host::Ipv6(address)) => IpAddr::V6(address),
            Some(Host::Domain(_)) | None => return Ok(()),
        };
        self.check(address).map_err(|what| Unreachable::Address { address, what })
    }

    /// The addresses of `host` that may be reached; at least one.
    pub async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Unreachable> {
        if is_below_localhost(host) {
            let here = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
            return self.filter(host, here.into_iter().map(|address| SocketAddr::new(address, port)));
        }
        let found = tokio::net::lookup_host((host, port))
            .await
            .map_err(|error| Unreachable::NoAddress { host: host.to_owned(), why: error.to_string() })?;
        self.filter(host, found)
    }

    fn filter(&self, host: &str, found: impl Iterator<Item = SocketAddr>) -> Result<Vec<SocketAddr>, Unreachable> {
        let (mut good, mut refused) = (Vec::new(), Vec::new());
        for address in found {
            match self.check(address.ip()) {
                Ok(()) => good.push(address),
                Err(what) => refused.push((address.ip(), what)),
            }
        }
        match (good.is_empty(), refused.is_empty()) {
            (false, _) => Ok(good),
            (true, false) => Err(Unreachable::Refused { host: host.to_owned(), refused }),
            (true, true) => Err(Unreachable::NoAddress { host: host.to_owned(), why: "it has no address".into() }),
        }
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.clone();
        Box::pin(async move {
            let addresses = Guard::resolve(&guard, name.as_str(), 0).await?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// Why there is no way to a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreachable {
    NoAddress { host: String, why: String },
    Refused { host: String, refused: Vec<(IpAddr, &'static str)> },
    Address { address: IpAddr, what: &'static str },
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAddress { host, why } => write!(f, "the name {host} does not resolve: {why}"),
            Self::Refused { host, refused } => {
                write!(f, "no address of {host} may be reached:")?;
                for (n, (address, what)) in refused.iter().take(4).enumerate() {
                    write!(f, "{} {address} is {what}", if n > 0 { "," } else { "" })?;
                }
                Ok(())
            }
            Self::Address { address, what } => write!(f, "{address} may not be reached: it is {what}"),
        }
    }
}

impl std::error::Error for Unreachable {}

/// `shop.localhost` is this machine (RFC 6761), whatever the resolver knows.
fn is_below_localhost(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    host.rsplit_once('.').is_some_and(|(_, top)| top.eq_ignore_ascii_case("localhost"))
}

/// What an address is, if it is not public.
fn what_is(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => {
            SPECIAL_V4.iter().find(|(network, prefix, _)| within(address, *network, *prefix)).map(|(_, _, what)| *what)
        }
        IpAddr::V6(address) => {
            SPECIAL_V6.iter().find(|(network, prefix, _)| within6(address, *network, *prefix)).map(|(_, _, what)| *what)
        }
    }
}

const fn v4(a: u8, b: u8, c: u8, d: u8) -> Ipv4Addr {
    Ipv4Addr::new(a, b, c, d)
}

const fn v6(a: u16, b: u16, c: u16) -> Ipv6Addr {
    Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0)
}

const SPECIAL_V4: &[(Ipv4Addr, u32, &str)] = &[
    (v4(0, 0, 0, 0), 8, "unspecified"),
    (v4(10, 0, 0, 0), 8, "private"),
    (v4(100, 64, 0, 0), 10, "private (shared by a provider's customers)"),
    (v4(127, 0, 0, 0), 8, "loopback"),
    (v4(169, 254, 0, 0), 16, "link-local"),
    (v4(172, 16, 0, 0), 12, "private"),
    (v4(192, 0, 0, 0), 24, "reserved"),
    (v4(192, 0, 2, 0), 24, "for documentation"),
    (v4(192, 88, 99, 0), 24, "reserved"),
    (v4(192, 168, 0, 0), 16, "private"),
    (v4(198, 18, 0, 0), 15, "for benchmarking"),
    (v4(198, 51, 100, 0), 24, "for documentation"),
    (v4(203, 0, 113, 0), 24, "for documentation"),
    (v4(224, 0, 0, 0), 4, "multicast"),
    (v4(240, 0, 0, 0), 4, "reserved"),
];

/// The first that fits counts; what is outside 2000::/3 is not in public use.
const SPECIAL_V6: &[(Ipv6Addr, u32, &str)] = &[
    (Ipv6Addr::UNSPECIFIED, 128, "unspecified"),
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    (v6(0xfc00, 0, 0), 7, "private (unique-local)"),
    (v6(0xfe80, 0, 0), 10, "link-local"),
    (v6(0xfec0, 0, 0), 10, "private (site-local)"),
    (v6(0xff00, 0, 0), 8, "multicast"),
    (v6(0x2001, 2, 0), 48, "for benchmarking"),
    (v6(0x2001, 0xdb8, 0), 32, "for documentation"),
    (v6(0x2001, 0, 0), 23, "reserved"),
    (v6(0x3fff, 0, 0), 20, "for documentation"),
    (v6(0x0000, 0, 0), 3, "reserved"),
    (v6(0x4000, 0, 0), 2, "reserved"),
    (v6(0x8000, 0, 0), 1, "reserved"),
];

/// The IPv4 address that an IPv6 address stands for (mapped, compatible, translated, 6to4, Teredo), or itself.
fn embedded(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6_address) = address else { return address };
    let bits = u128::from(v6_address);
    let low = (bits & 0xffff_ffff) as u32;
    let inner = match v6_address.segments() {
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => Some(low),
        [0, 0, 0, 0, 0, 0, ..] if low > 1 => Some(low),
        [0x2002, ..] => Some((bits >> 80) as u32),
        // A Teredo address holds its client's with all bits turned.
        [0x2001, 0, ..] => Some(!low),
        _ => None,
    };
    inner.map_or(address, |inner| IpAddr::V4(Ipv4Addr::from(inner)))
}

fn within(address: Ipv4Addr, network: Ipv4Addr, prefix: u32) -> bool {
    let mask = u32::MAX.checked_shl(32 - prefix).unwrap_or(0);
    (u32::from(address) ^ u32::from(network)) & mask == 0
}

fn within6(address: Ipv6Addr, network: Ipv6Addr, prefix: u32) -> bool {
    let mask = u128::MAX.checked_shl(128 - prefix).unwrap_or(0);
    (u128::from(address) ^ u128::from(network)) & mask == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn only_public_addresses_pass() {
        for public in ["1.1.1.1", "93.184.216.34", "172.32.0.1", "100.128.0.1", "198.20.0.1", "2606:4700::1111"] {
            assert_eq!(Guard::default().check(ip(public)), Ok(()), "{public}");
        }
        for (address, what) in [
            ("127.0.0.1", "loopback"),
            ("127.255.0.9", "loopback"),
            ("0.0.0.0", "unspecified"),
            ("10.1.2.3", "private"),
            ("172.31.255.255", "private"),
            ("192.168.0.1", "private"),
            ("100.64.0.1", "private (shared by a provider's customers)"),
            ("169.254.169.254", "link-local"),
            ("192.0.2.1", "for documentation"),
            ("198.51.100.1", "for documentation"),
            ("203.0.113.1", "for documentation"),
            ("198.19.255.255", "for benchmarking"),
            ("192.0.0.8", "reserved"),
            ("224.0.0.1", "multicast"),
            ("255.255.255.255", "reserved"),
            ("::", "unspecified"),
            ("::1", "loopback"),
            ("fd12::1", "private (unique-local)"),
            ("fe80::1", "link-local"),
            ("ff02::1", "multicast"),
            ("2001:db8::1", "for documentation"),
            ("2001:2::1", "for benchmarking"),
            ("3fff::1", "for documentation"),
            ("100::1", "reserved"),
            ("64:ff9b:1::a00:1", "reserved"),
            ("5f00::1", "reserved"),
        ] {
            assert_eq!(Guard::default().check(ip(address)), Err(what), "{address}");
        }
    }

    #[test]
    fn an_address_in_disguise_is_what_it_stands_for() {
        for (disguise, what) in [
            ("::ffff:127.0.0.1", "loopback"),
            ("::ffff:10.0.0.5", "private"),
            ("::127.0.0.1", "loopback"),
            ("64:ff9b::169.254.169.254", "link-local"),
            ("2002:7f00:1::", "loopback"),
            ("2001:0:4136:e378:8000:63bf:80ff:fffe", "loopback"),
        ] {
            assert_eq!(Guard::default().check(ip(disguise)), Err(what), "{disguise}");
        }
        for public in ["::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2002:101:101::"] {
            assert_eq!(Guard::default().check(ip(public)), Ok(()), "{public}");
        }
    }

    #[test]
    fn an_operator_allows_all_or_some() {
        assert_eq!(Guard::new(true, vec![]).check(ip("127.0.0.1")), Ok(()));
        let some = Guard::new(false, vec!["10.1.0.0/16".parse().expect("a network")]);
        assert_eq!(some.check(ip("10.1.2.3")), Ok(()));
        assert_eq!(some.check(ip("::ffff:10.1.2.3")), Ok(()));
        assert_eq!(some.check(ip("10.2.0.1")), Err("private"));
        assert_eq!(some.check(ip("::1")), Err("loopback"));
    }

    #[test]
    fn networks_are_read_or_refused() {
        for (text, address, inside) in [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("0.0.0.0/0", "9.9.9.9", true),
            ("0.0.0.0/0", "::1", false),
            ("fd00::/8", "fd12::1", true),
            ("::/0", "fd12::1", true),
        ] {
            assert_eq!(text.parse::<Network>().expect(text).contains(ip(address)), inside, "{text} {address}");
        }
        for wrong in ["", "ten", "10.0.0.0/33", "fd00::/129", "10.0.0.0/-1", "10.0.0.0/"] {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn hosts_that_are_addresses_are_checked_however_they_are_written() {
        for url in ["http://127.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://[::1]/", "http://127.1:80/"] {
            let error = Guard::default().check_url(&Url::parse(url).expect("a URL")).expect_err(url);
            assert!(error.to_string().ends_with("may not be reached: it is loopback"), "{error}");
        }
        assert_eq!(Guard::default().check_url(&Url::parse("http://1.1.1.1/").expect("a URL")), Ok(()));
    }

    #[test]
    fn what_is_refused_is_left_out_and_said_if_nothing_is_left() {
        let found = |texts: &[&str]| {
            let addresses: Vec<SocketAddr> = texts.iter().map(|text| SocketAddr::new(ip(text), 80)).collect();
            Guard::default().filter("example.org", addresses.into_iter())
        };
        assert_eq!(found(&["10.0.0.5", "1.1.1.1"]).expect("one is left").len(), 1);
        let error = found(&["10.0.0.5", "::1"]).expect_err("none is left").to_string();
        assert_eq!(error, "no address of example.org may be reached: 10.0.0.5 is private, ::1 is loopback");
        assert!(found(&[]).expect_err("none at all").to_string().contains("does not resolve"));
    }

    #[tokio::test]
    async fn a_name_of_this_machine_is_refused() {
        let error = Guard::default().resolve("localhost", 80).await.expect_err("loopback").to_string();
        assert!(error.starts_with("no address of localhost may be reached:") && error.contains("loopback"), "{error}");
        for name in ["shop.localhost", "a.B.LocalHost."] {
            let error = Guard::default().resolve(name, 80).await.expect_err("loopback").to_string();
            assert!(error.ends_with("127.0.0.1 is loopback, ::1 is loopback"), "{error}");
            let allowed = Guard::new(false, vec!["127.0.0.0/8".parse().expect("a network")]).resolve(name, 80).await;
            assert_eq!(allowed.expect("allowed"), [SocketAddr::new(ip("127.0.0.1"), 80)]);
        }
        let error = Guard::default().resolve("no-such-name.invalid", 80).await.expect_err("no such name").to_string();
        assert!(error.starts_with("the name no-such-name.invalid does not resolve"), "{error}");
    }
}
