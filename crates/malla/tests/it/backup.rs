//! `malla backup` and `malla restore`: under load, into a fresh directory, damaged files, and kills on the way.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use malla_protocol::Submitted;
use serde_json::{Value, json};

use crate::server::{DEADLINE, Place, Server, poll_until, refused, text};

const WRITERS: usize = 3;
const LANE: &str = "drill/kept";
/// Kills, spread over the time of a restore; more if none came late enough.
const ROUNDS: u32 = 10;
const ROUNDS_MAX: u32 = 60;

/// Callers who submit tasks until they are told to stop, and what was acknowledged to them so far.
struct Load {
    acknowledged: Arc<Mutex<BTreeSet<String>>>,
    stop: Arc<AtomicBool>,
    hands: Vec<JoinHandle<()>>,
}

impl Load {
    fn start(server: &Server, place: &Place) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let token = fs::read_to_string(place.data().join("admin.token")).expect("a token").trim().to_owned();
        let (acknowledged, stop) = (Arc::<Mutex<BTreeSet<String>>>::default(), Arc::new(AtomicBool::new(false)));
        let hand = |_| {
            let (url, token) = (format!("{}/api/v1/tasks", server.url), token.clone());
            let (acknowledged, stop) = (acknowledged.clone(), stop.clone());
            std::thread::spawn(move || submit(&url, &token, &acknowledged, &stop))
        };
        let hands = (0..WRITERS).map(hand).collect();
        Self { acknowledged, stop, hands }
    }

    fn so_far(&self) -> BTreeSet<String> {
        self.acknowledged.lock().expect("nobody panicked").clone()
    }

    #[track_caller]
    fn wait_for(&self, tasks: usize) {
        let grown = poll_until(Instant::now() + DEADLINE, || (self.so_far().len() >= tasks).then_some(()));
        grown.expect("the load goes on");
    }

    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        self.hands.into_iter().for_each(|hand| hand.join().expect("every answer was good"));
    }
}

fn submit(url: &str, token: &str, acknowledged: &Mutex<BTreeSet<String>>, stop: &AtomicBool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let http = reqwest::Client::new();
    let body = json!({ "tasks": vec![json!({ "lane": LANE, "kind": "drill" }); 50] });
    while !stop.load(Ordering::Relaxed) {
        let answer = async { http.post(url).bearer_auth(token).json(&body).send().await?.json::<Submitted>().await };
        let Submitted { tasks } = runtime.block_on(answer).expect("acknowledged");
        acknowledged.lock().expect("nobody panicked").extend(tasks.into_iter().map(|task| task.id));
    }
}

fn tasks_of(server: &Server) -> BTreeSet<String> {
    let tasks = server.json(&["tasks", "list", "--limit", "0"]);
    tasks.iter().map(|task| task["id"].as_str().expect("an id").to_owned()).collect()
}

/// A server that takes tasks in and works on none.
fn start(place: &Place) -> Server {
    place.start_with(&["--roles", "api"], &[])
}

#[track_caller]
fn run(place: &Place, words: &[&str], file: &Path) -> Value {
    let output = place.command(words).arg(file).arg("--json").output().expect("malla runs");
    assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a line of JSON")
}

/// What lies in the directory, but for `keep`.
fn others_in(folder: &Path, keep: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    all.filter(|path| path != keep && path.is_file()).collect()
}

