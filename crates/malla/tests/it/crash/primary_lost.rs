//! The primary of a replicated PostgreSQL killed, again and again, under two processes at work: tasks, events and
//! analyses. Nothing that was acknowledged is lost, nothing is there twice, and nobody waits without an answer.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::receiver::Receiver;
use crate::server::{DEADLINE, Server, poll_until};

use super::analyses::{Clients, ROOMY};
use super::caller::Servers;
use super::dice::Dice;
use super::load::{Load, Options};
use super::publishers::{Fate, Publishers, events_at_rest};
use super::replicated::Replicated;
use super::world::World;
use super::{audit, require_crash_points, setting};

const REQUEST_TIMEOUT_S: &str = "5";
/// No caller waits longer for an answer of any sort.
const ANSWER_MAX: Duration = Duration::from_secs(7);
/// Callers hold on for longer than that, to see who would let them wait.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The time after which a dead primary is missed (20 s), the choice of another one, and room for a slow machine.
const RECOVERY_MAX: Duration = Duration::from_secs(60);
/// What a process may use of one processor while its store is away: whoever waits does not spin.
const AWAY_LOAD_MAX: f64 = 0.5;

fn kills() -> u64 {
    setting("MALLA_CRASH_PRIMARIES").map_or(1, |text| text.parse().expect("MALLA_CRASH_PRIMARIES is a number"))
}

#[test]
fn nothing_is_lost_with_the_primary() {
    require_crash_points();
    let mut campaign = Campaign::start();
    for kill in 1..=kills() {
        campaign.lose_the_primary(kill);
    }
    campaign.end();
}

struct Campaign {
    dice: Dice,
    began: Instant,
    receiver: Receiver,
    load: Load,
    publishers: Publishers,
    clients: Clients,
    recoveries: Vec<Duration>,
    servers: Vec<Server>,
    worlds: [World; 2],
    // The last to go, when nobody is on it any more.
    postgres: Replicated,
}

impl Campaign {
    fn start() -> Self {
        let mut dice = Dice::of_chance("primary lost");
        let began = Instant::now();
        let postgres = Replicated::start();
        eprintln!("three nodes after {:.1} s", began.elapsed().as_secs_f64());
        let worlds = [(); 2].map(|()| World::on(postgres.url.clone()));
        let mut variables = vec![("MALLA_ALLOW_PRIVATE", "true"), ("MALLA_HTTP_REQUEST_TIMEOUT_S", REQUEST_TIMEOUT_S)];
        variables.extend_from_slice(ROOMY);
        let servers: Vec<Server> = worlds.iter().map(|world| world.start_with(&variables)).collect();
        let urls = servers.iter().map(|server| server.url.clone()).collect();
        // The first one to start has made the token, which is good for both.
        let way = Servers { urls, ..worlds[0].way_to(&servers[0]) };

        let receiver = Receiver::start();
        let publishers = Publishers::start(way.clone(), &receiver, Fate::Live, TIMEOUT, dice.split());
        let load = Load::start(dice.split(), Options { timeout: TIMEOUT, ..Options::default() });
        load.go_to(way.clone());
        let clients = Clients::start(&mut dice, TIMEOUT);
        clients.go_to(way);
        Self { dice, began, receiver, load, publishers, clients, recoveries: Vec::new(), servers, worlds, postgres }
    }

