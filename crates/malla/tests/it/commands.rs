//! The commands against a server that they find by themselves.

use std::process::Stdio;

use crate::server::{Place, malla, refused, text};

#[test]
fn a_task_goes_through_and_every_view_shows_it() {
    let place = Place::new();
    let server = place.start();
    let id = server.field(&["tasks", "submit", "drill/try", "{\"event\": true}", "--priority", "high"], "id");
    server.wait_for_state(&id, &["succeeded"]);
    let listed = server.json(&["tasks", "list", "--state", "succeeded", "--lane", "drill/try"]);
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0]["id"], &listed[0]["priority"]), (&id.as_str().into(), &"high".into()));
    assert!(server.ok(&["tasks", "list"]).contains(&id));
    assert!(server.ok(&["tasks", "show", &id]).contains("succeeded"));
    assert!(server.ok(&["tasks", "counts"]).contains("drill"));
    assert!(server.ok(&["tasks", "verify"]).contains("agree"));
    assert_eq!(server.field(&["lanes", "show", "drill/try"], "key"), "drill/try");
    assert!(server.get("/metrics").contains("malla_up{version="));
}

#[test]
fn many_tasks_come_from_lines_and_are_listed_page_by_page() {
    let place = Place::new();
    let server = place.start_with(&["--roles", "api"], &[]);
    let lines: Vec<_> = (0..1_203).map(|n| format!("{{\"lane\":\"drill/{}\",\"kind\":\"drill\"}}\n", n % 7)).collect();
    let file = place.root().join("tasks.jsonl");
    std::fs::write(&file, lines.concat()).expect("written");
    let submitted = server.json(&["tasks", "submit", "--file", file.to_str().expect("UTF-8")]);
    assert_eq!(submitted.len(), 1_203);
    assert_eq!(server.json(&["tasks", "list"]).len(), 50);
    assert_eq!(server.json(&["tasks", "list", "--limit", "250"]).len(), 250);
    assert_eq!(server.json(&["tasks", "list", "--limit", "0"]).len(), 1_203);
    assert_eq!(server.json(&["lanes", "list", "--search", "drill/3"]).len(), 1);

    std::fs::write(&file, "{\"lane\":\"drill/a\",\"kind\":\"drill\"}\nnonsense\n").expect("written");
    let wrong = ["tasks", "submit", "--file", file.to_str().expect("UTF-8")];
    refused(&mut place.command(&wrong), &[""; 0], 1, &["line 2"]);
}

#[test]
fn verbs_on_all_that_match_need_a_yes_and_go_on_to_the_end() {
    let place = Place::new();
    let server = place.start_with(&["--roles", "api"], &[]);
    let line = "{\"lane\":\"drill/a\",\"kind\":\"drill\"}\n";
    let file = place.root().join("tasks.jsonl");
    std::fs::write(&file, line.repeat(2_500)).expect("written");
    server.ok(&["tasks", "submit", "--file", file.to_str().expect("UTF-8")]);
    let one = server.field(&["tasks", "submit", "drill/b"], "id");

    refused(&mut place.command(&["tasks", "discard"]), &[""; 0], 2, &["ids, filters, or --all"]);
    refused(&mut place.command(&["tasks", "discard", "--lane", "drill/a"]), &[""; 0], 2, &["--yes"]);
    refused(&mut place.command(&["tasks", "discard", &one, "--all"]), &[""; 0], 2, &["not both"]);
    let paused = server.json(&["tasks", "pause", "--lane", "drill/a", "--yes"]).remove(0);
    assert_eq!(paused["changed"], 2_500);
    let resumed = server.json(&["tasks", "resume", "--state", "paused", "--yes"]).remove(0);
    assert_eq!(resumed["changed"], 2_500);
    let discarded = server.json(&["tasks", "discard", "--all", "--yes"]).remove(0);
    assert_eq!(discarded["changed"], 2_501);

    assert_eq!(server.field(&["tasks", "retry", &one], "state"), "queued");
    let output = server.run(&["tasks", "retry", &one, &one]);
    assert_eq!(output.status.code(), Some(1), "a queued task cannot be retried");
    assert!(text(&output.stderr).contains("2 of 2 tasks"), "{}", text(&output.stderr));
}

#[test]
fn lanes_can_be_paused_and_changed() {
    let place = Place::new();
    let server = place.start_with(&["--roles", "api"], &[]);
    server.ok(&["tasks", "submit", "drill/a", "--ceiling", "3", "--gap-ms", "10"]);
    let lane = server.json(&["lanes", "set", "drill/a", "--ceiling", "5"]).remove(0);
    assert_eq!((&lane["ceiling"], &lane["gap_ms"]), (&5.into(), &10.into()));
    assert_eq!(server.json(&["lanes", "pause", "drill/a"]).remove(0)["paused"], true);
    assert_eq!(server.json(&["lanes", "list", "--paused", "true"]).len(), 1);
    assert_eq!(server.json(&["lanes", "resume", "drill/a"]).remove(0)["paused"], false);
    refused(&mut place.command(&["lanes", "show", "drill/none"]), &[""; 0], 1, &["drill/none"]);
}

