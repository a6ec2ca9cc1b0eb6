//! Every page in Spanish.

use axum::body::Body;
use axum::http::{Request, StatusCode, header};

use super::furnished;
use crate::house::{Answer, House, Visitor};

/// Words that no Spanish sentence has. What people named, and what stands in code, is left out before.
const ENGLISH: [&str; 24] = [
    " the ", " and ", " is ", " are ", " with ", " from ", " this ", " that ", " not ", " has ", " no ", " yet",
    "There ", "Nothing", "None ", " its ", " each ", "Show ", "All ", "New ", "Created", "Latest", " ago", "Save",
];
/// `no` is Spanish as well.
const SPANISH_TOO: [&str; 1] = [" no "];

async fn in_spanish(visitor: &Visitor<'_>, path: &str) -> Answer {
    let request = Request::get(path).header(header::ACCEPT_LANGUAGE, "es-ES,es;q=0.9,en;q=0.5");
    visitor.send(request.body(Body::empty()).expect("a request")).await
}

/// What a person reads: text without tags, code and what is typed; and the labels of what is drawn.
fn read(body: &str) -> String {
    let (mut text, mut rest) = (String::new(), body);
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        let (tag, after) = tag.split_once('>').unwrap_or((tag, ""));
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        rest = after;
        if matches!(name, "code" | "pre" | "textarea" | "style" | "script" | "datalist") && !tag.ends_with('/') {
            rest = after.split_once(&format!("</{name}>")).map_or("", |(_, after)| after);
        }
        for attribute in ["title=\"", "aria-label=\"", "data-label=\"", "placeholder=\""] {
            if let Some((_, value)) = tag.split_once(attribute) {
                text.push_str(" | ");
                text.push_str(value.split('"').next().unwrap_or_default());
            }
        }
        text.push_str(" | ");
    }
    text + rest
}

#[tokio::test]
async fn every_page_speaks_spanish_and_no_english() {
    let house = House::new().await;
    let pages = furnished(&house).await;
    let root = house.sign_in("root").await;
    let mut wrong = Vec::new();
    for path in &pages {
        let page = in_spanish(&root, path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.body);
        page.shows("<html lang=\"es\"");
        assert_eq!(page.headers[header::CONTENT_LANGUAGE], "es");
        let text = read(&page.body);
        for word in ENGLISH.iter().filter(|word| !SPANISH_TOO.contains(word)) {
            if let Some(at) = text.find(word) {
                let around: String = text[..at].chars().rev().take(60).collect::<Vec<_>>().into_iter().rev().collect();
                wrong.push(format!("{path}: {word:?} after …{around}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn the_browser_chooses_and_the_visitor_may_choose_otherwise() {
    let house = House::new().await;
    let ana = house.sign_in("ana").await;
    ana.get("/tasks").await.shows("<html lang=\"en\"");
    in_spanish(&ana, "/tasks").await.shows("Todavía no hay tareas");
    let chosen = ana.post("/language", &[("language", "es"), ("back", "/lanes")]).await;
    assert_eq!((chosen.status, chosen.location()), (StatusCode::SEE_OTHER, "/lanes"));
    assert_eq!(chosen.cookie("malla_language").as_deref(), Some("es"));
    let request = Request::get("/lanes").header(header::COOKIE, "malla_language=es");
    let page = ana.send(request.body(Body::empty()).expect("a request")).await;
    page.shows("Todavía no hay carriles");
    page.shows("aria-pressed=\"true\">ES<");
    let request = Request::get("/lanes").header(header::COOKIE, "malla_language=en");
    let request = request.header(header::ACCEPT_LANGUAGE, "es");
    ana.send(request.body(Body::empty()).expect("a request")).await.shows("There are no lanes yet");
    // Who is not signed in gets the browser's language, too.
    let request = Request::get("/login").header(header::ACCEPT_LANGUAGE, "es");
    house.send(request.body(Body::empty()).expect("a request")).await.shows("Entrar en Malla");
    house.get("/login?next=/tasks").await.shows("href=\"/login/language?language=es&amp;next=%2Ftasks\"");
    let chosen = house.get("/login/language?language=es&next=/tasks").await;
    assert_eq!((chosen.status, chosen.location()), (StatusCode::SEE_OTHER, "/login?next=%2Ftasks"));
    assert_eq!(chosen.cookie("malla_language").as_deref(), Some("es"));
    let elsewhere = house.get("/login/language?language=xx&next=https://evil.org/").await;
    assert_eq!((elsewhere.location(), elsewhere.cookie("malla_language")), ("/login", None));
}

#[tokio::test]
async fn refusals_of_forms_and_states_are_told_in_spanish() {
    let house = House::new().await;
    let root = house.sign_in("root").await;
    let mut request = crate::house::form("/groups", &[("name", "ops"), ("csrf", &root.csrf)]);
    request.headers_mut().insert(header::ACCEPT_LANGUAGE, "es".parse().expect("a value"));
    let refused = root.send(request).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    refused.shows("Ya existe un grupo llamado ops.");
    for _ in 0..12 {
        house.submit("drill/a", "{}", 1_000).await;
    }
    house.submit("drill/a", "{}", 345).await;
    let page = in_spanish(&root, "/tasks?state=queued").await;
    page.shows("en cola");
    page.shows("12.345");
    page.shows("href=\"/tasks?state=failed\"");
    in_spanish(&root, "/nowhere").await.shows("Esa página no existe.");
    in_spanish(&root, "/tasks/nonsense").await.shows("La tarea nonsense no existe");
}
