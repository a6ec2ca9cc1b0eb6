//! `malla supervise`: a medic, which keeps the processes running that the leader assigned to its machine.

mod logs;
mod process;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use malla_cluster::{
    Child, Cluster, Declared, Member, MemberId, Patience, Restarted, Rules, Slot, Steady, Step, Verdict, Ward, Why,
    care,
};
use malla_queue::{Clock as _, SystemClock, UnixMs};
use malla_store::Opened;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout, timeout_at};

pub(crate) use self::process::Launcher;
use self::process::{Ended, Process};
use crate::config::{Config, LogFormat};
use crate::data_dir::{DataDir, ServerFile};
use crate::duties::Stop;
use crate::member::{machine, name_of};
use crate::roles::Role;
use crate::serve::{self, Reserved};

/// How often a medic sees to its processes.
const STEP_EVERY: Duration = Duration::from_millis(500);
/// How often it asks the store what it shall run and who was heard of.
const LOOK_EVERY: Duration = Duration::from_secs(2);
const LOOK_MAX: Duration = Duration::from_secs(10);
/// Beside the wait for the store and for the one before in its slot, a process may need this long to its first heartbeat.
const START_MAX: Duration = Duration::from_secs(30);
/// Beside its own grace, a process may need this long to end.
const END_MAX: Duration = Duration::from_secs(1);
/// After a kill.
const KILL_MAX: Duration = Duration::from_secs(5);
/// Restarts that wait to be written down.
const NOTES_MAX: usize = 100;
/// Characters of a note.
const NOTE_MAX: usize = 500;

pub(crate) struct Supervisor {
    cluster: Arc<dyn Cluster>,
    clock: Arc<SystemClock>,
    /// For how long this process has reached the store.
    steady: Steady,
    data: Arc<DataDir>,
    launcher: Arc<Launcher>,
    log: LogFormat,
    rules: Rules,
    /// Where its processes listen. Kept from others for as long as this lives.
    _reserved: Reserved,
    listen: String,
    /// How commands on this machine reach an api of its own.
    server: ServerFile,
    /// The address that they are told at the moment.
    told: Option<String>,
    wanted: Declared,
    children: BTreeMap<Slot, Nursed>,
    waiting: BTreeMap<Slot, UnixMs>,
    patience: BTreeMap<Slot, Patience>,
    notes: VecDeque<Restarted>,
    ends: JoinSet<Ended>,
}

/// A process in its care.
struct Nursed {
    child: Child,
    process: Process,
    /// Its name as a member.
    name: String,
    frozen: bool,
}

impl Supervisor {
    pub(crate) fn new(
        config: &Config,
        launcher: &Arc<Launcher>,
        data: &Arc<DataDir>,
        store: &Opened,
        clock: &Arc<SystemClock>,
        steady: Steady,
    ) -> Result<Self> {
        let reserved = serve::reserve_address(config)?;
        let name = config.listen.rsplit_once(':').map_or("", |(name, _)| name);
        let grace = config.shutdown_grace();
        Ok(Self {
            cluster: store.cluster.clone(),
            clock: clock.clone(),
            steady,
            data: data.clone(),
            launcher: launcher.clone(),
            log: config.log.format,
            rules: Rules {
                dead_after: config.cluster.dead_after(),
                start_within: config.store_wait() + grace + START_MAX,
                stop_within: grace + END_MAX,
                before_the_last_goes: Role::is_waited_for,
            },
            listen: format!("{name}:{}", reserved.address.port()),
            server: ServerFile {
                url: serve::url(config, reserved.address),
                pid: std::process::id(),
                ca: serve::ca(config)?,
            },
            _reserved: reserved,
            told: None,
            wanted: Declared::new(),
            children: BTreeMap::new(),
            waiting: BTreeMap::new(),
            patience: BTreeMap::new(),
            notes: VecDeque::new(),
            ends: JoinSet::new(),
        })
    }

    /// Where an api of this machine answers.
    pub(crate) fn url(&self) -> &str {
        &self.server.url
    }

