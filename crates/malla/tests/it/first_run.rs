//! The first start and those after it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::server::{Place, text};

fn passwords(said: &[String]) -> usize {
    said.iter().filter(|line| line.contains("password")).count()
}

#[test]
fn the_password_is_told_on_the_first_start_only() {
    let place = Place::new();
    let first = place.start().terminate();
    assert_eq!(passwords(&first.said), 1, "{:?}", first.said);
    let second = place.start().terminate();
    assert_eq!(passwords(&second.said), 0, "{:?}", second.said);
}

#[test]
fn the_admins_token_is_for_its_owner_alone_and_stays() {
    let place = Place::new();
    let server = place.start();
    let path = place.data().join("admin.token");
    assert_eq!(fs::metadata(&path).expect("is there").permissions().mode() & 0o777, 0o600);
    let token = fs::read_to_string(&path).expect("reads");
    assert!(token.starts_with("malla_"), "{token}");
    server.kill();
    let server = place.start();
    assert_eq!(fs::read_to_string(&path).expect("reads"), token);
    server.ok(&["tokens", "list"]);
}

#[test]
fn a_crash_between_store_and_file_heals_at_the_next_start() {
    let place = Place::new();
    place.start().kill();
    let (new, settled) = (place.data().join("admin.token.new"), place.data().join("admin.token"));

    // The store knows the token, the file was not settled.
    fs::rename(&settled, &new).expect("renamed");
    let server = place.start();
    server.ok(&["tokens", "list"]);
    assert!(settled.exists() && !new.exists());

    // The file was prepared, the store does not know the token.
    server.ok(&["tokens", "delete", "admin"]);
    server.kill();
    fs::remove_file(&settled).expect("removed");
    fs::write(&new, "malla_prepared-before-the-crash\n").expect("written");
    let server = place.start();
    server.ok(&["tokens", "list"]);
    assert!(settled.exists() && !new.exists());
}

#[test]
fn a_token_that_was_deleted_on_purpose_does_not_come_back() {
    let place = Place::new();
    let server = place.start();
    server.ok(&["tokens", "delete", "admin"]);
    server.terminate();
    let server = place.start();
    let output = server.run(&["tokens", "list"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("--token"), "{}", text(&output.stderr));
}

#[test]
fn the_server_file_is_there_while_the_server_is() {
    let place = Place::new();
    let server = place.start();
    let path = place.data().join("server.json");
    let file: serde_json::Value = serde_json::from_slice(&fs::read(&path).expect("reads")).expect("JSON");
    assert_eq!(file["url"], server.url.as_str());
    assert_eq!(file["pid"], server.pid());
    assert!(!server.url.ends_with(":0"), "the real port: {}", server.url);
    server.terminate();
    assert!(!path.exists());
}
