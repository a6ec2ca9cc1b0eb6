//! Coming in for the first time, and going out.

use super::driver::Kind;
use super::house::{House, PASSWORD, sign_in};

#[test]
fn the_password_of_the_first_start_opens_the_console_and_a_wrong_one_does_not() {
    let house = House::open();
    let browser = house.browser(Kind::USUAL);
    browser.open("/tasks");
    browser.sees_heading("Sign in to Malla");
    browser.press("Español");
    browser.sees_heading("Entrar en Malla");
    browser.press("English");
    browser.sees_heading("Sign in to Malla");
    browser.fill("User name", "admin");
    browser.fill("Password", "open sesame please");
    browser.press("Sign in");
    browser.sees("This user name and password do not go together.");
    assert_eq!(browser.cookie("malla_session"), None, "nobody is in");
    browser.fill("Password", &house.password);
    browser.press("Sign in");
    browser.sees_heading("Tasks");
    assert_eq!(browser.here(), "/tasks", "on to where one wanted to go");
    let readable = browser.ask("return document.cookie");
    assert!(!readable.to_string().contains("malla_session"), "no script reads the session");
    browser.press("Log out");
    browser.sees_heading("Sign in to Malla");
    browser.open("/tasks");
    browser.sees_heading("Sign in to Malla");
    browser.does_not_see("Log out");
}

#[test]
fn somebody_whose_session_has_ended_is_told_so_and_comes_back_to_the_page() {
    let house = House::open();
    house.person("ana", "user", "ops");
    let browser = house.browser(Kind::USUAL);
    sign_in(&browser, "ana", PASSWORD);
    browser.sees_heading("Overview");
    house.desk.ok("PATCH", "/api/v1/users/ana", Some(serde_json::json!({ "password": "another horse battery" })));
    browser.open("/lanes");
    browser.sees("Your session has ended: sign in again.");
    browser.fill("User name", "ana");
    browser.fill("Password", "another horse battery");
    browser.press("Sign in");
    browser.sees_heading("Lanes");
}
