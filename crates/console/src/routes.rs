//! Every address of the console, and what is done around each answer: who calls, the frame, the headers.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use crate::caller::{Caller, from_elsewhere};
use crate::frame::{Page, document};
use crate::refusal::Refusal;
use crate::tongue::Lang;
use crate::{
    Console, analyze, assets, audit, cluster, cookie, fetch, groups, lanes, live, login, notify, overview, parts,
    settings, tasks, theme, tokens, tongue, users, wiki,
};

/// Forms are small.
const FORM_BYTES_MAX: usize = 64 * 1024;

/// What cannot be answered now may be in a moment.
const AGAIN_AFTER_S: u32 = 2;

/// Programs ask here: what is not found below this gets no page, whoever stands around us says it in their way.
const API: &str = "/api/";

const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

pub(crate) fn router(console: Console) -> Router {
    let pages = Router::new()
        .route("/", get(overview::show))
        .route("/login", get(login::show).post(login::sign_in))
        .route("/logout", post(login::sign_out))
        .route("/theme", post(theme::choose))
        .route("/language", post(tongue::choose))
        .route("/login/language", get(tongue::choose_before))
        .route("/live", get(live::stream))
        .route("/tasks", get(tasks::list::show))
        .route("/tasks/act", get(tasks::bulk::confirm).post(tasks::bulk::act))
        .route(tasks::new::NEW, get(tasks::new::show).post(tasks::new::submit))
        .route("/tasks/{id}", get(tasks::detail::show))
        .route("/tasks/{id}/act", post(tasks::act))
        .route("/tasks.csv", get(tasks::list::csv))
        .route("/lanes", get(lanes::list::show))
        .route("/lanes.csv", get(lanes::list::csv))
        .route("/lanes/act", get(lanes::bulk::confirm).post(lanes::bulk::act))
        .route("/lane", get(lanes::detail::show).post(lanes::detail::change))
        .route("/lane/pause", post(lanes::pause))
        .route("/audit", get(audit::show))
        .route("/audit.csv", get(audit::csv))
        .route(cluster::CLUSTER, get(cluster::show))
        .route("/cluster.csv", get(cluster::csv))
        .route(cluster::RESTART, post(cluster::restart))
        .route(settings::SETTINGS, get(settings::show))
        .route("/settings.csv", get(settings::csv))
        .route("/users", get(users::list::show).post(users::list::create))
        .route("/users.csv", get(users::list::csv))
        .route("/users/{name}", get(users::detail::show).post(users::detail::change))
        .route("/users/{name}/delete", post(users::detail::delete))
        .route("/groups", get(groups::show).post(groups::create))
        .route("/groups.csv", get(groups::csv))
        .route("/groups/{name}", get(groups::show_one))
        .route("/groups/{name}/members", post(groups::set_member))
        .route("/groups/{name}/delete", post(groups::delete))
        .route("/tokens", get(tokens::show).post(tokens::create))
        .route("/tokens.csv", get(tokens::csv))
        .route("/tokens/{name}/delete", post(tokens::delete))
        .merge(notify::routes())
        .merge(fetch::routes())
        .merge(wiki::routes())
        .merge(analyze::routes())
        .fallback(no_such_page)
        .layer(DefaultBodyLimit::max(FORM_BYTES_MAX))
        .layer(from_fn_with_state(console.clone(), dress))
        .with_state(console);
    pages.merge(assets::router()).layer(map_response(guard))
}

async fn no_such_page() -> Refusal {
    Refusal::of_status(StatusCode::NOT_FOUND)
}

/// Finds out who calls, turns foreign forms away, and puts the frame around what the handler answers.
async fn dress(State(console): State<Console>, request: Request, next: Next) -> Response {
    if request.uri().path().starts_with(API) {
        return StatusCode::NOT_FOUND.into_response();
    }
    Lang::of(request.headers()).speaking(dressed(console, request, next)).await
}

async fn dressed(console: Console, request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    let caller = match Caller::of(&console, &head).await {
        Ok(caller) => Arc::new(caller),
        Err(error) => return framed(&console, &Caller::stranger(&head), Refusal::from(error).into_response()),
    };
    let response = if !head.method.is_safe() && from_elsewhere(&head) {
        Refusal::forbidden(t!("This form was sent from another site: open the console and do it there."))
            .into_response()
    } else {
        head.extensions.insert(caller.clone());
        next.run(Request::from_parts(head, body)).await
    };
    framed(&console, &caller, response)
}

fn framed(console: &Console, caller: &Caller, mut response: Response) -> Response {
    let extensions = response.extensions_mut();
    let page = extensions.remove::<Arc<Page>>();
    let refusal = extensions.remove::<Arc<Refusal>>();
    let page = match (page, refusal) {
        (Some(page), _) => page,
        (None, Some(refusal)) => Arc::new(refused(caller, &refusal)),
        (None, None) if response.status().is_client_error() || response.status().is_server_error() => {
            Arc::new(refused(caller, &Refusal::of_status(response.status())))
        }
        (None, None) => return response,
    };
    let (mut head, _) = response.into_parts();
    head.status = page.status;
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    head.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    head.headers.insert(header::CONTENT_LANGUAGE, HeaderValue::from_static(Lang::now().code()));
    head.headers.insert(header::VARY, HeaderValue::from_static("accept-language, cookie"));
    if caller.notice.is_some() {
        head.headers.append(header::SET_COOKIE, cookie::clear(cookie::NOTICE, console.settings.secure_cookies));
    }
    Response::from_parts(head, document(caller, &page, console.settings.version).into_string().into())
}

fn refused(caller: &Caller, refusal: &Refusal) -> Page {
    let (status, sentence) = match refusal {
        Refusal::Sentence { status, sentence } => (*status, sentence.as_str()),
        Refusal::SignIn { .. } => (StatusCode::FORBIDDEN, t!("Sign in first.")),
    };
    let home = if caller.person.is_some() { ("/", t!("Go to the overview")) } else { ("/login", t!("Sign in")) };
    Page::new("", Refusal::headline(status)).status(status).still(parts::empty(sentence, Some(home)))
}

/// What every answer of the console tells the browser to be careful with.
async fn guard(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let fixed = [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if response.status() == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().entry(header::RETRY_AFTER).or_insert(HeaderValue::from(AGAIN_AFTER_S));
    }
    response
}
