//! Three machines on one PostgreSQL under a load of all rooms at once, while chance decides what happens to one of them:
//! a process, its medic or the whole machine is killed or stands still, its link to the store stalls or is cut, and all are
//! restarted one by one. Then the audits of every room, and who wrote as a leader when. What anybody had to do without
//! meanwhile is measured and printed.

mod link;
mod node;
mod walks;
mod watcher;
mod witness;

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::origin::{self, Origin};
use crate::receiver::Receiver;
use crate::server::{DEADLINE, poll_until};
use crate::small_wiki::{self, SmallWiki};
use crate::tower::{Child, Cluster, View, is_gone};

use self::node::{Node, signal};
use self::walks::Readers;
use self::watcher::Watcher;
use super::caller::Servers;
use super::dice::Dice;
use super::load::{Load, Options};
use super::publishers::{Fate, Publishers, events_at_rest};
use super::shelf::Http;
use super::{analyses, audit, pages, repeat, require_crash_points};

const NODES: usize = 3;
const DECLARED: [(&str, usize); 5] = [("api", 3), ("notifier", 2), ("fetcher", 2), ("wiki", 2), ("analyst", 2)];
/// How long one try of a request may take: who asks a machine that stands still shall ask another one soon.
const TIMEOUT: Duration = Duration::from_secs(2);
const WIKI_GAP_MS: u64 = 60;
const WIKI_PAGES: u64 = 12;
const WIKI_REVISIONS: u64 = 130;
/// What is aimed at.
const LEADER_AIM: Duration = Duration::from_secs(10);
const IDLE_AIM: Duration = Duration::from_secs(15);
/// More than that is wrong, however busy the machine of the tests is.
const LEADER_MAX: Duration = Duration::from_secs(20);
const IDLE_MAX: Duration = Duration::from_secs(30);
/// From what happened to everything in its place again.
const COMPLETE_MAX: Duration = Duration::from_secs(60);

/// How fast everything goes.
#[derive(Debug, Clone, Copy)]
struct Pace {
    heartbeat_s: &'static str,
    dead_after_s: &'static str,
    leader_lease_s: &'static str,
    /// Longer than a leader and a task may be silent.
    past_leases: Duration,
    /// Now and then longer than that: so long that it is given up, if there is time.
    longer: Duration,
    /// What happens on the way, beside the restart of all.
    faults: u64,
}

