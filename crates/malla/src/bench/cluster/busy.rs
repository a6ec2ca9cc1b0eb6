//! What works while something is measured: processor time of the store's server, of the nodes and of others, and the
//! store's transactions and locks.

use std::fmt;
use std::time::Instant;

use anyhow::Result;
use malla_store::postgres::Scratch;

use super::nodes::Node;
use crate::bench::report::cpu_of;

/// What was used up to a moment.
pub(super) struct Moment {
    at: Instant,
    store_s: Option<f64>,
    nodes_s: f64,
    api_s: f64,
    bench_s: f64,
    transactions: u64,
}

/// What was used between two moments: cores, and transactions in a second.
pub(super) struct Busy {
    store: Option<f64>,
    nodes: f64,
    api: f64,
    bench: f64,
    transactions: f64,
    /// Sessions that waited for a lock, on average.
    waited: f64,
}

impl Moment {
    pub(super) async fn now(scratch: &Scratch, nodes: &[Node], api: Option<u32>) -> Result<Self> {
        let of = |pid: Option<u32>| pid.map_or(0.0, cpu_of);
        Ok(Self {
            transactions: scratch.transactions().await?,
            store_s: cpu_of_server(scratch.pid),
            nodes_s: nodes.iter().map(|node| of(node.pid())).sum(),
            api_s: of(api),
            bench_s: cpu_of(std::process::id()),
            at: Instant::now(),
        })
    }

    /// `waiting`: sessions that were seen to wait for a lock, at moments in between.
    pub(super) fn since(&self, before: &Self, waiting: &[u64]) -> Busy {
        let s = self.at.duration_since(before.at).as_secs_f64();
        Busy {
            store: self.store_s.zip(before.store_s).map(|(now, before)| (now - before) / s),
            nodes: (self.nodes_s - before.nodes_s) / s,
            api: (self.api_s - before.api_s) / s,
            bench: (self.bench_s - before.bench_s) / s,
            transactions: self.transactions.saturating_sub(before.transactions) as f64 / s,
            waited: waiting.iter().sum::<u64>() as f64 / waiting.len().max(1) as f64,
        }
    }
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let Self { store, nodes, api, bench, transactions, waited } = self;
        match store {
            Some(store) => {
                let all = store + nodes + api + bench;
                write!(f, "{all:.2} of {cores} cores busy: PostgreSQL {store:.2}, ")?;
            }
            None => write!(f, "busy cores of {cores} here (PostgreSQL is elsewhere): ")?,
        }
        write!(f, "nodes {nodes:.2}, api {api:.2}, this bench {bench:.2}; ")?;
        write!(f, "{transactions:.0} transactions/s, {waited:.1} sessions waiting for locks")
    }
}

/// CPU-seconds of the whole server to which this process of it belongs; none if it runs on another machine.
fn cpu_of_server(pid: u32) -> Option<f64> {
    let server = Stat::of(pid).filter(|stat| stat.name == "postgres")?.parent;
    let root = Stat::of(server).filter(|stat| stat.name == "postgres")?;
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let children: u64 = pids.filter_map(Stat::of).filter(|stat| stat.parent == server).map(|stat| stat.own).sum();
    // A tick is 10 ms.
    Some((root.own + root.ended_children + children) as f64 / 100.0)
}

/// A line of `/proc/PID/stat`, times in ticks.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    name: String,
    parent: u32,
    own: u64,
    ended_children: u64,
}

impl Stat {
    fn of(pid: u32) -> Option<Self> {
        Self::read(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The name, in parentheses, may hold blanks and parentheses.
    fn read(line: &str) -> Option<Self> {
        let (name, rest) = line.split_once('(')?.1.rsplit_once(')')?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let number = |at: usize| words.get(at)?.parse::<u64>().ok();
        Some(Self {
            name: name.into(),
            parent: u32::try_from(number(1)?).ok()?,
            own: number(11)? + number(12)?,
            ended_children: number(13)? + number(14)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_about_a_process_is_read_whatever_its_name() {
        let line = "42 (a (b) c) S 7 42 42 0 -1 4194560 1 2 3 4 10 20 300 4000 20 0 1 0 100 0 0";
        let stat = Stat { name: "a (b) c".into(), parent: 7, own: 30, ended_children: 4300 };
        assert_eq!(Stat::read(line), Some(stat));
        assert_eq!(Stat::read("42 (cut off) S 7"), None);
    }

    #[test]
    fn this_process_is_no_server() {
        assert_eq!(cpu_of_server(std::process::id()), None);
    }
}
