//! Pages that stay up to date by themselves, until somebody wants to read in peace.

use serde_json::json;

use super::house::House;

#[test]
fn a_page_shows_what_happens_without_being_loaded_again_and_rests_when_told_to() {
    let house = House::open();
    house.make("endpoints", json!({ "name": "orders" }));
    let browser = house.admin();
    browser.open("/notify/events");
    browser.sees("live ·");
    browser.remember();
    let first = house.desk.post("orders", "the first");
    browser.sees(&first);
    browser.press("Pause");
    browser.sees("paused ·");
    let second = house.desk.post("orders", "the second");
    // Time for two rounds of a page that was not told to rest.
    let awhile = std::time::Instant::now() + std::time::Duration::from_millis(2_500);
    assert!(crate::server::poll_until(awhile, || browser.text().contains(&second).then_some(())).is_none(), "it rests");
    browser.press("Go on");
    browser.sees(&second);
    assert!(browser.remembers(), "the page was never loaded again");
}

#[test]
fn a_page_finds_its_server_again_after_a_restart() {
    let house = House::open();
    let browser = house.admin();
    browser.open("/tasks");
    browser.sees("live ·");
    browser.remember();
    let House { place, server, .. } = house;
    let address = server.url.trim_start_matches("http://").to_owned();
    server.kill();
    browser.sees("connecting again");
    let server = place.start_with(&["--listen", &address], &[]);
    let task = server.field(&["tasks", "submit", "drill/again", "{}"], "id");
    browser.sees(&task);
    assert!(browser.remembers(), "the page was never loaded again");
}
