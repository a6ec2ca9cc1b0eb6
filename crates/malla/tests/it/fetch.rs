//! Fetching with the real binary: a server, devices and an origin that watches them.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::crash::dice::Dice;
use crate::crash::fresh_database;
use crate::origin::{Origin, polite};
use crate::server::{DEADLINE, Place, Server, malla, poll_until, refused, text};

/// Everything is on loopback here.
const PRIVATE: (&str, &str) = ("MALLA_ALLOW_PRIVATE", "true");
/// A lease is short, so that the work of the dead moves on soon.
const QUICK: (&str, &str) = ("MALLA_FETCH_TIMEOUT_S", "1");
const ALONE: (&str, &str) = ("MALLA_FETCH_WORKERS_MIN", "0");

/// A device. It is killed when the test is over.
pub(crate) struct Device(Child);

impl Device {
    pub(crate) fn start(place: &Place, server: &str, name: &str) -> Self {
        let mut command = device(place, server, name);
        command.args(["--retries", "0", "--retry-interval", "0.1"]).stderr(Stdio::null());
        Self(command.spawn().expect("a device"))
    }
}

/// One with a directory of its own, as on a machine of its own.
fn device(place: &Place, server: &str, name: &str) -> Command {
    let mut command = malla();
    command
        .args(["worker", "--server", server, "--token", &token(place), "--name", name, "--data"])
        .arg(place.root().join(name))
        .envs([PRIVATE]);
    command
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn token(place: &Place) -> String {
    std::fs::read_to_string(place.data().join("admin.token")).expect("a token").trim().to_owned()
}

/// `malla fetch` of these, with its standard output piped.
fn fetching(place: &Place, urls: &[String]) -> Command {
    let list = place.root().join("urls.txt");
    std::fs::File::create(&list).and_then(|mut file| file.write_all(urls.join("\n").as_bytes())).expect("a list");
    let mut command = place.command(&["fetch"]);
    command.arg("--file").arg(list).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn results(stdout: &[u8]) -> Vec<Value> {
    text(stdout).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Each URL was answered once, with this status.
#[track_caller]
fn answered(results: &[Value], urls: &[String], status: u16) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for result in results {
        *counts.entry(result["url"].as_str().expect("a URL")).or_default() += 1;
        assert_eq!(result["status"], status, "{result}");
    }
    assert_eq!(counts.len(), urls.len());
    assert!(counts.values().all(|count| *count == 1), "{counts:?}");
}

#[test]
fn pages_come_politely_through_a_fleet() {
    let (place, origin) = (Place::new(), Origin::start(200));
    let server = place.start_with(&[], &[PRIVATE, ALONE, ("MALLA_FETCH_GAP_MS", "200")]);
    let devices: Vec<_> = (0..3).map(|n| Device::start(&place, &server.url, &format!("device-{n}"))).collect();
    let urls = origin.urls(10, 4);
    let output = fetching(&place, &urls).output().expect("malla runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    answered(&results(&output.stdout), &urls, 200);
    let again = results(&fetching(&place, &urls).output().expect("malla runs").stdout);
    let cached = again.iter().filter(|result| result["from_cache"] == true).count();
    // A share of them is asked about all the same.
    assert!(cached > urls.len() / 2, "{cached} of {} from the cache", urls.len());
    drop(devices);
    polite(&origin.seen());
}

#[test]
fn a_device_that_waited_for_work_has_the_whole_lease() {
    let (place, origin) = (Place::new(), Origin::start(0));
    let server = place.start_with(&[], &[PRIVATE, ALONE, QUICK, ("MALLA_FETCH_GAP_MS", "0")]);
    let device = Device::start(&place, &server.url, "patient");
    let joined = poll_until(Instant::now() + DEADLINE, || server.json(&["devices", "list"]).pop());
    assert!(joined.is_some(), "the device did not join");
    // Longer than the lease of one page, and shorter than the device is left waiting.
    std::thread::sleep(Duration::from_secs(8));
    let url = origin.url(0, 0);
    answered(&server.json(&["fetch", &url]), &[url], 200);
    let tasks = server.json(&["tasks", "list", "--room", "fetch"]);
    assert_eq!(tasks.len(), 2, "robots.txt and the page: {tasks:?}");
    for task in tasks {
        let task = server.json(&["tasks", "show", task["id"].as_str().expect("a number")]).remove(0);
        let ends: Vec<&str> =
            task["history"].as_array().expect("a list").iter().filter_map(|e| e["what"].as_str()).collect();
        assert_eq!(ends, ["succeeded"], "{task}");
    }
    drop(device);
}

#[test]
fn whatever_is_killed_every_page_is_answered_once_and_no_site_is_hurt() {
    fleet_under_kills("", 1);
}

#[test]
fn whatever_is_killed_of_two_nodes_every_page_is_answered_once_and_no_site_is_hurt() {
    fleet_under_kills(&fresh_database(), 2);
}

/// Servers and devices are killed at random while a client waits for pages from the first server.
fn fleet_under_kills(store: &str, nodes: usize) {
    let mut dice = Dice::of_chance("a fleet");
    let origin = Origin::start(150);
    let variables = [PRIVATE, ALONE, QUICK, ("MALLA_FETCH_GAP_MS", "150"), ("MALLA_STORE", store)];
    let places: Vec<Place> = (0..nodes).map(|_| Place::new()).collect();
    let mut servers: Vec<Server> = places.iter().map(|place| place.start_with(&[], &variables)).collect();
    let urls: Vec<String> = servers.iter().map(|server| server.url.clone()).collect();
    let device = |n: usize| Device::start(&places[0], &urls[n % nodes], &format!("device-{n}"));
    let mut devices: Vec<Device> = (0..3).map(device).collect();
    let pages = origin.urls(12, 25);
    let mut client = fetching(&places[0], &pages).spawn().expect("malla runs");
    let stdout = client.stdout.take().expect("piped");
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut { stdout }, &mut bytes).map(|_| bytes)
    });
    let (mut killed, began) = (0, Instant::now());
    while servers[0].json(&["lanes", "list", "--search", "fetch/"]).is_empty() {
        assert!(began.elapsed() < DEADLINE, "the client did not ask");
        std::thread::sleep(Duration::from_millis(20));
    }
    while client.try_wait().expect("a child").is_none() {
        assert!(began.elapsed() < DEADLINE * 6, "the pages did not come");
        std::thread::sleep(Duration::from_millis(200 + dice.roll(600)));
        if killed < 12 {
            killed += 1;
            let mut one_of = |count: usize| usize::try_from(dice.roll(count as u64)).expect("small");
            if one_of(4) == 0 {
                let victim = one_of(nodes);
                servers.remove(victim).kill();
                let flags = ["--listen", urls[victim].trim_start_matches("http://")];
                servers.insert(victim, places[victim].start_with(&flags, &variables));
            } else {
                let victim = one_of(3);
                drop(devices.remove(victim));
                devices.insert(victim, device(victim));
            }
        }
    }
    answered(&results(&reader.join().expect("read").expect("bytes")), &pages, 200);
    drop(devices);
    drop(servers);
    let seen = origin.seen();
    polite(&seen);
    eprintln!("{killed} kills in {:.1} s; the origin saw {seen}", began.elapsed().as_secs_f64());
}

