//! A check as a case: what a device claimed, what a second and a third one say, and what follows from that. Pure; the
//! stores do as it says.

use malla_queue::{Error, Result, TaskId, UnixMs};
use serde::{Deserialize, Serialize};

use super::Verdict;
use crate::{Device, DeviceId, NewPage, PageId, PageTask, PageUrl};

/// A check's number, from the same sequence as the tasks'.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CheckId(pub TaskId);

impl std::fmt::Display for CheckId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::str::FromStr for CheckId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        text.parse().map(Self)
    }
}

/// A device, as far as checks care.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Party {
    pub device: i64,
    pub name: String,
    pub owner: String,
    /// Its neighbourhood; empty if not known.
    pub network: String,
    pub country: Option<String>,
    /// Of the operator's own: never blamed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub trusted: bool,
}

impl Party {
    pub fn of(device: &Device) -> Self {
        Self {
            device: device.id.0,
            name: device.name.clone(),
            owner: device.owner.clone(),
            network: network(&device.about.address),
            country: device.about.country.clone(),
            trusted: device.is_trusted(),
        }
    }
}

/// A neighbourhood of addresses: /24, or /48 of IPv6. Empty for what is not on the internet.
fn network(address: &str) -> String {
    match address.parse() {
        Ok(std::net::IpAddr::V4(ip)) if !ip.is_private() && !ip.is_loopback() && !ip.is_link_local() => {
            let [a, b, c, _] = ip.octets();
            format!("{a}.{b}.{c}.0/24")
        }
        Ok(std::net::IpAddr::V6(ip)) if !ip.is_loopback() && (ip.segments()[0] & 0xfe00) != 0xfc00 => {
            let [a, b, c, ..] = ip.segments();
            format!("{a:x}:{b:x}:{c:x}::/48")
        }
        _ => String::new(),
    }
}

/// What a device says that a site said.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Claim {
    pub by: Party,
    pub status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<PageId>,
    /// It said that the page is still this one.
    pub unchanged: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    /// Another user's device fetches the page too.
    Replica,
    /// It was asked with a validator that no page has.
    Etag,
    /// A page of our own control site.
    Control,
    /// A page that was checked before, as if somebody had asked for it.
    Known,
    /// A client says that a result is bad.
    Report,
}

impl CheckKind {
    pub fn name(self) -> &'static str {
        match self {
            CheckKind::Replica => "replica",
            CheckKind::Etag => "etag",
            CheckKind::Control => "control",
            CheckKind::Known => "known",
            CheckKind::Report => "report",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// Waits for the second fetch.
    Open,
    /// Waits for the fetch of a trusted device.
    Trial,
    Agreed,
    /// Nobody can be blamed.
    Cleared,
    /// Somebody lied.
    Upheld,
    /// Nobody was there to do it.
    Lapsed,
}

impl CheckState {
    pub fn name(self) -> &'static str {
        match self {
            CheckState::Open => "open",
            CheckState::Trial => "trial",
            CheckState::Agreed => "agreed",
            CheckState::Cleared => "cleared",
            CheckState::Upheld => "upheld",
            CheckState::Lapsed => "lapsed",
        }
    }

    pub fn is_over(self) -> bool {
        !matches!(self, CheckState::Open | CheckState::Trial)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub id: CheckId,
    pub kind: CheckKind,
    pub state: CheckState,
    pub url: String,
    /// The task that fetches for it now.
    pub task: TaskId,
    /// What is in question. A page of the control site, or one that is known, is in question once somebody has fetched it.
    pub first: Option<Claim>,
    /// What another one says. Of a page that is known, what it was when it was checked.
    pub second: Option<Claim>,
    pub third: Option<Claim>,
    /// The validator that no page has, or the mark of a page of our own.
    pub secret: Option<String>,
    pub guilty: Option<DeviceId>,
    /// Clients wait for it.
    #[serde(default)]
    pub held: bool,
    /// The cache may give the page until then, once it is found to be right.
    #[serde(default)]
    pub fresh_until: Option<UnixMs>,
    /// Redirects that were followed, with the one that is in question.
    #[serde(default)]
    pub hops: u32,
    pub at: UnixMs,
    pub ended_at: Option<UnixMs>,
}

/// What the task of a check says about who may do it. The device that does it sees nothing of that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckTask {
    pub id: CheckId,
    pub since: UnixMs,
    /// Only one of the operator's own devices.
    #[serde(default)]
    pub trusted: bool,
    /// Clients wait for it: it goes before other pages.
    #[serde(default)]
    pub held: bool,
    /// Only a stranger's.
    #[serde(default)]
    pub strangers: bool,
    /// Not these users', and not in these neighbourhoods.
    #[serde(default)]
    pub not: Vec<(String, String)>,
}

impl CheckTask {
    /// Whether this device may do it.
    pub fn suits(&self, party: &Party) -> bool {
        match () {
            () if self.trusted => party.trusted,
            () if self.strangers => !party.trusted,
            () if party.trusted => true,
            () => !self
                .not
                .iter()
                .any(|(owner, network)| *owner == party.owner || (!network.is_empty() && *network == party.network)),
        }
    }

