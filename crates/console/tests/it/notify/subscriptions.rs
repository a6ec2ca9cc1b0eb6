//! Subscriptions in the console.

use axum::http::StatusCode;
use malla_notify::{Auth, CloudEvents, Notify as _, Subscription, SubscriptionState};
use malla_queue::Scope;

use super::{SECRET, make_endpoint, send_event, subscribe};
use crate::house::House;

async fn stored(house: &House, name: &str) -> Subscription {
    house.store.subscription(&Scope::All, name).await.expect("a subscription")
}

#[tokio::test]
async fn every_setting_can_be_chosen_and_no_secret_is_shown() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    make_endpoint(&ana, "orders").await;
    let more = [
        ("retry_delays", "5s, 2m, 1h"),
        ("timeout_s", "7"),
        ("parallel", "3"),
        ("confirm_within_s", "60"),
        ("headers", "X-Tenant: acme\r\nX-B: c"),
        ("forward_headers", "yes"),
        ("forward_query", "yes"),
        ("cloudevents", "structured"),
        ("filter", "[{\"field\":\"type\",\"equals\":\"paid\"}]"),
        ("secret", SECRET),
        ("auth", "basic"),
        ("auth_username", "ana"),
        ("auth_password", "hunter2"),
        ("state", "suspended"),
    ];
    let page = ana.follow(&subscribe(&ana, "shop", "orders", &more).await).await;
    for text in ["Subscription shop is created.", "suspended", "5s, 2m, 1h", "as ana, with a password", "/lane?key="] {
        page.shows(text);
    }
    page.hides(SECRET);
    page.hides("hunter2");
    let shop = stored(&house, "shop").await;
    let spec = &shop.spec;
    assert_eq!((shop.state, shop.group), (SubscriptionState::Suspended, Some(house.ops)));
    assert_eq!((&spec.retry_delays_s[..], spec.timeout_s, spec.parallel), (&[5, 120, 3_600][..], 7, 3));
    assert_eq!((spec.headers.len(), spec.forward_headers, spec.forward_query), (2, true, true));
    assert_eq!((spec.cloudevents, spec.confirm_within_s), (CloudEvents::Structured, 60));
    assert_eq!(spec.auth, Some(Auth::Basic { username: "ana".into(), password: "hunter2".into() }));
    assert_eq!(spec.filter.as_ref().map(|filter| filter.0.len()), Some(1));
}

#[tokio::test]
async fn what_is_wrong_stands_at_its_field_and_the_rest_stays() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    make_endpoint(&ana, "orders").await;
    for (field, value, sentence) in [
        ("retry_delays", "soon", "&quot;soon&quot; is not a delay: write 5s, 5m, 2h or 1d"),
        ("timeout_s", "0", "timeout_s is from 1 to 300"),
        ("filter", "{\"field\":1}", "not a list of conditions in JSON"),
        ("filter", "[{}]", "a condition of a filter is about one thing"),
        ("headers", "nonsense", "write one a line, as Name: value"),
        ("secret", "hunter2", "a secret is not usable"),
        ("auth", "basic", "Type the password to be sent."),
    ] {
        let page = subscribe(&ana, "shop", "orders", &[("parallel", "17"), (field, value)]).await;
        assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{field}");
        page.shows(sentence);
        page.shows("value=\"17\"");
        page.shows("value=\"https://example.org/hook\"");
    }
    let fields = [("name", "shop"), ("endpoint", "orders"), ("target", "example.org")];
    ana.post("/notify/new-subscription", &fields).await.shows("is not a target");
    subscribe(&ana, "shop", "nowhere", &[]).await.shows("There is no endpoint &quot;nowhere&quot; for you.");
    subscribe(&ana, "shop", "orders", &[]).await;
    subscribe(&ana, "shop", "orders", &[]).await.shows("exists already");
}

