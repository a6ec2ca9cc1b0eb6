//! One analysis: how far it is, its answers, and its end.

use axum::extract::{Path, State as Shared};
use axum::response::Response;
use malla_analyze::{Only, Study, StudyState};
use malla_queue::{Act, Error, Lane};
use maud::{Markup, html};

use super::answers::Answers;
use super::{ANALYSES, facts, path_of, read_id, state_name};
use crate::caller::{Notice, Person};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{Change, Posted, See, Visitor, go};
use crate::{Console, groups, words};

/// Asks for the answers of what is known so far: they cost too much to be made at each look.
const SO_FAR: &str = "so_far";

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    let study = find(&console, &visitor, &id).await?;
    if params.get(SO_FAR).is_none() || study.state.is_over() {
        return whole(&console, &visitor, &study).await;
    }
    let id = study.id;
    let known = Answers::so_far(&console, study).await?;
    // If it has come to its end meanwhile, what was read may have been on its way out.
    let study = console.analyze.study(&visitor.principal.scope(), id).await?;
    if study.state.is_over() {
        return whole(&console, &visitor, &study).await;
    }
    page(&console, &visitor, &study, html! {}, Some(known)).await
}

/// The page with its answers, if there are any. When it is over, nothing changes any more.
async fn whole(console: &Console, person: &Person, study: &Study) -> Result<Page, Refusal> {
    let answers = answers(console, study).await?;
    let page = page(console, person, study, answers, None).await?;
    Ok(if study.state.is_over() { page.at_rest() } else { page })
}

/// The page for somebody who has it open.
pub(crate) async fn live(console: &Console, person: &Person, id: &str, params: &Params) -> Result<Page, Refusal> {
    let study = find(console, person, id).await?;
    let answers = match params.get(SO_FAR) {
        // What was known is on the page, and stays: the answers are elsewhere.
        Some(_) => ready(&study),
        None => answers(console, &study).await?,
    };
    page(console, person, &study, answers, None).await
}

async fn find(console: &Console, person: &Person, id: &str) -> Result<Study, Refusal> {
    Ok(console.analyze.study(&person.principal.scope(), read_id(id)?).await?)
}

async fn page(
    console: &Console,
    person: &Person,
    study: &Study,
    answers: Markup,
    so_far: Option<Markup>,
) -> Result<Page, Refusal> {
    let lane = lane(console, person, study).await?;
    let group = groups::names(console, [study.group].into_iter()).await?.into_values().next();
    let now = console.now();
    let page = Page::new(ANALYSES, say!("Analysis {}", study.id))
        .up(ANALYSES, t!("Analyses"))
        .lead(html! {
            (rich!("{}, begun {}", study.kind, words::time(now, study.created_at)))
            @if let Some(group) = &group { " " (rich!("for {}", group)) }
        })
        .live("progress", facts::how_far(now, study))
        .live("figures", facts::tiles(now, study))
        .live("cancel", facts::cancel_form(person, study))
        .live("answers", answers);
    let page = match so_far {
        Some(so_far) => page.still(so_far),
        None => page,
    };
    Ok(page
        .live("bad", facts::bad_lines(&study.lines))
        .live("asked", facts::asked(study, lane.as_ref()))
        .live("forget", facts::forget_form(person, study)))
}

/// It has none before its first records.
async fn lane(console: &Console, person: &Person, study: &Study) -> Result<Option<Lane>, Refusal> {
    match console.queue.lane(&person.principal.scope(), &study.id.lane()).await {
        Ok(lane) => Ok(Some(lane)),
        Err(Error::NotFound(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

async fn answers(console: &Console, study: &Study) -> Result<Markup, Refusal> {
    Ok(match study.state {
        StudyState::Succeeded => Answers::made(console, study).await?.cards(),
        StudyState::Collecting | StudyState::Computing if study.mapped > 0 => html! {
            div.buttons { a.button href={ (path_of(study.id)) "?" (SO_FAR) "=1" } { (t!("Show the answers so far")) } }
        },
        _ => html! {},
    })
}

fn ready(study: &Study) -> Markup {
    html! {
        @if study.state.is_over() {
            p.notice.good[study.state == StudyState::Succeeded] {
                (t!("It has come to its end.")) " " a href=(path_of(study.id)) { (t!("Show how it ended")) }
            }
        }
    }
}

pub(crate) async fn cancel(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    posted: Posted<Change>,
) -> Result<Response, Refusal> {
    let study = find(&console, &posted.visitor, &id).await?;
    if study.state.is_over() {
        let notice =
            Notice::bad(say!("The analysis was over already ({}): nothing was cancelled.", state_name(study.state)));
        return Ok(go(&console, &path_of(study.id), notice));
    }
    end(&console, &posted, &study, Only::Cancel, "analysis.cancel").await?;
    let notice = Notice::good(t!("The analysis is cancelled: its batches are dropped."));
    Ok(go(&console, &path_of(study.id), notice))
}

pub(crate) async fn forget(
    Shared(console): Shared<Console>,
    Path(id): Path<String>,
    posted: Posted<Change>,
) -> Result<Response, Refusal> {
    let study = find(&console, &posted.visitor, &id).await?;
    if !study.state.is_over() {
        let notice = Notice::bad(t!("The analysis is under way: cancel it before it is forgotten."));
        return Ok(go(&console, &path_of(study.id), notice));
    }
    end(&console, &posted, &study, Only::Forget, "analysis.forget").await?;
    Ok(go(&console, ANALYSES, Notice::good(say!("The analysis {} is forgotten.", study.id))))
}

async fn end(
    console: &Console,
    posted: &Posted<Change>,
    study: &Study,
    only: Only,
    action: &'static str,
) -> Result<(), Refusal> {
    let principal = &posted.visitor.principal;
    let act = Act::new(&principal.actor, action, study.id.to_string());
    Ok(console.analyze.cancel(&principal.scope(), study.id, only, act).await?)
}
