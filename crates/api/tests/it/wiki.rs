//! Wikis, pages, revisions and imports: the routes of the product.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};

use crate::house::House;
use crate::kept::{EARTH, FIRST, SECOND, SECOND_TEXT, THIRD, batch, kept, put};

#[tokio::test]
async fn wikis_and_pages_are_listed_and_shown() {
    let house = House::new().await;
    let wiki = kept(&house, "alpha").await.wiki;
    let other = kept(&house, "beta").await.wiki;
    assert_ne!(wiki, other, "the same wiki of two groups is two");
    let mine = house.get("/api/v1/wiki/wikis", "readonly").await.ok();
    assert_eq!(mine["items"].as_array().unwrap().len(), 1);
    let shown = &mine["items"][0];
    assert_eq!((&shown["id"], &shown["pages"], &shown["revisions"]), (&json!(wiki), &json!(2), &json!(4)));
    assert_eq!((&shown["api"], &shown["group"]), (&json!("https://wiki.test/w/api.php"), &json!("alpha")));
    assert!(house.get(&format!("/api/v1/wiki/wikis/{wiki}"), "readonly").await.ok()["about"].is_object());
    house.get("/api/v1/wiki/wikis/one", "readonly").await.refused(400, "invalid", &["one"]);

    let all = house.get("/api/v1/wiki/pages?limit=3", "admin").await.ok();
    let places = |list: &Value| -> Vec<(i64, i64)> {
        let items = list["items"].as_array().unwrap().iter();
        items.map(|page| (page["wiki"].as_i64().unwrap(), page["pageid"].as_i64().unwrap())).collect()
    };
    assert_eq!(places(&all), [(wiki, EARTH), (wiki, 9229), (other, EARTH)]);
    let next = all["next_cursor"].as_str().unwrap();
    let rest = house.get(&format!("/api/v1/wiki/pages?cursor={next}"), "admin").await.ok();
    assert_eq!((places(&rest), &rest["next_cursor"]), (vec![(other, 9229)], &Value::Null));
    let titled = house.get("/api/v1/wiki/pages?title=Earth&limit=1", "admin").await.ok();
    assert_eq!(places(&titled), [(wiki, EARTH)]);
    let next = titled["next_cursor"].as_str().unwrap();
    let rest = house.get(&format!("/api/v1/wiki/pages?title=Earth&limit=1&cursor={next}"), "admin").await.ok();
    assert_eq!((places(&rest), &rest["next_cursor"]), (vec![(other, EARTH)], &Value::Null));
    let numbered = house.get("/api/v1/wiki/pages?pageid=9229", "readonly").await.ok();
    assert_eq!(places(&numbered), [(wiki, 9229)]);
    let own = house.get(&format!("/api/v1/wiki/pages?wiki={wiki}"), "readonly").await.ok();
    assert_eq!(places(&own), [(wiki, EARTH), (wiki, 9229)]);
    house.get(&format!("/api/v1/wiki/pages?wiki={other}"), "readonly").await.refused(404, "not_found", &[]);

    let page = house.get(&format!("/api/v1/wiki/pages/{wiki}/{EARTH}"), "readonly").await.ok();
    assert_eq!(
        (&page["title"], &page["revisions"], &page["newest_revid"]),
        (&json!("Earth"), &json!(3), &json!(THIRD))
    );
    house.get(&format!("/api/v1/wiki/pages/{wiki}/5"), "readonly").await.refused(404, "not_found", &["page 5"]);
}

#[tokio::test]
async fn a_page_is_watched_or_not() {
    let house = House::new().await;
    let path = format!("/api/v1/wiki/pages/{}/{EARTH}", kept(&house, "alpha").await.wiki);
    for watched in [false, true, true] {
        let page = house.call("PATCH", &path, "user", Some(json!({ "watched": watched }))).await.ok();
        assert_eq!(page["watched"], watched);
        assert_eq!(house.get(&path, "user").await.ok()["watched"], watched);
    }
    house.call("PATCH", &path, "user", Some(json!({ "watch": true }))).await.refused(400, "invalid", &["watch"]);
    let audit = house.get("/api/v1/audit", "admin").await.text;
    assert!(audit.contains("wiki.watch") && audit.contains("wiki.import"), "{audit}");
}

