//! A verb on all tours of a kind that match.

use axum::extract::State as Shared;
use axum::response::Response;
use malla_fetch::tour::{Tour, TourId, TourKind};
use malla_queue::{Error, UnixMs};
use maud::{Markup, html};

use super::act::{Verb, on};
use super::found::{NAMES, Wanted, find};
use super::{noun, place, state_badge, state_name};
use crate::caller::Person;
use crate::each::{Asked, CHOSEN_MAX, Chosen, Each};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, Visitor};
use crate::{Console, words};

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

fn each<'a>(kind: TourKind, verb: Verb, act: &'a str, list: &'a str) -> Each<'a> {
    let danger = matches!(verb, Verb::Cancel | Verb::Delete);
    Each { thing: noun(kind), place: place(kind), act, name: verb.told(), danger, list }
}

async fn ask(console: &Console, person: &Person, kind: TourKind, params: &Params) -> Result<Page, Refusal> {
    let verb = Verb::read(params.typed("verb"))?;
    let wanted = Wanted::read(kind, params)?;
    let (act, list) = (act_path(kind), wanted.params.link(place(kind)));
    let found = find(console, &person.principal.scope(), &wanted, None, COUNTED_MAX).await?;
    let fitting: Vec<&Tour> = found.tours.iter().filter(|tour| verb.fits(tour.state)).collect();
    let state = wanted.state.map(|state| (t!("state"), state_name(state).to_owned()));
    let search = params.get("search").map(|search| (t!("Search"), search.to_owned()));
    let now = console.now();
    let choice = |tour: &&Tour| (tour.id.to_string(), choice(now, tour));
    let asked = Asked {
        count: fitting.len() as u64,
        more: found.next.is_some(),
        consequence: verb.consequence(kind),
        conditions: state.into_iter().chain(search).collect(),
        fields: wanted.params.with("verb", verb.name()).with("until", now.0.to_string()),
        choices: fitting.iter().take(CHOSEN_MAX + 1).map(choice).collect(),
    };
    Ok(each(kind, verb, &act, &list).asking(person, asked))
}

/// What it is about, and since when.
fn choice(now: UnixMs, tour: &Tour) -> Markup {
    let spec: serde_json::Value = serde_json::from_str(&tour.spec).unwrap_or_default();
    let about = ["/url", "/seeds/0", "/urls/0"].into_iter().find_map(|place| spec.pointer(place)?.as_str());
    html! {
        (about.unwrap_or_default()) " " (state_badge(tour.state)) " "
        span.quiet { (words::time(now, tour.id.0.submitted_at())) }
    }
}

async fn act(console: &Console, kind: TourKind, posted: &Posted<Change>) -> Result<Response, Refusal> {
    let Posted { visitor, fields } = posted;
    let (verb, wanted) = (Verb::read(fields.typed("verb"))?, Wanted::read(kind, fields)?);
    let from: Option<TourId> = fields.get("cursor").map(str::parse).transpose()?;
    let (act, list) = (act_path(kind), fields.only(NAMES).link(place(kind)));
    let (chosen, scope, wanted) = (&Chosen::read(fields), &visitor.principal.scope(), &wanted);
    let work = |below: Option<TourId>| async move {
        let found = find(console, scope, wanted, below, STEP).await?;
        let means = |tour: &&Tour| chosen.means(&tour.id.to_string(), tour.id.0.submitted_at());
        let mut done = 0;
        for tour in found.tours.iter().filter(means).filter(|tour| verb.fits(tour.state)) {
            match on(console, &visitor.principal.actor, scope, (kind, tour.id), verb).await {
                Ok(()) => done += 1,
                // It ended or went meanwhile.
                Err(Error::Conflict(_) | Error::NotFound(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok((done, found.next))
    };
    each(kind, verb, &act, &list).work(console, posted, from, work).await
}
