//! A wiki with two pages that is kept: it comes as a dump, through the routes.

use axum::body::Body;
use axum::http::Request;
use malla_wiki::dump::{Batches, Reader};
use serde_json::json;

use crate::house::{Answer, House};

pub(crate) const EARTH: i64 = 9228;
pub(crate) const FIRST: i64 = 100;
pub(crate) const SECOND: i64 = 101;
pub(crate) const THIRD: i64 = 102;
/// The text of the second revision, with what is not ASCII and no line end.
pub(crate) const SECOND_TEXT: &str = "Earth is round — très ronde.\n\n== See ==";

/// A revision of a dump.
fn revision(id: i64, parent: i64, at: &str, user: &str, minor: bool, text: &str) -> String {
    let parent = if parent == 0 { String::new() } else { format!("<parentid>{parent}</parentid>") };
    let minor = if minor { "<minor/>" } else { "" };
    let user = match user.contains('.') {
        true => format!("<ip>{user}</ip>"),
        false => format!("<username>{user}</username><id>7</id>"),
    };
    format!(
        "<revision><id>{id}</id>{parent}<timestamp>{at}</timestamp><contributor>{user}</contributor>{minor}\
         <comment>about {id}</comment><model>wikitext</model><format>text/x-wiki</format>\
         <text bytes=\"{}\" xml:space=\"preserve\">{text}</text></revision>",
        text.len()
    )
}

fn dump() -> String {
    let page = |title: &str, id: i64, revisions: &[String]| {
        format!("<page><title>{title}</title><ns>0</ns><id>{id}</id>{}</page>", revisions.concat())
    };
    let earth = [
        revision(FIRST, 0, "2018-03-09T12:00:00Z", "Ana", false, "Earth is flat."),
        revision(SECOND, FIRST, "2018-03-09T18:30:00Z", "10.0.0.1", false, SECOND_TEXT),
        revision(THIRD, SECOND, "2018-03-12T00:00:00Z", "Ana", true, "Earth is round."),
    ];
    let moon = [revision(200, 0, "2018-03-10T00:00:00Z", "Bob", false, "The Moon.")];
    let site =
        "<siteinfo><sitename>Test</sitename><dbname>test</dbname><base>https://wiki.test/wiki/Main</base></siteinfo>";
    let pages = page("Earth", EARTH, &earth) + &page("Moon", 9229, &moon);
    format!("<mediawiki version=\"0.11\" xml:lang=\"en\">{site}{pages}</mediawiki>")
}

/// The one batch of the dump.
pub(crate) fn batch() -> Vec<u8> {
    let mut batches = Batches::new(Reader::new(std::io::Cursor::new(dump().into_bytes())));
    let batch = batches.next().unwrap().unwrap();
    assert!(batches.next().is_none(), "it fits one batch");
    batch.encode().unwrap()
}

/// What is kept for a group.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) wiki: i64,
    pub(crate) import: String,
}

/// Imports the dump for a group.
pub(crate) async fn kept(house: &House, group: &str) -> Kept {
    let new = json!({ "dump": "test.xml", "url": "https://wiki.test/wiki/Main", "name": "Test", "group": group });
    let begun = house.post("/api/v1/wiki/imports", "admin", new).await.ok();
    let import = begun["id"].as_str().unwrap().to_owned();
    put(house, "admin", &import, "0?last=true", batch()).await.ok();
    Kept { wiki: begun["wiki"].as_i64().unwrap(), import }
}

/// Sends a batch of a dump.
pub(crate) async fn put(house: &House, token: &str, import: &str, number: &str, bytes: Vec<u8>) -> Answer {
    let request = Request::put(format!("/api/v1/wiki/imports/{import}/batches/{number}"));
    let request = request.header("authorization", format!("Bearer {token}"));
    house.send(request.body(Body::from(bytes)).unwrap()).await
}