    /// How long it waits until somebody else looks at it.
    pub fn again_after_ms(&self, now: UnixMs) -> i64 {
        ((now.0 - self.since.0) / 8).clamp(250, 15_000)
    }
}

impl Check {
    /// A check of what a device brought.
    pub fn new(id: CheckId, kind: CheckKind, url: &PageUrl, first: Option<Claim>, now: UnixMs) -> Self {
        let state = if kind == CheckKind::Etag { CheckState::Trial } else { CheckState::Open };
        let url = url.to_string();
        Self {
            id,
            kind,
            state,
            url,
            task: TaskId(0),
            first,
            second: None,
            third: None,
            secret: None,
            guilty: None,
            held: false,
            fresh_until: None,
            hops: 0,
            at: now,
            ended_at: None,
        }
    }

    /// The task that fetches for it in its present state, in the lane of its site.
    pub fn to_task(&self) -> Result<PageTask> {
        let url = PageUrl::parse(&self.url).map_err(|why| Error::Internal(why.to_string()))?;
        let trusted = self.state == CheckState::Trial || self.kind == CheckKind::Report;
        let not = self.first.iter().map(|claim| (claim.by.owner.clone(), claim.by.network.clone())).collect();
        let strangers = matches!(self.kind, CheckKind::Control | CheckKind::Known) && !trusted;
        let check = CheckTask { id: self.id, since: self.at, trusted, held: self.held, strangers, not };
        let etag = if self.kind == CheckKind::Etag { self.secret.clone() } else { None };
        Ok(PageTask { check: Some(check), etag, ..PageTask::new(url) })
    }

    pub fn site(&self) -> String {
        PageUrl::parse(&self.url).map(|url| url.site().to_string()).unwrap_or_default()
    }

    /// Takes in what was found. Returns what follows, in order; nothing if it was settled otherwise meanwhile.
    pub fn settle(&mut self, from: CheckState, said: Claim, finding: Finding, now: UnixMs) -> Vec<Consequence> {
        if self.state.is_over() || (self.state != from && finding != Finding::Lapsed) {
            return Vec::new();
        }
        match (from, self.kind) {
            _ if finding == Finding::Lapsed => {}
            (CheckState::Open, CheckKind::Control | CheckKind::Known) => self.first = Some(said),
            (CheckState::Open, _) => self.second = Some(said),
            _ => self.third = Some(said),
        }
        let first = self.first.clone().unwrap_or_default();
        let second = self.second.clone();
        let mut follows = Vec::new();
        match finding {
            Finding::Differs => {
                self.state = CheckState::Trial;
                return vec![Consequence::Trial];
            }
            Finding::Agreed => {
                self.state = CheckState::Agreed;
                let tell = self.tell(&first, true);
                follows.push(Consequence::Valid(first.by));
                follows.extend(second.map(|second| Consequence::Valid(second.by)));
                follows.push(tell);
            }
            Finding::Doubtful => {
                self.state = CheckState::Cleared;
                let tell = self.tell(&first, false);
                follows.push(Consequence::Doubted(first.by));
                follows.push(tell);
            }
            Finding::Lapsed => {
                self.state = CheckState::Lapsed;
                follows.push(self.tell(&first, false));
            }
            Finding::Judged(verdict) => follows = self.judged(verdict, first, second),
        }
        self.ended_at = Some(now);
        follows
    }

    /// What those who wait get if this is what the site said.
    fn tell(&self, claim: &Claim, verified: bool) -> Consequence {
        match &claim.location {
            Some(to) if self.held => Consequence::Follow { to: to.clone() },
            _ => Consequence::Tell { page: claim.page, verified },
        }
    }

    fn judged(&mut self, verdict: Verdict, first: Claim, second: Option<Claim>) -> Vec<Consequence> {
        let site = self.site();
        self.state = CheckState::Cleared;
        match (verdict, second) {
            (Verdict::FirstLied { hard }, second) => {
                self.state = CheckState::Upheld;
                self.guilty = Some(DeviceId(first.by.device));
                let truth = self.third.as_ref().filter(|third| (200..300).contains(&third.status));
                let page = truth.and_then(|third| third.page);
                let mut follows = vec![Consequence::Lied { by: first.by, site, hard }];
                follows.extend(second.map(|second| Consequence::Valid(second.by)));
                let truth = Consequence::Tell { page, verified: true };
                follows.push(if page.is_some() { truth } else { Consequence::Again });
                follows
            }
            // What is known has become old meanwhile: that is nobody's fault.
            (Verdict::SecondLied, Some(second)) if self.kind != CheckKind::Known => {
                self.state = CheckState::Upheld;
                self.guilty = Some(DeviceId(second.by.device));
                let tell = self.tell(&first, true);
                vec![Consequence::Valid(first.by), Consequence::Lied { by: second.by, site, hard: false }, tell]
            }
            (Verdict::SecondApart, Some(second)) if self.kind != CheckKind::Known => {
                let tell = self.tell(&first, true);
                vec![Consequence::Valid(first.by), Consequence::Apart { by: second.by, site }, tell]
            }
            (Verdict::Cleared | Verdict::SecondLied | Verdict::SecondApart, _) => {
                let tell = self.tell(&first, true);
                vec![Consequence::Valid(first.by), tell]
            }
            (Verdict::Open | Verdict::FirstApart, _) => {
                // Whatever the first one saw: what a trusted device brought is the better answer.
                let ours = self.third.as_ref().filter(|third| (200..300).contains(&third.status));
                let tell = self.tell(ours.filter(|third| third.page.is_some()).unwrap_or(&first), false);
                let doubt = match verdict {
                    Verdict::FirstApart => Consequence::Apart { by: first.by, site },
                    _ => Consequence::Contradicted(first.by),
                };
                vec![doubt, tell]
            }
        }
    }
}

