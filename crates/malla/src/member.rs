//! This process as a member of the cluster: its name, and how busy it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use async_trait::async_trait;
use malla_cluster::{Cluster, Load, MemberId, Membership, NewMember, Slot};
use malla_queue::worker::Work;
use malla_queue::{Leased, Verdict};
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::config::Config;
use crate::data_dir::{DataDir, MemberFile};
use crate::duties::Stop;
use crate::fetching::hostname;
use crate::roles::Role;
use crate::supervise::Launcher;

/// Why this process runs.
#[derive(Debug)]
pub(crate) enum Part {
    /// Somebody started it: the data directory is its own.
    Alone,
    /// It starts others in its data directory.
    Medic(Arc<Launcher>),
    /// A medic started it.
    Child { slot: Slot, medic: MemberId },
}

impl Part {
    /// Empty if it is in none.
    pub(crate) fn slot_name(&self) -> String {
        match self {
            Part::Child { slot, .. } => slot.to_string(),
            Part::Alone | Part::Medic(_) => String::new(),
        }
    }
}

/// How this process is called in the history of tasks.
pub(crate) fn member_name() -> String {
    name_of(std::process::id())
}

/// How a process on this machine is called.
pub(crate) fn name_of(pid: u32) -> String {
    format!("{}-{pid}", machine())
}

pub(crate) fn machine() -> String {
    match hostname() {
        host if host.is_empty() => "local".into(),
        host => host,
    }
}

/// What this process says of itself.
pub(crate) fn about(config: &Config, part: &Part, address: Option<String>) -> NewMember {
    NewMember {
        name: member_name(),
        machine: machine(),
        address,
        roles: config.roles.iter().map(Role::to_string).collect(),
        version: env!("CARGO_PKG_VERSION").into(),
        medic: match part {
            Part::Child { medic, .. } => Some(*medic),
            Part::Alone | Part::Medic(_) => None,
        },
        supervises: matches!(part, Part::Medic(_)),
    }
}

/// Lets the last process on this data directory leave if it could not do so itself: it is dead, and nobody need wait until its
/// heartbeats are missed or its lease as a leader runs out.
pub(crate) async fn bury_the_last(data: &DataDir, cluster: &dyn Cluster) {
    let Some(last) = data.last_member() else { return };
    let buried = async {
        // Its number may be somebody else's in another store.
        let members = cluster.members().await?;
        match members.iter().any(|member| member.id == last.id && member.name == last.name) {
            true => cluster.leave(last.id).await,
            false => Ok(()),
        }
    };
    if let Err(error) = buried.await {
        tracing::warn!(%error, "the last process here is still a member: it will be given up");
    }
}

/// Keeps in the data directory as what this process is known.
pub(crate) async fn remember(data: Arc<DataDir>, mut member: watch::Receiver<Option<MemberId>>, mut stop: Stop) {
    let known = async {
        loop {
            let id = *member.borrow_and_update();
            if let Some(id) = id
                && let Err(error) = data.write_member(&MemberFile { id, name: member_name() })
            {
                tracing::warn!(%error, "the next process here will not know the one before");
            }
            if member.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        () = known => {}
        _ = stop.wait_for(|stop| *stop) => {}
    }
}

/// A process whose heart beats.
pub(crate) struct Joined {
    heart: JoinSet<()>,
    leave: watch::Sender<bool>,
}

impl Joined {
    pub(crate) fn start(membership: Membership, shown: watch::Sender<Option<MemberId>>, mut pulse: Pulse) -> Self {
        let (leave, told) = watch::channel(false);
        let mut heart = JoinSet::new();
        heart.spawn(membership.run(shown, move || pulse.load(), told));
        Self { heart, leave }
    }

    /// Ends only if something is wrong.
    pub(crate) async fn failed(&mut self) -> anyhow::Error {
        match self.heart.join_next().await {
            Some(Err(error)) => anyhow!("the heartbeats of this process failed: {error}"),
            _ => anyhow!("the heartbeats of this process ended by themselves"),
        }
    }

    pub(crate) fn begin_to_leave(&self) {
        self.leave.send_replace(true);
    }

    /// Returns when the others know, or at the deadline.
    pub(crate) async fn leave(&mut self, deadline: tokio::time::Instant) {
        self.begin_to_leave();
        let _ = tokio::time::timeout_at(deadline, self.heart.join_next()).await;
    }
}

/// Tasks that the workers of this process have in hand.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hand(Arc<AtomicU64>);

impl Hand {
    /// The same work, counted.
    pub(crate) fn counting(&self, work: Arc<dyn Work>) -> Arc<dyn Work> {
        Arc::new(Counted { work, hand: self.clone() })
    }
}

struct Counted {
    work: Arc<dyn Work>,
    hand: Hand,
}

#[async_trait]
impl Work for Counted {
    async fn work(&self, task: &Leased) -> Option<Verdict> {
        let _held = Held::new(&self.hand);
        self.work.work(task).await
    }
}

/// Counts for as long as it lives: work may be dropped at any await.
struct Held<'a>(&'a Hand);

impl<'a> Held<'a> {
    fn new(hand: &'a Hand) -> Self {
        hand.0.fetch_add(1, Ordering::Relaxed);
        Self(hand)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Measures how busy this process is, from one heartbeat to the next.
pub(crate) struct Pulse {
    hand: Hand,
    measured_at: Instant,
    cpu_used: Duration,
}

impl Pulse {
    pub(crate) fn new(hand: Hand) -> Self {
        Self { hand, measured_at: Instant::now(), cpu_used: cpu_used() }
    }

    pub(crate) fn load(&mut self) -> Load {
        let (now, cpu_used) = (Instant::now(), cpu_used());
        let passed = now.duration_since(self.measured_at).as_secs_f64();
        let used = cpu_used.saturating_sub(self.cpu_used).as_secs_f64();
        (self.measured_at, self.cpu_used) = (now, cpu_used);
        Load {
            tasks: self.hand.0.load(Ordering::Relaxed),
            cpu: if passed > 0.0 { used / passed } else { 0.0 },
            memory_bytes: resident_bytes().unwrap_or(0),
        }
    }
}

/// Time on a core of all threads together, since the start.
fn cpu_used() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

/// Memory of this process that is in RAM, from the kernel, where it tells.
pub(crate) fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(kib.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_knows_how_busy_it_is() {
        let hand = Hand::default();
        let mut pulse = Pulse::new(hand.clone());
        let held = Held::new(&hand);
        let began = cpu_used();
        while cpu_used() < began + Duration::from_millis(20) {}
        let load = pulse.load();
        assert_eq!(load.tasks, 1);
        assert!(load.cpu > 0.0 && load.memory_bytes > 100_000, "{load:?}");
        drop(held);
        assert_eq!(pulse.load().tasks, 0);
    }
}