#[test]
fn nonsense_ends_in_a_definite_result() {
    let place = Place::new();
    let server = place.start_with(&[], &[QUICK]);
    for (url, status, trouble) in [
        ("ftp://example.org/", 0, "refused"),
        ("http://user:secret@example.org/", 0, "refused"),
        ("no url at all", 0, "refused"),
        ("http://no-such-name.invalid/", 580, "no_connection"),
        ("http://example.org/.env?x=1%27%20OR%20%271%27=%271", 0, "refused"),
    ] {
        let result = server.json(&["fetch", url]).remove(0);
        assert_eq!((&result["status"], &result["trouble"]), (&status.into(), &trouble.into()), "{result}");
        assert!(result["reason"].as_str().is_some_and(|reason| reason.len() > 10), "{result}");
    }
    let private = server.json(&["fetch", "http://127.0.0.1:9/"]).remove(0);
    assert!(private["reason"].as_str().is_some_and(|why| why.contains("robots.txt")), "{private}");
}

#[test]
fn a_server_with_too_few_devices_fetches_itself_until_there_are_enough() {
    let (place, origin) = (Place::new(), Origin::start(0));
    let server = place.start_with(&[], &[PRIVATE, ("MALLA_FETCH_WORKERS_MIN", "1"), ("MALLA_FETCH_GAP_MS", "0")]);
    let online = |owner: fn(&str) -> bool| {
        let devices = server.json(&["devices", "list"]);
        devices.iter().filter(|d| d["state"] == "online" && owner(d["owner"].as_str().unwrap_or_default())).count()
    };
    let house = |owner: &str| owner == "malla";
    let wait = |what: &str, mut wish: Box<dyn FnMut() -> bool + '_>| {
        poll_until(Instant::now() + DEADLINE, || wish().then_some(())).unwrap_or_else(|| panic!("{what}"));
    };
    wait("the server stands in", Box::new(|| online(house) == 1));
    answered(&server.json(&["fetch", &origin.url(0, 0)]), &[origin.url(0, 0)], 200);
    let device = Device::start(&place, &server.url, "volunteer");
    wait("the server steps back", Box::new(|| online(house) == 0 && online(|owner| owner != "malla") == 1));
    let result = server.json(&["fetch", &origin.url(1, 0)]).remove(0);
    assert_eq!(result["device"], "volunteer");
    drop(device);
}

