//! The routes about histories that existing clients know: their parameters, shapes and errors.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use crate::house::{Answer, House};
use crate::kept::{EARTH, FIRST, SECOND, SECOND_TEXT, THIRD, kept};

/// Every route, with the method that browsers use.
const ROUTES: [(&str, &str); 9] = [
    ("POST", "/api/v1/extract"),
    ("GET", "/api/v1/status/x"),
    ("GET", "/api/v1/articles"),
    ("GET", "/api/v1/articles/1"),
    ("GET", "/api/v1/revisions"),
    ("GET", "/api/v1/count"),
    ("GET", "/api/v1/avg"),
    ("GET", "/api/v1/mode"),
    ("POST", "/api/v1/query"),
];

async fn send(house: &House, method: &str, path: &str, kind: &str, body: &str) -> Answer {
    let request = Request::builder().method(method).uri(path).header("host", "malla.test:7070");
    let request = request.header("authorization", "Bearer user").header("content-type", kind);
    house.send(request.body(Body::from(body.to_owned())).unwrap()).await
}

fn id_of(answer: &Answer) -> String {
    let location = answer.json["Location"].as_str().unwrap();
    let id = location.strip_prefix("http://malla.test:7070/api/v1/status/").unwrap_or_else(|| panic!("{location}"));
    id.strip_suffix("?name=extract_article").unwrap().to_owned()
}

