//! The gate before the login: a few quick tries, then slowly, by user name and by address.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hash};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};
use malla_queue::Clock;

/// Names and addresses are hashed into this many buckets: what strangers type cannot fill the memory.
const BUCKETS: u64 = 65_536;
const NAME_TRIES: NonZeroU32 = NonZeroU32::new(5).expect("not zero");
const NAME_THEN_EVERY: Duration = Duration::from_secs(10);
/// A whole office may share an address.
const ADDRESS_TRIES: NonZeroU32 = NonZeroU32::new(20).expect("not zero");
const ADDRESS_THEN_EVERY: Duration = Duration::from_secs(3);

type Limiter = RateLimiter<u64, DashMapStateStore<u64>, HouseClock, NoOpMiddleware<Nanos>>;

pub(crate) struct Gate {
    clock: HouseClock,
    salt: RandomState,
    names: Limiter,
    addresses: Limiter,
}

impl Gate {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let clock = HouseClock(clock);
        let limiter = |tries, every| {
            let quota = Quota::with_period(every).expect("not zero").allow_burst(tries);
            RateLimiter::new(quota, DashMapStateStore::default(), clock.clone())
        };
        Self {
            names: limiter(NAME_TRIES, NAME_THEN_EVERY),
            addresses: limiter(ADDRESS_TRIES, ADDRESS_THEN_EVERY),
            salt: RandomState::new(),
            clock,
        }
    }

    /// Takes one try, or says how long to wait for the next.
    pub(crate) fn pass(&self, name: &str, address: Option<IpAddr>) -> Result<(), Duration> {
        if let Some(address) = address {
            self.take(&self.addresses, network(address))?;
        }
        self.take(&self.names, name.to_lowercase())
    }

    fn take(&self, limiter: &Limiter, key: impl Hash) -> Result<(), Duration> {
        let bucket = self.salt.hash_one(key) % BUCKETS;
        limiter.check_key(&bucket).map_err(|until| until.wait_time_from(governor::clock::Clock::now(&self.clock)))
    }
}

/// Who has one IPv6 address has its whole /64.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let mut segments = v6.segments();
            segments[4..].fill(0);
            IpAddr::V6(segments.into())
        }
        v4 => v4,
    }
}

#[derive(Clone)]
struct HouseClock(Arc<dyn Clock>);

impl governor::clock::Clock for HouseClock {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        Duration::from_millis(u64::try_from(self.0.now().0).unwrap_or(0)).into()
    }
}

#[cfg(test)]
mod tests {
    use malla_queue::{ManualClock, UnixMs};

    use super::*;

    fn gate() -> (Gate, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::at(UnixMs(1_700_000_000_000)));
        (Gate::new(clock.clone()), clock)
    }

    #[test]
    fn five_quick_tries_then_one_every_ten_seconds() {
        let (gate, clock) = gate();
        for _ in 0..5 {
            assert_eq!(gate.pass("ana", None), Ok(()));
        }
        assert_eq!(gate.pass("Ana", None), Err(Duration::from_secs(10)));
        assert_eq!(gate.pass("ben", None), Ok(()), "another name is not held up");
        clock.advance(Duration::from_secs(10));
        assert_eq!(gate.pass("ana", None), Ok(()));
        assert!(gate.pass("ana", None).is_err());
    }

    #[test]
    fn an_address_cannot_go_through_all_names() {
        let (gate, _) = gate();
        let own = |n: u16| Some(IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, n]));
        for n in 0..20 {
            assert_eq!(gate.pass(&format!("user{n}"), own(n)), Ok(()));
        }
        assert!(gate.pass("another", own(99)).is_err());
        assert_eq!(gate.pass("another", Some([192, 0, 2, 1].into())), Ok(()));
    }
}