#[test]
fn a_backup_under_load_has_everything_that_was_acknowledged_before_it_began() {
    let place = Place::new();
    let server = start(&place);
    let load = Load::start(&server, &place);
    load.wait_for(3_000);
    let before = load.so_far();
    let file = place.root().join("malla.backup");
    let made = run(&place, &["backup"], &file);
    // It worked meanwhile, and goes on.
    let during = load.so_far().len();
    load.wait_for(during + 1);
    load.end();
    assert_eq!(fs::metadata(&file).expect("is there").permissions().mode() & 0o777, 0o600);
    assert_eq!(others_in(place.root(), &file), Vec::<PathBuf>::new(), "drafts are left");
    assert_eq!(run(&place, &["restore", "--check"], &file)["sha256"], made["sha256"]);
    server.ok(&["tasks", "verify"]);

    let fresh = Place::new();
    let restored = run(&fresh, &["restore"], &file);
    assert_eq!(restored["sha256"], made["sha256"]);
    assert_eq!(fs::metadata(fresh.data().join("malla.db")).expect("is there").permissions().mode() & 0o777, 0o600);
    fs::copy(place.data().join("admin.token"), fresh.data().join("admin.token")).expect("copied");
    let server = start(&fresh);
    let found = tasks_of(&server);
    assert!(before.is_subset(&found), "{} acknowledged, {} restored", before.len(), found.len());
    server.ok(&["tasks", "verify"]);
    server.ok(&["tasks", "submit", LANE]);
}

#[test]
fn what_a_killed_server_left_in_its_log_is_in_the_backup() {
    let place = Place::new();
    let server = start(&place);
    let id = server.field(&["tasks", "submit", LANE], "id");
    server.kill();
    assert!(fs::metadata(place.data().join("malla.db-wal")).is_ok_and(|log| log.len() > 0), "the log has it");
    let file = place.root().join("malla.backup");
    run(&place, &["backup"], &file);
    // Going back to it on the same directory keeps what was there beside it.
    let restored = run(&place, &["restore", "--force"], &file);
    assert_eq!(restored["kept"], place.data().join("malla.db.before").display().to_string());
    let server = start(&place);
    assert_eq!(server.field(&["tasks", "show", &id], "state"), "queued");
}

#[test]
fn a_damaged_file_is_refused_and_changes_nothing() {
    let place = Place::new();
    let server = start(&place);
    let id = server.field(&["tasks", "submit", LANE], "id");
    let file = place.root().join("malla.backup");
    run(&place, &["backup"], &file);
    server.terminate();
    let whole = fs::read(&file).expect("reads");
    let store = fs::read(place.data().join("malla.db")).expect("reads");
    let damaged = place.root().join("damaged.backup");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 0xff;
    for content in [&flipped[..], &whole[..whole.len() - 1], &whole[..whole.len() / 2], b"hello", b""] {
        fs::write(&damaged, content).expect("written");
        for words in [["restore", "--check"], ["restore", "--force"]] {
            refused(&mut place.command(&words), &[&damaged], 1, &["damaged.backup"]);
        }
    }
    assert!(fs::read(place.data().join("malla.db")).expect("reads") == store, "the store was changed");
    assert!(!place.data().join("malla.db.restoring").exists());
    let server = start(&place);
    assert_eq!(server.field(&["tasks", "show", &id], "state"), "queued");
}

#[test]
fn nothing_is_replaced_unless_that_was_asked_for() {
    let place = Place::new();
    let file = place.root().join("malla.backup");
    refused(&mut place.command(&["backup"]), &[&file], 1, &["there is no store at", "malla.db"]);
    let server = start(&place);
    run(&place, &["backup"], &file);
    refused(&mut place.command(&["backup"]), &[&file], 1, &["malla.backup exists", "--force"]);
    run(&place, &["backup", "--force"], &file);
    refused(&mut place.command(&["restore", "--force"]), &[&file], 1, &["in use by another malla"]);
    server.terminate();
    refused(&mut place.command(&["restore"]), &[&file], 1, &["malla.db exists", "--force"]);
    run(&place, &["restore", "--force"], &file);
}

