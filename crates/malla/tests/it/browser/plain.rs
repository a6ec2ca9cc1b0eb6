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
    browser.finds("return document.documentElement.dataset.theme", "dark");
    browser.press("Groups");
    browser.fill("Name", "ops");
    browser.press("Create group");
    browser.sees("ops");
    browser.press("Log out");
    browser.sees_heading("Sign in to Malla");
}

#[test]
fn all_that_match_are_changed_without_scripts_after_a_question() {
    let house = House::open();
    house.make("endpoints", json!({ "name": "orders" }));
    for name in ["shop", "stock", "till"] {
        let target = "https://example.org/hook";
        house.make("subscriptions", json!({ "name": name, "endpoint": "orders", "target": target }));
    }
    let browser = house.admin_with(Kind::WITHOUT_SCRIPTS);
    browser.press("Notify");
    browser.press("Subscriptions");
    browser.press("Suspend…");
    browser.sees_heading("Suspend all that match?");
    browser.sees("3 subscriptions match.");
    browser.ask("document.querySelector('[name=chosen][value=stock]').click()");
    browser.press("Suspend them");
    browser.sees("Done: 2 subscriptions.");
    browser.press("active");
    browser.sees("stock");
    browser.does_not_see("till");
    browser.press("suspended");
    browser.sees("till");
    browser.press("Activate…");
    browser.sees("2 subscriptions match.");
    browser.press("Activate them");
    browser.sees("Done: 2 subscriptions.");
    browser.sees("No subscription matches these filters.");

    browser.press("Fetch");
    browser.press("Ledger");
    browser.fill("Account", "house");
    browser.fill("Micro-credits", "a lot");
    browser.fill("Note", "for the summer");
    browser.press("Give");
    browser.sees("\"a lot\" is not a whole number: write the micro-credits in digits");
    browser.fill("Micro-credits", "5000000");
    browser.press("Give");
    browser.sees("house has 5.000000 credits now.");
    browser.sees("for the summer");
}
