//! Endpoints in the console.

use axum::http::StatusCode;
use malla_notify::Notify as _;
use malla_queue::Scope;

use super::{SECRET, make_endpoint, send_event, subscribe};
use crate::house::House;

#[tokio::test]
async fn an_endpoint_is_made_in_ones_group_and_shown_with_its_address() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let fields = [
        ("name", "orders"),
        ("description", "all orders"),
        ("max_body", "2048"),
        ("retention_days", "7"),
        ("token", "hunter2"),
        ("signature", SECRET),
    ];
    let answer = ana.post("/notify/new-endpoint", &fields).await;
    let page = ana.follow(&answer).await;
    for text in ["Endpoint orders is created.", "/in/orders", "token and signature", "2.0 KiB", "7 days", "$TOKEN"] {
        page.shows(text);
    }
    page.hides(SECRET);
    page.hides("hunter2");
    let endpoint = house.store.endpoint(&Scope::All, "orders").await.expect("an endpoint");
    assert_eq!(endpoint.group, Some(house.ops));
    assert_eq!(endpoint.options.signature_secrets, [SECRET]);
    let list = ana.get("/notify/endpoints").await;
    list.shows("<code>/in/orders</code>");
    list.shows("all orders");
    house.sign_in("ben").await.get("/notify/endpoints").await.shows("/in/orders");
}

#[tokio::test]
async fn what_is_wrong_stands_at_its_field_and_the_rest_stays() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    for (field, value, sentence) in [
        ("name", "a b", "cannot name an endpoint: use 1 to 128 letters"),
        ("name", "system", "is the endpoint of Malla"),
        ("max_body", "0", "max_body is from 1 to 16777216 bytes"),
        ("max_body", "1k", "&quot;1k&quot; is not a number"),
        ("retention_days", "9999", "retention_days is from 1 to 3650"),
        ("signature", "hunter2", "a secret is not usable"),
        ("token", "two words", "without spaces"),
        ("group", "payments", "There is no group &quot;payments&quot; for you."),
    ] {
        let mut fields = vec![("description", "kept as typed"), (field, value)];
        if field != "name" {
            fields.push(("name", "orders"));
        }
        let page = ana.post("/notify/new-endpoint", &fields).await;
        assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{field}");
        page.shows(sentence);
        page.shows("value=\"kept as typed\"");
        page.shows("one field cannot be taken as it is");
    }
    make_endpoint(&ana, "orders").await;
    let page = ana.post("/notify/new-endpoint", &[("name", "orders")]).await;
    assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
    page.shows("exists already");
}

#[tokio::test]
async fn an_mqtt_endpoint_shows_where_it_listens_but_not_the_password() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let fields = [
        ("name", "sensors"),
        ("protocol", "mqtt"),
        ("mqtt_broker", "mqtt://broker:1883"),
        ("mqtt_topic", "a/#"),
        ("mqtt_username", "ana"),
        ("mqtt_password", "hunter2"),
    ];
    let page = ana.follow(&ana.post("/notify/new-endpoint", &fields).await).await;
    page.shows("mqtt://broker:1883 a/#");
    page.hides("hunter2");
    page.hides("Send a test event");
    let fields =
        [("protocol", "mqtt"), ("mqtt_broker", "mqtt://broker"), ("mqtt_topic", "b"), ("mqtt_username", "ana")];
    ana.follow(&ana.post("/notify/endpoints/sensors", &fields).await).await.shows("options are saved");
    let source = house.store.endpoint(&Scope::All, "sensors").await.expect("there").options.mqtt.expect("mqtt");
    assert_eq!((source.topic.as_str(), source.password.as_deref()), ("b", Some("hunter2")), "an empty one keeps it");
    let page = ana.post("/notify/endpoints/sensors", &[("protocol", "mqtt"), ("mqtt_broker", "nowhere")]).await;
    assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
    page.shows("is not a broker");
}

#[tokio::test]
async fn a_made_token_is_shown_once_and_opens_the_endpoint() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    make_endpoint(&ana, "orders").await;
    let page = ana.post("/notify/endpoints/orders", &[("token_wish", "make"), ("signature_wish", "make")]).await;
    page.shows("It is shown this once");
    let (_, token) = page.body.split_once("<code>malla_in_").expect("the token");
    let token = format!("malla_in_{}", token.split('<').next().expect("its end"));
    ana.get("/notify/endpoints/orders").await.hides(&token);
    let answer = ana.post("/notify/endpoints/orders/try", &[("body", "{\"typed\":1}")]).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    answer.shows("this endpoint asks for a token");
    answer.shows("{&quot;typed&quot;:1}");
    let answer = ana.post("/notify/endpoints/orders/try", &[("body", "{}"), ("token", &token)]).await;
    ana.follow(&answer).await.shows("The event is safe.");
}

#[tokio::test]
async fn a_test_event_goes_the_way_of_every_event() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    make_endpoint(&ana, "orders").await;
    subscribe(&ana, "shop", "orders", &[]).await;
    let event = send_event(&ana, "orders", "{\"order\":\r\n17}").await;
    let page = ana.get(&event).await;
    page.shows("&quot;order&quot;: 17");
    page.shows("/notify/subscriptions/shop");
    page.shows("<span class=\"badge s-queued\">queued</span>");
    ana.get("/notify/endpoints/orders").await.shows(&event);
    let page = ana.post("/notify/endpoints/orders", &[("max_body", "4")]).await;
    assert_eq!(page.status, StatusCode::SEE_OTHER);
    let page = ana.post("/notify/endpoints/orders/try", &[("body", "12345")]).await;
    page.shows("this endpoint takes at most 4 bytes");
}

#[tokio::test]
async fn an_endpoint_with_subscriptions_stays() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    make_endpoint(&ana, "orders").await;
    subscribe(&ana, "shop", "orders", &[]).await;
    let answer = ana.post("/notify/endpoints/orders/delete", &[]).await;
    assert_eq!(answer.location(), "/notify/endpoints/orders");
    ana.follow(&answer).await.shows("notice bad");
    ana.post("/notify/subscriptions/shop/state", &[("state", "disabled")]).await;
    let answer = ana.post("/notify/subscriptions/shop/delete", &[]).await;
    assert_eq!(answer.location(), "/notify/subscriptions");
    let answer = ana.post("/notify/endpoints/orders/delete", &[]).await;
    ana.follow(&answer).await.shows("Endpoint orders is deleted.");
    assert_eq!(ana.get("/notify/endpoints/orders").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_endpoint_of_the_house_is_explained_and_cannot_be_changed() {
    let house = House::new().await;
    let root = house.sign_in("root").await;
    let page = root.get("/notify/endpoints/system").await;
    page.shows("own events arrive here");
    page.shows("/notify/new-subscription?endpoint=system");
    for form in ["action=\"/notify/endpoints/system\"", "/try", "/delete"] {
        page.hides(form);
    }
    for path in ["/notify/endpoints/system", "/notify/endpoints/system/delete"] {
        assert_eq!(root.post(path, &[("max_body", "1")]).await.status, StatusCode::CONFLICT, "{path}");
    }
    let page = root.post("/notify/endpoints/system/try", &[("body", "x")]).await;
    assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
    house.sign_in("ana").await.get("/notify/endpoints/system").await.shows("own events arrive here");
}
