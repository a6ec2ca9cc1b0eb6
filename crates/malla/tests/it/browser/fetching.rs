//! Pages on their way: a job to its end, and a device that joins.

use super::house::House;
use crate::fetch::Device;
use crate::origin::Origin;

#[test]
fn a_fetch_job_is_watched_to_its_end() {
    let origin = Origin::start(300);
    let house = House::with(&[("MALLA_FETCH_GAP_MS", "300")]);
    let browser = house.admin();
    browser.open("/fetch/jobs");
    browser.press("New job");
    let mut urls = origin.urls(2, 4);
    urls.push("no address at all".into());
    browser.fill("URLs", &urls.join("\n"));
    browser.press("Start job");
    browser.sees("The job has 9 URLs.");
    browser.remember();
    browser.sees_all(&["9 of 9", "done", "took"]);
    assert!(browser.remembers(), "the page was never loaded again");
    browser.sees("Good (2xx) 8");
    browser.press(&origin.url(0, 0));
    browser.sees("200");
    browser.open("/fetch/sites");
    browser.sees("127.1.0.2");
    crate::origin::polite(&origin.seen());
}

#[test]
fn a_device_joins_works_is_blocked_and_comes_back() {
    let origin = Origin::start(0);
    let house = House::with(&[("MALLA_FETCH_GAP_MS", "0"), ("MALLA_FETCH_WORKERS_MIN", "0")]);
    let browser = house.admin();
    browser.open("/fetch/devices");
    browser.sees("No device has joined yet.");
    browser.remember();
    let device = Device::start(&house.place, &house.server.url, "volunteer");
    browser.sees_all(&["volunteer", "online"]);
    assert!(browser.remembers(), "the page was never loaded again");
    assert_eq!(house.server.json(&["fetch", &origin.url(0, 0)])[0]["device"], "volunteer");
    browser.open("/fetch/devices");
    browser.press_beside("volunteer", "Block…");
    browser.press("Block volunteer");
    browser.sees("Device volunteer is blocked: it gets no more work.");
    drop(device);
    browser.press_beside("volunteer", "Unblock");
    browser.sees("Device volunteer may work again.");
    let _again = Device::start(&house.place, &house.server.url, "volunteer");
    assert_eq!(house.server.json(&["fetch", &origin.url(1, 0)])[0]["device"], "volunteer");
}
