//! One lane: its facts, and the form that changes what it allows.

use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use malla_access::Permission;
use malla_queue::{Lane, LaneChange, State, UnixMs};
use maud::{Markup, html};

use super::{Held, Pausing, ceiling, gap, held, read_key, standing, switch};
use crate::caller::{Notice, Person};
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::{Refusal, mendable};
use crate::tongue::Text;
use crate::visitor::{Change, Posted, See, Visitor, go};
use crate::{Console, parts, tongue};

const CEILING_HINT: Text = key!("How many tasks may run at once, from 1 to 10000.");
const GAP_HINT: Text = key!("The least time between two starts, up to a day.");

pub(crate) async fn show(
    Shared(console): Shared<Console>,
    visitor: Visitor<See>,
    params: Params,
) -> Result<Page, Refusal> {
    page(&console, &visitor, &params).await
}

pub(crate) async fn page(console: &Console, person: &Person, params: &Params) -> Result<Page, Refusal> {
    let key = read_key(params)?;
    let lane = console.queue.lane(&person.principal.scope(), &key).await?;
    let typed = Typed {
        ceiling: lane.settings.ceiling.to_string(),
        gap_ms: lane.settings.gap_ms.to_string(),
        ..Typed::default()
    };
    around(console, person, &lane, &typed).await
}

async fn around(console: &Console, person: &Person, lane: &Lane, typed: &Typed) -> Result<Page, Refusal> {
    let group = match lane.group {
        Some(group) => console.access.group_names(&[group]).await?.remove(&group),
        None => None,
    };
    let held = held(console, &person.principal.scope(), std::slice::from_ref(lane)).await?;
    Ok(Page::new("/lanes", lane.key.to_string())
        .up("/lanes", t!("Lanes"))
        .live("lane", facts(person, console.now(), lane, &held, group.as_deref()))
        .still(html! { @if person.may(Permission::Change) { (settings(person, lane, typed)) } }))
}

fn facts(person: &Person, now: UnixMs, lane: &Lane, held: &Held, group: Option<&str>) -> Markup {
    let own = Params::from([("lane", lane.key.as_str())]);
    let (tasks, of) = (own.link("/tasks"), |state: State| own.with("state", state.name()).link("/tasks"));
    html! {
        ul.tiles.small-tiles aria-label=(t!("Tasks by state")) {
            @for state in State::ALL {
                li { a.tile href=(of(state)) {
                    span.tile-name { span class={ "dot s-" (state) } {} (parts::state_name(state)) }
                    strong.zero[lane.counts.of(state) == 0] { (crate::words::count(lane.counts.of(state))) }
                } }
            }
        }
        section.card {
            div.card-head { h2 { (t!("Facts")) } (switch(person, lane, held, Pausing::Lane)) }
            dl.facts {
                dt { (t!("Next start")) } dd { (standing(lane, held, now)) }
                dt { (t!("Ceiling")) } dd { (rich!("{} at once", ceiling(lane))) }
                dt { (t!("Gap")) } dd { (gap(lane)) }
                dt { (t!("Group")) }
                dd { @match group { Some(group) => (group), None => span.quiet { (t!("none: seen by admins only")) } } }
                dt { (t!("Tasks")) } dd { a href=(tasks) { (t!("All tasks of this lane")) } }
            }
        }
    }
}

/// What the user typed, and what is wrong with it.
#[derive(Default)]
struct Typed {
    ceiling: String,
    gap_ms: String,
    wrong_ceiling: Option<String>,
    wrong_gap: Option<String>,
}

impl Typed {
    /// Reads and checks field by field, so that each error stands where it was made.
    fn read(fields: &Params) -> (Self, Option<LaneChange>) {
        let (ceiling, gap_ms) = (fields.typed("ceiling").to_owned(), fields.typed("gap_ms").to_owned());
        let new_ceiling = number(&ceiling).and_then(|ceiling| {
            LaneChange { ceiling: Some(ceiling), ..LaneChange::default() }
                .check()
                .map_err(|e| tongue::told(e.to_string()))?;
            Ok(ceiling)
        });
        let new_gap = number(&gap_ms).and_then(|gap_ms| {
            LaneChange { gap_ms: Some(gap_ms), ..LaneChange::default() }
                .check()
                .map_err(|e| tongue::told(e.to_string()))?;
            Ok(gap_ms)
        });
        let change = match (&new_ceiling, &new_gap) {
            (Ok(ceiling), Ok(gap_ms)) => {
                Some(LaneChange { ceiling: Some(*ceiling), gap_ms: Some(*gap_ms), paused: None })
            }
            _ => None,
        };
        (Self { ceiling, gap_ms, wrong_ceiling: new_ceiling.err(), wrong_gap: new_gap.err() }, change)
    }
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| say!("\"{text}\" is not a number: write it in digits", text))
}

fn settings(person: &Person, lane: &Lane, typed: &Typed) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { (t!("Settings")) } }
            form.fields method="post" action="/lane" {
                (parts::form_secret(person))
                input type="hidden" name="key" value=(lane.key);
                (parts::field(t!("Ceiling"), CEILING_HINT.get(), typed.wrong_ceiling.as_deref(), html! {
                    input name="ceiling" inputmode="numeric" value=(typed.ceiling) required;
                }))
                (parts::field(t!("Gap (ms)"), GAP_HINT.get(), typed.wrong_gap.as_deref(), html! {
                    input name="gap_ms" inputmode="numeric" value=(typed.gap_ms) required;
                }))
                div.buttons { button.primary { (t!("Save")) } }
            }
        }
    }
}

pub(crate) async fn change(Shared(console): Shared<Console>, posted: Posted<Change>) -> Result<Response, Refusal> {
    let person: &Person = &posted.visitor;
    let key = read_key(&posted.fields)?;
    let lane = console.queue.lane(&person.principal.scope(), &key).await?;
    let (mut typed, change) = Typed::read(&posted.fields);
    if let Some(change) = change {
        match super::change(&console, person, &key, change).await {
            Ok(_) => {
                return Ok(go(&console, &parts::lane_path(&key), Notice::good(t!("The lane's settings are saved."))));
            }
            Err(error) => typed.wrong_ceiling = Some(mendable(error)?),
        }
    }
    Ok(around(&console, person, &lane, &typed).await?.status(StatusCode::UNPROCESSABLE_ENTITY).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_stands_at_its_field_and_nothing_typed_is_lost() {
        let (typed, change) = Typed::read(&Params::from([("ceiling", "0"), ("gap_ms", "1s")]));
        assert_eq!(change, None);
        assert_eq!((typed.ceiling.as_str(), typed.gap_ms.as_str()), ("0", "1s"));
        assert!(typed.wrong_ceiling.is_some_and(|why| why.contains("from 1 to 10000")));
        assert!(typed.wrong_gap.is_some_and(|why| why.contains("\"1s\" is not a number")));
        let (_, change) = Typed::read(&Params::from([("ceiling", "3"), ("gap_ms", "0")]));
        assert_eq!(change, Some(LaneChange { ceiling: Some(3), gap_ms: Some(0), paused: None }));
    }
}