    /// Until told to stop; then its processes end, too.
    pub(crate) async fn run(mut self, member: watch::Receiver<Option<MemberId>>, mut stop: Stop) {
        let mut tick = interval(STEP_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut look_at = Instant::now();
        let mut me = None;
        loop {
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => break,
                Some(ended) = self.ends.join_next() => {
                    self.ended(ended.expect("whoever attends a process does not panic"));
                    look_at = Instant::now();
                }
                _ = tick.tick() => {}
            }
            me = member.borrow().or(me);
            let Some(me) = me else { continue };
            if Instant::now() >= look_at {
                match timeout(LOOK_MAX, self.look(me)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::debug!(%error, "cannot ask the store what shall run here"),
                    Err(_) => tracing::debug!("the store does not say what shall run here"),
                }
                look_at = Instant::now() + LOOK_EVERY;
            }
            self.step(me);
        }
        self.end(me).await;
    }

    /// Asks the store what shall run here and who was heard of, and tells it what happened.
    async fn look(&mut self, me: MemberId) -> malla_queue::Result<()> {
        let (members, assignments) = tokio::try_join!(self.cluster.members(), self.cluster.assignments())?;
        let own = assignments.into_iter().filter(|assignment| assignment.medic == me);
        self.wanted = own.map(|assignment| (assignment.role, assignment.count)).collect();
        for nursed in self.children.values_mut() {
            let is_it = |member: &&Member| member.name == nursed.name && member.medic == Some(nursed.child.medic);
            if let Some(member) = members.iter().rfind(is_it) {
                nursed.child.seen_at = Some(member.seen_at);
                nursed.child.to_restart |= member.to_restart;
            }
        }
        self.tell_server(&members, me);
        self.bury(&members, me).await?;
        while let Some(note) = self.notes.front() {
            self.cluster.note_restart(note.clone()).await?;
            self.notes.pop_front();
        }
        Ok(())
    }

    /// Processes that could not leave in order are members no more: nobody need wait until they are given up.
    async fn bury(&self, members: &[Member], me: MemberId) -> malla_queue::Result<()> {
        let lives = |member: &Member| self.children.values().any(|nursed| nursed.name == member.name);
        for member in members.iter().filter(|member| member.medic == Some(me) && !lives(member)) {
            self.cluster.leave(member.id).await?;
        }
        Ok(())
    }

    /// Commands on this machine go to an api of its own, or else to one that they can reach.
    fn tell_server(&mut self, members: &[Member], me: MemberId) {
        let apis = members.iter().filter(|member| member.has(Role::Api.name()) && member.lost_at.is_none());
        let (own, others): (Vec<_>, Vec<_>) = apis.partition(|member| member.medic == Some(me));
        let here = machine();
        let reachable = |member: &&Member| member.machine == here || !is_loopback(member.address.as_deref());
        let url = match own.is_empty() {
            false => Some(self.server.url.clone()),
            true => others.into_iter().find(reachable).and_then(|member| member.address.clone()),
        };
        if self.told == url {
            return;
        }
        let told = match &url {
            Some(url) => self.data.write_server(&ServerFile { url: url.clone(), ..self.server.clone() }),
            None => {
                self.data.remove_server();
                Ok(())
            }
        };
        match told {
            Ok(()) => self.told = url,
            Err(error) => tracing::warn!(%error, "commands on this machine are not told where the server is"),
        }
    }

    fn step(&mut self, me: MemberId) {
        let now = self.clock.now();
        let children: Vec<Child> = self.children.values().map(|nursed| nursed.child.clone()).collect();
        let steady = self.steady.for_all_of(self.rules.dead_after, now);
        let ward = Ward { medic: me, wanted: &self.wanted, children: &children, waiting: &self.waiting, steady };
        for step in care(&ward, &self.rules, now) {
            match step {
                Step::Start(slot) => self.start(slot, me, now),
                Step::Stop(slot) => {
                    if let Some(nursed) = self.children.get_mut(&slot) {
                        tracing::info!(%slot, "told to end");
                        nursed.child.told_at = Some(now);
                        nursed.process.stop();
                    }
                }
                Step::Kill(slot) => {
                    if let Some(nursed) = self.children.get(&slot) {
                        tracing::warn!(%slot, "did not end in time: killed");
                        nursed.process.kill();
                    }
                }
                Step::Replace(slot) => {
                    if let Some(nursed) = self.children.get_mut(&slot) {
                        tracing::warn!(%slot, "lives, but was not heard of for too long: killed");
                        nursed.frozen = true;
                        nursed.process.kill();
                    }
                }
                Step::Forget(slot) => {
                    self.waiting.remove(&slot);
                    self.patience.remove(&slot);
                }
            }
        }
    }