#[tokio::test]
async fn an_extraction_is_accepted_however_its_parameters_come() {
    let house = House::new().await;
    let form = "application/x-www-form-urlencoded";
    let mut ids = Vec::new();
    for (method, path, kind, body) in [
        ("GET", "/api/v1/extract?title=Earth&unknown=1", "", ""),
        ("POST", "/api/v1/extract?title=Earth", "", ""),
        ("POST", "/api/v1/extract", form, "title=Earth&locale=en"),
        ("POST", "/api/v1/extract", "application/json", r#"{"title":"Earth"}"#),
        ("POST", "/api/v1/extract?locale=en", "text/plain", r#"{"title":"Earth","url":""}"#),
    ] {
        let answer = send(&house, method, path, kind, body).await;
        assert_eq!(answer.status, 202, "{path} {body}: {}", answer.text);
        assert_eq!(answer.headers["location"], answer.json["Location"].as_str().unwrap());
        ids.push(id_of(&answer));
    }
    ids.dedup();
    assert_eq!(ids.len(), 1, "the same is asked for while it is under way");
    let status = house.get(&format!("/api/v1/status/{}?name=extract_article", ids[0]), "readonly").await.ok();
    assert_eq!((&status["state"], &status["result"]), (&json!("PENDING"), &Value::Null));
    assert_eq!(status["status"], "waiting for its turn");
    assert_eq!((&status["asked"], &status["group"], &status["done"]), (&json!("Earth"), &json!("alpha"), &json!(0)));

    let url = send(&house, "GET", "/api/v1/extract?url=https%3A%2F%2Fwiki.test%2Fwiki%2FEarth", "", "").await;
    assert_ne!(id_of(&url), ids[0]);
    let german = send(&house, "GET", "/api/v1/extract?title=Earth&locale=de", "", "").await;
    assert_ne!(id_of(&german), ids[0]);
    let listed = house.get("/api/v1/wiki/extractions?limit=2", "user").await;
    assert_eq!(listed.ids(), [id_of(&german), id_of(&url)]);
    let next = listed.json["next_cursor"].as_str().unwrap();
    assert_eq!(house.get(&format!("/api/v1/wiki/extractions?cursor={next}"), "user").await.ids(), ids);
    let one = house.get(&format!("/api/v1/wiki/extractions/{}", ids[0]), "user").await.ok();
    assert_eq!(one["id"], json!(ids[0]));
}

#[tokio::test]
async fn what_cannot_be_extracted_is_told_why() {
    let house = House::new().await;
    for (path, words) in [
        ("/api/v1/extract", "name the page with title= or url="),
        ("/api/v1/extract?title=&url=", "name the page with title= or url="),
        ("/api/v1/extract?title=A&url=http%3A%2F%2Fa", "both"),
        ("/api/v1/extract?url=ftp%3A%2F%2Fa", "ftp"),
        ("/api/v1/extract?title=A&locale=..%2F", "locale"),
    ] {
        let answer = house.get(path, "user").await;
        answer.refused(400, "invalid", &[words]);
        assert_eq!(
            (&answer.json["message"], answer.json["error"].as_str()),
            (&answer.json["detail"], Some("Invalid request"))
        );
    }
    house.get("/api/v1/extract?title=A&group=beta", "user").await.refused(404, "not_found", &["beta"]);
    house.get("/api/v1/extract?title=A", "readonly").await.refused(403, "forbidden", &["readonly"]);
    let house = House::without_contact().await;
    let answer = house.get("/api/v1/extract?title=A", "user").await;
    answer.refused(503, "not_available", &["wiki.contact", "MALLA_WIKI_CONTACT"]);
}

#[tokio::test]
async fn a_beginning_repeated_under_its_key_is_one_extraction() {
    let house = House::new().await;
    let post = async |title: &str| {
        house.keyed("POST", "/api/v1/extract", "user", Some(json!({ "title": title })), Some("k")).await
    };
    assert_eq!(post("Earth").await.ok(), post("Earth").await.ok());
    post("Moon").await.refused(422, "key_reused", &[]);
}

#[tokio::test]
async fn browsers_may_ask_from_anywhere_on_these_routes_only() {
    let house = House::new().await;
    let ask = async |method: &str, path: &str, token: &str| {
        let request = Request::builder().method(method).uri(path).header("origin", "https://elsewhere.test");
        let request = request.header("access-control-request-method", "POST");
        let request = if token.is_empty() { request } else { request.header("authorization", token) };
        house.send(request.body(Body::empty()).unwrap()).await
    };
    for (method, path) in ROUTES {
        let preflight = ask("OPTIONS", path, "").await;
        assert_eq!(preflight.status, 204, "{path}");
        for (name, word) in [("origin", "*"), ("methods", method), ("headers", "authorization")] {
            let allowed = preflight.headers[format!("access-control-allow-{name}")].to_str().unwrap();
            assert!(allowed.contains(word), "{path}: {allowed}");
        }
        let unknown = ask(method, path, "").await;
        assert_eq!(
            (unknown.status.as_u16(), &unknown.headers["access-control-allow-origin"]),
            (401, &"*".parse().unwrap())
        );
        assert_eq!(unknown.json["error"], "Not known", "{path}");
        let wrong = ask("DELETE", path, "Bearer user").await;
        wrong.refused(405, "method_not_allowed", &["DELETE"]);
        assert_eq!(
            (&wrong.json["message"], wrong.headers.contains_key("allow")),
            (&wrong.json["detail"], true),
            "{path}"
        );
        assert_eq!(wrong.headers["access-control-allow-origin"], "*");
    }
    for path in ["/api/v1/tasks", "/api/v1/wiki/wikis", "/api/v1/me"] {
        assert!(!ask("GET", path, "Bearer user").await.headers.contains_key("access-control-allow-origin"), "{path}");
        assert_eq!(ask("OPTIONS", path, "").await.status, 405, "{path}");
    }
    assert!(house.get("/api/v1/tasks?nonsense=1", "user").await.json["error"].is_null());
}

#[tokio::test]
async fn articles_are_a_bare_list() {
    let house = House::new().await;
    let wiki = kept(&house, "alpha").await.wiki;
    let all = house.get("/api/v1/articles", "readonly").await.ok();
    let titles: Vec<_> = all.as_array().unwrap().iter().map(|one| one["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["Earth", "Moon"]);
    let earth = &all[0];
    assert_eq!((&earth["pageid"], &earth["ns"], &earth["locale"]), (&json!(EARTH), &json!(0), &json!("en")));
    assert_eq!(earth["last_revision_extracted"], json!(THIRD));
    assert!(earth["first_extraction_date"].is_string() && earth["last_extraction_date"].is_string(), "{earth}");
    let chosen = house.get("/api/v1/articles?title=Moon&project=pageid,title&whatever=1", "readonly").await.ok();
    assert_eq!(chosen, json!([{ "pageid": 9229, "title": "Moon" }]));
    let second = house.get("/api/v1/articles?page=2&page_size=1&project=title", "readonly").await.ok();
    assert_eq!(second, json!([{ "title": "Moon" }]));
    let one = house.get(&format!("/api/v1/articles/{EARTH}?wiki={wiki}"), "readonly").await.ok();
    assert_eq!(one["title"], "Earth");
    assert_eq!(house.get("/api/v1/articles/5", "readonly").await.ok(), json!({}));
    house.get("/api/v1/articles/five", "readonly").await.refused(400, "invalid", &["pageid", "five"]);
    house.get("/api/v1/articles?page=0", "readonly").await.refused(400, "invalid", &["page"]);
}

#[tokio::test]
async fn revisions_are_a_bare_list_with_their_texts() {
    let house = House::new().await;
    kept(&house, "alpha").await;
    let found = house.get("/api/v1/revisions?title=Earth", "readonly").await.ok();
    let ids: Vec<_> = found.as_array().unwrap().iter().map(|one| one["revid"].as_i64().unwrap()).collect();
    assert_eq!(ids, [FIRST, SECOND, THIRD]);
    let second = &found[1];
    assert_eq!((&second["*"], &second["timestamp"]), (&json!(SECOND_TEXT), &json!("2018-03-09T18:30:00Z")));
    assert_eq!((&second["anon"], second.get("minor")), (&json!(true), None));
    assert_eq!((&found[2]["minor"], found[2].get("anon")), (&json!(true), None));
    for field in ["parentid", "pageid", "user", "size", "contentmodel", "contentformat", "comment", "extraction_date"] {
        assert!(second.get(field).is_some(), "{field} in {second}");
    }
    let newest = house.get("/api/v1/revisions?sort=desc&page_size=1&title=Earth&project=revid", "readonly").await.ok();
    assert_eq!(newest, json!([{ "revid": THIRD }]));
    house.get("/api/v1/revisions?page_size=201", "readonly").await.refused(400, "invalid", &["page_size"]);
    house.get("/api/v1/revisions?pageid=x", "readonly").await.refused(400, "invalid", &["pageid"]);
    assert_eq!(house.get("/api/v1/revisions", "beta").await.ok(), json!([]), "another group's");
}

#[tokio::test]
async fn counts_and_averages_are_texts() {
    let house = House::new().await;
    kept(&house, "alpha").await;
    let get = async |path: &str| house.get(path, "readonly").await.ok();
    assert_eq!(get("/api/v1/count").await, json!({ "count": "4" }));
    assert_eq!(get("/api/v1/count?user=Ana").await, json!({ "count": "2" }));
    assert_eq!(get("/api/v1/count?date=2018-03-09").await, json!({ "count": "2" }));
    assert_eq!(get("/api/v1/count?size=14&sizematch=1&title=Earth").await, json!({ "count": "2" }));
    assert_eq!(get("/api/v1/avg?datestart=2018-03-09&dateend=2018-03-12").await, json!({ "avg": "1.000000" }));
    assert_eq!(
        get("/api/v1/avg?title=Earth&datestart=2018-03-09&dateend=2018-03-12").await,
        json!({ "avg": "0.750000" })
    );
    assert_eq!(get("/api/v1/mode?attribute=user").await, json!({ "user": ["Ana"] }));
    assert_eq!(get("/api/v1/mode?attribute=pageid").await, json!({ "pageid": [EARTH] }));
    let tied = get("/api/v1/mode?attribute=user&datestart=2018-03-09&dateend=2018-03-10").await;
    assert_eq!(tied["user"].as_array().map(Vec::len), Some(3), "all that tie: {tied}");
    assert_eq!(house.get("/api/v1/count", "beta").await.ok(), json!({ "count": "0" }), "another group's");
    for (path, word) in [
        ("/api/v1/avg", "datestart"),
        ("/api/v1/avg?datestart=2018-03-09&dateend=soon", "dateend"),
        ("/api/v1/mode", "attribute"),
        ("/api/v1/mode?attribute=colour", "colour"),
        ("/api/v1/count?size=big", "size"),
    ] {
        house.get(path, "readonly").await.refused(400, "invalid", &[word]);
    }
}

#[tokio::test]
async fn a_pipeline_is_answered() {
    let house = House::new().await;
    kept(&house, "alpha").await;
    let by_user = json!([
        { "$match": { "title": "Earth" } },
        { "$group": { "_id": "$user", "edits": { "$sum": 1 } } },
        { "$sort": { "edits": -1 } },
    ]);
    let found = house.post("/api/v1/query", "readonly", by_user).await.ok();
    assert_eq!(found, json!([{ "_id": "Ana", "edits": 2 }, { "_id": "10.0.0.1", "edits": 1 }]));
    let dated = json!([{ "$match": { "revid": FIRST } }, { "$project": { "_id": 0, "timestamp": 1 } }]);
    let found = house.post("/api/v1/query", "readonly", dated).await.ok();
    assert_eq!(found, json!([{ "timestamp": { "$date": 1_520_596_800_000_i64 } }]));
    let since = json!([{ "$match": { "timestamp": { "$gte": "2018-03-10" } } }, { "$count": "n" }]);
    let path = "/api/v1/query?date_format=%Y-%m-%d&collection=revisions";
    assert_eq!(house.post(path, "readonly", since).await.ok(), json!([{ "n": 2 }]));
    let articles = json!([{ "$match": {} }, { "$count": "n" }]);
    let found = house.post("/api/v1/query?collection=articles", "readonly", articles).await.ok();
    assert_eq!(found, json!([{ "n": 2 }]));
    for (path, body, word) in [
        ("/api/v1/query?collection=people", json!([]), "people"),
        ("/api/v1/query", json!({ "$match": {} }), "list of stages"),
        ("/api/v1/query", json!([{ "$lookup": {} }]), "$lookup"),
    ] {
        let answer = house.post(path, "readonly", body).await;
        answer.refused(400, "invalid", &[word]);
        assert!(answer.json["message"].as_str().unwrap().contains(word));
    }
}