#[test]
fn a_second_device_of_the_same_name_is_turned_away_and_the_first_comes_back_after_a_kill() {
    let (place, origin) = (Place::new(), Origin::start(0));
    let server = place.start_with(&[], &[PRIVATE, ALONE, ("MALLA_FETCH_GAP_MS", "0")]);
    let first = Device::start(&place, &server.url, "volunteer");
    answered(&server.json(&["fetch", &origin.url(0, 0)]), &[origin.url(0, 0)], 200);
    let mut elsewhere = place.command(&["worker", "--server", &server.url, "--name", "volunteer"]);
    let at_work = ["a device named volunteer of", "is at work: choose another --name, or wait"];
    refused(&mut elsewhere, &["--token", &token(&place)], 1, &at_work);
    // Not even from the same directory, while the first one is there.
    refused(&mut device(&place, &server.url, "volunteer"), &["--retries", "1"], 1, &at_work);
    drop(first);
    let _again = Device::start(&place, &server.url, "volunteer");
    answered(&server.json(&["fetch", &origin.url(1, 0)]), &[origin.url(1, 0)], 200);
    assert_eq!(server.json(&["devices", "list"]).len(), 1);
}

#[test]
fn a_device_of_the_server_is_one_row_over_restarts_and_stops_while_it_is_blocked() {
    let (place, origin) = (Place::new(), Origin::start(0));
    let variables = [PRIVATE, ("MALLA_FETCH_WORKERS_MIN", "2"), ("MALLA_FETCH_GAP_MS", "0")];
    let online = |server: &Server| {
        let devices = server.json(&["devices", "list"]);
        let all = devices.len() == 2 && devices.iter().all(|device| device["state"] == "online");
        all.then(|| devices.iter().map(|device| device["name"].as_str().expect("a name").to_owned()).collect())
    };
    let both = |server: &Server| -> Vec<String> {
        poll_until(Instant::now() + DEADLINE, || online(server)).expect("the two devices of the server")
    };
    let mut server = place.start_with(&[], &variables);
    let names = both(&server);
    for _ in 0..2 {
        server.kill();
        server = place.start_with(&[], &variables);
        answered(&server.json(&["fetch", "--no-cache", &origin.url(0, 0)]), &[origin.url(0, 0)], 200);
        assert_eq!(both(&server), names);
    }
    for name in &names {
        server.ok(&["devices", "block", name]);
    }
    let urls = origin.urls(12, 1);
    let client = fetching(&place, &urls).spawn().expect("malla runs");
    server.ok(&["devices", "unblock", &names[0]]);
    let results = results(&client.wait_with_output().expect("malla ends").stdout);
    answered(&results, &urls, 200);
    let by_other =
        results.iter().filter(|result| result["device"] != names[0].as_str() && result["from_cache"] == false);
    assert_eq!(by_other.count(), 0, "{results:?}");
}

