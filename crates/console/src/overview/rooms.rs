//! The rooms at a glance: the last hour of each in a small drawing, and what waits now.

use malla_analyze::ROOM as ANALYZE;
use malla_fetch::ROOM as FETCH;
use malla_notify::{ROOM as NOTIFY, Step};
use malla_queue::{KindCounts, Scope, StateCounts, UnixMs};
use malla_wiki::ROOM as WIKI;
use maud::{Markup, html};

use crate::caller::Person;
use crate::pulse::{Beat, Hour, MINUTES, room_of};
use crate::refusal::Refusal;
use crate::spark::spark;
use crate::{Console, analyze, fetch, notify, wiki, words};

/// A room, and how it went.
pub(super) struct Room {
    name: &'static str,
    path: &'static str,
    hour: Hour,
    counts: StateCounts,
}

pub(super) async fn find(console: &Console, person: &Person, kinds: &[KindCounts]) -> Result<Vec<Room>, Refusal> {
    let scope = person.principal.scope();
    let counts = |room: &str| {
        let mut sum = StateCounts::default();
        kinds.iter().filter(|row| room_of(row.kind.as_str()) == room).for_each(|row| sum.add(&row.counts));
        sum
    };
    let of = |name, path, room: &str| Room { name, path, hour: console.pulse.hour(&scope, room), counts: counts(room) };
    Ok(vec![
        Room { hour: delivered(console, &scope).await?, ..of(t!("Notify"), notify::NOTIFICATIONS, NOTIFY) },
        of(t!("Fetch"), fetch::JOBS, FETCH),
        of(t!("Wiki"), wiki::WIKI, WIKI),
        of(t!("Analyses"), analyze::ANALYSES, ANALYZE),
    ])
}

/// Notify keeps statistics of its own: they outlive the process, and tell events from deliveries.
async fn delivered(console: &Console, scope: &Scope) -> Result<Hour, Refusal> {
    let (step, now) = (Step::Minute, console.now());
    let from = step.begin(now).minus(step.lasts() * (MINUTES as u32 - 1));
    let mut hour = [Beat::default(); MINUTES];
    for (at, figures) in console.statistics.figures(scope, None, step, from, UnixMs(now.0 + 1)).await? {
        let nth = usize::try_from((at.0 - from.0) / 60_000).ok();
        if let Some(place) = nth.and_then(|nth| hour.get_mut(nth)) {
            *place = Beat { came: figures.events, done: figures.delivered, failed: figures.failed };
        }
    }
    Ok(hour)
}

pub(super) fn cards(rooms: &[Room]) -> Markup {
    html! {
        ul.room-cards aria-label=(t!("Rooms")) { @for room in rooms { li { (card(room)) } } }
    }
}

fn card(room: &Room) -> Markup {
    let sum = |of: fn(&Beat) -> u64| words::count(room.hour.iter().map(of).sum());
    let waiting = room.counts.queued + room.counts.running + room.counts.notified;
    html! {
        a.room-card href=(room.path) {
            span.room-head {
                strong { (room.name) }
                span.quiet { (rich!("{} waiting", words::count(waiting))) }
            }
            (spark(room.name, &room.hour))
            span.room-foot {
                span { (rich!("{} came", sum(|beat| beat.came))) }
                span.good { (rich!("{} done", sum(|beat| beat.done))) }
                span.bad[room.hour.iter().any(|beat| beat.failed > 0)] { (rich!("{} failed", sum(|beat| beat.failed))) }
            }
        }
    }
}
