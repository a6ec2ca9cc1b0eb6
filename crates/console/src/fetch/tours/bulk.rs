//! A verb on all tours of a kind that match.

use axum::extract::State as Shared;
use axum::response::{IntoResponse, Response};
use malla_fetch::tour::{TourId, TourKind};
use malla_queue::Error;
use maud::html;
use tokio::time::Instant;

use super::act::{Verb, on};
use super::found::{NAMES, Wanted, find};
use super::{noun, place, state_badge};
use crate::caller::{Notice, Person};
use crate::frame::Page;
use crate::many::WORK_MAX;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, Visitor, go};
use crate::{Console, parts, words};

/// Tours that are counted for the question; more are told as "more than".
const COUNTED_MAX: usize = 1_000;
const STEP: usize = 100;

pub(crate) async fn crawls(console: Shared<Console>, who: Visitor<Change>, params: Params) -> Result<Page, Refusal> {
    ask(&console.0, &who, TourKind::Crawl, &params).await
}

pub(crate) async fn watches(console: Shared<Console>, who: Visitor<Change>, params: Params) -> Result<Page, Refusal> {
    ask(&console.0, &who, TourKind::Watch, &params).await
}

pub(crate) async fn comparisons(
    console: Shared<Console>,
    who: Visitor<Change>,
    params: Params,
) -> Result<Page, Refusal> {
    ask(&console.0, &who, TourKind::Compare, &params).await
}

pub(crate) async fn act_on_crawls(console: Shared<Console>, posted: Posted<Change>) -> Result<Response, Refusal> {
    act(&console.0, TourKind::Crawl, &posted).await
}

pub(crate) async fn act_on_watches(console: Shared<Console>, posted: Posted<Change>) -> Result<Response, Refusal> {
    act(&console.0, TourKind::Watch, &posted).await
}

pub(crate) async fn act_on_comparisons(console: Shared<Console>, posted: Posted<Change>) -> Result<Response, Refusal> {
    act(&console.0, TourKind::Compare, &posted).await
}

fn act_path(kind: TourKind) -> String {
    format!("{}/act", place(kind))
}

async fn ask(console: &Console, person: &Person, kind: TourKind, params: &Params) -> Result<Page, Refusal> {
    let verb = Verb::read(params.typed("verb"))?;
    let wanted = Wanted::read(kind, params)?;
    let list = wanted.params.link(place(kind));
    let found = find(console, &person.principal.scope(), &wanted, None, COUNTED_MAX).await?;
    let count = found.tours.iter().filter(|tour| verb.fits(tour.state)).count() as u64;
    let page =
        Page::new(place(kind), say!("{name} all that match?", verb.told())).up(list.clone(), t!("Back to the list"));
    if count == 0 && found.next.is_none() {
        let sentence = say!("There is nothing to do: none of these {} is in a state for it.", noun(kind).many.get());
        return Ok(page.still(parts::empty(&sentence, Some((list.as_str(), t!("Back to the list"))))));
    }
    let number = html! { strong { (words::counted(count, noun(kind))) } };
    let danger = verb == Verb::Cancel || verb == Verb::Delete;
    Ok(page.still(html! {
        section.card.question {
            p {
                @if found.next.is_some() { (rich!("At least {} match.", number)) } @else { (rich!("{} match.", number)) }
                " " (verb.consequence(kind))
            }
            dl.facts {
                @if let Some(state) = wanted.state { dt { (t!("state")) } dd { (state_badge(state)) } }
                @if let Some(search) = params.get("search") { dt { (t!("Search")) } dd { (search) } }
            }
            form method="post" action=(act_path(kind)) {
                (parts::form_secret(person)) (wanted.params.hidden())
                input type="hidden" name="verb" value=(verb.name());
                // Those that come while the person reads this are not meant.
                input type="hidden" name="newest" value=(found.tours.first().map(|tour| tour.id.to_string()).unwrap_or_default());
                button.primary[!danger].danger[danger] { (rich!("{} them", verb.told())) }
                a.button.plain href=(list) { (t!("Cancel")) }
            }
        }
    }))
}

async fn act(console: &Console, kind: TourKind, posted: &Posted<Change>) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = posted;
    let (verb, wanted) = (Verb::read(fields.typed("verb"))?, Wanted::read(kind, fields)?);
    let newest: Option<TourId> = fields.get("newest").map(str::parse).transpose()?;
    let below: Option<TourId> = fields.get("cursor").map(str::parse).transpose()?;
    let before: u64 = fields.get("done").and_then(|done| done.parse().ok()).unwrap_or(0);
    let (scope, deadline) = (visitor.principal.scope(), Instant::now() + WORK_MAX);
    let (mut done, mut next) = (before, below);
    let list = fields.only(NAMES).link(place(kind));
    loop {
        let found = find(console, &scope, &wanted, next, STEP).await?;
        let meant =
            found.tours.iter().filter(|tour| newest.is_none_or(|newest| tour.id <= newest) && verb.fits(tour.state));
        for tour in meant {
            match on(console, &visitor.principal.actor, &scope, (kind, tour.id), verb).await {
                Ok(()) => done += 1,
                // It ended or went meanwhile.
                Err(Error::Conflict(_) | Error::NotFound(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        next = found.next;
        if next.is_none() {
            let sentence = say!("Done: {}.", words::counted(done, noun(kind)));
            return Ok(go(console, &list, Notice::good(sentence)));
        }
        if Instant::now() >= deadline {
            break;
        }
    }
    let so_far = words::counted(done, noun(kind));
    let again = fields.without("csrf").with("done", done.to_string());
    let again = again.with("cursor", next.map(|id| id.to_string()).unwrap_or_default());
    let page = Page::new(place(kind), say!("{so_far} so far", so_far)).up(list.clone(), t!("Back to the list"));
    Ok(page
        .still(html! {
            section.card.question {
                p { (rich!("Done: {}. More remain.", so_far)) }
                form method="post" action=(act_path(kind)) {
                    (parts::form_secret(visitor)) (again.hidden())
                    button.primary { (t!("Continue")) }
                    a.button.plain href=(list) { (t!("Stop here")) }
                }
            }
        })
        .into_response())
}
