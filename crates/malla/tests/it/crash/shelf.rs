//! What a server keeps of a wiki beside what the wiki itself tells: every revision once, byte for byte.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::server::DEADLINE;
use crate::small_wiki::SmallWiki;

use super::caller::Servers;

/// Every page of the wiki is kept as the wiki tells it.
#[track_caller]
pub(super) fn is_whole(http: &Http, way: &Servers, wiki: &SmallWiki) {
    let kept_wikis = http.get(way, "/api/v1/wiki/wikis");
    let api = format!("{}api.php", wiki.url);
    let items = kept_wikis["items"].as_array().expect("wikis");
    let found = items.iter().find(|item| item["api"] == api.as_str()).expect("the wiki is kept");
    for page in 1..=wiki.pages {
        assert_eq!(kept(http, way, &found["id"], page), true_history(http, wiki, page), "page {page}");
    }
}

/// What the server keeps of a page, by its own word.
fn kept(http: &Http, way: &Servers, wiki: &Value, page: u64) -> Vec<Value> {
    let mut all = Vec::new();
    for number in 1.. {
        let path = format!("/api/v1/revisions?wiki={wiki}&pageid={page}&page_size=50&page={number}");
        let answer = http.get(way, &path);
        let revisions = answer.as_array().expect("revisions");
        all.extend(revisions.iter().map(|it| revision(it, &it["*"])));
        if revisions.len() < 50 {
            break;
        }
    }
    all
}

/// The same as the wiki itself tells it.
fn true_history(http: &Http, wiki: &SmallWiki, page: u64) -> Vec<Value> {
    let way = Servers { urls: vec![wiki.url.trim_end_matches('/').to_owned()], token: String::new() };
    let asked = format!("/api.php?action=query&prop=revisions&rvdir=newer&rvprop=content&pageids={page}");
    let (mut all, mut more) = (Vec::new(), String::new());
    loop {
        let answer = http.get(&way, &format!("{asked}{more}"));
        let revisions = answer["query"]["pages"][0]["revisions"].as_array().expect("revisions");
        all.extend(revisions.iter().map(|it| revision(it, &it["slots"]["main"]["content"])));
        match answer["continue"]["rvcontinue"].as_str() {
            Some(cursor) => more = format!("&rvcontinue={cursor}"),
            None => return all,
        }
    }
}

/// What both sides tell of a revision.
fn revision(told: &Value, text: &Value) -> Value {
    let fields = ["revid", "parentid", "timestamp", "user", "userid", "size", "comment"];
    let mut shown: BTreeMap<&str, &Value> = fields.iter().map(|field| (*field, &told[*field])).collect();
    shown.insert("text", text);
    json!(shown)
}

/// Asks a server and waits for the answer.
pub(super) struct Http {
    runtime: tokio::runtime::Runtime,
    client: reqwest::Client,
}

impl Http {
    pub(super) fn new() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { runtime, client: reqwest::Client::builder().timeout(DEADLINE).build().expect("an HTTP client") }
    }

    /// Something else that a test waits for.
    pub(super) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    #[track_caller]
    pub(super) fn get(&self, way: &Servers, path: &str) -> Value {
        self.runtime.block_on(async {
            let asked = self.client.get(format!("{}{path}", way.urls[0])).bearer_auth(&way.token);
            let answer = asked.send().await.expect("an answer").error_for_status().expect("a good one");
            answer.json().await.expect("JSON")
        })
    }

    /// `None` if the server is gone.
    pub(super) fn post(&self, way: &Servers, path: &str, body: &Value) -> Option<Value> {
        self.runtime.block_on(async {
            let asked = self.client.post(format!("{}{path}", way.urls[0])).bearer_auth(&way.token).json(body);
            asked.send().await.ok()?.json().await.ok()
        })
    }

    pub(super) fn until(&self, way: &Servers, path: &str, mut done: impl FnMut(&Value) -> bool) {
        let deadline = Instant::now() + DEADLINE * 4;
        while !done(&self.get(way, path)) {
            assert!(Instant::now() < deadline, "{path} comes to no end: {}", self.get(way, path));
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