#[tokio::test]
async fn figures_come_as_json_and_as_tables() {
    let house = House::new().await;
    let wiki = kept(&house, "alpha").await.wiki;
    for path in [format!("/api/v1/wiki/pages/{wiki}/{EARTH}/metrics"), format!("/api/v1/wiki/wikis/{wiki}/metrics")] {
        let figures = house.get(&path, "readonly").await.ok();
        assert!(figures["editors"].as_u64() >= Some(2), "{figures}");
        let table = house.get(&format!("{path}?format=csv"), "readonly").await;
        assert_eq!(table.headers["content-type"], "text/csv; charset=utf-8");
        assert!(table.text.starts_with("measure,of,value\n") && table.text.contains("top by edits,Ana,2\n"));
        house.get(&format!("{path}?format=xml"), "readonly").await.refused(400, "invalid", &["json or csv"]);
    }
}

#[tokio::test]
async fn a_history_is_exported_in_order() {
    let house = House::new().await;
    let path = format!("/api/v1/wiki/pages/{}/{EARTH}/revisions", kept(&house, "alpha").await.wiki);
    let lines = |text: &str| -> Vec<Value> { text.lines().map(|line| serde_json::from_str(line).unwrap()).collect() };
    let plain = house.get(&path, "readonly").await;
    assert_eq!(plain.headers["content-type"], "application/x-ndjson");
    let found = lines(&plain.text);
    assert_eq!(found.iter().map(|one| one["revid"].as_i64().unwrap()).collect::<Vec<_>>(), [FIRST, SECOND, THIRD]);
    assert_eq!((&found[1]["anon"], found[1].get("*")), (&json!(true), None));
    let texts = lines(&house.get(&format!("{path}?text=true"), "readonly").await.text);
    assert_eq!((&texts[0]["*"], &texts[1]["*"]), (&json!("Earth is flat."), &json!(SECOND_TEXT)));
    let accept = Request::get(&path).header("authorization", "Bearer readonly").header("accept", "text/csv");
    let csv = house.send(accept.body(Body::empty()).unwrap()).await;
    let rows: Vec<&str> = csv.text.lines().collect();
    assert_eq!(rows.len(), 4);
    assert!(rows[0].starts_with("revid,parentid,pageid,title,timestamp,user"), "{}", rows[0]);
    assert!(
        rows[2].starts_with(&format!("{SECOND},{FIRST},{EARTH},Earth,2018-03-09T18:30:00Z,10.0.0.1,")),
        "{}",
        rows[2]
    );
    house.get(&format!("{path}?format=csv&text=true"), "readonly").await.refused(400, "invalid", &["JSON only"]);
}

#[tokio::test]
async fn a_text_is_what_the_wiki_had_and_harmless() {
    let house = House::new().await;
    let wiki = kept(&house, "alpha").await.wiki;
    let path = format!("/api/v1/wiki/revisions/{wiki}/{SECOND}");
    let shown = house.get(&path, "readonly").await.ok();
    assert_eq!(
        (&shown["title"], &shown["size"], &shown["has_text"]),
        (&json!("Earth"), &json!(SECOND_TEXT.len()), &json!(true))
    );
    let text = house.get(&format!("{path}/text"), "readonly").await;
    assert_eq!(text.text, SECOND_TEXT);
    for (name, value) in [
        ("content-type", "text/x-wiki; charset=utf-8"),
        ("x-content-type-options", "nosniff"),
        ("content-disposition", "attachment"),
        ("content-security-policy", "sandbox"),
    ] {
        assert_eq!(text.headers[name], value);
    }
    house.get(&format!("/api/v1/wiki/revisions/{wiki}/5/text"), "readonly").await.refused(404, "not_found", &["5"]);
}

