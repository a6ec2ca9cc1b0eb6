//! Lists as CSV files.

use axum::http::{StatusCode, header};

use super::furnished;
use crate::house::House;
use crate::{fetch, wiki};

#[tokio::test]
async fn a_list_is_had_as_a_file_with_its_filters() {
    let house = House::new().await;
    house.submit("drill/a", "{}", 700).await;
    house.submit("drill/b", "{}", 3).await;
    let ana = house.sign_in("ana").await;
    let page = ana.get("/tasks?lane=drill/b").await;
    page.shows("href=\"/tasks.csv?lane=drill%2Fb\"");
    page.shows("/api/v1/tasks?lane=drill%2Fb");
    let file = ana.get("/tasks.csv?lane=drill%2Fb").await;
    assert_eq!(file.headers[header::CONTENT_TYPE], "text/csv; charset=utf-8");
    assert_eq!(file.headers[header::CONTENT_DISPOSITION], "attachment; filename=\"tasks.csv\"");
    assert_eq!(file.body.lines().count(), 4, "{}", file.body);
    assert!(file.body.starts_with("task,state,kind,lane,group,submitted_at,"), "{}", file.body);
    assert!(file.body.contains(",queued,drill,drill/b,ops,"), "{}", file.body);
    let all = ana.get("/tasks.csv").await;
    assert_eq!(all.body.lines().count(), 704, "more than one page");
    let none = house.sign_in("cleo").await.get("/tasks.csv").await;
    assert_eq!(none.body.lines().count(), 1, "another group's are not there: {}", none.body);
    assert_eq!(ana.get("/tasks.csv?state=done").await.status, StatusCode::BAD_REQUEST);
    assert_eq!(house.get("/tasks.csv").await.status, StatusCode::SEE_OTHER, "to the login");
}

#[tokio::test]
async fn every_export_has_its_columns_and_rows() {
    let house = House::new().await;
    furnished(&house).await;
    let root = house.sign_in("root").await;
    for (path, columns, row) in [
        ("/lanes.csv", "lane,paused,ceiling", "drill/a,no,"),
        ("/notify/notifications.csv", "notification,state,event", ",orders,shop,"),
        ("/notify/events.csv?endpoint=orders", "event,endpoint,received_at", ",orders,"),
        ("/audit.csv?actor=user:ana", "at,actor,action,object,detail", ",user:ana,endpoint.create,orders,"),
        ("/fetch/devices.csv", "device,owner,state", "pi,ana,"),
        ("/fetch/jobs.csv", "job,state,urls,answered", ",done,1,1,1,0,ops,"),
        ("/fetch/sites.csv?search=example.org", "site,paused,waiting", "https://example.org,no,"),
        ("/fetch/standing.csv", "device,owner,standing", "pi,ana,new,0,0,1.0000,0,0,"),
        ("/fetch/checks.csv", "url,kind,state,first", ""),
        ("/fetch/ledger.csv", "account,micro_credits", ""),
        ("/fetch/blocked.csv", "site,why,owner", ""),
        ("/notify/endpoints.csv", "endpoint,description,address", "orders,shop,/in/orders,http,ops,,1048576,"),
        ("/notify/alerts.csv", "alert,state,rule", "late,well,backlog 60 s,,,ana@example.org,ops,"),
        ("/notify/statistics.csv?endpoint=orders", "at,events,bytes", "Z,0,0,0,0,0,0"),
        (
            "/notify/subscriptions.csv?endpoint=orders",
            "subscription,state,endpoint",
            "shop,active,orders,https://example.org/hook,",
        ),
        ("/wiki/extractions.csv", "extraction,asked,title", ",House sparrow,"),
        ("/wiki/articles.csv?title=sparrow", "article,wiki,locale,page", "House sparrow,https://en.wiki.test/"),
        ("/wiki/revisions.csv?title=House+sparrow", "revision,wiki,page,title", ",House sparrow,"),
        ("/wiki/imports.csv", "dump,wiki,state", ""),
        ("/analyses.csv", "analysis,kind,state", ",ops,"),
        ("/users.csv", "user,role,groups", "ana,user,ops,no,"),
        ("/groups.csv", "group,members,created_at", "ops,ana ben,"),
        ("/tokens.csv", "token,role,group", "deploy,user,ops,"),
        ("/cluster.csv", "member,state,leads", ",alive,yes,"),
        ("/settings.csv", "key,value,source", ""),
    ] {
        let file = root.get(path).await;
        assert_eq!(file.status, StatusCode::OK, "{path}: {}", file.body);
        assert_eq!(file.headers[header::CONTENT_TYPE], "text/csv; charset=utf-8", "{path}");
        assert!(file.body.starts_with(columns) && file.body.contains(row), "{path}: {}", file.body);
    }
}

/// Where each page says that its list is had, with the filters it has.
#[tokio::test]
async fn every_list_leads_to_its_file_with_its_filters() {
    let house = House::new().await;
    furnished(&house).await;
    let root = house.sign_in("root").await;
    for (page, file) in [
        ("/fetch/jobs?state=done", "/fetch/jobs.csv?state=done"),
        ("/fetch/sites?search=example", "/fetch/sites.csv?search=example"),
        ("/fetch/standing", "/fetch/standing.csv"),
        ("/fetch/standing?device=1", "/fetch/checks.csv?device=1"),
        ("/fetch/ledger", "/fetch/ledger.csv"),
        ("/fetch/blocked", "/fetch/blocked.csv"),
        ("/notify/subscriptions?state=active", "/notify/subscriptions.csv?state=active"),
        ("/notify/endpoints", "/notify/endpoints.csv"),
        ("/notify/alerts", "/notify/alerts.csv"),
        ("/notify/statistics?step=day", "/notify/statistics.csv?step=day"),
        ("/wiki/articles?title=x", "/wiki/articles.csv?title=x"),
        ("/wiki/revisions?user=x", "/wiki/revisions.csv?user=x"),
        ("/wiki/imports", "/wiki/imports.csv"),
        ("/groups", "/groups.csv"),
        ("/tokens", "/tokens.csv"),
        ("/cluster", "/cluster.csv"),
        ("/settings?search=http", "/settings.csv?search=http"),
    ] {
        root.get(page).await.shows(&format!("href=\"{file}\""));
        assert_eq!(root.get(file).await.status, StatusCode::OK, "{file}");
    }
}

