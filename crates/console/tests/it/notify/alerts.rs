//! Alerts in the console.

use axum::http::StatusCode;
use malla_notify::{AlertSpec, Alerts as _, Channel, Rule};
use malla_queue::{Outcome, Scope, Verdict};

use super::{SECRET, make_endpoint, subscribe};
use crate::house::House;

const FIELDS: [(&str, &str); 7] = [
    ("name", "failing"),
    ("kind", "failures"),
    ("count", "5"),
    ("seconds", "300"),
    ("emails", "ana@example.org"),
    ("webhooks", "https://example.org/alerts"),
    ("secret", SECRET),
];

#[tokio::test]
async fn an_alert_is_made_shown_tested_switched_and_deleted() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    ana.get("/notify/alerts").await.shows("href=\"/notify/new-alert\"");
    ana.get("/notify/new-alert").await.shows("attempts fail");
    let answer = ana.post("/notify/new-alert", &FIELDS).await;
    let page = ana.follow(&answer).await;
    for text in
        ["Alert failing is created.", "5 or more attempts failed in 5 minutes", "ana@example.org", "signed", ">well<"]
    {
        page.shows(text);
    }
    page.hides(SECRET);
    let made = house.store.alert(&Scope::All, "failing").await.expect("an alert");
    assert_eq!((made.group, made.spec.to.len()), (Some(house.ops), 2));
    let list = ana.get("/notify/alerts").await;
    list.shows("/notify/alerts/failing");
    list.hides(SECRET);

    let page = ana.follow(&ana.post("/notify/alerts/failing/test", &[]).await).await;
    page.shows("2 tests on the way.");
    assert_eq!(house.work("notify-alert", &Verdict::Done(Outcome::default())).await, 2);
    ana.get("/notify/alerts/failing").await.shows("s-succeeded");

    let page = ana.follow(&ana.post("/notify/alerts/failing/switch", &[("to", "off")]).await).await;
    page.shows("Alert failing is switched off.");
    page.shows(">off<");
    assert!(!house.store.alert(&Scope::All, "failing").await.expect("an alert").spec.enabled);
    assert_eq!(ana.post("/notify/alerts/failing/switch", &[("to", "moon")]).await.status, StatusCode::BAD_REQUEST);

    let page = ana.follow(&ana.post("/notify/alerts/failing/delete", &[]).await).await;
    page.shows("Alert failing is deleted.");
    assert_eq!(ana.get("/notify/alerts/failing").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_alerts_settings_are_changed_and_its_secret_stays() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    make_endpoint(&ana, "orders").await;
    subscribe(&ana, "shop", "orders", &[]).await;
    ana.post("/notify/new-alert", &FIELDS).await;
    ana.post("/notify/alerts/failing/switch", &[("to", "off")]).await;
    let page = ana.get("/notify/alerts/failing").await;
    for text in ["action=\"/notify/alerts/failing\"", "ana@example.org</textarea>", "set: keep it"] {
        page.shows(text);
    }
    let late = [
        ("kind", "backlog"),
        ("subscription", "shop"),
        ("seconds", "600"),
        ("emails", "ben@example.org"),
        ("webhooks", "https://example.org/alerts"),
        ("quiet_s", "120"),
    ];
    let page = ana.follow(&ana.post("/notify/alerts/failing", &late).await).await;
    for text in ["The alert's settings are saved.", "ben@example.org", "signed", ">off<"] {
        page.shows(text);
    }
    page.hides(SECRET);
    let spec = house.store.alert(&Scope::All, "failing").await.expect("an alert").spec;
    let to = [
        Channel::Email { to: "ben@example.org".into() },
        Channel::Webhook { url: "https://example.org/alerts".into(), secret: Some(SECRET.into()) },
    ];
    let rule = Rule::Backlog { subscription: Some("shop".into()), older_than_s: 600 };
    assert_eq!(spec, AlertSpec { rule, to: to.to_vec(), quiet_s: 120, enabled: false });

    let renewed = [&late[..], &[("secret_wish", "make")]].concat();
    let page = ana.post("/notify/alerts/failing", &renewed).await;
    assert_eq!(page.status, StatusCode::OK);
    page.shows("Alert failing has a new signing secret:");
    let made = house.store.alert(&Scope::All, "failing").await.expect("an alert").spec.to;
    let Channel::Webhook { secret: Some(secret), .. } = &made[1] else { panic!("{made:?}") };
    assert_ne!(secret, SECRET);
    page.shows(secret);
    ana.get("/notify/alerts/failing").await.hides(secret);
}

#[tokio::test]
async fn what_is_wrong_with_a_change_stands_at_its_field_and_changes_nothing() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    ana.post("/notify/new-alert", &FIELDS).await;
    let before = house.store.alert(&Scope::All, "failing").await.expect("an alert");
    for (field, value, says) in [
        ("emails", "nobody", "is not an e-mail address"),
        ("subscription", "nobody", "no subscription nobody"),
        ("seconds", "1", "window_s is from 60"),
        ("secret", "hunter2", "whsec_"),
    ] {
        let mut fields: Vec<_> = FIELDS.into_iter().filter(|(name, _)| *name != field).collect();
        fields.push((field, value));
        let answer = ana.post("/notify/alerts/failing", &fields).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{field}");
        answer.shows("Nothing was saved");
        answer.shows(says);
        answer.shows("<details class=\"settings\" open>");
    }
    assert_eq!(house.store.alert(&Scope::All, "failing").await.expect("an alert"), before);
}

#[tokio::test]
async fn what_is_wrong_with_an_alert_stands_at_its_field() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    for (field, value, says) in [
        ("emails", "nobody", "is not an e-mail address"),
        ("subscription", "nobody", "no subscription nobody"),
        ("seconds", "1", "window_s is from 60"),
        ("name", "two words", "cannot name an alert"),
    ] {
        let mut fields: Vec<_> = FIELDS.into_iter().filter(|(name, _)| *name != field).collect();
        fields.push((field, value));
        let answer = ana.post("/notify/new-alert", &fields).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{field}");
        answer.shows(says);
        answer.shows("https://example.org/alerts");
    }
}

#[tokio::test]
async fn alerts_are_their_groups_and_readonly_only_looks() {
    let house = House::new().await;
    let (ana, ben, cleo) = (house.sign_in("ana").await, house.sign_in("ben").await, house.sign_in("cleo").await);
    make_endpoint(&cleo, "theirs").await;
    subscribe(&cleo, "private", "theirs", &[]).await;
    ana.post("/notify/new-alert", &FIELDS).await;
    let page = ben.get("/notify/alerts/failing").await;
    assert_eq!(page.body.matches("method=\"post\"").count(), 3, "only colours, language and log out");
    assert_eq!(ben.get("/notify/new-alert").await.status, StatusCode::FORBIDDEN);
    for (verb, fields) in
        [("", FIELDS.to_vec()), ("/switch", vec![("to", "off")]), ("/test", vec![]), ("/delete", vec![])]
    {
        let path = format!("/notify/alerts/failing{verb}");
        assert_eq!(ben.post(&path, &fields).await.status, StatusCode::FORBIDDEN, "{path}");
        assert_eq!(cleo.post(&path, &fields).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    cleo.get("/notify/alerts").await.hides("failing</a>");
    assert_eq!(cleo.get("/notify/alerts/failing").await.status, StatusCode::NOT_FOUND);
    for path in ["/notify/statistics?subscription=private", "/notify/statistics?endpoint=theirs"] {
        assert_eq!(ana.get(path).await.status, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(cleo.get(path).await.status, StatusCode::OK, "{path}");
    }
}
