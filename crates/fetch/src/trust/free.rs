//! What can be seen on each result without asking anybody. None of it proves a lie, so all it does is to have the result
//! checked. A memory of this process alone.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use malla_queue::UnixMs;

use crate::{Answer, BodyHash, DeviceId, NO_ANSWER, PageUrl, Site};

/// Devices, bodies and sites that are remembered, each; beyond it all are forgotten.
const REMEMBERED_MAX: usize = 50_000;
/// A site's clock may be wrong by this, and a cache in front of it may be old.
const SKEW_MS_MAX: i64 = 26 * 3_600_000;
/// Smaller bodies are alike in many places.
const BODY_BYTES_MIN: u64 = 256;
/// Unrelated sites with one body, from one device, are one too many at this number.
const SITES_MAX: usize = 3;
/// Results of a site that are needed before its rate of errors says anything.
const RESULTS_MIN: u32 = 20;

#[derive(Debug, Default)]
pub struct FreeChecks(Mutex<Memory>);

#[derive(Debug, Default)]
struct Memory {
    /// Sites on which a device found this body.
    bodies: HashMap<(DeviceId, BodyHash), Vec<String>>,
    /// Results and errors, over the whole fleet.
    sites: HashMap<Site, (u32, u32)>,
}

/// A result as it is looked at.
#[derive(Debug)]
pub struct Glance<'a> {
    pub device: DeviceId,
    pub url: &'a PageUrl,
    pub answer: &'a Answer,
    pub body: Option<BodyHash>,
    /// Whether the site was asked if the page has changed.
    pub conditional: bool,
    pub now: UnixMs,
}

impl FreeChecks {
    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why this result should be checked, if anything about it is odd.
    pub fn look(&self, glance: &Glance<'_>) -> Option<&'static str> {
        let odd = by_itself(glance);
        let mut memory = self.lock();
        if memory.bodies.len() >= REMEMBERED_MAX || memory.sites.len() >= REMEMBERED_MAX {
            *memory = Memory::default();
        }
        let spread = memory.one_body_everywhere(glance);
        let failing = memory.fails_where_others_do_not(glance);
        odd.or(spread).or(failing)
    }
}

fn by_itself(glance: &Glance<'_>) -> Option<&'static str> {
    let Answer { status, body, trouble, .. } = glance.answer;
    if *status == 304 && !glance.conditional {
        return Some("it says that the page has not changed, but was not asked that");
    }
    let header = |name: &str| {
        let found = glance.answer.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    };
    let whole = trouble.is_none() && *status == 200 && header("content-encoding").is_none();
    if whole && header("content-length").and_then(|text| text.parse().ok()).is_some_and(|said: u64| said != body.bytes)
    {
        return Some("its length is not the one that the site said");
    }
    let date = header("date").and_then(|text| httpdate::parse_http_date(text).ok());
    let date_ms = date.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok()).map(|since| since.as_millis());
    let skew = date_ms.and_then(|ms| i64::try_from(ms).ok()).map(|ms| (glance.now.0 - ms).abs());
    (skew.is_some_and(|skew| skew > SKEW_MS_MAX)).then_some("its date is far from now")
}

impl Memory {
    fn one_body_everywhere(&mut self, glance: &Glance<'_>) -> Option<&'static str> {
        let hash = glance.body.filter(|_| glance.answer.body.bytes >= BODY_BYTES_MIN)?;
        let host = glance.url.as_url().host_str().unwrap_or_default();
        let name = family(host);
        let sites = self.bodies.entry((glance.device, hash)).or_default();
        if sites.len() < SITES_MAX && !sites.iter().any(|known| known == name) {
            sites.push(name.to_owned());
        }
        (sites.len() >= SITES_MAX).then_some("unrelated sites have the same body")
    }

    fn fails_where_others_do_not(&mut self, glance: &Glance<'_>) -> Option<&'static str> {
        let status = glance.answer.status;
        let failed = status == NO_ANSWER || status >= 400;
        let (results, errors) = self.sites.entry(glance.url.site()).or_default();
        let odd = failed && *results >= RESULTS_MIN && *errors * 10 < *results;
        *results += 1;
        *errors += u32::from(failed);
        odd.then_some("it fails where others do not")
    }
}

/// The last two labels of a name, which is roughly whose it is; an address stands for itself.
fn family(host: &str) -> &str {
    if host.parse::<std::net::IpAddr>().is_ok() {
        return host;
    }
    host.rmatch_indices('.').nth(1).map_or(host, |(at, _)| &host[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PackedBody;

    const NOW: UnixMs = UnixMs(1_700_000_000_000);

    fn answer(status: u16, bytes: u64, headers: &[(&str, &str)]) -> Answer {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Answer {
            status,
            headers,
            body: PackedBody { packed: Default::default(), bytes, hash: None },
            trouble: None,
            took_ms: 1,
        }
    }

    fn look(checks: &FreeChecks, url: &str, answer: &Answer, body: u8) -> Option<&'static str> {
        let url = PageUrl::parse(url).expect("a URL");
        let body = Some(BodyHash([body; 32]));
        checks.look(&Glance { device: DeviceId(1), url: &url, answer, body, conditional: false, now: NOW })
    }

    #[test]
    fn what_contradicts_itself_is_odd() {
        let checks = FreeChecks::default();
        let odd = |answer| look(&checks, "https://a.example/", &answer, 1).is_some();
        assert!(!odd(answer(200, 10, &[("content-length", "10"), ("date", "Tue, 14 Nov 2023 22:13:20 GMT")])));
        assert!(odd(answer(200, 9, &[("content-length", "10")])));
        assert!(!odd(answer(200, 9, &[("content-length", "5"), ("content-encoding", "gzip")])));
        assert!(odd(answer(200, 10, &[("date", "Tue, 14 Nov 2017 22:13:20 GMT")])));
        assert!(odd(answer(304, 0, &[])));
    }

    #[test]
    fn one_body_for_unrelated_sites_is_odd() {
        let (checks, page) = (FreeChecks::default(), answer(200, 1_000, &[]));
        assert_eq!(look(&checks, "https://a.example/", &page, 1), None);
        assert_eq!(look(&checks, "https://www.a.example/", &page, 1), None);
        assert_eq!(look(&checks, "https://b.example.net/", &page, 1), None);
        assert!(look(&checks, "https://c.example.org/", &page, 1).is_some());
        assert_eq!(look(&checks, "https://d.example.org/", &page, 2), None);
    }

    #[test]
    fn failing_where_others_do_not_is_odd() {
        let (checks, good, bad) = (FreeChecks::default(), answer(200, 10, &[]), answer(NO_ANSWER, 0, &[]));
        assert_eq!(look(&checks, "https://a.example/", &bad, 1), None, "nothing is known yet");
        for _ in 0..30 {
            assert_eq!(look(&checks, "https://a.example/", &good, 1), None);
        }
        assert!(look(&checks, "https://a.example/", &bad, 1).is_some());
    }
}
