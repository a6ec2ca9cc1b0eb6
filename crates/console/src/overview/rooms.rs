//! The rooms at a glance: the last hour of each in a small drawing, and what waits now.

use malla_analyze::ROOM as ANALYZE;
use malla_fetch::{Job, ROOM as FETCH};
use malla_notify::{ROOM as NOTIFY, Step};
use malla_queue::{KindCounts, Scope, StateCounts, UnixMs};
use malla_wiki::ROOM as WIKI;
use maud::{Markup, html};

use crate::caller::Person;
use crate::pulse::{Beat, Hour, MINUTES, room_of};
use crate::refusal::Refusal;
use crate::spark::spark;
use crate::{Console, analyze, fetch, notify, wiki, words};

/// Of a group, the newest are looked at.
const JOBS_SEEN: usize = 100;

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
    let of = |name, path, room: &str| Room {
        name,
        path,
        hour: console.pulse.hour(&scope, room, kinds),
        counts: counts(room),
    };
    let mut fetching = of(t!("Fetch"), fetch::JOBS, FETCH);
    if scope != Scope::All {
        (fetching.hour, fetching.counts) = fetched(console.now(), &console.fetch.jobs(&scope, None, JOBS_SEEN).await?);
    }
    Ok(vec![
        Room { hour: delivered(console, &scope).await?, ..of(t!("Notify"), notify::NOTIFICATIONS, NOTIFY) },
        fetching,
        of(t!("Wiki"), wiki::WIKI, WIKI),
        of(t!("Analyses"), analyze::ANALYSES, ANALYZE),
    ])
}

/// Where the last hour begins; its last minute is the one that runs.
fn beginning(now: UnixMs) -> UnixMs {
    Step::Minute.begin(now).minus(Step::Minute.lasts() * (MINUTES as u32 - 1))
}

fn minute(hour: &mut Hour, from: UnixMs, at: UnixMs) -> Option<&mut Beat> {
    hour.get_mut(usize::try_from((at.0 - from.0).div_euclid(60_000)).ok()?)
}

/// Pages belong to nobody, so their tasks tell the members of a group nothing; its jobs do. What was answered counts when
/// the job ended, or now.
fn fetched(now: UnixMs, jobs: &[Job]) -> (Hour, StateCounts) {
    let (from, mut hour, mut counts) = (beginning(now), [Beat::default(); MINUTES], StateCounts::default());
    for job in jobs {
        if let Some(beat) = minute(&mut hour, from, job.id.0.submitted_at()) {
            beat.came += job.total;
        }
        if let Some(beat) = minute(&mut hour, from, job.finished_at.unwrap_or(now)) {
            beat.done += job.done;
        }
        if !job.is_over() {
            counts.queued += job.total.saturating_sub(job.done);
        }
    }
    (hour, counts)
}

/// Notify keeps statistics of its own: they outlive the process, and tell events from deliveries.
async fn delivered(console: &Console, scope: &Scope) -> Result<Hour, Refusal> {
    let (now, mut hour) = (console.now(), [Beat::default(); MINUTES]);
    let from = beginning(now);
    for (at, figures) in console.statistics.figures(scope, None, Step::Minute, from, UnixMs(now.0 + 1)).await? {
        if let Some(place) = minute(&mut hour, from, at) {
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

#[cfg(test)]
mod tests {
    use malla_fetch::JobId;
    use malla_queue::TaskId;

    use super::*;

    #[test]
    fn the_pages_of_a_group_are_those_of_its_jobs() {
        let now = UnixMs(1_800_000_030_000);
        let ago = |minutes: i64| UnixMs(now.0 - minutes * 60_000);
        let job = |asked: i64, total: u64, done: u64, ended: Option<i64>| Job {
            id: JobId(TaskId::first_at(ago(asked))),
            group: None,
            total,
            done,
            good: done,
            cached: 0,
            cancelled: false,
            finished_at: ended.map(ago),
        };
        let (hour, counts) = fetched(now, &[job(0, 9, 2, None), job(5, 3, 3, Some(4)), job(90, 7, 7, Some(80))]);
        let seen: Vec<(usize, u64, u64)> = hour.iter().enumerate().map(|(n, beat)| (n, beat.came, beat.done)).collect();
        let seen: Vec<_> = seen.into_iter().filter(|(_, came, done)| came + done > 0).collect();
        assert_eq!(seen, [(54, 3, 0), (55, 0, 3), (59, 9, 2)]);
        assert_eq!(counts.queued, 7);
    }
}
