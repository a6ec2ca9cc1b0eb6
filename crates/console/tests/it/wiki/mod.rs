//! The room `wiki` as its pages show it.

mod article;
mod extractions;
mod lists;
mod query;
mod texts;

use std::time::Duration;

use axum::http::StatusCode;
use malla_queue::{Act, Clock as _, GroupId, Holder, LeaseRequest, Outcome, Queue as _, Room, Scope, UnixMs, Verdict};
use malla_wiki::texts::Packer;
use malla_wiki::{
    Committed, Counts, ExtractionId, ExtractionState, Imported, NewImport, NewWiki, PageChange, PageFacts, PageId,
    ROOM, RevId, Revision, Settled, Step, Wiki, WikiId, Wikis as _,
};
use serde_json::json;

use crate::house::{House, Visitor};

pub(crate) const HOSTILE: &str = "<script>alert(1)</script>";
/// 9 March 2018, noon; a Friday.
pub(crate) const NOON: UnixMs = UnixMs(1_520_596_800_000);

pub(crate) async fn found(house: &House, group: GroupId, name: &str) -> Wiki {
    let new = NewWiki {
        group: Some(group),
        api: format!("https://{name}.wiki.test/w/api.php").parse().expect("a URL"),
        locale: name.into(),
        name: "Testpedia".into(),
        about: json!({ "general": { "generator": "MediaWiki 1.39.4", "lang": name } }),
        scraped: false,
    };
    house.store.found(new).await.expect("notes a wiki")
}

/// A revision with a text, which is what it is about here.
pub(crate) fn revision(page: i64, number: i64, user: &str, text: &str) -> (Revision, Option<String>) {
    let revision = Revision {
        revid: RevId(number),
        parentid: RevId(if number % 100 == 1 { 0 } else { number - 1 }),
        pageid: PageId(page),
        at: NOON.plus(Duration::from_secs(3_600 * number.unsigned_abs())),
        user: Some(user.into()),
        userid: Some(7),
        anon: false,
        minor: false,
        size: text.len() as u64,
        sha1: Some(format!("{number:040x}")),
        model: "wikitext".into(),
        format: "text/x-wiki".into(),
        comment: Some(format!("edit {number}")),
        parsed_comment: Some("<b>edit</b>".into()),
        tags: vec![],
        text: None,
        text_hidden: false,
    };
    (revision, Some(text.to_owned()))
}

/// Keeps a page with these revisions, as a dump would bring it.
pub(crate) async fn keep(house: &House, wiki: WikiId, page: i64, title: &str, kept: Vec<(Revision, Option<String>)>) {
    let mut packer = Packer::new();
    let revisions = kept.into_iter().map(|(revision, text)| {
        let text = text.map(|text| packer.add(text.as_bytes()).expect("packs"));
        Revision { text, ..revision }
    });
    let revisions: Vec<Revision> = revisions.collect();
    let mark = revisions.iter().map(Revision::mark).max();
    let blocks = packer.finish().expect("packs");
    let facts = PageFacts { title: title.into(), ns: 0, deleted: false };
    let change = PageChange {
        wiki,
        pageid: PageId(page),
        version: 0,
        facts,
        revisions,
        blocks,
        mark,
        complete: true,
        reconciled: false,
        visited: false,
    };
    let new = NewImport { wiki, name: format!("{title}.xml") };
    let act = Act::new("user:ana", "wiki.import", title);
    let import = house.store.begin_import(&Scope::All, new, act).await.expect("begins").id;
    let imported = Imported { import, batch: 0, changes: vec![change], last: true };
    assert_eq!(house.store.take_batch(imported).await.expect("takes"), Committed::Done);
}

/// A wiki of ops with one article of three revisions.
pub(crate) async fn sparrow(house: &House) -> (Wiki, String) {
    let wiki = found(house, house.ops, "en").await;
    let (mut second, text) = revision(7, 102, "Ben", "A sparrow is a small bird that eats seeds.");
    (second.minor, second.tags) = (true, vec!["mobile edit".into()]);
    let (mut third, last) = revision(7, 103, "10.0.0.1", "A sparrow is a bird.");
    third.anon = true;
    let kept = vec![revision(7, 101, "Ana", "A sparrow is a small bird."), (second, text), (third, last)];
    keep(house, wiki.id, 7, "House sparrow", kept).await;
    let path = format!("/wiki/wikis/{}/pages/7", wiki.id);
    (wiki, path)
}

