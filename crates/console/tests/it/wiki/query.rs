//! Questions of one's own in the console.

use axum::http::StatusCode;

use super::sparrow;
use crate::house::{Answer, House, Visitor};

async fn ask(visitor: &Visitor<'_>, pipeline: &str, collection: &str) -> Answer {
    let fields = [("pipeline", pipeline), ("collection", collection)];
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    visitor.get(&format!("/wiki/query?{query}")).await
}

#[tokio::test]
async fn examples_can_be_clicked_and_answer() {
    let house = House::new().await;
    sparrow(&house).await;
    let ana = house.sign_in("ana").await;
    let page = ana.get("/wiki/query").await;
    let links: Vec<String> = page
        .body
        .split("class=\"chip\" href=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().expect("a link").replace("&amp;", "&"))
        .collect();
    assert_eq!(links.len(), 3);
    for link in links {
        let page = ana.get(&link).await;
        assert_eq!(page.status, StatusCode::OK, "{link}: {}", page.body);
        page.shows("<h2>Answer</h2>");
        page.hides("Nothing matches.");
    }
}

#[tokio::test]
async fn an_answer_is_a_table_of_its_fields() {
    let house = House::new().await;
    sparrow(&house).await;
    let ana = house.sign_in("ana").await;
    let pipeline = r#"[{"$match": {"minor": {"$exists": false}}},
        {"$group": {"_id": {"year": {"$year": "$timestamp"}}, "edits": {"$sum": 1}}}]"#;
    let page = ask(&ana, pipeline, "revisions").await;
    for text in ["_id.year</th>", "edits</th>", ">2018</td>", ">2</td>", "1 row<", "&quot;$match&quot;"] {
        page.shows(text);
    }
    let sorted = r#"[{"$sort": {"size": -1, "revid": 1}}, {"$limit": 1}, {"$project": {"revid": 1}}]"#;
    ask(&ana, sorted, "revisions").await.shows(">102</td>");
    let page = ask(&ana, r#"[{"$match": {"title": "nothing"}}]"#, "articles").await;
    page.shows("Nothing matches.");
}

#[tokio::test]
async fn what_is_wrong_stands_at_the_pipeline_and_it_stays_typed() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    for (pipeline, sentence) in
        [("[{", "The pipeline is no JSON"), (r#"[{"$fly": 1}]"#, "$fly"), (r#"[{"$match": {"colour": 1}}]"#, "colour")]
    {
        let page = ask(&ana, pipeline, "revisions").await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{pipeline}");
        let (_, field) = page.body.split_once("name=\"pipeline\"").expect("the field");
        let (_, error) = field.split_once("class=\"hint error\"").expect("an error at it");
        assert!(error.split("</span>").next().is_some_and(|error| error.contains(sentence)), "{error}");
    }
    let page = ana.get("/wiki/query?pipeline=%5B%5D&date_format=nothing").await;
    let (_, field) = page.body.split_once("name=\"date_format\"").expect("the field");
    assert!(field.split("</label>").next().is_some_and(|field| field.contains("hint error")), "{field}");
    let page = ask(&ana, "[]", "users").await;
    page.shows("There is no collection &quot;users&quot;.");
}
