//! Users, groups, tokens and the audit log, form by form.

use axum::http::StatusCode;
use malla_access::{Access as _, Role, Secret};
use malla_queue::Scope;

use crate::house::{Answer, House};

/// The secret on a page that shows it once.
fn shown(page: &Answer) -> String {
    let (_, after) = page.body.split_once("<pre class=\"command\" data-copy><code>").expect("a secret");
    after.split('<').next().expect("an end").to_owned()
}

#[tokio::test]
async fn administration_is_for_admins() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    for path in ["/users", "/users/ana", "/groups", "/groups/ops", "/tokens"] {
        let page = ana.get(path).await;
        assert_eq!(page.status, StatusCode::FORBIDDEN, "{path}");
        page.shows("This is for admins: ask one of them.");
    }
}

#[tokio::test]
async fn a_user_made_without_a_password_gets_one_that_works() {
    let house = House::new().await;
    let root = house.sign_in("root").await;
    let page = root.post("/users", &[("name", "dora"), ("role", "user"), ("groups", "ops, payments")]).await;
    assert_eq!(page.status, StatusCode::OK);
    let password = shown(&page);
    let user = house.store.user("dora").await.expect("a user");
    assert_eq!((user.role, user.groups), (Role::User, vec!["ops".to_owned(), "payments".to_owned()]));
    assert_eq!(house.try_to_sign_in("dora", &password, "/").await.status, StatusCode::SEE_OTHER);
    root.get("/users").await.hides(&password);
}

#[tokio::test]
async fn a_refused_user_form_keeps_what_was_typed_except_the_password() {
    let house = House::new().await;
    let root = house.sign_in("root").await;
    let fields = [("name", "dora"), ("role", "readonly"), ("groups", "ops"), ("password", "short")];
    let page = root.post("/users", &fields).await;
    assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
    page.shows("A password has at least 10 characters.");
    page.shows("value=\"dora\"");
    page.shows("<option value=\"readonly\" selected>");
    page.hides("short");
    let page = root.post("/users", &[("name", "ana"), ("role", "user")]).await;
    assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "taken");
}

#[tokio::test]
async fn a_user_is_changed_disabled_and_deleted() {
    let house = House::new().await;
    let root = house.sign_in("root").await;
    let ana = house.sign_in("ana").await;
    let answer = root.post("/users/ana", &[("role", "user"), ("groups", "payments")]).await;
    root.follow(&answer).await.shows("ana is changed.");
    assert_eq!(ana.get("/tasks").await.status, StatusCode::OK, "other groups, same session");
    root.post("/users/ana", &[("role", "user"), ("groups", "payments"), ("disabled", "yes")]).await;
    assert_eq!(ana.get("/tasks").await.status, StatusCode::SEE_OTHER, "disabled at once");
    root.get("/users/ana").await.shows("value=\"yes\" checked");
    let answer = root.post("/users/ana/delete", &[]).await;
    root.follow(&answer).await.shows("ana is deleted.");
    let answer = root.post("/users/root/delete", &[]).await;
    let page = root.follow(&answer).await;
    assert_eq!(page.status, StatusCode::OK, "the last admin stays");
    page.shows("class=\"notice bad\"");
}

#[tokio::test]
async fn a_group_gets_and_loses_members() {
    let house = House::new().await;
    let root = house.sign_in("root").await;
    let answer = root.post("/groups", &[("name", "research")]).await;
    root.follow(&answer).await.shows("Group research is created.");
    let answer = root.post("/groups/research/members", &[("user", "ben"), ("member", "yes")]).await;
    root.follow(&answer).await.shows("ben is in research now.");
    let answer = root.post("/groups/research/members", &[("user", "nobody"), ("member", "yes")]).await;
    root.follow(&answer).await.shows("class=\"notice bad\"");
    root.post("/groups/research/members", &[("user", "ben"), ("member", "no")]).await;
    assert!(house.store.group(&Scope::All, "research").await.expect("a group").members.is_empty());
    let answer = root.post("/groups/research/delete", &[]).await;
    root.follow(&answer).await.shows("Group research is deleted.");
    house.submit("drill/a", "{}", 1).await;
    let answer = root.post("/groups/ops/delete", &[]).await;
    assert_eq!(answer.location(), "/groups/ops", "it still owns something");
    let page = root.post("/groups", &[("name", "no spaces please")]).await;
    assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
    page.shows("value=\"no spaces please\"");
}

#[tokio::test]
async fn a_token_is_shown_once_works_and_ends() {
    let house = House::new().await;
    let root = house.sign_in("root").await;
    let page = root.post("/tokens", &[("name", "deploy"), ("role", "user"), ("group", "ops"), ("days", "30")]).await;
    let secret = Secret::from_text(shown(&page));
    let principal = house.store.principal_of_token(secret.hash()).await.expect("asks").expect("known");
    assert_eq!((principal.actor.as_str(), principal.groups), ("token:deploy", vec![house.ops]));
    let list = root.get("/tokens").await;
    list.hides(secret.reveal());
    list.shows("in 30 days");
    let page = root.post("/tokens", &[("name", "other"), ("role", "user"), ("group", "nowhere")]).await;
    assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY);
    let answer = root.post("/tokens/deploy/delete", &[]).await;
    root.follow(&answer).await.shows("Token deploy is deleted.");
    assert!(house.store.principal_of_token(secret.hash()).await.expect("asks").is_none());
}

#[tokio::test]
async fn the_audit_log_shows_who_did_what_within_ones_groups() {
    let house = House::new().await;
    let mine = house.submit("drill/a", "{}", 1).await[0];
    let theirs = house.submit_as(house.payments, "drill/theirs", "{}", 1).await[0];
    let (ana, root) = (house.sign_in("ana").await, house.sign_in("root").await);
    ana.post(&format!("/tasks/{mine}/act"), &[("verb", "discard")]).await;
    root.post(&format!("/tasks/{theirs}/act"), &[("verb", "discard")]).await;
    let page = ana.get("/audit?action=task").await;
    page.shows(&mine.to_string());
    page.shows("user:ana");
    page.hides(&theirs.to_string());
    root.get("/audit?actor=user:root&action=task.discard").await.shows(&theirs.to_string());
    let page = root.get("/audit?from=soon").await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST);
    page.shows("value=\"soon\"");
}