#[test]
fn for_postgres_it_names_the_command_and_no_password() {
    let place = Place::new();
    for (verb, tool) in [("backup", "pg_dump"), ("restore", "pg_restore")] {
        let mut command = place.command(&[verb, "malla.dump"]);
        let output = command.env("MALLA_STORE", "postgres://malla:secret@db1,db2/malla").output().expect("malla runs");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(tool) && said.contains("'postgres://malla@db1,db2/malla'"), "{said}");
        assert!(!said.contains("secret") && said.trim().lines().count() == 1, "{said}");
    }
}

#[test]
fn a_restore_that_is_killed_leaves_the_old_store_or_the_new_one() {
    let place = Place::new();
    let server = start(&place);
    let load = Load::start(&server, &place);
    load.wait_for(2_000);
    load.end();
    let file = place.root().join("malla.backup");
    run(&place, &["backup"], &file);
    let new = tasks_of(&server);
    // What is there now has one task more, which is in its log only.
    server.ok(&["tasks", "submit", LANE]);
    let mut old = tasks_of(&server);
    assert_eq!(old.len(), new.len() + 1);
    server.kill();

    let took = {
        let copy = copy_of(&place);
        let began = Instant::now();
        run(&copy, &["restore", "--force"], &file);
        began.elapsed()
    };
    let mut seen = BTreeSet::new();
    // Over the whole time that it takes, and then for as long as it took more each time.
    for round in 0..ROUNDS_MAX {
        if round > ROUNDS && seen.len() == 2 {
            break;
        }
        let mut command = place.command(&["restore", "--force"]);
        let mut restoring =
            command.arg(&file).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("malla starts");
        std::thread::sleep(took * round / ROUNDS);
        restoring.kill().expect("killed");
        restoring.wait().expect("gone");
        let server = start(&place);
        let found = tasks_of(&server);
        assert!(found == old || found == new, "round {round}: {} tasks", found.len());
        server.ok(&["tasks", "verify"]);
        seen.insert(found == new);
        // The next round replaces a store that differs from the backup again, with a log.
        server.ok(&["tasks", "submit", LANE]);
        old = tasks_of(&server);
        server.kill();
    }
    assert_eq!(
        seen.len(),
        2,
        "the kills came all before or all after the moment that counts (a restore takes {took:?})"
    );
}

/// Another place with the same files.
fn copy_of(place: &Place) -> Place {
    let copy = Place::new();
    fs::create_dir(copy.data()).expect("made");
    for path in others_in(&place.data(), Path::new("")) {
        fs::copy(&path, copy.data().join(path.file_name().expect("a name"))).expect("copied");
    }
    copy
}

#[test]
fn a_backup_that_is_stopped_leaves_nothing() {
    let place = Place::new();
    let server = start(&place);
    let load = Load::start(&server, &place);
    load.wait_for(3_000);
    load.end();
    let folder = place.root().join("backups");
    fs::create_dir(&folder).expect("made");
    let file = folder.join("malla.backup");
    for _ in 0..ROUNDS_MAX {
        let mut making = place.command(&["backup"]).arg(&file).stderr(Stdio::null()).spawn().expect("malla starts");
        // As soon as it has begun to write, which may be over before anyone looks.
        let deadline = Instant::now() + DEADLINE;
        let early = loop {
            let ended = making.try_wait().expect("a child");
            if ended.is_some() || !others_in(&folder, &file).is_empty() {
                break ended;
            }
            assert!(Instant::now() < deadline, "a backup neither begins nor ends");
            std::thread::yield_now();
        };
        let ended = early.unwrap_or_else(|| {
            let kill = format!("kill -INT {}", making.id());
            let _ = std::process::Command::new("sh").args(["-c", &kill]).status();
            poll_until(Instant::now() + DEADLINE, || making.try_wait().expect("a child")).expect("ends")
        });
        assert_eq!(ended.success(), file.exists());
        assert_eq!(others_in(&folder, &file), Vec::<PathBuf>::new());
        if !ended.success() {
            return;
        }
        fs::remove_file(&file).expect("removed");
    }
    panic!("{ROUNDS_MAX} backups were each faster than the signal");
}
