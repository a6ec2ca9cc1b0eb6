//! The routes, one file a thing. Each states its permission twice: in its type, which is what counts, and in the
//! OpenAPI document (`x-permission`), which the tests compare with what happens.

pub(crate) mod analyze;
mod audit;
mod bulk;
mod cluster;
mod fetch;
mod groups;
pub(crate) mod health;
mod house;
mod lanes;
mod notify;
mod owner;
mod submit;
mod tail;
mod tasks;
mod tokens;
mod users;
mod watch;
pub(crate) mod wiki;

use axum::extract::Request;
use axum::http::Uri;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use malla_protocol::{Code, Page};
use tower_http::decompression::RequestDecompressionLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;
use crate::cursor::{self, List};
use crate::problem::Refusal;

pub(crate) fn all() -> OpenApiRouter<App> {
    house()
        .merge(notify())
        .merge(fetch())
        .merge(analyze())
        .merge(histories())
        .merge(wiki())
        // Whoever is merged with this router may have a page for the unknown; here it is a problem document.
        .route("/api/{*rest}", axum::routing::any(unknown))
        .layer(RequestDecompressionLayer::new())
        // An event is kept as it came, packed or not: this route stands outside of the layer above.
        .routes(routes!(notify::intake::post, notify::intake::put, notify::intake::patch))
        // Results of devices come packed one by one.
        .routes(routes!(fetch::fleet::results))
        // A batch is kept packed.
        .routes(routes!(analyze::batches::take))
        .layer(from_fn(before_the_answer))
}

/// Tasks, lanes, people, the cluster and the server itself.
fn house() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(tasks::list, submit::submit))
        .routes(routes!(tasks::counts))
        .routes(routes!(tail::tail))
        .routes(routes!(bulk::retry))
        .routes(routes!(bulk::resend))
        .routes(routes!(bulk::discard))
        .routes(routes!(bulk::pause))
        .routes(routes!(bulk::resume))
        .routes(routes!(bulk::confirm))
        .routes(routes!(tasks::show))
        .routes(routes!(tasks::act))
        .routes(routes!(lanes::list))
        .routes(routes!(lanes::show, lanes::change))
        .routes(routes!(users::list, users::create))
        .routes(routes!(users::show, users::change, users::delete))
        .routes(routes!(groups::list, groups::create))
        .routes(routes!(groups::show, groups::delete))
        .routes(routes!(groups::add_member, groups::remove_member))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::delete))
        .routes(routes!(audit::list))
        .routes(routes!(house::me))
        .routes(routes!(house::verify))
        .routes(routes!(cluster::show))
        .routes(routes!(cluster::terms))
        .routes(routes!(cluster::restarts))
        .routes(routes!(cluster::restart))
        .routes(routes!(health::livez))
        .routes(routes!(health::readyz))
        .routes(routes!(health::metrics))
}

/// Endpoints, subscriptions, events, notifications, statistics and alerts.
fn notify() -> OpenApiRouter<App> {
    use notify::{alerts, bulk, endpoints, events, notifications, statistics, subscriptions, tail};
    OpenApiRouter::new()
        .routes(routes!(endpoints::list, endpoints::create))
        .routes(routes!(endpoints::show, endpoints::change, endpoints::delete))
        .routes(routes!(subscriptions::list, subscriptions::create))
        .routes(routes!(subscriptions::show, subscriptions::change, subscriptions::delete))
        .routes(routes!(events::list))
        .routes(routes!(tail::events))
        .routes(routes!(events::show))
        .routes(routes!(events::body))
        .routes(routes!(notifications::list))
        .routes(routes!(tail::notifications))
        .routes(routes!(bulk::resend))
        .routes(routes!(bulk::discard))
        .routes(routes!(bulk::confirm))
        .routes(routes!(notifications::show))
        .routes(routes!(notifications::act))
        .routes(routes!(statistics::show))
        .routes(routes!(alerts::list, alerts::create))
        .routes(routes!(alerts::show, alerts::change, alerts::delete))
        .routes(routes!(alerts::test))
}