/// What a fetch for a check showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    Agreed,
    /// It tells nothing for or against anybody.
    Doubtful,
    /// A trusted device shall look.
    Differs,
    Judged(Verdict),
    /// Nobody was there to do it in time.
    Lapsed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consequence {
    Valid(Party),
    Doubted(Party),
    /// A trusted device saw something else, and nobody can say why.
    Contradicted(Party),
    Lied {
        by: Party,
        site: String,
        hard: bool,
    },
    /// It stood alone, in another country than the others.
    Apart {
        by: Party,
        site: String,
    },
    /// A trusted device is sent for the page.
    Trial,
    /// Those who waited for the check get this page.
    Tell {
        page: Option<PageId>,
        verified: bool,
    },
    /// Those who waited go on waiting, for the page to which it is redirected.
    Follow {
        to: String,
    },
    /// Those who waited go on waiting: the page is fetched again.
    Again,
}

/// A fetch for a check, compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settling {
    pub check: CheckId,
    /// The state in which it was compared.
    pub from: CheckState,
    pub said: Claim,
    /// What it brought: kept as evidence.
    pub page: Option<NewPage>,
    pub finding: Finding,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(owner: &str, page: i64) -> Claim {
        let by = Party { device: page, owner: owner.into(), ..Party::default() };
        Claim { by, status: 200, page: Some(PageId(TaskId(page))), ..Claim::default() }
    }

    fn check() -> Check {
        let url = PageUrl::parse("https://example.org/a").expect("a URL");
        Check::new(CheckId(TaskId(9)), CheckKind::Replica, &url, Some(claim("ana", 1)), UnixMs(0))
    }

    #[test]
    fn a_mismatch_calls_a_trusted_device_and_nothing_else() {
        let mut check = check();
        let task = check.to_task().expect("a task").check.expect("a check's");
        assert!(!task.suits(&Party { owner: "ana".into(), ..Party::default() }));
        assert!(task.suits(&Party { owner: "bob".into(), ..Party::default() }));
        let follows = check.settle(CheckState::Open, claim("bob", 2), Finding::Differs, UnixMs(5));
        assert_eq!((follows, check.state), (vec![Consequence::Trial], CheckState::Trial));
        let trial = check.to_task().expect("a task").check.expect("a check's");
        assert!(!trial.suits(&Party { owner: "eva".into(), ..Party::default() }));
        assert!(trial.suits(&Party { trusted: true, ..Party::default() }));
        let finding = Finding::Judged(Verdict::FirstLied { hard: false });
        let follows = check.settle(CheckState::Trial, claim("malla", 3), finding, UnixMs(6));
        assert!(matches!(&follows[0], Consequence::Lied { by, .. } if by.owner == "ana"));
        assert!(matches!(&follows[1], Consequence::Valid(by) if by.owner == "bob"));
        assert_eq!(follows[2], Consequence::Tell { page: Some(PageId(TaskId(3))), verified: true });
        assert_eq!((check.state, check.guilty), (CheckState::Upheld, Some(DeviceId(1))));
    }

    #[test]
    fn a_check_is_settled_once() {
        let mut check = check();
        assert_eq!(check.settle(CheckState::Open, claim("bob", 2), Finding::Agreed, UnixMs(5)).len(), 3);
        assert!(check.settle(CheckState::Open, claim("eva", 4), Finding::Differs, UnixMs(6)).is_empty());
    }

    #[test]
    fn neighbours_are_known_by_their_network() {
        assert_eq!(network("93.184.216.34"), "93.184.216.0/24");
        assert_eq!(network("2001:db8:1:2::3"), "2001:db8:1::/48");
        for near in ["127.0.0.1", "10.0.0.7", "::1", "fd00::1", "in the server", ""] {
            assert_eq!(network(near), "", "{near}");
        }
        let task = CheckTask {
            id: CheckId(TaskId(1)),
            since: UnixMs(0),
            trusted: false,
            held: false,
            strangers: false,
            not: vec![("ana".into(), "93.184.216.0/24".into())],
        };
        let bob = |network: &str| Party { owner: "bob".into(), network: network.into(), ..Party::default() };
        assert!(!task.suits(&bob("93.184.216.0/24")));
        assert!(task.suits(&bob("")) && task.suits(&bob("93.184.217.0/24")));
    }
}