/// Somebody asks for an article of the Spanish wiki.
pub(crate) async fn ask(visitor: &Visitor<'_>, article: &str) -> ExtractionId {
    let answer = visitor.post("/wiki/extract", &[("article", article), ("locale", "es")]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
    let id = answer.location().strip_prefix("/wiki/extractions/").expect("its page").parse();
    id.expect("an extraction")
}

/// Whoever works: ends the next step of an extraction with this.
pub(crate) async fn step(
    house: &House,
    id: ExtractionId,
    wiki: Option<WikiId>,
    state: ExtractionState,
    counts: Counts,
    note: Option<&str>,
) {
    let (room, holder) = (Room::new(ROOM).expect("a room"), Holder::Member("node-1".into()));
    let request = LeaseRequest::new(vec![room], 1, holder, Duration::from_secs(30));
    let task = house.store.lease(request).await.expect("leases").tasks.pop().expect("a step waits");
    let follow_up = malla_queue::NewTask {
        lane_settings: malla_queue::LaneSettings { ceiling: 1, gap_ms: 0 },
        group: task.group,
        ..malla_queue::NewTask::new(task.lane.clone(), task.kind.clone(), task.payload.clone())
    };
    let follow_ups = if state.is_over() { vec![] } else { vec![follow_up] };
    let outcome = Outcome { follow_ups, ..Outcome::default() };
    let ending = Verdict::Done(outcome).ending(&task, house.clock.now());
    let step = Step {
        extraction: id,
        state,
        wiki,
        pageid: wiki.map(|_| PageId(7)),
        title: wiki.map(|_| "House sparrow".into()),
        counts,
        note: note.map(str::to_owned),
    };
    let settled = Settled { token: task.token, ending, step: Some(step), changes: vec![], visited: None };
    assert_eq!(house.store.commit(settled).await.expect("commits"), Committed::Done);
}

#[tokio::test]
async fn what_belongs_to_another_group_does_not_exist() {
    let house = House::new().await;
    let (wiki, article) = sparrow(&house).await;
    let (ana, cleo) = (house.sign_in("ana").await, house.sign_in("cleo").await);
    for (path, theirs) in [
        ("/wiki", "Testpedia"),
        ("/wiki/articles", "House sparrow"),
        ("/wiki/revisions", "House sparrow"),
        ("/wiki/imports", "House sparrow.xml"),
    ] {
        ana.get(path).await.shows(theirs);
        cleo.get(path).await.hides(theirs);
    }
    let of_wiki = format!("/wiki/wikis/{}", wiki.id);
    let paths = [
        of_wiki.clone(),
        article.clone(),
        format!("{of_wiki}/revisions/102"),
        format!("{of_wiki}/revisions/102/text"),
        format!("{of_wiki}/compare?from=101&to=102"),
    ];
    for path in paths {
        assert_eq!(ana.get(&path).await.status, StatusCode::OK, "{path}");
        let answer = cleo.get(&path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        answer.hides("sparrow");
    }
    for verb in ["extract", "watch"] {
        assert_eq!(cleo.post(&format!("{article}/{verb}"), &[]).await.status, StatusCode::NOT_FOUND, "{verb}");
    }
    let query = "/wiki/query?pipeline=%5B%7B%22%24count%22%3A%22n%22%7D%5D";
    ana.get(query).await.shows(">3</td>");
    cleo.get(query).await.hides(">3</td>");
}

#[tokio::test]
async fn somebody_readonly_sees_no_forms_and_may_not_send_them() {
    let house = House::new().await;
    let (wiki, article) = sparrow(&house).await;
    let ben = house.sign_in("ben").await;
    let paths = ["/wiki", "/wiki/articles", "/wiki/revisions", "/wiki/query", "/wiki/extractions", "/wiki/imports"];
    let of_wiki = format!("/wiki/wikis/{}", wiki.id);
    for path in paths.into_iter().chain([article.as_str(), of_wiki.as_str()]) {
        let page = ben.get(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert_eq!(page.body.matches("method=\"post\"").count(), 3, "only colours, language and log out on {path}");
    }
    for path in ["/wiki/extract".to_owned(), format!("{article}/extract"), format!("{article}/watch")] {
        assert_eq!(ben.post(&path, &[("article", "X")]).await.status, StatusCode::FORBIDDEN, "{path}");
    }
}

#[tokio::test]
async fn what_comes_from_wikis_is_shown_and_never_run() {
    let house = House::new().await;
    let wiki = found(&house, house.ops, "en").await;
    let hostile = |number: i64| {
        let (mut revision, _) = revision(7, number, HOSTILE, "");
        revision.comment = Some(format!("{HOSTILE}<img src=x>"));
        revision.parsed_comment = Some(format!("{HOSTILE}<i>parsed</i>"));
        (revision.model, revision.tags) = (HOSTILE.into(), vec![HOSTILE.into()]);
        let text = format!("{HOSTILE} {number} <img src=x onerror=\"x\">");
        revision.size = text.len() as u64;
        (revision, Some(text))
    };
    keep(&house, wiki.id, 7, HOSTILE, vec![hostile(101), hostile(102)]).await;
    let ana = house.sign_in("ana").await;
    let of_wiki = format!("/wiki/wikis/{}", wiki.id);
    let query = "pipeline=%5B%7B%22%24limit%22%3A5%7D%5D";
    let paths = [
        "/wiki".to_owned(),
        "/wiki/articles".into(),
        "/wiki/revisions".into(),
        "/wiki/imports".into(),
        format!("/wiki/query?{query}"),
        format!("/wiki/query?collection=articles&{query}"),
        "/wiki/query?pipeline=%3Cscript%3Ealert(1)%3C/script%3E".into(),
        "/wiki/articles?title=%22%3E%3Cscript%3Ealert(1)%3C/script%3E".into(),
        "/wiki/revisions?size=%3Cscript%3Ealert(1)%3C/script%3E".into(),
        of_wiki.clone(),
        format!("{of_wiki}/pages/7"),
        format!("{of_wiki}/revisions/102"),
        format!("{of_wiki}/compare?from=101&to=102"),
        format!("{of_wiki}/compare?from=%3Cscript%3Ealert(1)%3C/script%3E&to=1"),
    ];
    for path in paths {
        let page = ana.get(&path).await;
        for text in [HOSTILE, "<img", "<i>parsed", " style=", "onerror=\""] {
            page.hides(text);
        }
    }
    ana.get(&format!("{of_wiki}/pages/7")).await.shows("&lt;script&gt;alert(1)&lt;/script&gt;");
    let raw = ana.get(&format!("{of_wiki}/revisions/102/text")).await;
    assert_eq!(raw.headers["content-type"], "text/plain; charset=utf-8");
    assert_eq!(raw.headers["x-content-type-options"], "nosniff");
}