#[test]
fn people_groups_and_tokens_are_made_used_and_deleted() {
    let place = Place::new();
    let server = place.start();
    server.ok(&["groups", "create", "research"]);
    let ana = server.json(&["users", "create", "ana", "--role", "user", "--group", "research"]).remove(0);
    assert_eq!(ana["groups"], serde_json::json!(["research"]));
    assert_eq!(ana["password"].as_str().map(str::len), Some(23), "a password is made up: {ana}");
    server.ok(&["users", "create", "ben"]);
    let group = server.json(&["groups", "add", "research", "ben"]).remove(0);
    assert_eq!(group["members"], serde_json::json!(["ana", "ben"]));
    let group = server.json(&["groups", "remove", "research", "ana"]).remove(0);
    assert_eq!(group["members"], serde_json::json!(["ben"]));
    let changed = server.json(&["users", "change", "ana", "--role", "readonly", "--new-password"]).remove(0);
    assert_eq!(changed["role"], "readonly");
    assert_ne!(changed["password"], ana["password"]);
    server.ok(&["users", "delete", "ana"]);
    assert_eq!(server.json(&["users", "list"]).len(), 2);

    let words = ["tokens", "create", "ci", "--role", "user", "--group", "research", "--expires-days", "7"];
    let token = server.field(&words, "token");
    let elsewhere = |token: &str| {
        let mut command = malla();
        command.current_dir(place.root()).env("MALLA_SERVER", &server.url).env("MALLA_TOKEN", token);
        command.args(["tasks", "list"]).output().expect("malla runs").status.code()
    };
    assert_eq!(elsewhere(&token), Some(0));
    server.ok(&["tokens", "delete", "ci"]);
    assert_eq!(elsewhere(&token), Some(1), "a deleted token stops working");
    let actions: Vec<_> = server.json(&["audit", "--action", "token", "--limit", "2"]);
    assert_eq!(actions[0]["action"], "token.delete");
}

#[test]
fn a_password_comes_from_stdin_when_asked_for() {
    let place = Place::new();
    let server = place.start();
    let mut create = place.command(&["users", "create", "eva", "--password-stdin", "--json"]);
    let mut child = create.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("malla runs");
    std::io::Write::write_all(&mut child.stdin.take().expect("piped"), b"correct horse battery\n").expect("written");
    let output = child.wait_with_output().expect("ends");
    assert!(output.status.success());
    let eva: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(eva.get("password").is_none(), "what was given is not printed: {eva}");
    assert_eq!(server.json(&["users", "list"]).len(), 2);
}

#[test]
fn the_configuration_shows_where_values_come_from() {
    let place = Place::new();
    std::fs::write(place.root().join("malla.toml"), "[log]\nformat = \"json\"\n").expect("written");
    let mut print = place.command(&["config", "print", "--json", "--listen", "127.0.0.1:9"]);
    let output = print.env("MALLA_STORE", "postgres://ana:s3cret@db/malla").output().expect("malla runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let source = |key: &str| {
        let lines = text(&output.stdout);
        let line = lines.lines().find(|line| line.contains(&format!("\"{key}\""))).expect("the key").to_owned();
        serde_json::from_str::<serde_json::Value>(&line).expect("JSON")
    };
    assert_eq!(source("log.format")["source"], "file malla.toml");
    assert_eq!(source("listen")["source"], "flag --listen");
    assert_eq!(source("data")["source"], "flag --data");
    assert_eq!(source("queue.batch")["source"], "default");
    assert_eq!(source("store")["source"], "variable MALLA_STORE");
    assert_eq!(source("store")["value"], "postgres://ana:****@db/malla");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = malla().args(["completions", "bash"]).stdout(writer).output().expect("malla runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
}

#[test]
fn every_command_shows_an_example() {
    for words in [
        &["up"][..],
        &["tasks", "list"],
        &["tasks", "submit"],
        &["tasks", "tail"],
        &["lanes", "set"],
        &["users", "create"],
        &["groups", "add"],
        &["tokens", "create"],
        &["audit"],
        &["healthcheck"],
        &["config", "print"],
        &["completions"],
    ] {
        let output = malla().args(words).arg("--help").output().expect("malla runs");
        let help = text(&output.stdout);
        assert!(help.contains("Example") && help.contains(&format!("malla {}", words.join(" "))), "{help}");
    }
}

#[test]
fn a_seed_makes_the_same_data_set_each_time() {
    let place = Place::new();
    let generate = |dir: &str, seed: &str| {
        let dir = place.root().join(dir);
        let made = malla().args(["bikes", "generate"]).arg(&dir).args(["--trips", "1000", "--seed", seed]).output();
        assert!(text(&made.expect("it runs").stdout).contains("3 cities with 1000 trips"));
        let files = ["weather.csv", "stations.csv", "trips.csv"];
        files.map(|file| std::fs::read_to_string(dir.join("montreal").join(file)).expect("made"))
    };
    let first = generate("a", "7");
    assert_eq!(first, generate("b", "7"));
    assert_ne!(first, generate("c", "8"));
    assert_eq!(first[2].lines().count(), 335, "a third of the trips, and the header");
    refused(malla().current_dir(place.root()), &["bikes", "generate", "a"], 2, &["a is not empty"]);
    let many = ["bikes", "generate", "d", "--trips", "1000000001"];
    refused(malla().current_dir(place.root()), &many, 2, &["at most"]);
}