/// Jobs, results, sites and the fleet.
fn fetch() -> OpenApiRouter<App> {
    use fetch::{blocked, compare, crawls, devices, fleet, jobs, ledger, results, scrap, sites, trust, watches};
    OpenApiRouter::new()
        .routes(routes!(scrap::post))
        .routes(routes!(scrap::post_api))
        .routes(routes!(scrap::reset))
        .routes(routes!(scrap::reset_api))
        .routes(routes!(jobs::wait, jobs::start))
        .routes(routes!(jobs::list))
        .routes(routes!(sites::list))
        .routes(routes!(sites::show))
        .routes(routes!(jobs::show, jobs::cancel))
        .routes(routes!(results::results))
        .routes(routes!(crawls::list, crawls::start))
        .routes(routes!(crawls::show, crawls::change, crawls::cancel))
        .routes(routes!(crawls::results))
        .routes(routes!(compare::start))
        .routes(routes!(compare::list))
        .routes(routes!(compare::show, compare::change, compare::delete))
        .routes(routes!(compare::round))
        .routes(routes!(watches::list, watches::create))
        .routes(routes!(watches::show, watches::change, watches::delete))
        .routes(routes!(watches::versions))
        .routes(routes!(watches::version))
        .routes(routes!(watches::diff))
        .routes(routes!(trust::report))
        .routes(routes!(trust::checks))
        .routes(routes!(trust::standing))
        .routes(routes!(trust::acquit))
        .routes(routes!(trust::control))
        .routes(routes!(blocked::list, blocked::block, blocked::unblock))
        .routes(routes!(blocked::opt_out))
        .routes(routes!(ledger::balances))
        .routes(routes!(ledger::statement))
        .routes(routes!(ledger::top_up))
        .routes(routes!(ledger::audit))
        .routes(routes!(devices::list))
        .routes(routes!(devices::change))
        .routes(routes!(fleet::join))
        .routes(routes!(fleet::lease))
        .routes(routes!(fleet::give_back))
        .routes(routes!(fleet::heartbeat))
        .routes(routes!(fleet::leave))
}

/// Analyses, their batches and answers.
fn analyze() -> OpenApiRouter<App> {
    use analyze::{answers, batches, studies};
    OpenApiRouter::new()
        .routes(routes!(studies::list, studies::begin))
        .routes(routes!(studies::show, studies::cancel))
        .routes(routes!(studies::complete))
        .routes(routes!(batches::list))
        .routes(routes!(answers::show))
}

/// What existing clients, which run in browsers, ask about histories.
fn histories() -> OpenApiRouter<App> {
    use wiki::{extract, query, questions};
    OpenApiRouter::new()
        .routes(routes!(extract::get, extract::post))
        .routes(routes!(extract::status))
        .routes(routes!(questions::articles))
        .routes(routes!(questions::article))
        .routes(routes!(questions::revisions))
        .routes(routes!(questions::count))
        .routes(routes!(questions::avg))
        .routes(routes!(questions::mode))
        .routes(routes!(query::query))
        .layer(from_fn(wiki::browsers::open_to_browsers))
}

/// Wikis, pages, revisions, extractions and imports.
fn wiki() -> OpenApiRouter<App> {
    use wiki::{export, extractions, imports, metrics, pages, revisions, wikis};
    OpenApiRouter::new()
        .routes(routes!(wikis::list))
        .routes(routes!(wikis::show))
        .routes(routes!(metrics::of_wiki))
        .routes(routes!(pages::list))
        .routes(routes!(pages::show, pages::change))
        .routes(routes!(metrics::of_page))
        .routes(routes!(export::export))
        .routes(routes!(revisions::show))
        .routes(routes!(revisions::text))
        .routes(routes!(revisions::compare))
        .routes(routes!(extractions::list))
        .routes(routes!(extractions::show))
        .routes(routes!(imports::list, imports::begin))
        .routes(routes!(imports::show))
        .routes(routes!(imports::take))
}

async fn unknown(uri: Uri) -> Refusal {
    Refusal::new(Code::NotFound, format!("{} does not exist: /docs lists every route", uri.path()))
}

/// A change is durable here and its caller does not know yet.
async fn before_the_answer(request: Request, next: Next) -> Response {
    let writes = !request.method().is_safe();
    let response = next.run(request).await;
    if writes && response.status().is_success() {
        malla_queue::crash::point("api.answer");
    }
    response
}

/// A page of a list that was asked for one item more than it shows: the extra one says that there is a next page.
fn page<T, V>(
    list: List,
    mut items: Vec<T>,
    limit: usize,
    place: impl Fn(&T) -> String,
    view: impl FnMut(T) -> V,
) -> Page<V> {
    let more = items.len() > limit;
    items.truncate(limit);
    let next_cursor = if more { items.last().map(|last| cursor::write(list, &place(last))) } else { None };
    Page { items: items.into_iter().map(view).collect(), next_cursor }
}