impl Pace {
    /// Quick hearts, so that a test need not wait for long.
    const SHORT: Self = Self {
        heartbeat_s: "1",
        dead_after_s: "4",
        leader_lease_s: "3",
        past_leases: Duration::from_millis(3_500),
        longer: Duration::from_millis(4_500),
        faults: 3,
    };
    /// As it is without settings.
    const LONG: Self = Self {
        heartbeat_s: "3",
        dead_after_s: "15",
        leader_lease_s: "7",
        past_leases: Duration::from_millis(7_500),
        longer: Duration::from_millis(18_500),
        faults: 7,
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// One of its processes is killed.
    KillProcess,
    /// The medic is killed, and started again.
    KillMedic,
    /// All of it is killed, as a power cut does, and started again.
    KillNode,
    /// The medic or a process stands still for longer than a lease.
    FreezeProcess,
    /// All of it stands still, for longer than a lease or for still longer.
    FreezeNode,
    /// Nothing moves between it and the store, for as long.
    StallLink,
    /// Its connections to the store are reset.
    CutLink,
}

impl Fault {
    const ALL: [Fault; 7] = [
        Fault::KillNode,
        Fault::FreezeNode,
        Fault::StallLink,
        Fault::CutLink,
        Fault::KillProcess,
        Fault::KillMedic,
        Fault::FreezeProcess,
    ];
}

#[test]
fn three_machines_survive_whatever_happens_to_one_of_them() {
    require_crash_points();
    let pace = if repeat() == 1 { Pace::SHORT } else { Pace::LONG };
    let mut campaign = Campaign::start(pace);
    for _ in 0..repeat() {
        for fault in faults(&mut campaign.dice, pace.faults) {
            campaign.suffer(fault);
        }
        campaign.restart_all();
    }
    campaign.end();
}

/// So many of them, in any order, each once.
fn faults(dice: &mut Dice, count: u64) -> Vec<Fault> {
    let mut faults = Fault::ALL.to_vec();
    for at in (1..faults.len()).rev() {
        faults.swap(at, usize::try_from(dice.roll(at as u64 + 1)).expect("small"));
    }
    faults.truncate(usize::try_from(count).expect("small"));
    faults
}

struct Campaign {
    dice: Dice,
    pace: Pace,
    began: Instant,
    faults: usize,
    /// From what happened to the next leader.
    leaders: Vec<Duration>,
    load: Load,
    publishers: Publishers,
    analysts: analyses::Clients,
    clients: pages::Clients,
    readers: Readers,
    watcher: Watcher,
    receiver: Receiver,
    origin: Arc<Origin>,
    wikis: Arc<Vec<SmallWiki>>,
    nodes: Vec<Node>,
    cluster: Cluster,
}

impl Campaign {
    fn start(pace: Pace) -> Self {
        let mut dice = Dice::of_chance("mixed");
        let began = Instant::now();
        let origin = Arc::new(Origin::start(pages::GAP_MS));
        let wikis: Vec<_> = (0..2).map(|_| SmallWiki::start(WIKI_PAGES, WIKI_REVISIONS, WIKI_GAP_MS)).collect();
        let wikis = Arc::new(wikis);
        // Held for as long as the processes live, which is as long as this one.
        let (wiki, gap) = (wikis[0].url.clone().leak(), WIKI_GAP_MS.to_string().leak());
        let mut variables = vec![
            ("MALLA_CLUSTER_HEARTBEAT_S", pace.heartbeat_s),
            ("MALLA_CLUSTER_DEAD_AFTER_S", pace.dead_after_s),
            ("MALLA_CLUSTER_LEADER_LEASE_S", pace.leader_lease_s),
            ("MALLA_QUEUE_LEASE_S", "3"),
            ("MALLA_SHUTDOWN_GRACE_S", "4"),
            ("MALLA_HTTP_REQUEST_TIMEOUT_S", "5"),
            ("MALLA_WIKI_CONTACT", "tests@example.org"),
            ("MALLA_WIKI_API", &*wiki),
            ("MALLA_WIKI_GAP_MS", &*gap),
            ("MALLA_WIKI_REVISIT", "off"),
        ];
        variables.extend_from_slice(pages::ALONE);
        variables.extend_from_slice(analyses::ROOMY);
        let cluster = Cluster::new(&variables, &DECLARED);
        let http = Http::new();
        http.block_on(witness::install(&cluster.store));
        let nodes: Vec<Node> = (0..NODES).map(|number| Node::start(&cluster, number)).collect();
        complete(&cluster, &nodes);
        eprintln!("three machines after {:.1} s", began.elapsed().as_secs_f64());

        let way = Servers { urls: nodes.iter().map(|node| node.url.clone()).collect(), token: cluster.token.clone() };
        let receiver = Receiver::start();
        let publishers = Publishers::start(way.clone(), &receiver, Fate::Killed, TIMEOUT, dice.split());
        let load = Load::start(dice.split(), Options { timeout: TIMEOUT, ..Options::default() });
        let analysts = analyses::Clients::start(&mut dice, TIMEOUT);
        let clients = pages::Clients::start(&origin, &mut dice, TIMEOUT);
        let readers = Readers::start(&wikis, &mut dice, TIMEOUT);
        load.go_to(way.clone());
        analysts.go_to(way.clone());
        clients.go_to(way.clone());
        readers.go_to(way);
        let watcher = Watcher::start(&cluster.tower.url, &cluster.token);
        let busy = || Some(()).filter(|()| watcher.seen().done().all(|done| done > 0));
        poll_until(Instant::now() + DEADLINE, busy).expect("every room has something to do");
        Self {
            dice,
            pace,
            began,
            faults: 0,
            leaders: Vec::new(),
            load,
            publishers,
            analysts,
            clients,
            readers,
            watcher,
            receiver,
            origin,
            wikis,
            nodes,
            cluster,
        }
    }

