//! One of the machines: a medic with its processes, an address and a link to the store of its own.

use std::process::Command;

use crate::server::{Place, Server};
use crate::tower::Cluster;

use super::link::Link;

pub(super) struct Node {
    place: Place,
    pub(super) link: Link,
    /// Where its processes answer. It stays the same over restarts.
    pub(super) url: String,
    medic: Option<Server>,
}

impl Node {
    /// The machine with this number, up.
    pub(super) fn start(cluster: &Cluster, number: usize) -> Self {
        let (place, link) = (Place::new(), Link::to(&cluster.store));
        let medic = cluster.medic_at(&place, &format!("127.0.2.{}:0", number + 1), &link.url);
        Self { place, link, url: medic.url.clone(), medic: Some(medic) }
    }

    pub(super) fn start_again(&mut self, cluster: &Cluster) {
        let listen = self.url.trim_start_matches("http://");
        self.medic = Some(cluster.medic_at(&self.place, listen, &self.link.url));
    }

    pub(super) fn medic(&self) -> &Server {
        self.medic.as_ref().expect("it is up")
    }

    /// The processes that its medic has started, by their numbers.
    pub(super) fn processes(&self) -> Vec<u32> {
        let all = std::fs::read_dir("/proc").expect("processes").filter_map(|entry| {
            let pid: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            (parent_of(pid)? == self.medic().pid()).then_some(pid)
        });
        all.collect()
    }

    /// The medic alone: its processes notice.
    pub(super) fn kill_medic(&mut self) {
        self.medic.take().expect("it is up").kill();
    }

    /// All of it at once, as a power cut would.
    pub(super) fn kill(&mut self) {
        let processes = self.processes();
        self.medic.take().expect("it is up").kill();
        processes.into_iter().for_each(|pid| signal(pid, "KILL"));
    }

    /// In order.
    pub(super) fn stop(&mut self) {
        let ended = self.medic.take().expect("it is up").terminate();
        assert!(ended.status.success(), "a medic ended with {}:\n{}", ended.status, ended.said.join("\n"));
    }

    pub(super) fn signal_all(&self, name: &str) {
        self.medic().signal(name);
        self.processes().into_iter().for_each(|pid| signal(pid, name));
    }
}

/// To a process that may have ended by now.
pub(super) fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).output();
    sent.expect("kill runs");
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}
