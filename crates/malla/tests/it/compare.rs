//! Comparisons with the real binary: devices of several countries, a site that treats them differently.

use std::process::{Child, Stdio};
use std::time::Instant;

use serde_json::Value;

use crate::crawl::send;
use crate::maze::Maze;
use crate::server::{DEADLINE, Place, malla, poll_until, refused};

const VARIABLES: [(&str, &str); 3] =
    [("MALLA_ALLOW_PRIVATE", "true"), ("MALLA_FETCH_GAP_MS", "0"), ("MALLA_FETCH_WORKERS_MIN", "0")];

struct Device(Child);

impl Device {
    fn start(place: &Place, server: &str, name: &str, country: &str) -> Self {
        let token = std::fs::read_to_string(place.data().join("admin.token")).expect("a token");
        let mut command = malla();
        command
            .args([
                "worker",
                "--server",
                server,
                "--token",
                token.trim(),
                "--name",
                name,
                "--country",
                country,
                "--data",
            ])
            .arg(place.root().join(name))
            .env("MALLA_ALLOW_PRIVATE", "true")
            .stderr(Stdio::null());
        Self(command.spawn().expect("a device"))
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn pages_are_compared_from_the_countries_that_were_asked_for() {
    let (place, maze) = (Place::new(), Maze::start(10));
    let server = place.start_with(&[], &VARIABLES);
    let _devices: Vec<Device> = [("one", "AR"), ("two", "DE"), ("three", "DE")]
        .map(|(name, country)| Device::start(&place, &server.url, name, country))
        .into();
    let there = poll_until(Instant::now() + DEADLINE, || (server.json(&["devices", "list"]).len() == 3).then_some(()));
    there.expect("devices join");
    let (page, front) = (maze.url("/aa/1"), maze.url("/aa/2"));
    let compared = server.json(&["compare", &page, &front, "--countries", "AR,DE,US", "--wait-s", "6"]).remove(0);
    assert_eq!((&compared["state"], &compared["rounds"]), (&"done".into(), &1.into()), "{compared}");
    let urls = compared["report"]["urls"].as_array().expect("a report");
    assert_eq!(urls.len(), 2);
    for url in urls {
        let places = url["places"].as_array().expect("places");
        let of = |country: &str| places.iter().find(|place| place["place"] == country).expect("each country").clone();
        assert_eq!((of("AR")["device"].as_str(), of("AR")["status"].as_u64()), (Some("one"), Some(200)), "{url}");
        assert!(matches!(of("DE")["device"].as_str(), Some("two" | "three")), "{url}");
        assert_eq!(of("US")["status"], 0);
        assert!(of("US")["note"].as_str().is_some_and(|note| note.contains("no device of US")), "{url}");
        assert_eq!(url["differs"], false, "{url}");
    }
    let by_device = server.json(&["compare", &page, "--devices", "3"]).remove(0);
    assert_eq!(by_device["report"]["urls"][0]["places"].as_array().map(Vec::len), Some(3), "{by_device}");
    refused(&mut place.command(&["compare", &page]), &["--countries", "AR"], 1, &["2 to 20 places"]);
    refused(&mut place.command(&["compare", &page]), &["--countries", "AR,germany"], 1, &["is not a country"]);
    let body = serde_json::json!({ "urls": [page], "countries": ["AR", "DE"], "every_s": 60 }).to_string();
    let repeated: Value =
        serde_json::from_str(&send(&place, &server, "POST", "/api/v1/fetch/compare", &body)).expect("JSON");
    assert_eq!((&repeated["state"], &repeated["rounds"]), (&"running".into(), &1.into()), "{repeated}");
    assert!(repeated["next_at"].is_string());
}