    /// To any of the machines; to the one that leads as often as to both others.
    fn suffer(&mut self, fault: Fault) {
        self.pause(500, 1_500);
        let leads = |node: &Node| self.cluster.look().is_some_and(|view| view.led_by(node.medic()));
        let leader = (0..NODES).find(|number| leads(&self.nodes[*number]));
        let number = match leader.filter(|_| self.dice.one_in(2)) {
            Some(leader) => leader,
            None => usize::try_from(self.dice.roll(NODES as u64)).expect("small"),
        };
        let term = self.watcher.seen().term;
        let happened = Instant::now();
        let deposed = self.happen(fault, number) && leader == Some(number);
        let changed = deposed.then(|| {
            let next = || Some(self.watcher.seen()).filter(|seen| seen.term > term)?.led_since;
            let since = poll_until(Instant::now() + LEADER_MAX, next).expect("another member leads");
            since.saturating_duration_since(happened)
        });
        self.recover(fault, number);
        self.leaders.extend(changed);
        self.publishers.watch();
        complete(&self.cluster, &self.nodes);
        let complete_after = happened.elapsed();
        let answers = poll_until(Instant::now() + DEADLINE, || self.publishers.recovered());
        let answers = answers.unwrap_or_else(|| panic!("not every api takes events: {:?}", self.publishers.so_far()));
        self.faults += 1;
        let leader = changed.map(|after| format!("; the next leader after {:.1} s", after.as_secs_f64()));
        eprintln!(
            "{fault:?} of {number}{}: everything in its place after {:.1} s, and each api answers{}{}",
            if deposed { ", which led" } else { "" },
            complete_after.as_secs_f64().max(answers.iter().max().map_or(0.0, Duration::as_secs_f64)),
            leader.unwrap_or_default(),
            self.watcher.lately()
        );
    }

    /// Lets it happen, and waits for as long as it lasts. Whether a leader there can lead no more.
    fn happen(&mut self, fault: Fault, number: usize) -> bool {
        let lasts = if self.dice.one_in(3) { self.pace.longer } else { self.pace.past_leases };
        let node = &mut self.nodes[number];
        match fault {
            Fault::KillProcess => {
                // A machine that has just come gets some when the leader notices it.
                let some = || Some(node.processes()).filter(|processes| !processes.is_empty());
                let processes = poll_until(Instant::now() + COMPLETE_MAX, some).expect("it has processes");
                signal(*self.dice.pick(&processes).expect("there is one"), "KILL");
            }
            Fault::KillMedic => node.kill_medic(),
            Fault::KillNode => node.kill(),
            Fault::FreezeProcess => {
                let mut processes = node.processes();
                processes.push(node.medic().pid());
                let pid = *self.dice.pick(&processes).expect("there is one");
                signal(pid, "STOP");
                std::thread::sleep(self.pace.past_leases);
                signal(pid, "CONT");
            }
            Fault::FreezeNode => {
                node.signal_all("STOP");
                std::thread::sleep(lasts);
            }
            Fault::StallLink => {
                node.link.stall();
                std::thread::sleep(lasts);
            }
            Fault::CutLink => {
                node.link.cut();
                std::thread::sleep(lasts);
            }
        }
        !matches!(fault, Fault::KillProcess | Fault::FreezeProcess)
    }

    /// What is gone comes back.
    fn recover(&mut self, fault: Fault, number: usize) {
        match fault {
            Fault::KillProcess | Fault::FreezeProcess => {}
            Fault::KillMedic | Fault::KillNode => {
                self.pause(0, 2_000);
                self.nodes[number].start_again(&self.cluster);
            }
            Fault::FreezeNode => self.nodes[number].signal_all("CONT"),
            Fault::StallLink | Fault::CutLink => self.nodes[number].link.open(),
        }
    }

    /// One by one, each when all is in its place again.
    fn restart_all(&mut self) {
        let began = Instant::now();
        for number in 0..NODES {
            self.nodes[number].stop();
            self.nodes[number].start_again(&self.cluster);
            complete(&self.cluster, &self.nodes);
        }
        self.faults += 1;
        let took = began.elapsed().as_secs_f64();
        eprintln!("all restarted one by one in {took:.1} s{}", self.watcher.lately());
    }

    /// The moment is the whole of the test, so chance decides.
    fn pause(&mut self, least_ms: u64, more_ms: u64) {
        std::thread::sleep(Duration::from_millis(least_ms + self.dice.roll(more_ms)));
    }

