//! How devices stand, the ledger and blocked sites in the console.

use axum::http::StatusCode;
use malla_fetch::blocklist::Blocking as _;
use malla_fetch::ledger::Ledger as _;

use super::join;
use crate::house::{House, PAGES_A_DAY};

#[tokio::test]
async fn a_newcomer_is_shown_as_one_that_is_always_checked() {
    let house = House::new().await;
    let root = house.sign_in("root").await;
    root.get("/fetch/standing").await.shows("No device has joined yet.");
    join(&house, "ana", "attic", "FR").await;
    let page = root.get("/fetch/standing").await;
    for text in ["attic", "<span class=\"badge s-running\">new</span>", "100.0 %", "Nothing was checked yet."] {
        page.shows(text);
    }
    house.sign_in("ana").await.get("/fetch/standing").await.hides("Checks</h2>");
}

#[tokio::test]
async fn credit_is_given_with_the_form_and_stands_in_the_statement() {
    let house = House::new().await;
    let root = house.sign_in("root").await;
    root.get("/fetch/ledger").await.shows("Nothing was paid yet.");
    let fields = [("account", "client:1"), ("micro", "2500000"), ("note", "<b>May</b>")];
    let answer = root.post("/fetch/ledger/topup", &fields).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
    let page = root.follow(&answer).await;
    for text in ["client:1 has 2.500000 credits now.", "−2.500000", "topup", "&lt;b&gt;May&lt;/b&gt;", "All as CSV"] {
        page.shows(text);
    }
    assert!(house.store.audit().await.expect("an audit").is_good());
    for (account, micro, says) in [
        ("client:1", "0", "Give an amount other than 0."),
        ("nobody", "5", "nobody"),
        ("world", "5", "Credit comes from world"),
        ("client:1", "much", "&quot;much&quot; is not a whole number: write the micro-credits in digits"),
        ("client:1", "", "is not a whole number"),
        ("client:1", "2.5", "is not a whole number"),
        ("client:1", "99999999999999999999", "Give at most 1,000,000,000,000,000 micro-credits at once."),
    ] {
        let typed = [("account", account), ("micro", micro), ("note", "<i>June</i>")];
        let refused = root.post("/fetch/ledger/topup", &typed).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{account} {micro}");
        refused.shows(says);
        refused.shows("Nothing was saved");
        for typed in [account, micro, "&lt;i&gt;June&lt;/i&gt;"] {
            refused.shows(&format!("value=\"{typed}\""));
        }
        refused.hides("data-live");
    }
    let balances = house.store.balances().await.expect("balances");
    let of_client = balances.iter().find(|balance| balance.account == "client:1").expect("an account");
    assert_eq!(of_client.micro, 2_500_000, "nothing was guessed");
    let ana = house.sign_in("ana").await;
    assert_eq!(ana.post("/fetch/ledger/topup", &fields).await.status, StatusCode::FORBIDDEN);
    ana.get("/fetch/ledger?account=world").await.hides("−2.500000");
}

#[tokio::test]
async fn a_site_is_blocked_with_the_form_and_let_go_again() {
    let house = House::new().await;
    let root = house.sign_in("root").await;
    let fields = [("site", "Example.org"), ("why", "they asked"), ("contact", "owner@example.org")];
    let answer = root.post("/fetch/blocked/add", &fields).await;
    root.follow(&answer).await.shows("example.org is not fetched any more.");
    let job = super::start(&root, "https://www.example.org/a").await;
    root.get(&job).await.shows("1 of 1");
    root.get(&format!("{job}/results/1")).await.shows("asked not to be fetched: they asked");
    let refused = root.post("/fetch/blocked/add", &[("site", "a b"), ("why", "they asked")]).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    for text in ["&quot;a b&quot; is not a site", "value=\"a b\"", "value=\"they asked\"", "Nothing was saved"] {
        refused.shows(text);
    }
    let answer = root.post("/fetch/blocked/remove", &[("site", "example.org")]).await;
    root.follow(&answer).await.shows("example.org is fetched again.");
    assert!(house.store.blocked_sites().await.expect("lists").is_empty());
    let ana = house.sign_in("ana").await;
    assert_eq!(ana.post("/fetch/blocked/add", &fields).await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_job_beyond_the_quota_stays_in_its_form() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let urls = |count: u64| (0..count).map(|n| format!("https://a.example/{n}\n")).collect::<String>();
    let answer = ana.post("/fetch/new-job", &[("urls", &urls(PAGES_A_DAY + 1))]).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    answer.shows("This client may have 2000 pages a day and had 0");
    super::start(&ana, &urls(3)).await;
    let answer = ana.post("/fetch/new-job", &[("urls", &urls(PAGES_A_DAY - 2))]).await;
    answer.shows("and had 3");
}