#[test]
fn a_blocked_device_gets_no_work() {
    let (place, origin) = (Place::new(), Origin::start(0));
    let server = place.start_with(&[], &[PRIVATE, ("MALLA_FETCH_WORKERS_MIN", "0"), ("MALLA_FETCH_GAP_MS", "0")]);
    let mut device = Device::start(&place, &server.url, "volunteer");
    answered(&server.json(&["fetch", &origin.url(0, 0)]), &[origin.url(0, 0)], 200);
    server.ok(&["devices", "block", "volunteer"]);
    let ended = poll_until(Instant::now() + DEADLINE, || device.0.try_wait().expect("a child"));
    assert_eq!(ended.expect("a blocked device ends").code(), Some(1));
}

#[test]
fn fetch_works_with_no_server_at_all() {
    let (place, origin) = (Place::new(), Origin::start(100));
    let warc = place.root().join("pages.warc.gz");
    let urls = origin.urls(2, 2);
    let output = fetching(&place, &urls)
        .envs([PRIVATE, ("MALLA_FETCH_GAP_MS", "100")])
        .arg("--warc")
        .arg(&warc)
        .output()
        .expect("malla runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    answered(&results(&output.stdout), &urls, 200);
    let archive = std::fs::read(&warc).expect("an archive");
    let members = archive.windows(3).filter(|bytes| *bytes == [0x1f, 0x8b, 0x08]).count();
    assert!(members >= 5, "an info and four pages, each packed by itself, not {members}");
    polite(&origin.seen());
}

#[test]
fn an_orphan_says_so_and_ends_with_an_error() {
    let place = Place::new();
    let mut worker = place.command(&["worker", "--server", "http://127.0.0.1:1", "--token", "x"]);
    refused(&mut worker, &["--retries", "1", "--retry-interval", "0.01"], 1, &["no server any more", "cannot reach"]);
    let server: Server = place.start();
    let mut worker = place.command(&["worker", "--server", &server.url, "--token", "wrong"]);
    refused(&mut worker, &["--retries", "1"], 1, &["no server any more", "token"]);
}

#[test]
fn robots_are_checked_without_a_server() {
    let place = Place::new();
    let file = place.root().join("robots.txt");
    std::fs::write(&file, "User-agent: *\nDisallow: /private\n").expect("a file");
    for (url, code) in [("https://example.org/private/x", 1), ("https://example.org/", 0), ("/private", 1)] {
        let check = ["robots", "check", "--file", "robots.txt", "--agent", "MallaBot", url];
        let status = malla().current_dir(place.root()).args(check).stdout(Stdio::null()).status().expect("malla runs");
        assert_eq!(status.code(), Some(code), "{url}");
    }
    refused(&mut malla(), &["robots", "check", "--file", "nowhere", "/x"], 1, &["cannot read nowhere"]);
    refused(malla().current_dir(place.root()), &["robots", "check", "--file", "robots.txt", "ftp://x/"], 2, &["ftp"]);
}