    fn lose_the_primary(&mut self, kill: u64) {
        if kill > 1 {
            self.postgres.revive();
        }
        // The moment is the whole of the test, so chance decides.
        std::thread::sleep(Duration::from_millis(500 + self.dice.roll(1_500)));
        let so_far = self.publishers.so_far();
        assert_eq!(so_far.wrong, [""; 0], "answers that nobody should get");
        let refused = so_far.refused;
        let node = self.postgres.kill_primary();
        self.publishers.watch();
        let (killed, used) = (Instant::now(), self.processor_time());

        let told = || Some(()).filter(|()| self.publishers.so_far().refused > refused);
        poll_until(Instant::now() + DEADLINE, told)
            .unwrap_or_else(|| panic!("publishers are not told with a 503: {:?}", self.publishers.so_far().wrong));
        for server in &self.servers {
            let asked = Instant::now();
            assert!(server.get("/livez").starts_with("HTTP/1.1 200"), "it lives without its store");
            assert!(server.get("/readyz").starts_with("HTTP/1.1 503"), "it is not ready without its store");
            assert!(asked.elapsed() < ANSWER_MAX, "it took {:?} to say so", asked.elapsed());
        }
        let recovered = poll_until(killed + RECOVERY_MAX, || self.publishers.recovered());
        let recovered = recovered.expect("each process acknowledges again");
        let load = self.processor_time().saturating_sub(used).as_secs_f64() / killed.elapsed().as_secs_f64();
        let load = load / self.servers.len() as f64;
        let first = recovered.iter().min().copied().unwrap_or_default();
        eprintln!(
            "kill {kill} of {node}: the first acknowledged write after {:.1} s, from each process after {:.1?} s; \
             a process used {:.0} % of a processor meanwhile",
            first.as_secs_f64(),
            recovered.iter().map(Duration::as_secs_f64).collect::<Vec<_>>(),
            load * 100.0
        );
        assert!(load < AWAY_LOAD_MAX, "a process without its store keeps a processor busy");
        self.recoveries.push(first);

        let ready = |server: &Server| server.get("/readyz").starts_with("HTTP/1.1 200");
        let all_ready = || Some(()).filter(|()| self.servers.iter().all(ready));
        poll_until(Instant::now() + DEADLINE, all_ready).expect("ready again");
        let (record, caller) = self.load.so_far();
        self.load.knock_at_each_lane(self.dice.split());
        let audited = || self.load.runtime.block_on(audit::quick(caller.clone(), &record, false)).ok();
        poll_until(Instant::now() + DEADLINE, audited).expect("it answers again");
    }

    /// Of all processes together.
    fn processor_time(&self) -> Duration {
        self.servers.iter().map(|server| processor_time(server.pid())).sum()
    }

    fn end(self) {
        let told = self.publishers.stop();
        let analysts = self.clients.caller.trials.clone();
        let analyses = self.clients.stop_and_audit();
        let (runtime, mut record, caller) = self.load.stop();
        let found = runtime.block_on(audit::full(caller.clone(), &mut record, false));

        let arrived = || Some(()).filter(|()| told.all_arrived(&self.receiver.got()));
        poll_until(Instant::now() + DEADLINE * 2, arrived).expect("every acknowledged event arrives");
        let there = runtime.block_on(events_at_rest(caller));
        let deliveries = self.receiver.got();
        told.audit(&there, &deliveries);

        let broken = found.broken + analysts.broken.load(Ordering::Relaxed);
        assert_eq!(broken, 0, "somebody was left without an answer");
        let others = analysts.longest_ms.load(Ordering::Relaxed).max(found.longest_ms);
        let longest = told.longest.max(Duration::from_millis(others));
        assert!(longest < ANSWER_MAX, "somebody waited {longest:?} for an answer");
        for server in self.servers {
            let ended = server.terminate();
            assert!(ended.status.success(), "it came to its end by itself: {}", ended.said.join("\n"));
        }
        drop(self.worlds);
        eprintln!(
            "primary lost: {} times in {:.1} s; {} events acknowledged ({} in doubt), {} there, {} deliveries, {} tasks, \
             {analyses} analyses; {} answers of 503; the longest wait for an answer was {longest:.1?}; \
             back after {:.1?} s",
            self.recoveries.len(),
            self.began.elapsed().as_secs_f64(),
            told.taken.len(),
            told.doubtful.len(),
            there.len(),
            deliveries.len(),
            found.tasks,
            told.refused + found.away + analysts.away.load(Ordering::Relaxed),
            self.recoveries.iter().map(Duration::as_secs_f64).collect::<Vec<_>>(),
        );
    }
}

/// What a process has used of the processors so far.
fn processor_time(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process lives");
    let (_, after_name) = stat.rsplit_once(')').expect("a name in brackets");
    // In hundredths of a second: the time of its own and that of the kernel for it.
    let hundredths: u64 =
        after_name.split_whitespace().skip(11).take(2).filter_map(|text| text.parse::<u64>().ok()).sum();
    Duration::from_millis(hundredths * 10)
}