#[tokio::test]
async fn a_replaced_secret_goes_on_signing_and_a_form_sent_back_changes_nothing() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    make_endpoint(&ana, "orders").await;
    let page = subscribe(&ana, "shop", "orders", &[("secret_wish", "make"), ("retry_delays", "5s")]).await;
    page.shows("It is shown this once");
    page.hides("data-live");
    let first = stored(&house, "shop").await;
    let secret = first.spec.secret.clone().expect("a secret");
    page.shows(&secret);
    ana.get("/notify/subscriptions/shop").await.hides(&secret);
    let same = [("target", "https://example.org/hook"), ("retry_delays", "5s")];
    ana.follow(&ana.post("/notify/subscriptions/shop", &same).await).await.shows("settings are saved");
    assert_eq!(stored(&house, "shop").await.spec, first.spec);
    let new = [("target", "https://example.org/hook"), ("secret", SECRET)];
    let page = ana.follow(&ana.post("/notify/subscriptions/shop", &new).await).await;
    page.shows("and with the secret before until 2027-01-16");
    let spec = stored(&house, "shop").await.spec;
    assert_eq!(spec.secret.as_deref(), Some(SECRET));
    assert_eq!(spec.previous_secret.map(|(before, _)| before), Some(secret));
    let page = ana.post("/notify/subscriptions/shop", &[("target", "ftp://x"), ("parallel", "9")]).await;
    assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
    page.shows("use http, https, mqtt or mqtts");
    page.shows("<details class=\"settings\" open>");
    page.shows("value=\"9\"");
}

#[tokio::test]
async fn states_say_first_what_happens_to_what_waits() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    make_endpoint(&ana, "orders").await;
    subscribe(&ana, "shop", "orders", &[]).await;
    send_event(&ana, "orders", "1").await;
    send_event(&ana, "orders", "2").await;
    let page = ana.get("/notify/subscriptions/shop").await;
    page.shows("what waits is discarded: 2 waiting notifications");
    page.shows("held until you activate it, with 2 waiting notifications");
    page.shows("To delete it, disable it first.");
    let answer = ana.post("/notify/subscriptions/shop/state", &[("state", "suspended")]).await;
    let page = ana.follow(&answer).await;
    page.shows("Subscription shop is suspended now.");
    page.shows("goes out, oldest first: 2 waiting notifications");
    page.shows("<span class=\"badge s-paused\">paused</span>");
    let list = ana.get("/notify/subscriptions").await;
    list.shows("state=queued&amp;state=running&amp;state=paused&amp;state=notified\">2</a>");
    ana.post("/notify/subscriptions/shop/state", &[("state", "active")]).await;
    assert_eq!(stored(&house, "shop").await.state, SubscriptionState::Active);
    let answer = ana.post("/notify/subscriptions/shop/state", &[("state", "disabled")]).await;
    ana.follow(&answer).await.shows("Delete shop");
    while house.store.sweep(100).await.expect("sweeps") > 0 {}
    ana.get("/notify/notifications?state=discarded").await.shows("<span class=\"badge s-discarded\">discarded</span>");
    let answer = ana.post("/notify/subscriptions/shop/delete", &[]).await;
    ana.follow(&answer).await.shows("Subscription shop is deleted.");
    let answer = ana.post("/notify/subscriptions/shop/state", &[("state", "asleep")]).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn the_password_in_a_target_is_hidden_and_kept() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    make_endpoint(&ana, "orders").await;
    let target = "mqtt://ana:hunter2@broker/orders";
    let fields = [("name", "bus"), ("endpoint", "orders"), ("target", target)];
    let page = ana.follow(&ana.post("/notify/new-subscription", &fields).await).await;
    page.shows("mqtt://ana:***@broker/orders");
    ana.get("/notify/subscriptions").await.hides("hunter2");
    page.hides("hunter2");
    ana.post("/notify/subscriptions/bus", &[("target", "mqtt://ana:***@broker/orders"), ("parallel", "2")]).await;
    let spec = stored(&house, "bus").await.spec;
    assert_eq!((spec.target.0.as_str(), spec.parallel), (target, 2));
    ana.get("/audit").await.hides("hunter2");
}

