//! Several machines, each a medic with its own data directory, on one PostgreSQL: what is killed or frozen comes back, what
//! was on a dead machine moves, and there is one leader at a time.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::crash::fresh_database;
use crate::server::{DEADLINE, Place, Server, poll_until, refused};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// Quick hearts, so that a test need not wait for long.
const QUICK: [(&str, &str); 4] = [
    ("MALLA_CLUSTER_HEARTBEAT_S", "1"),
    ("MALLA_CLUSTER_DEAD_AFTER_S", "4"),
    ("MALLA_CLUSTER_LEADER_LEASE_S", "3"),
    ("MALLA_SHUTDOWN_GRACE_S", "3"),
];

/// A cluster, seen from a server that nobody kills.
struct Cluster {
    store: String,
    variables: Vec<(&'static str, &'static str)>,
    /// How many of each role there shall be.
    declared: BTreeMap<&'static str, usize>,
    tower: Server,
    token: String,
    _place: Place,
}

impl Cluster {
    fn new(variables: &[(&'static str, &'static str)], declared: &[(&'static str, usize)]) -> Self {
        let (store, place) = (fresh_database(), Place::new());
        let tower = place.start_with(&["--store", &store, "--roles", "api"], variables);
        let token = std::fs::read_to_string(place.data().join("admin.token")).expect("the server has made it");
        let declared = declared.iter().copied().collect();
        Self { store, variables: variables.to_vec(), declared, tower, token: token.trim().to_owned(), _place: place }
    }

    /// A medic on a machine of its own.
    fn medic(&self, machine: &Place) -> Server {
        let all = ["api", "notifier", "fetcher", "wiki", "analyst"];
        let counts: Vec<String> =
            all.iter().map(|role| format!("{role}={}", self.declared.get(role).copied().unwrap_or(0))).collect();
        let mut flags = vec!["--store", self.store.as_str()];
        flags.extend(counts.iter().flat_map(|count| ["--role", count.as_str()]));
        machine.supervise(&flags, &self.variables)
    }

    fn view(&self) -> View {
        let (status, body) = get(&self.tower.url, "/api/v1/cluster", &self.token).expect("the tower answers");
        assert_eq!(status, 200, "{body}");
        let view = View(serde_json::from_str(&body).expect("JSON"));
        for (role, most) in &self.declared {
            let children = view.children(role);
            assert!(children.len() <= *most || view.is_rolling(), "more than {most} of {role}: {view:#?}");
        }
        view
    }

    /// Looks until `seen` sees something. There are never more of a role than there shall be, whenever one looks.
    #[track_caller]
    fn wait<T>(&self, what: &str, within: Duration, seen: impl Fn(&View) -> Option<T>) -> T {
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
    fn wait_until_complete(&self, within: Duration) -> View {
        self.wait("all roles are complete", within, |view| self.is_complete(view).then(|| view.clone()))
    }

    fn is_complete(&self, view: &View) -> bool {
        self.declared.iter().all(|(role, count)| view.children(role).len() == *count)
    }

    /// The restart of a role for a reason, once it is written down.
    #[track_caller]
    fn wait_for_restart(&self, role: &str, why: &str) -> Value {
        self.wait(&format!("a {role} that was {why} is noted"), DEADLINE, |view| {
            let restarts = view.0["restarts"].as_array().expect("a list");
            restarts.iter().find(|restart| restart["role"] == role && restart["why"] == why).cloned()
        })
    }
}

/// What the API says about the cluster.
#[derive(Debug, Clone)]
struct View(Value);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Child {
    id: i64,
    medic: i64,
    pid: u32,
}

impl View {
    fn members(&self) -> impl Iterator<Item = &Value> {
        self.0["members"].as_array().expect("a list").iter()
    }

    /// Supervised processes with a role that were not given up.
    fn children(&self, role: &str) -> Vec<Child> {
        let of = |member: &&Value| {
            member["lost_at"].is_null()
                && member["roles"].as_array().is_some_and(|roles| roles.iter().any(|r| r == role))
        };
        let child = |member: &Value| {
            Some(Child { id: member["id"].as_i64()?, medic: member["medic"].as_i64()?, pid: pid_of(member) })
        };
        self.members().filter(of).filter_map(child).collect()
    }

    fn all_children(&self) -> Vec<Child> {
        ["api", "notifier", "fetcher", "wiki", "analyst"].iter().flat_map(|role| self.children(role)).collect()
    }

    fn member_of(&self, server: &Server) -> Option<i64> {
        self.members().find(|member| pid_of(member) == server.pid()).and_then(|member| member["id"].as_i64())
    }

    /// The member that leads now, and its term.
    fn leader(&self) -> Option<(i64, i64)> {
        Some((self.0["leader"]["member"].as_i64()?, self.0["term"].as_i64()?))
    }

    fn led_by(&self, server: &Server) -> bool {
        self.leader().is_some_and(|(leader, _)| Some(leader) == self.member_of(server))
    }

    fn is_rolling(&self) -> bool {
        !self.0["rolling"].is_null() && self.0["rolling"]["ended_at"].is_null()
    }
}

fn pid_of(member: &Value) -> u32 {
    let name = member["name"].as_str().expect("a name");
    name.rsplit('-').next().and_then(|pid| pid.parse().ok()).expect("host and process")
}

/// Status and body of a GET; `None` if nobody answers.
fn get(url: &str, path: &str, token: &str) -> Option<(u16, String)> {
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

fn signal(pid: u32, name: &str) {
    let kill = format!("kill -{name} {pid}");
    assert!(Command::new("sh").args(["-c", &kill]).status().expect("sh runs").success(), "{kill}");
}

/// Ended, even if nobody has asked how.
fn is_gone(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_none_or(|rest| rest.is_empty() || rest.trim_start().starts_with('Z'))
}

#[test]
fn a_dead_or_frozen_process_is_replaced_and_the_others_share_the_roles() {
    let cluster = Cluster::new(&QUICK, &[("api", 2), ("notifier", 2), ("wiki", 1)]);
    let (one, two) = (Place::new(), Place::new());
    let (first, second) = (cluster.medic(&one), cluster.medic(&two));
    let shared = cluster.wait("the roles are shared", DEADLINE, |view| {
        let of = |medic: &Server| {
            let medic = view.member_of(medic)?;
            Some(view.all_children().iter().filter(|child| child.medic == medic).count())
        };
        (cluster.is_complete(view) && of(&first)? >= 2 && of(&second)? >= 2).then(|| view.clone())
    });

    let dead = shared.children("notifier").remove(0);
    signal(dead.pid, "KILL");
    let restart = cluster.wait_for_restart("notifier", "crashed");
    assert!(restart["note"].as_str().expect("text").starts_with("signal 9"), "{restart}");
    assert_eq!(restart["delay_ms"], 500, "{restart}");
    cluster.wait("another notifier in its place", DEADLINE, |view| {
        let now = view.children("notifier");
        (now.len() == 2 && !now.contains(&dead)).then_some(())
    });

    let frozen = shared.children("wiki").remove(0);
    signal(frozen.pid, "STOP");
    cluster.wait_for_restart("wiki", "frozen");
    assert!(is_gone(frozen.pid), "the frozen one is killed");
    let complete = cluster.wait_until_complete(DEADLINE);

    // A medic that ends takes its processes along, all in order; the other one takes over.
    let ending = complete.all_children();
    let medic = complete.member_of(&second).expect("a member");
    let ended = second.terminate();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.said.join("\n"));
    assert!(ending.iter().filter(|child| child.medic == medic).all(|child| is_gone(child.pid)));
    cluster.wait("the first runs everything", DEADLINE, |view| {
        let (all, medic) = (view.all_children(), view.member_of(&first)?);
        (cluster.is_complete(view) && all.iter().all(|child| child.medic == medic)).then_some(())
    });
}

/// With the settings that are the default.
#[test]
fn the_roles_of_a_dead_machine_move_and_come_back() {
    let cluster = Cluster::new(&[], &[("api", 1), ("notifier", 2), ("wiki", 1)]);
    let (one, two) = (Place::new(), Place::new());
    let first = cluster.medic(&one);
    cluster.wait("the first leads", DEADLINE, |view| view.led_by(&first).then_some(()));
    let second = cluster.medic(&two);
    let before = cluster.wait("both run something", DEADLINE, |view| {
        let medics: Vec<i64> = view.all_children().iter().map(|child| child.medic).collect();
        let all = [&first, &second].map(|medic| view.member_of(medic));
        (cluster.is_complete(view) && all.iter().all(|id| id.is_some_and(|id| medics.contains(&id))))
            .then(|| view.clone())
    });
    let dead = before.member_of(&first).expect("a member");
    let orphans: Vec<_> = before.all_children().into_iter().filter(|child| child.medic == dead).collect();

    let killed_at = Instant::now();
    first.kill();
    let (_, term) = cluster
        .wait("the second leads", Duration::from_secs(10), |view| view.leader().filter(|_| view.led_by(&second)));
    eprintln!("a new leader after {:.1} s", killed_at.elapsed().as_secs_f64());
    assert!(before.leader().is_some_and(|(_, before)| before < term));
    let ended = || orphans.iter().all(|child| is_gone(child.pid)).then_some(());
    poll_until(killed_at + DEADLINE, ended).expect("processes end with their medic");
    let left = DEADLINE.saturating_sub(killed_at.elapsed());
    cluster.wait("its roles are on the other machine", left, |view| {
        let (all, medic) = (view.all_children(), view.member_of(&second)?);
        (cluster.is_complete(view) && all.iter().all(|child| child.medic == medic)).then_some(())
    });
    eprintln!("its roles on the other machine after {:.1} s", killed_at.elapsed().as_secs_f64());

    let back = cluster.medic(&one);
    cluster.wait("it has its share again", DEADLINE, |view| {
        let (all, medic) = (view.all_children(), view.member_of(&back)?);
        let own = all.iter().filter(|child| child.medic == medic).count();
        (cluster.is_complete(view) && own == orphans.len().min(2)).then_some(())
    });
}

#[test]
fn a_leader_that_was_frozen_past_its_lease_stands_down() {
    let cluster = Cluster::new(&QUICK, &[]);
    let places = [Place::new(), Place::new()];
    let start = |place: &Place| place.start_with(&["--store", &cluster.store, "--roles", "medic"], &cluster.variables);
    let mut frozen = start(&places[0]);
    let (_, before) = cluster.wait("the first leads", DEADLINE, |view| view.leader().filter(|_| view.led_by(&frozen)));
    let next = start(&places[1]);
    frozen.signal("STOP");
    let (_, term) =
        cluster.wait("the other leads", Duration::from_secs(10), |view| view.leader().filter(|_| view.led_by(&next)));
    assert!(term > before);
    frozen.signal("CONT");
    frozen.wait_for_line("standing down");
    // It is a member again, and leaves the lead to the other, who has not noticed anything.
    cluster.wait("both are members", DEADLINE, |view| {
        let alive = |member: &&Value| member["state"] == "alive" && member["roles"][0] == "medic";
        (view.members().filter(alive).count() == 2).then_some(())
    });
    assert_eq!(cluster.view().leader().map(|(_, term)| term), Some(term));
    let ended = next.terminate();
    assert!(!ended.said.iter().any(|line| line.contains("standing down")), "{}", ended.said.join("\n"));
    // Now it may lead again, and need not wait for a lease to run out.
    let dead = cluster.wait("it leads again", DEADLINE, |view| view.leader().filter(|_| view.led_by(&frozen)));
    // Whoever starts on the data directory of a dead one knows that it is dead.
    frozen.kill();
    let again = start(&places[0]);
    cluster.wait("the next one there leads", DEADLINE, |view| view.led_by(&again).then_some(()));
    assert!(cluster.view().members().all(|member| member["id"] != dead.0), "{:#?}", cluster.view());
}

#[test]
fn a_rolling_restart_replaces_all_while_an_api_answers() {
    let cluster = Cluster::new(&QUICK, &[("api", 1), ("notifier", 1), ("wiki", 1)]);
    let place = Place::new();
    let medic = cluster.medic(&place);
    let old = cluster.wait_until_complete(DEADLINE).all_children();
    let (url, over) = (medic.url.clone(), Arc::new(AtomicBool::new(false)));
    let asking = {
        let (url, over) = (url.clone(), over.clone());
        std::thread::spawn(move || {
            let (mut answers, mut again) = (0, 0);
            while !over.load(Ordering::Relaxed) {
                let answer = get(&url, "/livez", "").or_else(|| {
                    // A connection that waits at the moment when a process closes its door is lost, and made again.
                    again += 1;
                    get(&url, "/livez", "")
                });
                assert_eq!(answer.map(|(status, _)| status), Some(200), "nobody answers after {answers} answers");
                answers += 1;
                std::thread::sleep(Duration::from_millis(5));
            }
            (answers, again)
        })
    };
    let begun: Value =
        serde_json::from_str(&cluster.tower.ok(&["cluster", "restart", "--rolling", "--json"])).expect("JSON");
    assert!(begun["ended_at"].is_null(), "{begun}");
    let now = cluster.wait("the rolling restart is over", DEADLINE * 2, |view| {
        let rolling = &view.0["rolling"];
        (rolling["id"] == begun["id"] && !rolling["ended_at"].is_null()).then(|| view.clone())
    });
    over.store(true, Ordering::Relaxed);
    let (answers, again) = asking.join().expect("an api answered all the time");
    eprintln!("{answers} answers during a rolling restart, {again} of them at the second try");
    assert!(now.0["rolling"]["note"].is_null(), "{now:#?}");
    let new = cluster.wait_until_complete(DEADLINE).all_children();
    assert_eq!(new.len(), old.len());
    assert!(old.iter().all(|child| is_gone(child.pid) && !new.contains(child)), "{old:?} {new:?}");
    // What people see of it.
    let shown = cluster.tower.ok(&["cluster"]);
    for words in ["rolling restart  begun", "; over ", "asked", "medic", "ASSIGNED"] {
        assert!(shown.contains(words), "{shown}");
    }
    assert_eq!(cluster.tower.json(&["cluster", "restarts"]).len(), old.len());
    assert_eq!(cluster.tower.json(&["cluster", "terms"]).len(), 1);
    let metrics = cluster.tower.get("/metrics");
    for line in ["malla_cluster_members{state=\"alive\"} 5", "malla_cluster_leader 0", "malla_cluster_term 1"] {
        let shows = || cluster.tower.get("/metrics").contains(line).then_some(());
        poll_until(Instant::now() + DEADLINE, shows).unwrap_or_else(|| panic!("no {line} in {metrics}"));
    }
}

#[test]
fn what_a_medic_cannot_do_it_says_in_one_sentence() {
    let place = Place::new();
    refused(&mut place.command(&["supervise"]), &[] as &[&str], 2, &["many processes", "--store postgres://"]);
    let postgres = ["--store", "postgres://nobody@127.0.0.1:1/nothing"];
    refused(place.command(&["supervise"]).args(postgres), &["--roles", "api"], 2, &["--role NAME=N"]);
    refused(place.command(&["supervise"]).args(postgres), &["--role", "api=101"], 2, &["supervise.roles.api", "100"]);
    refused(place.command(&["supervise"]).args(postgres), &["--role", "cook=1"], 2, &["cook", "notifier"]);
}
