//! A small MediaWiki: a page's history behind the action API, with the habits that a test wants.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

#[derive(Clone)]
pub(crate) struct Rev {
    pub(crate) revid: i64,
    /// Seconds of 2020.
    pub(crate) at: i64,
    pub(crate) text: String,
    pub(crate) hidden: bool,
}

impl Rev {
    pub(crate) fn new(revid: i64, at: i64, text: &str) -> Self {
        Self { revid, at, text: text.into(), hidden: false }
    }
}

/// A status, headers and a body.
pub(crate) type Instead = (u16, Vec<(&'static str, String)>, String);

#[derive(Default)]
pub(crate) struct Habits {
    pub(crate) title: String,
    pub(crate) revisions: Vec<Rev>,
    pub(crate) deleted: bool,
    /// Bytes of texts in one answer.
    pub(crate) answer_max: Option<usize>,
    /// It does not know `rvdir`.
    pub(crate) newest_first: bool,
    /// Answers to give instead of its own, once each, to what is asked of the API.
    pub(crate) instead: VecDeque<Instead>,
    pub(crate) api_off: bool,
    /// The URLs that were asked for, with the User-Agent.
    pub(crate) asked: Vec<(String, String)>,
}

#[derive(Clone)]
pub(crate) struct Fake {
    habits: Arc<Mutex<Habits>>,
    pub(crate) url: String,
}

/// The title's number.
pub(crate) const PAGE: i64 = 7;

impl Fake {
    pub(crate) async fn start(revisions: Vec<Rev>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let habits = Habits { title: "Ñandú".into(), revisions, ..Habits::default() };
        let fake = Self { habits: Arc::new(Mutex::new(habits)), url };
        let app = Router::new().fallback(answer).with_state(fake.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        fake
    }

    /// So many revisions, one a minute.
    pub(crate) async fn with(count: i64) -> Self {
        Self::start((1..=count).map(|n| Rev::new(n * 10, n * 60, &format!("text {n}"))).collect()).await
    }

    pub(crate) fn habits(&self) -> MutexGuard<'_, Habits> {
        self.habits.lock().expect("not poisoned")
    }

    pub(crate) fn api(&self) -> String {
        format!("{}api.php", self.url)
    }

    /// What must be kept in the end.
    pub(crate) fn texts(&self) -> Vec<(i64, Option<String>)> {
        let mut revisions = self.habits().revisions.clone();
        revisions.sort_by_key(|one| (one.at, one.revid));
        revisions.into_iter().map(|one| (one.revid, (!one.hidden).then_some(one.text))).collect()
    }

    pub(crate) fn asked_for(&self, part: &str) -> usize {
        self.habits().asked.iter().filter(|(url, _)| url.contains(part)).count()
    }
}

/// The parameters of a request.
struct Asked(Vec<(String, String)>);

impl Asked {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

async fn answer(State(fake): State<Fake>, request: Request) -> Response {
    let uri = request.uri().clone();
    let agent = request.headers().get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    let mut habits = fake.habits();
    habits.asked.push((uri.to_string(), agent.to_owned()));
    let query = url::Url::parse(&format!("http://x/?{}", uri.query().unwrap_or_default())).expect("a query");
    let value = Asked(query.query_pairs().into_owned().collect());
    match uri.path() {
        "/api.php" if habits.api_off => (axum::http::StatusCode::FORBIDDEN, "off").into_response(),
        "/api.php" => match habits.instead.pop_front() {
            Some((status, headers, body)) => {
                let mut response = body.into_response();
                *response.status_mut() = axum::http::StatusCode::from_u16(status).expect("a status");
                for (name, value) in headers {
                    response.headers_mut().insert(name, value.parse().expect("a value"));
                }
                response
            }
            None => api(&habits, &value).to_string().into_response(),
        },
        path if path.starts_with("/rest.php/") => {
            json!({ "count": habits.revisions.len(), "limit": false }).to_string().into_response()
        }
        "/index.php" if value.get("action") == Some("history") => history(&habits, value.get("offset")).into_response(),
        "/index.php" if value.get("action") == Some("raw") => raw(&habits, value.get("oldid")),
        _ => page(&habits, &fake.url).into_response(),
    }
}

fn page(habits: &Habits, url: &str) -> Response {
    let link = format!(r#"<link rel="EditURI" href="{url}api.php?action=rsd">"#);
    let body = format!(
        r#"<html>{}<script>RLCONF={{"wgArticleId":{PAGE}}}</script><a href="/index.php?title=X&amp;action=history">"#,
        if habits.api_off { String::new() } else { link }
    );
    ([(header::CONTENT_TYPE, "text/html")], body).into_response()
}

fn stamp(at: i64) -> jiff::Timestamp {
    jiff::Timestamp::from_second(1_577_836_800 + at).expect("a time")
}

fn api(habits: &Habits, value: &Asked) -> Value {
    if value.get("meta") == Some("siteinfo") {
        return json!({ "query": {
            "general": { "sitename": "Fakipedia", "lang": "es", "articlepath": "/wiki/$1", "script": "/index.php", "mainpage": "Portada" },
            "namespaces": { "0": { "id": 0 } }, "allusers": [{ "name": "Robot" }],
        } });
    }
    let there = json!({ "pageid": PAGE, "ns": 0, "title": habits.title, "lastrevid": habits.revisions.iter().map(|one| one.revid).max() });
    let missing = json!({ "ns": 0, "title": value.get("titles").unwrap_or("?"), "missing": true });
    match value.get("titles") {
        Some("in:valid") => {
            return json!({ "query": { "pages": [{ "title": "in:valid", "invalid": true, "invalidreason": "It is bad." }] } });
        }
        Some("de:Haus") => {
            return json!({ "query": { "interwiki": [{ "title": "de:Haus", "iw": "de", "url": "https://de.test/Haus" }] } });
        }
        Some("Old name") => {
            return json!({ "query": { "redirects": [{ "from": "Old name", "to": habits.title }], "pages": [there] } });
        }
        Some(title) if title == habits.title && !habits.deleted => return json!({ "query": { "pages": [there] } }),
        Some(_) => return json!({ "query": { "pages": [missing] } }),
        None if habits.deleted => return json!({ "query": { "pages": [{ "pageid": PAGE, "missing": true }] } }),
        None => {}
    }
    match value.get("prop") {
        Some("revisions") if value.get("revids").is_some() => by_number(habits, value),
        Some("revisions") => revisions(habits, value),
        _ => json!({ "query": { "pages": [there] } }),
    }
}

fn with(habits: &Habits, revisions: Vec<Value>) -> Value {
    json!({ "batchcomplete": true, "query": { "pages": [{ "pageid": PAGE, "ns": 0, "title": habits.title, "revisions": revisions }] } })
}

fn told(one: &Rev, texts: bool) -> Value {
    let mut told = json!({
        "revid": one.revid, "parentid": 0, "minor": false, "timestamp": stamp(one.at).to_string(), "size": one.text.len(),
        "user": "Ana", "userid": 3, "comment": "c", "parsedcomment": "c", "tags": [], "sha1": format!("{:x}", one.text.len()),
    });
    if texts {
        told["slots"] =
            json!({ "main": { "contentmodel": "wikitext", "contentformat": "text/x-wiki", "content": one.text } });
    }
    if one.hidden {
        told["sha1hidden"] = json!(true);
        told.as_object_mut().expect("an object").remove("sha1");
        if texts {
            told["slots"] = json!({ "main": { "texthidden": true } });
        }
    }
    told
}

fn revisions(habits: &Habits, value: &Asked) -> Value {
    let texts = value.get("rvprop").is_some_and(|props| props.contains("content|") || props.ends_with("content"));
    let limit: usize = value.get("rvlimit").and_then(|limit| limit.parse().ok()).unwrap_or(10);
    let mut all = habits.revisions.clone();
    all.sort_by_key(|one| (one.at, one.revid));
    let start: Option<jiff::Timestamp> = value.get("rvstart").map(|start| start.parse().expect("a time"));
    if habits.newest_first {
        all.reverse();
        all.retain(|one| start.is_none_or(|start| stamp(one.at) <= start));
    } else {
        all.retain(|one| start.is_none_or(|start| stamp(one.at) >= start));
    }
    let from = match value.get("rvcontinue") {
        Some(cursor) => {
            let revid: i64 = cursor.split('|').nth(1).and_then(|revid| revid.parse().ok()).expect("a cursor");
            all.iter().position(|one| one.revid == revid).unwrap_or(all.len())
        }
        None => 0,
    };
    let (mut answer, mut bytes) = (Vec::new(), 0);
    for one in &all[from..] {
        bytes += if texts { one.text.len() } else { 0 };
        if answer.len() >= limit || habits.answer_max.is_some_and(|max| bytes > max) {
            let mut cut = with(habits, answer);
            cut["continue"] = json!({ "rvcontinue": format!("{}|{}", one.at, one.revid), "continue": "||" });
            return cut;
        }
        answer.push(told(one, texts));
    }
    with(habits, answer)
}

fn by_number(habits: &Habits, value: &Asked) -> Value {
    let texts = value.get("rvprop").is_some_and(|props| props.contains("content|") || props.ends_with("content"));
    let wanted: Vec<i64> =
        value.get("revids").unwrap_or_default().split('|').filter_map(|one| one.parse().ok()).collect();
    let (mut answer, mut bytes) = (Vec::new(), 0);
    for one in habits.revisions.iter().filter(|one| wanted.contains(&one.revid)) {
        bytes += if texts { one.text.len() } else { 0 };
        if habits.answer_max.is_some_and(|max| bytes > max) {
            let mut cut = with(habits, answer);
            cut["continue"] = json!({ "rvcontinue": one.revid, "continue": "||" });
            return cut;
        }
        answer.push(told(one, texts));
    }
    with(habits, answer)
}

fn history(habits: &Habits, offset: Option<&str>) -> String {
    let mut all = habits.revisions.clone();
    all.sort_by_key(|one| (-one.at, -one.revid));
    let from = offset.and_then(|offset| offset.parse().ok()).unwrap_or(0);
    let lines: String = all
        .iter()
        .skip(from)
        .take(3)
        .map(|one| {
            let class = if one.hidden { "history-deleted mw-changeslist-date" } else { "mw-changeslist-date" };
            let date = stamp(one.at).strftime("%H:%M, %-d %B %Y").to_string();
            format!(
                r#"<li data-mw-revid="{}"><a class="{class}">{date}</a><a class="mw-userlink"><bdi>Ana</bdi></a></li>"#,
                one.revid
            )
        })
        .collect();
    let next = match from + 3 < all.len() {
        true => format!(r#"<a href="/index.php?offset={}&amp;limit=3" class="mw-nextlink">"#, from + 3),
        false => String::new(),
    };
    format!(
        r#"<script>RLCONF={{"wgPageName":"{}","wgNamespaceNumber":0,"wgArticleId":{PAGE}}}</script>{lines}{next}"#,
        habits.title
    )
}

fn raw(habits: &Habits, oldid: Option<&str>) -> Response {
    let found = habits.revisions.iter().find(|one| Some(one.revid.to_string().as_str()) == oldid);
    let found = found.expect("a revision of the list");
    let at = stamp(found.at + 7).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    ([(header::CONTENT_TYPE, "text/x-wiki".to_owned()), (header::LAST_MODIFIED, at)], found.text.clone())
        .into_response()
}
