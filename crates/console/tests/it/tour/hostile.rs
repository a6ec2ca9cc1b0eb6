//! Names and texts that would like to be markup.

use super::{LISTS, furnished};
use crate::house::House;
use crate::{fetch, wiki};

const HOSTILE: &str = "\"><script>alert(1)</script><img src=x onerror=alert(1)>";

#[tokio::test]
async fn hostile_names_are_text_on_every_page() {
    let house = House::new().await;
    let mut pages = furnished(&house).await;
    let (root, ana) = (house.sign_in("root").await, house.sign_in("ana").await);
    let task = house.submit(&format!("drill/{HOSTILE}"), &format!("{{\"x\":{HOSTILE:?}}}"), 1).await[0];
    pages.push(format!("/tasks/{task}"));
    ana.post("/notify/new-endpoint", &[("name", "evil"), ("description", HOSTILE)]).await;
    let fields = [("name", "evil"), ("endpoint", "evil"), ("target", "https://example.org/%22%3E%3Cscript%3E")];
    ana.post("/notify/new-subscription", &fields).await;
    let sent = ana.post("/notify/endpoints/evil/try", &[("body", HOSTILE), ("content_type", HOSTILE)]).await;
    if sent.status.is_redirection() {
        pages.push(sent.location().to_owned());
    }
    pages.extend(["/notify/endpoints/evil".into(), "/notify/subscriptions/evil".into()]);
    let job = fetch::start(&ana, &format!("https://example.org/evil\nnot a url {HOSTILE}")).await;
    fetch::join(&house, "ana", HOSTILE, "DE").await;
    fetch::bring(&house, 200, HOSTILE, HOSTILE.as_bytes()).await;
    pages.extend([format!("{job}/results/1"), format!("{job}/results/2"), job]);
    let watch = fetch::tours::watch(&ana, "https://example.org/evil", "#news").await;
    fetch::tours::visited(&house, &watch, &[HOSTILE, "other"]).await;
    let comparison = fetch::tours::comparison(&ana, "https://example.org/evil").await;
    fetch::tours::compared(&house, &comparison, HOSTILE, HOSTILE).await;
    pages.extend([
        format!("{watch}/versions/1"),
        format!("{watch}/compare?from=1&to=2"),
        watch,
        format!("{comparison}/rounds/1"),
        comparison,
    ]);
    let evil = wiki::found(&house, house.ops, "evil").await;
    let text = wiki::revision(7, 71, HOSTILE, HOSTILE);
    wiki::keep(&house, evil.id, 7, HOSTILE, vec![text, wiki::revision(7, 72, HOSTILE, "other")]).await;
    let of_wiki = format!("/wiki/wikis/{}", evil.id);
    pages.extend([
        format!("{of_wiki}/pages/7"),
        format!("{of_wiki}/revisions/71"),
        format!("{of_wiki}/compare?from=71&to=72"),
        of_wiki,
    ]);
    for path in &pages {
        let page = root.get(path).await;
        for text in ["<script>alert", "<img src=x"] {
            assert!(!page.body.contains(text), "{text} at {path}");
        }
    }
}

#[tokio::test]
async fn hostile_filters_are_text_on_every_list() {
    let house = House::new().await;
    let root = house.sign_in("root").await;
    let names = [
        "state",
        "search",
        "room",
        "lane",
        "kind",
        "group",
        "parent",
        "from",
        "to",
        "cursor",
        "actor",
        "action",
        "object",
        "content",
        "endpoint",
        "subscription",
        "event",
        "title",
        "user",
        "tag",
        "locale",
        "wiki",
        "page",
        "pipeline",
        "collection",
        "step",
        "verb",
        "paused",
        "url",
        "path",
        "size",
        "sort",
    ];
    let typed: String = form_urlencoded::byte_serialize(HOSTILE.as_bytes()).collect();
    for path in LISTS {
        for name in names {
            let sign = if path.contains('?') { '&' } else { '?' };
            let page = root.get(&format!("{path}{sign}{name}={typed}")).await;
            page.hides("<script>alert");
            page.hides("<img src=x");
        }
    }
}
