//! The overview: what needs attention, the rooms at a glance, how much is in which state, what is held up.

mod attention;
mod rooms;

use axum::extract::State as Shared;
use malla_access::Permission;
use malla_notify::SubscriptionState;
use malla_queue::{KindCounts, Lane, LaneFilter, State, StateCounts, TaskFilter, TaskSummary, UnixMs};
use maud::{Markup, html};

use crate::caller::Person;
use crate::frame::Page;
use crate::params::Params;
use crate::refusal::Refusal;
use crate::visitor::{See, Visitor};
use crate::{Console, analyze, fetch, lanes, parts, wiki, words};

const ROWS: usize = 8;
/// Of the rooms' own lists, only what is going on.
const LATEST: usize = 4;
/// Looked through for what has failed.
const SEEN: usize = 50;
/// Failed tasks that are looked at for the few that failed last.
const FAILED_SEEN: usize = 50;
/// Lanes come in the order of their keys: this many are looked through for the longest queues.
const LANES_SEEN: usize = 500;

pub(crate) async fn show(Shared(console): Shared<Console>, visitor: Visitor<See>) -> Result<Page, Refusal> {
    page(&console, &visitor).await
}

pub(crate) async fn page(console: &Console, person: &Person) -> Result<Page, Refusal> {
    let scope = person.principal.scope();
    let failed = TaskFilter { states: vec![State::Failed], ..TaskFilter::all(scope.clone()) };
    let (any, paused) = (LaneFilter::default(), LaneFilter { paused: Some(true), ..LaneFilter::default() });
    let (kinds, failed, seen, paused, jobs, studies, extractions, devices) = tokio::try_join!(
        console.queue.counts(&scope),
        console.queue.tasks(&failed, None, FAILED_SEEN),
        console.queue.lanes(&scope, &any, None, LANES_SEEN),
        console.queue.lanes(&scope, &paused, None, ROWS),
        console.fetch.jobs(&scope, None, LATEST),
        console.analyze.studies(&scope, None, SEEN),
        console.wikis.extractions(&scope, None, SEEN),
        console.fetch.devices(&scope),
    )?;
    let mut total = StateCounts::default();
    kinds.iter().for_each(|kind| total.add(&kind.counts));
    let page = Page::new("/", t!("Overview"));
    let nothing = jobs.is_empty() && studies.is_empty() && extractions.is_empty();
    if total.total() == 0 && seen.lanes.is_empty() && nothing {
        return Ok(page.live("tiles", first_steps(person)));
    }
    let mut paused = paused;
    let held = lanes::held(console, &scope, &paused.lanes).await?;
    // What a disabled subscription would have sent is gone: nothing waits there.
    paused.lanes.retain(|lane| held.get(&lane.key).is_none_or(|one| one.state != SubscriptionState::Disabled));
    let now = console.now();
    let (rooms, alerts, cluster) = tokio::try_join!(
        rooms::find(console, person, &kinds),
        attention::alerts(console, person),
        attention::cluster_of(console, person),
    )?;
    let attention = attention::card(&attention::Facts {
        now,
        kinds: &kinds,
        lanes: &seen.lanes,
        paused: (&paused.lanes, paused.next.is_some()),
        studies: &studies,
        extractions: &extractions,
        devices: &devices,
        alerts: &alerts,
        cluster: cluster.as_ref(),
    });
    let partly = seen.next.is_some();
    let busiest = busiest(seen.lanes);
    Ok(page
        .live("attention", attention)
        .live("rooms", rooms::cards(&rooms))
        .live("tiles", tiles(&total))
        .live("failures", failures(person, now, &latest(failed.tasks)))
        .live(
            "lanes",
            html! {
                div.columns {
                    (longest(&busiest, partly))
                    (paused_lanes(&paused.lanes, paused.next.is_some()))
                }
            },
        )
        .live("jobs", fetch::latest_jobs(now, &jobs))
        .live("extractions", wiki::latest(now, &extractions[..extractions.len().min(LATEST)]))
        .live("analyses", analyze::latest(now, &studies[..studies.len().min(LATEST)]))
        .live("kinds", kinds_table(&kinds)))
}

fn first_steps(person: &Person) -> Markup {
    if !person.may(Permission::Administer) && person.principal.groups.is_empty() {
        return parts::empty(
            t!("You are in no group yet, so there is nothing to see: ask an admin to add you to one."),
            None,
        );
    }
    if !person.may(Permission::Change) {
        return parts::empty(t!("Nothing has been submitted yet. What your groups submit will be shown here."), None);
    }
    parts::empty_with_command(
        t!("Nothing has been submitted yet. Try a first task, which does nothing but succeed:"),
        "malla tasks submit --lane drill/hello --kind drill '{}'",
    )
}

