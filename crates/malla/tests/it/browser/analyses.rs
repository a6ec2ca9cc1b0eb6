//! An analysis that somebody else sends, and its three answers.

use super::house::House;

#[test]
fn an_analysis_is_watched_and_gives_its_three_answers() {
    let house = House::open();
    let made = house.place.command(&["bikes", "generate", "set", "--trips", "3000", "--seed", "5"]).output();
    assert!(made.expect("malla runs").status.success());
    let browser = house.admin();
    browser.open("/analyses");
    browser.sees("Nothing has been analysed yet.");
    browser.remember();
    let answers = house.server.json(&["bikes", "set"]).remove(0);
    browser.sees("succeeded");
    assert!(browser.remembers(), "the page was never loaded again");
    let id = house.server.json(&["analyses", "list"])[0]["id"].as_str().expect("an id").to_owned();
    browser.press(&id);
    for answer in ["Trips in the rain", "Stations that have grown", "Stations reached from afar"] {
        browser.sees_heading(answer);
    }
    let (grown, far) = (&answers["year"]["stations"], &answers["city"]["stations"]);
    for station in [&grown[0]["name"], &far[0]["name"]] {
        browser.sees(station.as_str().expect("a name"));
    }
    let rainy = answers["rain"]["days"].as_array().expect("days").len();
    browser.sees(&format!("on {rainy} days"));
    let drawn = browser.ask("return document.querySelectorAll('main section.card svg[role=img]').length");
    assert!(drawn.as_u64().is_some_and(|drawn| drawn >= 2), "answers are drawn, not {drawn}");
}