    fn end(self) {
        let way = self.load.known();
        let seen = self.watcher.stop();
        let took = self.began.elapsed();
        let told = self.publishers.stop();
        let (analysts, clients, readers) = (self.analysts, self.clients, self.readers);
        let (analyses, jobs, extractions) = std::thread::scope(|scope| {
            let analyses = scope.spawn(|| analysts.stop_and_audit());
            let jobs = scope.spawn(|| clients.stop_and_audit().len());
            let extractions = readers.stop_and_audit(&Http::new(), &way);
            (analyses.join().expect("analyses are whole"), jobs.join().expect("jobs are whole"), extractions)
        });
        let (runtime, mut record, caller) = self.load.stop();
        let caller = caller.patient(DEADLINE);
        let found = runtime.block_on(audit::full(caller.clone(), &mut record, false));
        let arrived = || Some(()).filter(|()| told.all_arrived(&self.receiver.got()));
        poll_until(Instant::now() + DEADLINE * 2, arrived).expect("every acknowledged event arrives");
        let there = runtime.block_on(events_at_rest(caller));
        told.audit(&there, &self.receiver.got());
        self.cluster.tower.ok(&["tasks", "verify"]);

        let writes = Http::new().block_on(witness::accepted(&self.cluster.store));
        let wrote = witness::one_at_a_time(&writes).unwrap_or_else(|why| panic!("{why}"));
        let terms = self.cluster.tower.json(&["cluster", "terms", "--limit", "200"]);
        in_order(&terms);

        drop(self.nodes);
        let origin = Arc::into_inner(self.origin).expect("the clients have ended").seen();
        origin::polite(&origin);
        let wikis: Vec<_> = Arc::into_inner(self.wikis).expect("the readers have ended").into_iter().collect();
        wikis.into_iter().map(SmallWiki::seen).for_each(|seen| small_wiki::polite(&seen));

        let leaders = self.leaders.iter().max().copied().unwrap_or_default();
        eprintln!(
            "mixed: {} things happened in {:.1} s; {} events acknowledged ({} in doubt, {} posts broken off, {} refused), \
             {} tasks, {analyses} analyses, {jobs} jobs, {extractions} extractions, all whole; the origin saw {origin}",
            self.faults,
            took.as_secs_f64(),
            told.taken.len(),
            told.doubtful.len(),
            told.broken,
            told.refused,
            found.tasks,
        );
        eprintln!(
            "mixed: {} terms, of which {wrote} wrote {} statements, never one after the next one's; the next leader at \
             most {:.1} s after the last (aim {LEADER_AIM:?}); idle at most: {seen} (aim {IDLE_AIM:?})",
            terms.len(),
            writes.len(),
            leaders.as_secs_f64(),
        );
        assert!(wrote > 1, "the leaders never changed");
        assert!(leaders < LEADER_MAX, "nobody led for {leaders:?}");
        assert!(seen.longest() < IDLE_MAX, "a room was idle for {:?}", seen.longest());
    }
}

/// Waits until every role runs as often as it shall, on machines that are up.
fn complete(cluster: &Cluster, nodes: &[Node]) {
    let lives = |view: &View, child: &Child| {
        !is_gone(child.pid) && nodes.iter().any(|node| view.member_of(node.medic()) == Some(child.medic))
    };
    let is_complete = |view: &View| {
        let all_live = || view.all_children().iter().all(|child| lives(view, child));
        cluster.is_complete(view) && view.leader().is_some() && all_live()
    };
    poll_until(Instant::now() + COMPLETE_MAX, || cluster.look().filter(is_complete))
        .unwrap_or_else(|| panic!("not complete again within {COMPLETE_MAX:?}: {:#?}", cluster.look()));
}

/// By their own word: each leader held its term until the next one began.
fn in_order(terms: &[serde_json::Value]) {
    // Newest first; times of one form sort by their letters.
    for pair in terms.windows(2) {
        let (next, last) = (&pair[0], &pair[1]);
        let [began, held] = [&next["began_at"], &last["held_until"]].map(|at| at.as_str().expect("a time"));
        assert!(held <= began && next["term"].as_i64() > last["term"].as_i64(), "{last} and {next}");
    }
}