fn tiles(total: &StateCounts) -> Markup {
    html! {
        ul.tiles aria-label=(t!("Tasks by state")) {
            @for state in State::ALL {
                li { a.tile href=(tasks_in(state)) {
                    span.tile-name { span class={ "dot s-" (state) } {} (parts::state_name(state)) }
                    strong.zero[total.of(state) == 0] { (words::count(total.of(state))) }
                } }
            }
        }
    }
}

fn tasks_in(state: State) -> String {
    Params::from([("state", state.name())]).link("/tasks")
}

/// Those that failed last, whenever they were submitted.
fn latest(mut tasks: Vec<TaskSummary>) -> Vec<TaskSummary> {
    tasks.sort_by_key(|task| std::cmp::Reverse(task.finished_at));
    tasks.truncate(ROWS);
    tasks
}

fn failures(person: &Person, now: UnixMs, tasks: &[TaskSummary]) -> Markup {
    html! {
        section.card {
            div.card-head {
                h2 { (t!("Recent failures")) }
                @if !tasks.is_empty() { a href=(tasks_in(State::Failed)) { (t!("All failed tasks")) } }
            }
            @if tasks.is_empty() {
                p.all-well { (t!("No task has failed.")) }
            } @else {
                table.rows {
                    thead { tr {
                        th { (t!("Task")) } th { (t!("Kind")) } th { (t!("Lane")) } th.num { (t!("Failures")) } th { (t!("Failed", "when")) } th {}
                    } }
                    tbody { @for task in tasks { tr {
                        td data-label=(t!("Task")) { (parts::task_link(task.id)) }
                        td.whole-word data-label=(t!("Kind")) { (task.kind) }
                        td data-label=(t!("Lane")) { (parts::lane_link(&task.lane)) }
                        td.num data-label=(t!("Failures")) { (task.failures) }
                        td data-label=(t!("Failed", "when")) { (parts::moment(now, task.finished_at)) }
                        td.end { (parts::task_buttons(person, task.id, task.state)) }
                    } } }
                }
            }
        }
    }
}

fn busiest(mut lanes: Vec<Lane>) -> Vec<Lane> {
    lanes.retain(|lane| lane.counts.queued > 0);
    lanes.sort_by_key(|lane| std::cmp::Reverse(lane.counts.queued));
    lanes.truncate(ROWS);
    lanes
}

fn longest(lanes: &[Lane], partly: bool) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { (t!("Longest queues")) } a href="/lanes" { (t!("All lanes")) } }
            @if lanes.is_empty() { p.all-well { (t!("Nothing waits.")) } }
            @else {
                table.rows {
                    thead { tr { th { (t!("Lane")) } th.num { (t!("Queued")) } th.num { (t!("Running")) } th.wide-only { "" } } }
                    tbody { @for lane in lanes { tr {
                        td data-label=(t!("Lane")) { (parts::lane_link(&lane.key)) }
                        td.num data-label=(t!("Queued")) { (words::count(lane.counts.queued)) }
                        td.num data-label=(t!("Running")) { (words::count(lane.counts.running)) }
                        td.wide-only { (parts::share(&lane.counts)) }
                    } } }
                }
            }
            @if partly { p.quiet.note { (rich!("Among the first {} lanes.", LANES_SEEN)) } }
        }
    }
}

fn paused_lanes(lanes: &[Lane], more: bool) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { (t!("Paused lanes")) } @if more { a href="/lanes?paused=yes" { (t!("All paused lanes")) } } }
            @if lanes.is_empty() { p.all-well { (t!("No lane is paused.")) } }
            @else {
                table.rows {
                    thead { tr { th { (t!("Lane")) } th.num { (t!("Waiting")) } } }
                    tbody { @for lane in lanes { tr {
                        td data-label=(t!("Lane")) { (parts::lane_link(&lane.key)) }
                        td.num data-label=(t!("Waiting")) { (words::count(lane.counts.queued + lane.counts.paused)) }
                    } } }
                }
            }
        }
    }
}

fn kinds_table(kinds: &[KindCounts]) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { (t!("Kinds")) } }
            table.rows.grid {
                thead { tr { th { (t!("Kind")) } @for state in State::ALL { th.num { (parts::state_name(state)) } } } }
                tbody { @for row in kinds { tr {
                    td data-label=(t!("Kind")) { a href=(of_kind(row).link("/tasks")) { (row.kind) } }
                    @for state in State::ALL {
                        td.num data-label=(parts::state_name(state)) {
                            @let path = of_kind(row).with("state", state.name()).link("/tasks");
                            (parts::tally(row.counts.of(state), &path))
                        }
                    }
                } } }
            }
        }
    }
}

fn of_kind(row: &KindCounts) -> Params {
    Params::from([("kind", row.kind.as_str())])
}