#[tokio::test]
async fn two_revisions_are_compared_word_by_word() {
    let house = House::new().await;
    let wiki = kept(&house, "alpha").await.wiki;
    let diff = house.get(&format!("/api/v1/wiki/diff?wiki={wiki}&from={FIRST}&to={THIRD}"), "readonly").await.ok();
    let text = |left_out: &str| -> String {
        let pieces = diff["pieces"].as_array().unwrap().iter().filter(|piece| piece["kind"] != left_out);
        pieces.map(|piece| piece["text"].as_str().unwrap()).collect()
    };
    assert_eq!((text("added").as_str(), text("removed").as_str()), ("Earth is flat.", "Earth is round."));
    assert_eq!((&diff["from"]["revid"], &diff["to"]["user"]), (&json!(FIRST), &json!("Ana")));
    let path = format!("/api/v1/wiki/diff?wiki={wiki}");
    house.get(&format!("{path}&from=1"), "readonly").await.refused(400, "invalid", &["two of its revisions"]);
    house.get(&format!("{path}&from={FIRST}&to=5"), "readonly").await.refused(404, "not_found", &["revision 5"]);
}

#[tokio::test]
async fn an_import_goes_on_where_it_was() {
    let house = House::new().await;
    let new = json!({ "dump": "d.xml", "name": "Ours", "locale": "pt" });
    let begun = house.post("/api/v1/wiki/imports", "user", new.clone()).await;
    assert_eq!((begun.status.as_u16(), &begun.json["batches"]), (201, &json!(0)));
    let id = begun.json["id"].as_str().unwrap().to_owned();
    assert_eq!(begun.headers["location"], format!("/api/v1/wiki/imports/{id}"));
    put(&house, "user", &id, "1", batch()).await.refused(409, "conflict", &["the next one has the number 0"]);
    put(&house, "user", &id, "0", b"nonsense".to_vec()).await.refused(400, "invalid", &["not a batch"]);
    assert_eq!(put(&house, "user", &id, "0", batch()).await.status, 204);
    assert_eq!(put(&house, "user", &id, "0", batch()).await.status, 204, "again");
    let again = house.post("/api/v1/wiki/imports", "user", new).await.ok();
    assert_eq!((&again["id"], &again["batches"], &again["finished"]), (&json!(id), &json!(1), &json!(false)));
    assert_eq!((&again["pages"], &again["revisions"]), (&json!(2), &json!(4)));
    assert_eq!(put(&house, "user", &id, "1?last=true", batch()).await.status, 204);
    let done = house.get(&format!("/api/v1/wiki/imports/{id}"), "readonly").await.ok();
    assert_eq!((&done["finished"], &done["batches"]), (&json!(true), &json!(2)));
    assert_eq!(house.get("/api/v1/wiki/imports", "readonly").await.ids(), [id]);
    let wiki = house.get(&format!("/api/v1/wiki/wikis/{}", done["wiki"]), "readonly").await.ok();
    assert_eq!(
        (&wiki["name"], &wiki["locale"], &wiki["api"]),
        (&json!("Ours"), &json!("pt"), &json!("https://ours.pt.invalid/api.php"))
    );
}

#[tokio::test]
async fn a_dump_finds_its_wiki() {
    let house = House::new().await;
    let begin = async |new: Value| house.post("/api/v1/wiki/imports", "user", new).await;
    let wiki = begin(json!({ "dump": "a", "api": "https://wiki.test/x/api.php" })).await.ok()["wiki"].clone();
    let same = begin(json!({ "dump": "b", "url": "https://wiki.test/wiki/Main" })).await.ok();
    assert_eq!(same["wiki"], wiki, "the only wiki of that host");
    assert_eq!(begin(json!({ "dump": "c", "wiki": wiki })).await.ok()["wiki"], wiki);
    let other = begin(json!({ "dump": "a", "api": "https://wiki.test/y/api.php" })).await.ok();
    assert_ne!(other["wiki"], wiki);
    for (new, word) in [
        (json!({ "dump": "a" }), "which wiki"),
        (json!({ "dump": " ", "wiki": wiki }), "dump is empty"),
        (json!({ "dump": "a", "api": "wiki" }), "api"),
        (json!({ "dump": "a", "site": 1 }), "site"),
    ] {
        begin(new).await.refused(400, "invalid", &[word]);
    }
    begin(json!({ "dump": "a", "wiki": 999 })).await.refused(404, "not_found", &[]);
}
