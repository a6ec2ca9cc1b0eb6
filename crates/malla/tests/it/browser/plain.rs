//! A browser that runs no scripts: everything works by links and forms.

use serde_json::json;

use super::driver::Kind;
use super::house::House;
use crate::receiver::Receiver;

#[test]
fn pages_and_forms_work_without_scripts() {
    let house = House::open();
    let shop = Receiver::answering(|n, _| if n == 0 { "500 Oops".into() } else { "200 OK".into() });
    house.task(json!({ "lane": "drill/a", "kind": "drill", "payload": { "fail": 9 } }));
    let browser = house.admin_with(Kind::WITHOUT_SCRIPTS);
    assert!(!browser.has_button("Pause"), "nothing is live, and nothing says that it were");
    browser.press("Notify");
    browser.press("Endpoints");
    browser.press("New endpoint");
    browser.fill("Name", "orders");
    browser.press("Create endpoint");
    browser.sees_heading("orders");
    browser.press("Subscriptions");
    browser.press("New subscription");
    browser.fill("Name", "shop");
    browser.fill("Endpoint", "orders");
    browser.fill("Target", &shop.url());
    browser.press("Attempts and times");
    browser.fill("Retry delays", "");
    browser.press("Create subscription");
    browser.sees("Subscription shop is created.");
    house.desk.post("orders", "order A-17");
    house.desk.wait_for("state=failed", 1);
    browser.press("Notifications");
    browser.fill("Content", "A-17");
    browser.press("Filter");
    browser.press_beside("shop", "Resend");
    browser.sees("is resent");
    shop.wait_for(2);
    house.desk.wait_for("state=succeeded", 1);
    browser.reload();
    browser.sees("succeeded");

    browser.press("Lanes");
    browser.press_beside("drill/a", "Pause");
    browser.sees("Lane drill/a is paused: it starts nothing new.");
    browser.press_beside("drill/a", "Resume");
    browser.sees("Lane drill/a goes on.");
    browser.press("Colours: dark");
    assert_eq!(browser.ask("return document.documentElement.dataset.theme"), "dark");
    browser.press("Groups");
    browser.fill("Name", "ops");
    browser.press("Create group");
    browser.sees("ops");
    browser.press("Log out");
    browser.sees_heading("Sign in to Malla");
}
