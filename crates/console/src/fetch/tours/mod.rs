//! Tours: what goes on asking for pages by itself. Crawls, watches and comparisons, and what a person may do to one.

mod act;
mod bulk;
pub(crate) mod comparisons;
pub(crate) mod crawls;
mod found;
pub(crate) mod watches;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{MethodRouter, get, post};
use malla_fetch::tour::{NewTour, Tour, TourId, TourKind, TourState};
use malla_queue::{Act, UnixMs};
use maud::{Markup, html};

use crate::caller::Person;
use crate::form::Trouble;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::tongue::{Noun, Text};
use crate::{Console, parts, words};

pub(crate) const CRAWLS: &str = "/fetch/crawls";
pub(crate) const WATCHES: &str = "/fetch/watches";
pub(crate) const COMPARISONS: &str = "/fetch/comparisons";
const NEW_CRAWL: &str = "/fetch/new-crawl";
const NEW_WATCH: &str = "/fetch/new-watch";
const NEW_COMPARISON: &str = "/fetch/new-comparison";

/// A crawl may have many seeds.
const FORM_BYTES_MAX: usize = 1024 * 1024;

pub(super) fn routes() -> Router<Console> {
    let large = |form: MethodRouter<Console>| form.layer(DefaultBodyLimit::max(FORM_BYTES_MAX));
    Router::new()
        .route(CRAWLS, get(crawls::list::show))
        .route("/fetch/crawls.csv", get(crawls::list::csv))
        .route(NEW_CRAWL, large(get(crawls::new::show).post(crawls::new::start)))
        .route("/fetch/crawls/act", get(bulk::crawls).post(bulk::act_on_crawls))
        .route("/fetch/crawls/{id}", get(crawls::detail::show))
        .route("/fetch/crawls/{id}/act", post(act::on_crawl))
        .route("/fetch/crawls/{id}/results.csv", get(crawls::detail::csv))
        .route("/fetch/crawls/{id}/results/{n}", get(crawls::detail::result))
        .route(WATCHES, get(watches::list::show))
        .route("/fetch/watches.csv", get(watches::list::csv))
        .route(NEW_WATCH, get(watches::form::show).post(watches::form::create))
        .route("/fetch/watches/act", get(bulk::watches).post(bulk::act_on_watches))
        .route("/fetch/watches/{id}", get(watches::detail::show).post(watches::form::change))
        .route("/fetch/watches/{id}/act", post(act::on_watch))
        .route("/fetch/watches/{id}/versions/{n}", get(watches::version::show))
        .route("/fetch/watches/{id}/versions/{n}/text", get(watches::version::text))
        .route("/fetch/watches/{id}/compare", get(watches::version::compare))
        .route(COMPARISONS, get(comparisons::list::show))
        .route("/fetch/comparisons.csv", get(comparisons::list::csv))
        .route(NEW_COMPARISON, get(comparisons::new::show).post(comparisons::new::start))
        .route("/fetch/comparisons/act", get(bulk::comparisons).post(bulk::act_on_comparisons))
        .route("/fetch/comparisons/{id}", get(comparisons::detail::show))
        .route("/fetch/comparisons/{id}/act", post(act::on_comparison))
        .route("/fetch/comparisons/{id}/rounds/{n}", get(comparisons::detail::round))
        .route("/fetch/comparisons/{id}/rounds/{n}/csv", get(comparisons::detail::csv))
}

/// The page at `path`, if it is a live one of a tour.
pub(super) async fn live_page(
    console: &Console,
    person: &Person,
    path: &str,
    params: &Params,
) -> Option<Result<Page, Refusal>> {
    let one = |list: &str| path.strip_prefix(list)?.strip_prefix('/').filter(|id| !id.contains('/'));
    Some(match path {
        CRAWLS => crawls::list::page(console, person, params).await,
        WATCHES => watches::list::page(console, person, params).await,
        COMPARISONS => comparisons::list::page(console, person, params).await,
        _ => match (one(CRAWLS), one(WATCHES), one(COMPARISONS)) {
            (Some(id), ..) => crawls::detail::page(console, person, id, params).await,
            (_, Some(id), _) => watches::detail::page(console, person, id, params).await,
            (.., Some(id)) => comparisons::detail::page(console, person, id).await,
            _ => return None,
        },
    })
}

/// Where the tours of a kind are listed; one of them is below.
fn place(kind: TourKind) -> &'static str {
    match kind {
        TourKind::Crawl => CRAWLS,
        TourKind::Watch => WATCHES,
        TourKind::Compare => COMPARISONS,
    }
}