#[tokio::test]
async fn the_results_of_a_job_are_a_file_in_the_order_in_which_they_came() {
    let house = House::new().await;
    let (ana, cleo) = (house.sign_in("ana").await, house.sign_in("cleo").await);
    let refused: Vec<String> = (0..120).map(|n| format!("ftp://site.example/{n}")).collect();
    let job = fetch::start(&ana, &format!("https://example.org/a\n{}", refused.join("\n"))).await;
    fetch::bring(&house, 200, "text/html", b"hello").await;
    ana.get(&job).await.shows(&format!("href=\"{job}/results.csv\""));
    let file = ana.get(&format!("{job}/results.csv")).await;
    assert_eq!(file.body.lines().count(), 122, "{}", file.body);
    assert!(file.body.starts_with("result,url,status,bytes,"), "{}", file.body);
    assert!(file.body.contains("\r\n121,https://example.org/a,200,5,20,pi,no,2027-"), "{}", file.body);
    assert_eq!(cleo.get(&format!("{job}/results.csv")).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn files_show_no_secrets_and_nothing_of_another_group() {
    let house = House::new().await;
    furnished(&house).await;
    let (root, ana, cleo) = (house.sign_in("root").await, house.sign_in("ana").await, house.sign_in("cleo").await);
    let answer = root.post("/tokens", &[("name", "robot"), ("role", "user"), ("group", "ops")]).await;
    let secret = answer.body.split("malla_").nth(1).and_then(|rest| rest.split('<').next()).expect("shown once");
    let tokens = root.get("/tokens.csv").await;
    assert!(tokens.body.contains("robot,user,ops,") && !tokens.body.contains(secret), "{}", tokens.body);
    let fields = [("name", "locked"), ("token", "hunter2"), ("mqtt_broker", "mqtt://broker"), ("mqtt_topic", "t")];
    ana.post("/notify/new-endpoint", &fields).await;
    assert!(!ana.get("/notify/endpoints.csv").await.body.contains("hunter2"));
    // For admins only.
    for path in ["/groups.csv", "/tokens.csv", "/cluster.csv", "/settings.csv", "/users.csv", "/fetch/checks.csv"] {
        assert_eq!(ana.get(path).await.status, StatusCode::FORBIDDEN, "{path}");
    }
    for path in [
        "/notify/endpoints.csv",
        "/notify/alerts.csv",
        "/notify/subscriptions.csv",
        "/fetch/jobs.csv",
        "/fetch/devices.csv",
        "/fetch/standing.csv",
        "/fetch/ledger.csv",
        "/wiki/articles.csv",
        "/wiki/revisions.csv",
        "/wiki/imports.csv",
    ] {
        let file = cleo.get(path).await;
        assert_eq!(file.status, StatusCode::OK, "{path}: {}", file.body);
        assert_eq!(file.body.lines().filter(|line| !line.starts_with("system,")).count(), 1, "{path}: {}", file.body);
        assert_eq!(house.get(path).await.status, StatusCode::SEE_OTHER, "{path} leads strangers to the login");
    }
    let wrong = ["/fetch/jobs.csv?state=x", "/notify/subscriptions.csv?state=x", "/wiki/articles.csv?wiki=x"];
    for path in wrong.into_iter().chain(["/wiki/revisions.csv?size=x", "/notify/statistics.csv?step=x"]) {
        assert_eq!(ana.get(path).await.status, StatusCode::BAD_REQUEST, "{path}");
    }
}

#[tokio::test]
async fn names_that_a_sheet_would_run_are_kept_from_it() {
    const FORMULA: &str = "=cmd|'/C calc'!A0";
    let house = House::new().await;
    let (root, ana) = (house.sign_in("root").await, house.sign_in("ana").await);
    ana.post("/notify/new-endpoint", &[("name", "orders"), ("description", FORMULA)]).await;
    fetch::join(&house, "ana", FORMULA, "DE").await;
    let evil = wiki::found(&house, house.ops, "evil").await;
    let revisions = vec![wiki::revision(7, 71, "@SUM(1)", "text"), wiki::revision(7, 72, "+1", "other")];
    wiki::keep(&house, evil.id, 7, FORMULA, revisions).await;
    root.post("/fetch/blocked/add", &[("site", "example.org"), ("why", FORMULA)]).await;
    for path in [
        "/notify/endpoints.csv",
        "/fetch/devices.csv",
        "/fetch/standing.csv",
        "/wiki/articles.csv",
        "/wiki/revisions.csv",
        "/fetch/blocked.csv",
    ] {
        let file = root.get(path).await;
        assert!(file.body.contains("'=cmd|"), "{path}: {}", file.body);
        for cell in file.body.lines().flat_map(|line| line.split(',')) {
            assert!(!cell.trim_start_matches('"').starts_with(['=', '+', '@']), "{cell} in {path}");
        }
    }
}
