//! Several machines, each a medic with its own data directory, on one PostgreSQL: what is killed or frozen comes back, what
//! was on a dead machine moves, and there is one leader at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::server::{DEADLINE, Place, Server, poll_until, refused};
use crate::tower::{Cluster, QUICK, get, is_gone, signal};

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
fn a_medic_shows_its_metrics_and_holds_up_nobody_when_it_stands_still() {
    let more = [("MALLA_LOG_LEVEL", "debug"), ("MALLA_METRICS_LISTEN", "127.0.0.1:0")];
    let cluster = Cluster::new(&[&QUICK[..], &more].concat(), &[("api", 1)]);
    let place = Place::new();
    let mut medic = cluster.medic(&place);
    let said = medic.said.iter().find_map(|line| line.split("/metrics of this process is at ").nth(1));
    let shown = format!("http://{}", said.expect("an address").trim());
    let leads = || get(&shown, "/metrics", "").filter(|(_, body)| body.contains("malla_cluster_leader 1"));
    poll_until(Instant::now() + DEADLINE, leads).expect("it leads, and says so");
    for (path, status) in [("/livez", 200), ("/readyz", 200), ("/api/v1/tasks", 404)] {
        assert_eq!(get(&shown, path, "").map(|(status, _)| status), Some(status), "{path}");
    }

    cluster.wait_until_complete(DEADLINE);
    medic.signal("STOP");
    // Each is a line of its log: more than a pipe holds, and more than is kept for whoever may read on.
    let long = format!("/{}", "x".repeat(6_000));
    for number in 0..1_000 {
        let answer = get(&medic.url, &long, "").map(|(status, _)| status);
        assert_eq!(answer, Some(404), "after {number} answers");
    }
    medic.signal("CONT");
    medic.wait_for_line("lines of the log were lost");
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
