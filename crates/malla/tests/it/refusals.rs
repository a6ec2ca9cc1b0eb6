//! What cannot work: one sentence each, and the right exit code.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use crate::server::{DEADLINE, Place, malla, refused};

const NONE: &[&str] = &[];

#[test]
fn a_second_server_on_the_same_directory_is_told_who_has_it() {
    let place = Place::new();
    let server = place.start();
    let holder = format!("process {}", server.pid());
    refused(&mut place.command(&["up"]), &["--listen", "127.0.0.1:0"], 1, &["is in use by another malla", &holder]);
    server.ok(&["healthcheck"]);
}

#[test]
fn a_data_directory_that_cannot_be_one_is_refused() {
    let place = Place::new();
    fs::write(place.data(), "a file").expect("written");
    refused(&mut place.command(&["up"]), NONE, 1, &["is not a directory"]);
    // Not even root writes here.
    refused(malla().args(["up", "--data", "/proc/malla-data"]), NONE, 1, &["/proc/malla-data cannot be"]);
}

#[test]
fn a_store_that_is_no_database_is_refused() {
    let place = Place::new();
    fs::create_dir(place.data()).expect("made");
    fs::write(place.data().join("malla.db"), "this is no database, whatever its name says\n".repeat(100))
        .expect("written");
    refused(
        &mut place.command(&["up"]),
        &["--listen", "127.0.0.1:0"],
        1,
        &["the store", "malla.db", "cannot be opened"],
    );
}

#[test]
fn a_shared_store_that_is_down_is_tried_for_a_while() {
    let place = Place::new();
    // Bound and never answered would hang; a port that was just freed refuses.
    let port = TcpListener::bind("127.0.0.1:0").expect("binds").local_addr().expect("an address").port();
    let store = format!("postgres://malla:s3cret@127.0.0.1:{port}/malla");
    let mut up = place.command(&["up", "--listen", "127.0.0.1:0", "--store", &store]);
    let output = up.env("MALLA_STORE_WAIT_S", "3").output().expect("malla runs");
    let said = crate::server::text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("trying again") && said.contains("cannot be opened"), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
}

#[test]
fn a_port_in_use_is_named() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("binds");
    let address = taken.local_addr().expect("an address").to_string();
    refused(&mut place.command(&["up", "--listen", &address]), NONE, 1, &[&address, "is in use by another program"]);
    refused(&mut place.command(&["up", "--listen", "nowhere"]), NONE, 1, &["nowhere", "ADDRESS:PORT"]);
}

#[test]
fn wrong_usage_exits_with_2() {
    let place = Place::new();
    refused(&mut place.command(&["fly"]), NONE, 2, &["fly"]);
    refused(&mut place.command(&["up", "--wings"]), NONE, 2, &["--wings"]);
    refused(&mut place.command(&["up", "--roles", "api,cook"]), NONE, 2, &["\"cook\"", "notifier", "medic"]);
    refused(&mut place.command(&["tokens", "create", "x", "--role", "king"]), NONE, 2, &["readonly, user and admin"]);
    refused(&mut place.command(&["lanes", "set", "drill/x"]), NONE, 2, &["--ceiling"]);
}

#[test]
fn a_wrong_configuration_is_named_with_its_source() {
    let place = Place::new();
    fs::write(place.root().join("malla.toml"), "[log]\nformta = \"json\"\n").expect("written");
    refused(&mut place.command(&["up"]), NONE, 1, &["malla.toml", "log.formta", "log.format?"]);
    refused(&mut place.command(&["config", "print", "--config", "absent.toml"]), NONE, 1, &["absent.toml"]);
}

#[test]
fn without_a_server_a_command_says_what_to_do() {
    let place = Place::new();
    refused(&mut place.command(&["tasks", "list"]), NONE, 1, &["no server runs on", "malla up", "--server"]);
    let server = place.start();
    server.kill();
    let output = place.command(&["tasks", "list"]).output().expect("malla runs");
    assert_eq!(output.status.code(), Some(1));
    refused(&mut place.command(&["healthcheck"]), NONE, 1, &["not ready"]);
}

#[test]
fn a_client_that_never_finishes_its_request_is_hung_up_on() {
    let place = Place::new();
    let server = place.start_with(&[], &[("MALLA_HTTP_HEAD_TIMEOUT_S", "1")]);
    for words in ["", "GET", "GET / HTTP/1.1\r\nHost: malla\r\nX-Slow: "] {
        let mut stream = TcpStream::connect(server.url.trim_start_matches("http://")).expect("connects");
        stream.set_read_timeout(Some(DEADLINE)).expect("a timeout");
        stream.write_all(words.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("closed by the server before our own timeout");
        assert!(!answer.starts_with("HTTP/1.1 2"), "{answer}");
    }
}

#[test]
fn connections_beyond_the_limit_are_closed() {
    let place = Place::new();
    let server = place.start_with(&[], &[("MALLA_HTTP_CONNECTIONS_MAX", "2")]);
    let address = server.url.trim_start_matches("http://");
    let _held: Vec<_> = (0..2).map(|_| TcpStream::connect(address).expect("connects")).collect();
    let mut refused = TcpStream::connect(address).expect("connects");
    refused.set_read_timeout(Some(DEADLINE)).expect("a timeout");
    assert_eq!(refused.read(&mut [0; 1]).unwrap_or(0), 0, "closed without a word");
}

#[test]
fn a_bench_of_many_nodes_says_which_store_it_needs() {
    let wanted: &[(&[&str], &str)] = &[
        (&[], "nodes need a shared store"),
        (&["--store", "sqlite:x"], "--store names no PostgreSQL"),
        (&["--store", "postgres://u:s3cret@a,b/x"], "--store names no server or several"),
    ];
    for (flags, why) in wanted {
        refused(malla().args(["bench", "cluster"]), flags, 2, &[why, "postgres://"]);
    }
}
