//! Somebody who may only look.

use axum::http::StatusCode;

use super::furnished;
use crate::house::House;

#[tokio::test]
async fn a_reader_sees_and_finds_nothing_to_press() {
    let house = House::new().await;
    let pages = furnished(&house).await;
    let ben = house.sign_in("ben").await;
    let mut seen = 0;
    for path in &pages {
        let page = ben.get(path).await;
        if page.status != StatusCode::OK {
            assert_eq!(page.status, StatusCode::FORBIDDEN, "{path}");
            continue;
        }
        seen += 1;
        // Only his own things: colours, language, the way out.
        for form in page.body.split("<form").skip(1).filter(|form| form.contains("method=\"post\"")) {
            let action = form.split("action=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
            assert!(matches!(action, "/theme" | "/language" | "/logout"), "{action} at {path}");
        }
    }
    assert!(seen > 25, "most pages are for readers, too: {seen}");
}

#[tokio::test]
async fn every_form_carries_its_secret() {
    let house = House::new().await;
    let pages = furnished(&house).await;
    let root = house.sign_in("root").await;
    for path in &pages {
        let page = root.get(path).await;
        for form in page.body.split("<form").skip(1).filter(|form| form.contains("method=\"post\"")) {
            let inside = form.split("</form>").next().unwrap_or_default();
            assert!(inside.contains(&format!("name=\"csrf\" value=\"{}\"", root.csrf)), "{path}: {inside}");
        }
        let policy = page.headers["content-security-policy"].to_str().expect("text");
        assert!(!policy.contains("unsafe"), "{policy}");
        for inline in [" style=\"", " onclick=", "<style", "<script>"] {
            assert!(!page.body.contains(inline), "{inline} at {path}");
        }
    }
}

#[tokio::test]
async fn somebody_of_another_group_finds_nothing_of_ours() {
    let house = House::new().await;
    let pages = furnished(&house).await;
    let cleo = house.sign_in("cleo").await;
    for path in &pages {
        let page = cleo.get(path).await;
        for ours in
            ["drill/a", "drill%2Fa", ">House sparrow<", "/notify/endpoints/orders\"", "/notify/subscriptions/shop\""]
        {
            assert!(
                page.status != StatusCode::OK || path.contains("key=") || !page.body.contains(ours),
                "{ours} at {path}"
            );
        }
    }
}