#[tokio::test]
async fn subscriptions_are_found_by_state_and_word() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    make_endpoint(&ana, "orders").await;
    subscribe(&ana, "shop", "orders", &[]).await;
    subscribe(&ana, "stock", "orders", &[("state", "suspended")]).await;
    let fields = [("name", "bus"), ("endpoint", "orders"), ("target", "mqtt://ana:hunter2@broker/orders")];
    ana.post("/notify/new-subscription", &fields).await;
    let link = |name: &str| format!("href=\"/notify/subscriptions/{name}\"");
    for (query, shown) in [
        ("", vec!["shop", "stock", "bus"]),
        ("state=active", vec!["shop", "bus"]),
        ("state=suspended&endpoint=orders", vec!["stock"]),
        ("search=BROKER", vec!["bus"]),
        ("search=sto", vec!["stock"]),
        ("endpoint=orders&search=hunter2", vec![]),
        ("endpoint=other", vec![]),
    ] {
        let page = ana.get(&format!("/notify/subscriptions?{query}")).await;
        let file = ana.get(&format!("/notify/subscriptions.csv?{query}")).await;
        for name in ["shop", "stock", "bus"] {
            assert_eq!(page.body.contains(&link(name)), shown.contains(&name), "{name} with {query}");
            assert_eq!(file.body.contains(&format!("\n{name},")), shown.contains(&name), "{name} with {query}");
        }
    }
    ana.get("/notify/subscriptions?search=nothing").await.shows("No subscription matches these filters.");
    let page = ana.get("/notify/subscriptions?state=asleep&search=shop").await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST);
    page.shows("is not a state of a subscription");
    page.shows("value=\"shop\"");
}

#[tokio::test]
async fn all_subscriptions_that_match_change_their_state_after_a_question() {
    let house = House::new().await;
    let (ana, ben, cleo) = (house.sign_in("ana").await, house.sign_in("ben").await, house.sign_in("cleo").await);
    make_endpoint(&ana, "orders").await;
    make_endpoint(&cleo, "theirs").await;
    for name in ["act", "store", "stock"] {
        subscribe(&ana, name, "orders", &[]).await;
    }
    subscribe(&cleo, "private", "theirs", &[]).await;
    send_event(&ana, "orders", "1").await;
    ana.get("/notify/subscriptions/act").await.shows("<h1>act</h1>");
    ana.get("/notify/subscriptions?search=sto").await.shows("/notify/change-subscriptions?search=sto&amp;verb=suspend");
    let question = ana.get("/notify/change-subscriptions?verb=suspend&search=sto").await;
    for text in ["<strong>2 subscriptions</strong> match.", "they are held until you activate them", "1 waiting"] {
        question.shows(text);
    }
    question.hides("private");
    let until = question.field("until");
    let fields = [("verb", "suspend"), ("search", "sto"), ("until", until.as_str())];
    let path = "/notify/change-subscriptions";
    assert_eq!(ben.get("/notify/change-subscriptions?verb=suspend").await.status, StatusCode::FORBIDDEN);
    assert_eq!(ben.post(path, &fields).await.status, StatusCode::FORBIDDEN);
    assert_eq!(ana.send(crate::house::form(path, &fields)).await.status, StatusCode::FORBIDDEN);
    assert_eq!(stored(&house, "store").await.state, SubscriptionState::Active);
    let page = ana.follow(&ana.post(path, &fields).await).await;
    page.shows("Done: 2 subscriptions.");
    let states = async |names: [&str; 4]| {
        let mut states = Vec::new();
        for name in names {
            states.push(stored(&house, name).await.state);
        }
        states
    };
    use SubscriptionState::{Active, Disabled, Suspended};
    let names = ["act", "store", "stock", "private"];
    assert_eq!(states(names).await, [Active, Suspended, Suspended, Active]);
    let audit = ana.get("/audit.csv?action=subscription.change").await;
    assert_eq!(audit.body.lines().count(), 3, "each is in the audit log: {}", audit.body);
    // Of those that can be activated, one keeps its tick.
    let question = ana.get("/notify/change-subscriptions?verb=activate").await;
    question.shows("2 subscriptions");
    let some = [("verb", "activate"), ("choosing", "yes"), ("chosen", "stock"), ("chosen", "private")];
    ana.follow(&ana.post(path, &some).await).await.shows("Done: 1 subscription.");
    assert_eq!(states(names).await, [Active, Suspended, Active, Active]);
    ana.get("/notify/change-subscriptions?verb=disable").await.shows("what waits is discarded");
    ana.follow(&ana.post(path, &[("verb", "disable")]).await).await.shows("Done: 3 subscriptions.");
    assert_eq!(states(names).await, [Disabled, Disabled, Disabled, Active]);
    ana.get("/notify/change-subscriptions?verb=disable").await.shows("There is nothing to do");
    assert_eq!(ana.get("/notify/change-subscriptions?verb=eat").await.status, StatusCode::BAD_REQUEST);
}
