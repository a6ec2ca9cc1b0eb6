//! A cluster as a test sees it: the medics and their processes, looked at from a server that nobody kills.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::crash::fresh_database;
use crate::server::{DEADLINE, Place, Server};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// Quick hearts, so that a test need not wait for long.
pub(crate) const QUICK: [(&str, &str); 4] = [
    ("MALLA_CLUSTER_HEARTBEAT_S", "1"),
    ("MALLA_CLUSTER_DEAD_AFTER_S", "4"),
    ("MALLA_CLUSTER_LEADER_LEASE_S", "3"),
    ("MALLA_SHUTDOWN_GRACE_S", "3"),
];

/// A cluster, seen from a server that nobody kills.
pub(crate) struct Cluster {
    pub(crate) store: String,
    pub(crate) variables: Vec<(&'static str, &'static str)>,
    /// How many of each role there shall be.
    pub(crate) declared: BTreeMap<&'static str, usize>,
    pub(crate) tower: Server,
    pub(crate) token: String,
    _place: Place,
}

impl Cluster {
    pub(crate) fn new(variables: &[(&'static str, &'static str)], declared: &[(&'static str, usize)]) -> Self {
        let (store, place) = (fresh_database(), Place::new());
        let tower = place.start_with(&["--store", &store, "--roles", "api"], variables);
        let token = std::fs::read_to_string(place.data().join("admin.token")).expect("the server has made it");
        let declared = declared.iter().copied().collect();
        Self { store, variables: variables.to_vec(), declared, tower, token: token.trim().to_owned(), _place: place }
    }

    /// A medic on a machine of its own.
    pub(crate) fn medic(&self, machine: &Place) -> Server {
        self.medic_at(machine, "127.0.0.1:0", &self.store)
    }

    /// One that has its own address, and its own way to the store.
    pub(crate) fn medic_at(&self, machine: &Place, listen: &str, store: &str) -> Server {
        let all = ["api", "notifier", "fetcher", "wiki", "analyst"];
        let counts: Vec<String> =
            all.iter().map(|role| format!("{role}={}", self.declared.get(role).copied().unwrap_or(0))).collect();
        let mut flags = vec!["--listen", listen, "--store", store];
        flags.extend(counts.iter().flat_map(|count| ["--role", count.as_str()]));
        machine.supervise(&flags, &self.variables)
    }

    /// What the tower sees, if it answers.
    pub(crate) fn look(&self) -> Option<View> {
        let (status, body) = get(&self.tower.url, "/api/v1/cluster", &self.token)?;
        Some(View(serde_json::from_str(&body).expect("JSON"))).filter(|_| status == 200)
    }

    pub(crate) fn view(&self) -> View {
        let view = self.look().expect("the tower answers");
        for (role, most) in &self.declared {
            let children = view.children(role);
            assert!(children.len() <= *most || view.is_rolling(), "more than {most} of {role}: {view:#?}");
        }
        view
    }

    /// Looks until `seen` sees something. There are never more of a role than there shall be, whenever one looks.
    #[track_caller]
    pub(crate) fn wait<T>(&self, what: &str, within: Duration, seen: impl Fn(&View) -> Option<T>) -> T {
        let deadline = Instant::now() + within;
        loop {
            let view = self.view();
            if let Some(found) = seen(&view) {
                return found;
            }
            assert!(Instant::now() < deadline, "{what}: not within {within:?}: {view:#?}");
            std::thread::sleep(LOOK);
        }
    }

    #[track_caller]
    pub(crate) fn wait_until_complete(&self, within: Duration) -> View {
        self.wait("all roles are complete", within, |view| self.is_complete(view).then(|| view.clone()))
    }

    pub(crate) fn is_complete(&self, view: &View) -> bool {
        self.declared.iter().all(|(role, count)| view.children(role).len() == *count)
    }

    /// The restart of a role for a reason, once it is written down.
    #[track_caller]
    pub(crate) fn wait_for_restart(&self, role: &str, why: &str) -> Value {
        self.wait(&format!("a {role} that was {why} is noted"), DEADLINE, |view| {
            let restarts = view.0["restarts"].as_array().expect("a list");
            restarts.iter().find(|restart| restart["role"] == role && restart["why"] == why).cloned()
        })
    }
}

/// What the API says about the cluster.
#[derive(Debug, Clone)]
pub(crate) struct View(pub(crate) Value);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Child {
    id: i64,
    pub(crate) medic: i64,
    pub(crate) pid: u32,
}

impl View {
    pub(crate) fn members(&self) -> impl Iterator<Item = &Value> {
        self.0["members"].as_array().expect("a list").iter()
    }

    /// Supervised processes with a role that were not given up.
    pub(crate) fn children(&self, role: &str) -> Vec<Child> {
        let of = |member: &&Value| {
            member["lost_at"].is_null()
                && member["roles"].as_array().is_some_and(|roles| roles.iter().any(|r| r == role))
        };
        let child = |member: &Value| {
            Some(Child { id: member["id"].as_i64()?, medic: member["medic"].as_i64()?, pid: pid_of(member) })
        };
        self.members().filter(of).filter_map(child).collect()
    }

    pub(crate) fn all_children(&self) -> Vec<Child> {
        ["api", "notifier", "fetcher", "wiki", "analyst"].iter().flat_map(|role| self.children(role)).collect()
    }

    pub(crate) fn member_of(&self, server: &Server) -> Option<i64> {
        self.members().find(|member| pid_of(member) == server.pid()).and_then(|member| member["id"].as_i64())
    }

    /// The member that leads now, and its term.
    pub(crate) fn leader(&self) -> Option<(i64, i64)> {
        Some((self.0["leader"]["member"].as_i64()?, self.0["term"].as_i64()?))
    }

    pub(crate) fn led_by(&self, server: &Server) -> bool {
        self.leader().is_some_and(|(leader, _)| Some(leader) == self.member_of(server))
    }

    pub(crate) fn is_rolling(&self) -> bool {
        !self.0["rolling"].is_null() && self.0["rolling"]["ended_at"].is_null()
    }
}

pub(crate) fn pid_of(member: &Value) -> u32 {
    let name = member["name"].as_str().expect("a name");
    name.rsplit('-').next().and_then(|pid| pid.parse().ok()).expect("host and process")
}

/// Status and body of a GET; `None` if nobody answers.
pub(crate) fn get(url: &str, path: &str, token: &str) -> Option<(u16, String)> {
    let address = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(DEADLINE)).ok()?;
    let authorization = format!("Authorization: Bearer {token}");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n{authorization}\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

pub(crate) fn signal(pid: u32, name: &str) {
    let kill = format!("kill -{name} {pid}");
    assert!(Command::new("sh").args(["-c", &kill]).status().expect("sh runs").success(), "{kill}");
}

/// Ended, even if nobody has asked how.
pub(crate) fn is_gone(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_none_or(|rest| rest.is_empty() || rest.trim_start().starts_with('Z'))
}