fn noun(kind: TourKind) -> Noun {
    match kind {
        TourKind::Crawl => noun!("crawl", "crawls"),
        TourKind::Watch => noun!("watch", "watches"),
        TourKind::Compare => noun!("comparison", "comparisons"),
    }
}

/// `Crawl 06…`, as a title and in a refusal.
fn titled(kind: TourKind, id: &str) -> String {
    match kind {
        TourKind::Crawl => say!("Crawl {id}", id),
        TourKind::Watch => say!("Watch {id}", id),
        TourKind::Compare => say!("Comparison {id}", id),
    }
}

fn tour_path(tour: &Tour) -> String {
    path_of(tour.kind, tour.id)
}

fn path_of(kind: TourKind, id: TourId) -> String {
    format!("{}/{id}", place(kind))
}

fn read_id(kind: TourKind, text: &str) -> Result<TourId, Refusal> {
    text.parse().map_err(|_| Refusal::not_found(&titled(kind, text)))
}

async fn find(console: &Console, person: &Person, kind: TourKind, id: &str) -> Result<Tour, Refusal> {
    Ok(console.tours.tour(&person.principal.scope(), kind, read_id(kind, id)?).await?)
}

fn state_name(state: TourState) -> &'static str {
    match state {
        TourState::Running => t!("running"),
        TourState::Paused => t!("paused"),
        TourState::Done => t!("done"),
        TourState::Cancelled => t!("cancelled"),
        TourState::Failed => t!("failed"),
    }
}

/// The state of tasks whose colour it has.
fn tone(state: TourState) -> &'static str {
    match state {
        TourState::Running => "running",
        TourState::Paused => "paused",
        TourState::Done => "succeeded",
        TourState::Cancelled => "discarded",
        TourState::Failed => "failed",
    }
}

fn state_badge(state: TourState) -> Markup {
    html! { span class={ "badge s-" (tone(state)) } { (state_name(state)) } }
}

/// The first of several addresses, and how many more there are.
fn first_of(urls: &[String]) -> Markup {
    html! {
        @match urls.split_first() {
            Some((first, rest)) => {
                (first)
                @if !rest.is_empty() { span.quiet.note { " " (rich!("and {} more", words::count(rest.len() as u64))) } }
            },
            None => span.quiet { "–" },
        }
    }
}

fn tile(tone: Option<&str>, name: &str, value: &str) -> Markup {
    html! {
        li { div.tile.figure {
            span.tile-name { @if let Some(tone) = tone { span class={ "dot s-" (tone) } {} } (name) }
            strong.zero[matches!(value, "0" | "–" | "0 B")] { (value) }
        } }
    }
}

/// What is wrong with it, or why it ended as it did.
fn trouble(note: Option<&str>, bad: bool) -> Markup {
    html! { @if let Some(note) = note.filter(|note| !note.is_empty()) { p.notice.bad[bad] { (words::capital(&crate::tongue::told(note.to_owned()))) } } }
}

/// What a kind of tour is, and how the first is made where there are none.
struct Nothing {
    sentence: Text,
    for_readers: Text,
    command: &'static str,
}

fn nothing_of(kind: TourKind) -> Nothing {
    match kind {
        TourKind::Crawl => Nothing {
            sentence: key!("Nothing has been crawled yet. Start a crawl here, or from a terminal:"),
            for_readers: key!("Nothing has been crawled yet. The crawls of your groups will be shown here."),
            command: "malla crawl https://example.org/ --depth 2",
        },
        TourKind::Watch => Nothing {
            sentence: key!("No page is watched yet. Watch one here, or from a terminal:"),
            for_readers: key!("No page is watched yet. Those of your groups will be shown here."),
            command: "malla watches add https://example.org/news",
        },
        TourKind::Compare => Nothing {
            sentence: key!("Nothing has been compared yet. Start here, or from a terminal:"),
            for_readers: key!("Nothing has been compared yet. The comparisons of your groups will be shown here."),
            command: "malla compare https://example.org/ --countries AR,DE",
        },
    }
}

fn group_of(group: Option<&String>) -> Markup {
    html! { @match group { Some(group) => (group), None => span.quiet { (t!("none: seen by admins only")) } } }
}

fn moment_if(now: UnixMs, at: Option<UnixMs>, shows: bool) -> Markup {
    parts::moment(now, at.filter(|_| shows))
}

/// Begins a tour of so many pages, if whoever asks may have as many.
async fn begin(console: &Console, tour: NewTour, pages: u64, act: Act) -> Result<Tour, Trouble> {
    let group = tour.group;
    console.door.admit(group, pages).await?;
    let begun = console.tours.begin(tour, act).await?;
    console.door.took_in(group, pages).await;
    Ok(begun)
}
