//! A walk through every page of a furnished house: in Spanish, with hostile names, as somebody who may only look.

mod empty;
mod exports;
mod hostile;
mod reader;
mod settings;
mod spanish;

use crate::house::{House, Visitor};
use crate::{analyze, cluster, fetch, wiki};

/// Every kind of thing once; returns the pages of all of them.
async fn furnished(house: &House) -> Vec<String> {
    let (root, ana) = (house.sign_in("root").await, house.sign_in("ana").await);
    let mut pages: Vec<String> = LISTS.iter().map(|path| (*path).to_owned()).collect();
    let task = house.submit("drill/a", "{\"work_ms\":1}", 1).await[0];
    pages.push(format!("/tasks/{task}"));
    pages.push("/lane?key=drill/a".into());
    pages.extend(notifying(&ana).await);
    let job = fetch::start(&ana, "https://example.org/a").await;
    fetch::join(house, "ana", "pi", "DE").await;
    fetch::bring(house, 200, "text/html", b"hello").await;
    pages.extend([format!("{job}/results/1"), job, "/fetch/site?url=https://example.org".into()]);
    pages.extend(touring(house, &ana).await);
    let (kept, article) = wiki::sparrow(house).await;
    let extraction = wiki::ask(&ana, "House sparrow").await;
    pages.extend([format!("/wiki/wikis/{}", kept.id), article, format!("/wiki/extractions/{extraction}")]);
    pages.push(analyze::page_of(analyze::done(house, house.ops).await));
    cluster::leader(house).await;
    root.post("/tokens", &[("name", "deploy"), ("role", "user"), ("group", "ops")]).await;
    pages
}

async fn touring(house: &House, ana: &Visitor<'_>) -> Vec<String> {
    let crawl = fetch::tours::crawl(ana, "https://example.org/").await;
    let watch = fetch::tours::watch(ana, "https://example.org/news", "#news").await;
    fetch::tours::visited(house, &watch, &["un texto", "otro texto"]).await;
    let comparison = fetch::tours::comparison(ana, "https://example.org/").await;
    fetch::tours::compared(house, &comparison, "https://example.org/", "otra línea").await;
    vec![
        crawl,
        format!("{watch}/versions/1"),
        format!("{watch}/compare?from=1&to=2"),
        watch,
        format!("{comparison}/rounds/1"),
        comparison,
    ]
}

async fn notifying(ana: &Visitor<'_>) -> Vec<String> {
    ana.post("/notify/new-endpoint", &[("name", "orders"), ("description", "shop")]).await;
    let fields = [("name", "shop"), ("endpoint", "orders"), ("target", "https://example.org/hook")];
    ana.post("/notify/new-subscription", &fields).await;
    let fields = [("name", "late"), ("kind", "backlog"), ("seconds", "60"), ("emails", "ana@example.org")];
    ana.post("/notify/new-alert", &fields).await;
    let event = ana.post("/notify/endpoints/orders/try", &[("body", "{}")]).await.location().to_owned();
    let page = ana.get(&event).await;
    let (_, after) = page.body.split_once("href=\"/notify/notifications/").expect("a notification");
    let id = after.split('"').next().expect("an id");
    vec![
        format!("/notify/notifications/{id}"),
        event,
        "/notify/endpoints/orders".into(),
        "/notify/subscriptions/shop".into(),
        "/notify/alerts/late".into(),
        "/notify/statistics?endpoint=orders".into(),
        "/notify/statistics?subscription=shop&step=day".into(),
    ]
}

/// Pages that need nothing to be there.
const LISTS: [&str; 54] = [
    "/",
    "/tasks",
    "/tasks/new",
    "/lanes",
    "/lanes/act?verb=pause",
    "/notify/notifications",
    "/notify/events",
    "/notify/subscriptions",
    "/notify/endpoints",
    "/notify/statistics",
    "/notify/statistics?step=hour",
    "/notify/alerts",
    "/notify/new-alert",
    "/notify/new-subscription",
    "/notify/new-endpoint",
    "/fetch/jobs",
    "/fetch/new-job",
    "/fetch/crawls",
    "/fetch/new-crawl",
    "/fetch/watches",
    "/fetch/new-watch",
    "/fetch/comparisons",
    "/fetch/new-comparison",
    "/fetch/crawls/act?verb=pause",
    "/fetch/watches?state=paused",
    "/fetch/sites",
    "/fetch/devices",
    "/fetch/devices/act?verb=block",
    "/fetch/devices/act?verb=unblock",
    "/fetch/jobs/act?verb=cancel",
    "/fetch/standing",
    "/fetch/ledger",
    "/fetch/blocked",
    "/notify/change-subscriptions?verb=suspend",
    "/notify/change-subscriptions?verb=disable",
    "/wiki",
    "/wiki/articles",
    "/wiki/revisions",
    "/wiki/query",
    "/wiki/extractions",
    "/wiki/imports",
    "/analyses",
    "/audit",
    "/cluster",
    "/settings",
    "/users",
    "/users/ana",
    "/groups",
    "/groups/ops",
    "/tokens",
    "/tasks/act?verb=discard",
    "/tasks/act?verb=resend&state=failed",
    "/notify/notifications/act?verb=resend",
    "/notify/notifications?state=failed",
];
