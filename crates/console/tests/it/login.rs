//! Signing in and out.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use malla_access::{Access as _, AuditFilter, Role};
use malla_console::Settings;
use malla_queue::Scope;

use crate::house::{House, PASSWORD, form};

#[tokio::test]
async fn a_stranger_is_sent_to_the_login_and_from_there_to_where_they_wanted() {
    let house = House::new().await;
    let answer = house.get("/tasks?state=failed&lane=drill%2Fa").await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert_eq!(answer.location(), "/login?next=%2Ftasks%3Fstate%3Dfailed%26lane%3Ddrill%252Fa");
    let page = house.get(answer.location()).await;
    page.shows("value=\"/tasks?state=failed&amp;lane=drill%2Fa\"");
    let answer = house.try_to_sign_in("ana", PASSWORD, "/tasks?state=failed&lane=drill%2Fa").await;
    assert_eq!(answer.location(), "/tasks?state=failed&lane=drill%2Fa");
}

#[tokio::test]
async fn the_login_leads_to_no_other_site() {
    let house = House::new().await;
    for next in ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"] {
        let answer = house.try_to_sign_in("ana", PASSWORD, next).await;
        assert_eq!(answer.location(), "/", "{next}");
        house.clock.advance(Duration::from_secs(10));
    }
}

#[tokio::test]
async fn a_session_cookie_is_kept_from_scripts_and_lasts_as_long_as_the_session() {
    let house = House::with(Settings { secure_cookies: true, ..Settings::default() }).await;
    let answer = house.try_to_sign_in("ana", PASSWORD, "/").await;
    let cookies = answer.set_cookies();
    let cookie = cookies.iter().find(|cookie| cookie.starts_with("malla_session=")).expect("a session");
    for attribute in ["; HttpOnly", "; SameSite=Lax", "; Path=/", "; Secure", "; Max-Age=43200"] {
        assert!(cookie.contains(attribute), "{attribute} in {cookie}");
    }
}

#[tokio::test]
async fn a_wrong_name_and_a_wrong_password_look_the_same_and_are_written_down() {
    let house = House::new().await;
    let unknown = house.try_to_sign_in("dora", "wrong password", "/").await;
    let wrong = house.try_to_sign_in("ana", "wrong password", "/").await;
    assert_eq!((unknown.status, wrong.status), (StatusCode::UNAUTHORIZED, StatusCode::UNAUTHORIZED));
    assert_eq!(unknown.body.replace("dora", "ana"), wrong.body);
    wrong.shows("This user name and password do not go together.");
    wrong.hides("wrong password");
    assert!(wrong.cookie("malla_session").is_none());
    let filter = AuditFilter { action: Some("session.refused".into()), ..AuditFilter::default() };
    let noted = house.store.audit(&Scope::All, &filter, None, 10).await.expect("the log");
    assert_eq!(noted.iter().map(|entry| entry.object.as_str()).collect::<Vec<_>>(), ["ana", "dora"]);
}

#[tokio::test]
async fn too_many_tries_are_told_to_wait() {
    let house = House::new().await;
    for _ in 0..5 {
        assert_eq!(house.try_to_sign_in("ana", "wrong password", "/").await.status, StatusCode::UNAUTHORIZED);
    }
    let answer = house.try_to_sign_in("ana", PASSWORD, "/").await;
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(answer.headers[header::RETRY_AFTER], "10");
    answer.shows("Too many tries: wait 10 seconds, then try again.");
    house.clock.advance(Duration::from_secs(10));
    assert_eq!(house.try_to_sign_in("ana", PASSWORD, "/").await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn an_ended_session_leads_back_to_the_login_with_a_sentence() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    assert_eq!(ana.get("/tasks").await.status, StatusCode::OK);
    house.clock.advance(Duration::from_secs(13 * 3600));
    let answer = ana.get("/tasks").await;
    assert_eq!(answer.location(), "/login?next=%2Ftasks");
    ana.get(answer.location()).await.shows("Your session has ended: sign in again.");
}

#[tokio::test]
async fn logging_out_ends_the_session_itself() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let answer = ana.post("/logout", &[]).await;
    assert_eq!((answer.location(), answer.cookie("malla_session").as_deref()), ("/login", Some("")));
    assert_eq!(ana.get("/tasks").await.status, StatusCode::SEE_OTHER, "the old cookie is worth nothing");
}

#[tokio::test]
async fn a_login_form_of_another_site_is_refused() {
    let house = House::new().await;
    let mut request = form("/login", &[("name", "ana"), ("password", PASSWORD)]);
    request.headers_mut().insert(header::ORIGIN, "http://evil.example".parse().expect("a header"));
    let answer = house.send(request).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    answer.shows("This form was sent from another site");
}

#[tokio::test]
async fn somebody_anonymous_may_do_what_their_role_allows() {
    let house = House::with(Settings { anonymous_role: Some(Role::Admin), ..Settings::default() }).await;
    let page = house.get("/").await;
    assert_eq!(page.status, StatusCode::OK);
    page.shows("anonymous");
    let csrf = page.csrf();
    let answer = house.send(form("/groups", &[("name", "research"), ("csrf", &csrf)])).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    let answer = house.send(form("/groups", &[("name", "others")])).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN, "without the token");
}

#[tokio::test]
async fn the_colours_are_kept_in_a_cookie() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    let answer = ana.post("/theme", &[("theme", "dark"), ("back", "/lanes?room=drill")]).await;
    assert_eq!(answer.location(), "/lanes?room=drill");
    assert_eq!(answer.cookie("malla_theme").as_deref(), Some("dark"));
    let request = Request::get("/lanes").header(header::COOKIE, "malla_theme=dark").body(Body::empty());
    ana.send(request.expect("a request")).await.shows("data-theme=\"dark\"");
    assert_eq!(ana.post("/theme", &[("theme", "system")]).await.cookie("malla_theme").as_deref(), Some(""));
}
