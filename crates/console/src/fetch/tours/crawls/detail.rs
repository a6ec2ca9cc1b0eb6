//! One crawl: how far it is, what it left alone and why, its pages as they come.

use axum::extract::{Path, State as Shared};
use axum::response::Response;
use malla_fetch::crawl::{CrawlSpec, Progress};
use malla_fetch::tour::{Tour, TourKind, TourState};
use malla_queue::UnixMs;
use maud::{Markup, html};

use super::super::act::buttons;
use super::super::{CRAWLS, find, group_of, state_badge, tile, titled, tour_path, trouble};
use super::new::scope_name;
use super::{bar, read, took};
use crate::caller::Person;
use crate::fetch::jobs::result;
use crate::fetch::jobs::results::{self, Of, Results};
use crate::fetch::{size, status_badge};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, groups, words};

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &id, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, id: &str, params: &Params) -> Result<Page, Refusal> {
    let tour = find(console, person, TourKind::Crawl, id).await?;
    let (spec, progress) = read(&tour);
    let job = console.fetch.job(&person.principal.scope(), tour.id.job()).await?;
    let of = Of {
        job: job.id,
        done: job.done,
        over: tour.state.is_over(),
        base: tour_path(&tour),
        api: format!("/api/v1/crawls/{}/results", tour.id),
    };
    let results = Results::find(console, of, params).await?;
    let group = groups::names(console, [tour.group].into_iter()).await?.into_values().next();
    let now = console.now();
    let page = Page::new(CRAWLS, titled(TourKind::Crawl, id))
        .up(CRAWLS, t!("Crawls"))
        .lead(html! {
            (rich!("Started {}", words::time(now, tour.id.0.submitted_at())))
            @if let Some(group) = &group { " " (rich!("for {}", group)) }
        })
        .api(person, &format!("/api/v1/crawls/{}", tour.id))
        .live("progress", how_far(now, &tour, &spec, &progress))
        .live("actions", buttons(person, &tour))
        .live("counts", tiles(&tour, &progress))
        .live("sides", html! { div.columns { (wanted(&spec, group.as_ref())) (left_alone(&tour, &progress)) } });
    let (card, pager) = (results.card(now), results.pager(params));
    Ok(match results.newest {
        true => page.live("results", card).live("pager", pager),
        // Older results stay as they are.
        false => page.still(card).still(pager),
    })
}

fn how_far(now: UnixMs, tour: &Tour, spec: &CrawlSpec, progress: &Progress) -> Markup {
    let took = words::lasted(took(now, tour));
    html! {
        section.card.progress {
            div.task-head {
                (state_badge(tour.state))
                strong { (rich!("{} of at most {} pages", words::count(progress.pages), words::count(spec.pages))) }
                span.quiet {
                    @match tour.state {
                        TourState::Running => { (rich!("for {} now", took)) },
                        TourState::Paused => (t!("held: nothing more is asked for")),
                        TourState::Cancelled => { (rich!("cancelled after {}", took)) },
                        TourState::Done | TourState::Failed => { (rich!("took {}", took)) },
                    }
                }
            }
            (bar(tour, progress))
        }
        @if let Some(limit) = &progress.limited_by { p.notice { (limited(limit)) } }
        (trouble(tour.note.as_deref(), tour.state == TourState::Failed))
    }
}

/// Which of its limits it met.
fn limited(limit: &str) -> &'static str {
    match limit {
        "pages" => t!("It met its limit of pages: there was more to follow."),
        "bytes" => t!("It met its limit of bytes: there was more to follow."),
        _ => t!("It met one of its limits: there was more to follow."),
    }
}

fn tiles(tour: &Tour, progress: &Progress) -> Markup {
    let bad = progress.pages.saturating_sub(progress.good);
    let under_way = if tour.state.is_over() { 0 } else { tour.outstanding() };
    html! {
        ul.tiles.small-tiles aria-label=(t!("Figures")) {
            (tile(Some("succeeded"), t!("Good (2xx)"), &words::count(progress.good)))
            (tile(Some("failed"), t!("Not good"), &words::count(bad)))
            (tile(Some("notified"), t!("From cache"), &words::count(progress.from_cache)))
            (tile(Some("running"), t!("Under way"), &words::count(under_way)))
            (tile(Some("queued"), t!("Waiting"), &words::count(tour.waiting)))
            (tile(None, t!("URLs found"), &words::count(tour.found)))
            (tile(None, t!("Size"), &size(progress.bytes)))
        }
    }
}

fn wanted(spec: &CrawlSpec, group: Option<&String>) -> Markup {
    const SEEDS_SHOWN: usize = 20;
    let yes = |is: bool| if is { t!("yes") } else { t!("no") };
    html! {
        section.card {
            div.card-head { h2 { (t!("What was asked")) } }
            dl.facts {
                dt { (t!("Seeds")) }
                dd {
                    @for seed in spec.seeds.iter().take(SEEDS_SHOWN) { div { (seed) } }
                    @if spec.seeds.len() > SEEDS_SHOWN { span.quiet { (rich!("and {} more", words::count((spec.seeds.len() - SEEDS_SHOWN) as u64))) } }
                }
                dt { (t!("Scope")) } dd { (scope_name(spec.scope)) }
                dt { (t!("Depth")) } dd { (spec.depth) }
                dt { (t!("Pages at most")) } dd { (words::count(spec.pages)) }
                dt { (t!("Bytes at most")) } dd { @if spec.bytes == 0 { span.quiet { (t!("no limit")) } } @else { (size(spec.bytes)) } }
                dt { (t!("Sitemaps")) } dd { (yes(spec.sitemaps)) }
                dt { (t!("From the cache")) } dd { (yes(spec.cached)) }
                dt { (t!("Group")) } dd { (group_of(group)) }
            }
        }
    }
}

/// Links that were not followed, by the reason.
fn left_alone(tour: &Tour, progress: &Progress) -> Markup {
    let reasons = [
        (t!("outside of the scope"), progress.outside),
        (t!("too deep"), progress.too_deep),
        (t!("the page asks not to follow (nofollow)"), progress.nofollow),
        (t!("pictures, films and other files"), progress.files),
        (t!("traps: pages without end"), progress.trapped + tour.trapped),
        (t!("too many to know"), progress.left_out + tour.left_out),
        (t!("copies of another page"), progress.copies),
    ];
    html! {
        section.card {
            div.card-head { h2 { (t!("Links left alone")) } }
            dl.facts {
                @for (reason, n) in reasons { dt { (reason) } dd.quiet[n == 0] { (words::count(n)) } }
            }
            @if !progress.by_status.is_empty() {
                div.card-head { h2 { (t!("By status")) } }
                ul.chips.pad {
                    @for (status, n) in &progress.by_status { li { (status_badge(*status)) " " span.quiet { (words::count(*n)) } } }
                }
            }
        }
    }
}

/// One page of it.
pub(crate) async fn result(
    Shared(console): Shared<Console>,
    Path((id, n)): Path<(String, String)>,
    visitor: Visitor<See>,
) -> Result<Page, Refusal> {
    let tour = find(&console, &visitor, TourKind::Crawl, &id).await?;
    let missing = say!("Page {n} of crawl {id}", n, id);
    let up = (tour_path(&tour), titled(TourKind::Crawl, &id));
    result::of(&console, CRAWLS, tour.id.job(), &n, up, &missing).await
}

pub(crate) async fn csv(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    visitor: Visitor<See>,
) -> Result<Response, Refusal> {
    let tour = find(&console, &visitor, TourKind::Crawl, &id).await?;
    Ok(results::csv(console, tour.id.job()))
}
