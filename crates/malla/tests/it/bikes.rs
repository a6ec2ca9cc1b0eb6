//! `malla bikes`: a data set in, the true answers out, whatever happens to the server and the client in between.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use malla_analyze::bikes::Params;
use malla_analyze::bikes::naive::{self, CityFiles};
use serde_json::{Value, json};

use crate::server::{DEADLINE, Place, Server, poll_until, refused, text};

const CITIES: [&str; 3] = ["montreal", "toronto", "washington"];

/// A data set beside the data directory.
fn generate(place: &Place, trips: u32) {
    let trips = trips.to_string();
    let made = place.command(&["bikes", "generate", "set", "--trips", &trips, "--seed", "5"]).output();
    let made = made.expect("malla runs");
    assert!(made.status.success(), "{}", text(&made.stderr));
}

fn read(place: &Place, city: &str, table: &str) -> String {
    fs::read_to_string(place.root().join("set").join(city).join(format!("{table}.csv"))).expect("a file of the set")
}

/// The answers are those of the simple way, to a millionth.
#[track_caller]
fn are_true(place: &Place, answers: &Value) {
    let texts: Vec<_> = CITIES
        .iter()
        .map(|city| (city, ["weather", "stations", "trips"].map(|table| read(place, city, table))))
        .collect();
    let files: Vec<_> =
        texts.iter().map(|(name, [weather, stations, trips])| CityFiles { name, weather, stations, trips }).collect();
    let truth = naive::answer(&files, &Params::default());
    let near = |ours: &Value, truth: f64| (ours.as_f64().expect("a number") - truth).abs() < 2e-6;
    let list = |answer: &str, of: &str| answers[answer][of].as_array().expect("a list").clone();
    let left_out = ["rain", "year", "city"].map(|name| answers[name]["left_out"].as_u64().expect("a number"));
    assert_eq!(left_out, truth.left_out);
    assert!(near(&answers["rain"]["overall"], truth.overall.expect("it rained")));
    let (days, grown, far) = (list("rain", "days"), list("year", "stations"), list("city", "stations"));
    assert_eq!([days.len(), grown.len(), far.len()], [truth.days.len(), truth.grown.len(), truth.far.len()]);
    assert!(!days.is_empty() && !grown.is_empty() && !far.is_empty());
    for (ours, (name, (average, _))) in far.iter().zip(&truth.far) {
        assert!(ours["name"] == json!(name) && near(&ours["average_km"], *average), "{ours}");
    }
}

fn asking(place: &Place, more: &[&str]) -> Command {
    let mut command = place.command(&["bikes", "set", "--json", "--batch", "100"]);
    command.args(more).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn answers(client: Child) -> Value {
    let output = client.wait_with_output().expect("malla ends");
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The one analysis that is there, once so many of its batches are safe.
fn with_batches(server: &Server, least: u64) -> Value {
    let found = poll_until(Instant::now() + DEADLINE, || {
        let one = server.json(&["analyses", "list"]).first()?.clone();
        Some(one).filter(|one| one["batches"]["taken"].as_u64().expect("a number") >= least)
    });
    found.expect("batches come")
}

#[test]
fn the_answers_are_the_true_ones_with_a_server_and_without() {
    let place = Place::new();
    generate(&place, 3_000);
    let alone = answers(asking(&place, &[]).spawn().expect("malla runs"));
    are_true(&place, &alone);
    let server = place.start();
    assert_eq!(answers(asking(&place, &["--in-flight", "3", "--level", "5"]).spawn().expect("malla runs")), alone);
    let people = server.ok(&["bikes", "set"]);
    assert!(people.contains("Trips that started on days with over 30 mm of rain"), "{people}");
    let all = server.json(&["analyses", "list"]);
    assert_eq!(all.len(), 2, "one without a server is nobody's");
    let id = all[0]["id"].as_str().expect("an id");
    let csv = server.ok(&["analyses", "answer", id, "city", "--csv"]);
    assert!(csv.starts_with("name,average_km,trips\r\n"), "{csv}");
    assert!(server.ok(&["analyses", "show", id]).contains("succeeded"));
    server.ok(&["analyses", "cancel", id]);
    assert_eq!(server.json(&["analyses", "list"]).len(), 1);
    // Its end is an event that anybody in the house may follow.
    let events = server.ok(&["notify", "events", "list", "--endpoint", "system"]);
    assert!(events.contains("analysis.finished"), "{events}");
}

#[test]
fn a_server_that_is_killed_in_the_middle_changes_nothing() {
    let place = Place::new();
    generate(&place, 60_000);
    // The client knows where the server was: it comes back there.
    let free = TcpListener::bind("127.0.0.1:0").expect("binds").local_addr().expect("an address").to_string();
    let server = place.start_with(&["--listen", &free], &[]);
    let client = asking(&place, &[]).spawn().expect("malla runs");
    with_batches(&server, 50);
    server.kill();
    let server = place.start_with(&["--listen", &free], &[]);
    let answers = answers(client);
    are_true(&place, &answers);
    let analysis = with_batches(&server, 1);
    assert_eq!((&analysis["state"], &analysis["rows"]), (&json!("succeeded"), &json!(60_000)));
}

#[test]
fn a_client_that_was_killed_goes_on_where_it_was() {
    let place = Place::new();
    generate(&place, 60_000);
    let server = place.start();
    let mut client = asking(&place, &[]).spawn().expect("malla runs");
    let id = with_batches(&server, 50)["id"].as_str().expect("an id").to_owned();
    client.kill().expect("killed");
    client.wait().expect("gone");
    let mut other = place.command(&["bikes", "set", "--json", "--batch", "99"]);
    refused(&mut other, &["--analysis", &id], 1, &["differ from what was sent before"]);
    let answers = answers(asking(&place, &["--analysis", &id]).spawn().expect("malla runs"));
    are_true(&place, &answers);
}

#[test]
fn what_cannot_be_analysed_is_refused_in_a_sentence() {
    let place = Place::new();
    let ask = |more: &[&str], code, words: &[&str]| refused(&mut place.command(&["bikes", "set"]), more, code, words);
    ask(&[], 1, &["cannot read set"]);
    fs::create_dir(place.root().join("set")).expect("made");
    ask(&[], 2, &["set holds no city"]);
    fs::create_dir(place.root().join("set/montreal")).expect("made");
    ask(&[], 1, &["montreal lacks a file", "weather.csv"]);
    let write = |table: &str, text: &str| {
        fs::write(place.root().join(format!("set/montreal/{table}.csv")), text).expect("written");
    };
    write("weather", "date,prectot\n2016-01-02,40\n");
    write("stations", "code,name,latitude,longitude,yearid\n1,A,45.5,-73.6,2016\n");
    write("trips", "start_date,start_station_code\n2016-01-01 10:00,1\n");
    ask(&[], 1, &["trips/montreal/0", "the column \"end_station_code\" is missing"]);
    write("trips", "start_date,start_station_code,end_station_code,duration_sec,yearid\nyesterday,1,1,60,2016\n");
    ask(&[], 1, &["has failed", "1 of 1 lines cannot be read", "bad_lines_max"]);
    ask(&["--param", "rain=3"], 1, &["rain"]);
    ask(&["--param", "factor=-1"], 1, &["factor must lie between 0 and"]);
    ask(&["--param", "factor"], 2, &["write it as NAME=VALUE"]);
    write("trips", "");
    ask(&[], 1, &["trips/montreal/0", "it is empty"]);
}
