//! Lists as CSV files.

use axum::http::{StatusCode, header};

use super::furnished;
use crate::house::House;

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
        (
            "/notify/subscriptions.csv?endpoint=orders",
            "subscription,state,endpoint",
            "shop,active,orders,https://example.org/hook,",
        ),
        ("/wiki/extractions.csv", "extraction,asked,title", ",House sparrow,"),
        ("/analyses.csv", "analysis,kind,state", ",ops,"),
        ("/users.csv", "user,role,groups", "ana,user,ops,no,"),
    ] {
        let file = root.get(path).await;
        assert_eq!(file.status, StatusCode::OK, "{path}: {}", file.body);
        assert!(file.body.starts_with(columns) && file.body.contains(row), "{path}: {}", file.body);
    }
}
