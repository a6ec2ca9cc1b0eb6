//! The room `wiki`: histories of pages, how they are collected, and what can be asked of them.

mod article;
mod articles;
mod builder;
mod compare;
mod extract;
mod extraction;
mod extractions;
mod imports;
mod lines;
mod overview;
mod pace;
mod places;
mod query;
mod revision;
mod search;
mod site;

use std::time::Duration;

use axum::Router;
use axum::routing::{get, post};
use malla_queue::UnixMs;
use malla_wiki::{Extraction, ExtractionState, Limits};
use maud::{Markup, html};

use self::places::{ARTICLES, EXTRACT, IMPORTS, QUERY, REVISIONS};
pub(crate) use self::places::{EXTRACTIONS, WIKI};
use crate::caller::Person;
use crate::form::Form;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::tongue::Text;
use crate::{Console, words};

/// The pages of this room in the navigation.
pub(crate) const PAGES: &[(&str, Text)] = &[
    (WIKI, key!("Overview")),
    (ARTICLES, key!("Articles")),
    (REVISIONS, key!("Revisions")),
    (QUERY, key!("Query")),
    (EXTRACTIONS, key!("Extractions")),
    (IMPORTS, key!("Imports")),
];

/// What a page may cost: more is a question for the API.
const LIMITS: Limits = Limits { rows: 1_000, time: Duration::from_secs(10) };

pub(crate) fn routes() -> Router<Console> {
    Router::new()
        .route(WIKI, get(overview::show))
        .route(EXTRACT, post(extract::start))
        .route(ARTICLES, get(articles::show))
        .route("/wiki/articles.csv", get(articles::csv))
        .route(REVISIONS, get(search::show))
        .route("/wiki/revisions.csv", get(search::csv))
        .route(QUERY, get(query::show))
        .route("/wiki/query.csv", get(query::csv))
        .route(builder::BUILD, get(builder::build))
        .route(EXTRACTIONS, get(extractions::show))
        .route("/wiki/extractions.csv", get(extractions::csv))
        .route("/wiki/extractions/{id}", get(extraction::show))
        .route(IMPORTS, get(imports::show))
        .route("/wiki/imports.csv", get(imports::csv))
        .route("/wiki/wikis/{wiki}", get(site::show))
        .route("/wiki/wikis/{wiki}/pages/{page}", get(article::show))
        .route("/wiki/wikis/{wiki}/pages/{page}/extract", post(article::extract))
        .route("/wiki/wikis/{wiki}/pages/{page}/watch", post(article::watch))
        .route("/wiki/wikis/{wiki}/revisions/{revision}", get(revision::show))
        .route("/wiki/wikis/{wiki}/revisions/{revision}/text", get(revision::raw))
        .route("/wiki/wikis/{wiki}/compare", get(compare::show))
}

/// The page at `path`, if it is a live one of this room.
pub(crate) async fn live_page(
    console: &Console,
    person: &Person,
    path: &str,
    params: &Params,
) -> Option<Result<Page, Refusal>> {
    Some(match path {
        WIKI => overview::page(console, person, params, &Form::default()).await,
        EXTRACTIONS => extractions::page(console, person, params).await,
        ARTICLES => articles::page(console, person, params).await,
        IMPORTS => imports::page(console, person, params).await,
        _ => {
            let parts: Vec<&str> = path.strip_prefix("/wiki/")?.split('/').collect();
            match *parts {
                ["extractions", id] => extraction::page(console, person, id).await,
                ["wikis", wiki] => site::live(console, person, wiki, params).await,
                ["wikis", wiki, "pages", page] => article::live(console, person, wiki, page).await,
                _ => return None,
            }
        }
    })
}

/// The newest extractions, as another page shows them.
pub(crate) fn latest(now: UnixMs, latest: &[Extraction]) -> Markup {
    html! {
        @if !latest.is_empty() {
            section.card {
                div.card-head { h2 { (t!("Latest extractions")) } a href=(EXTRACTIONS) { (t!("All extractions")) } }
                (extractions::table(now, latest, None))
            }
        }
    }
}

fn state_badge(state: ExtractionState) -> Markup {
    let (tone, name) = match state {
        ExtractionState::Pending => ("queued", t!("pending")),
        ExtractionState::InProgress => ("running", t!("in progress")),
        ExtractionState::Succeeded => ("succeeded", t!("succeeded")),
        ExtractionState::Failed => ("failed", t!("failed")),
    };
    html! { span class={ "badge s-" (tone) } { (name) } }
}

/// A title as the wiki says it; an empty one cannot be clicked.
fn titled(title: &str) -> &str {
    if title.trim().is_empty() { t!("(no title)") } else { title }
}

fn size(bytes: u64) -> String {
    words::bytes(usize::try_from(bytes).unwrap_or(usize::MAX))
}

fn tile(name: &str, value: &str) -> Markup {
    let nothing = matches!(value, "0" | "–" | "0 B");
    html! { li { div.tile.figure { span.tile-name { (name) } strong.zero[nothing] { (value) } } } }
}