    fn start(&mut self, slot: Slot, medic: MemberId, now: UnixMs) {
        self.waiting.remove(&slot);
        match self.launcher.start(&slot, medic, &self.listen, self.log, &mut self.ends) {
            Ok(process) => {
                tracing::info!(%slot, pid = process.pid, "started");
                let child = Child {
                    slot: slot.clone(),
                    medic,
                    started_at: now,
                    seen_at: None,
                    to_restart: false,
                    told_at: None,
                };
                let nursed = Nursed { child, name: name_of(process.pid), process, frozen: false };
                self.children.insert(slot, nursed);
            }
            Err(error) => self.start_again(slot, Why::Crashed, format!("it cannot be started: {error}"), now),
        }
    }

    fn ended(&mut self, ended: Ended) {
        let Some(nursed) = self.children.remove(&ended.slot) else { return };
        let (note, slot, child) = (ended.note(), ended.slot.clone(), nursed.child);
        match child.told_at {
            _ if nursed.frozen => self.start_again(slot, Why::Frozen, note, child.started_at),
            Some(_) if child.to_restart => {
                tracing::info!(%slot, "ended for another one");
                self.note(&slot, Why::Asked, note, Duration::ZERO);
            }
            Some(_) => tracing::info!(%slot, "ended as it was told: {note}"),
            None if ended.well() => self.start_again(slot, Why::Ended, note, child.started_at),
            None => self.start_again(slot, Why::Crashed, note, child.started_at),
        }
    }

    /// After a wait that grows with each time.
    fn start_again(&mut self, slot: Slot, why: Why, note: String, started_at: UnixMs) {
        let now = self.clock.now();
        let delay = match self.patience.entry(slot.clone()).or_default().ended(started_at, now) {
            Verdict::After(delay) => {
                tracing::warn!(%slot, "ended ({note}): started again in {delay:?}");
                delay
            }
            Verdict::GiveUpFor(delay) => {
                tracing::error!(%slot, "ended too often ({note}): left alone for {delay:?}");
                delay
            }
        };
        self.waiting.insert(slot.clone(), now.plus(delay));
        self.note(&slot, why, note, delay);
    }

    fn note(&mut self, slot: &Slot, why: Why, note: String, delay: Duration) {
        let note = note.chars().take(NOTE_MAX).collect();
        if self.notes.len() == NOTES_MAX {
            self.notes.pop_front();
        }
        let (at, machine, role) = (self.clock.now(), machine(), slot.role.clone());
        self.notes.push_back(Restarted { at, machine, role, why, note, delay });
    }

    /// All processes end, in order if they do so in time.
    async fn end(&mut self, me: Option<MemberId>) {
        for nursed in self.children.values() {
            nursed.process.stop();
        }
        let in_order = Instant::now() + self.rules.stop_within;
        while let Ok(Some(_)) = timeout_at(in_order, self.ends.join_next()).await {}
        if self.ends.is_empty() {
            return;
        }
        tracing::warn!("{} processes did not end in time: killed", self.ends.len());
        for nursed in self.children.values() {
            nursed.process.kill();
        }
        let bury = async {
            while self.ends.join_next().await.is_some() {}
            self.children.clear();
            match me {
                Some(me) => self.bury(&self.cluster.members().await?, me).await,
                None => Ok(()),
            }
        };
        if !matches!(timeout(KILL_MAX, bury).await, Ok(Ok(()))) {
            tracing::warn!("processes that were killed are still members: they will be given up");
        }
    }
}

fn is_loopback(address: Option<&str>) -> bool {
    let host = address.and_then(|url| url.split("://").nth(1)).and_then(|rest| rest.rsplit_once(':'));
    host.is_none_or(|(host, _)| {
        let ip: Result<std::net::IpAddr, _> = host.trim_matches(['[', ']']).parse();
        host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
    })
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn other_machines_are_not_reached_over_loopback() {
        for here in ["http://127.0.0.1:7070", "https://localhost:1", "http://[::1]:7070"] {
            assert!(is_loopback(Some(here)), "{here}");
        }
        assert!(is_loopback(None));
        for there in ["http://10.0.0.1:7070", "https://node-2:7070", "http://[fd00::1]:7070"] {
            assert!(!is_loopback(Some(there)), "{there}");
        }
    }
}
