//! What needs somebody: each with how many there are, a sentence, and the way to it.

use std::time::Duration;

use malla_access::Permission;
use malla_analyze::{Study, StudyState};
use malla_cluster::Overview;
use malla_fetch::{Device, DeviceState};
use malla_notify::{Alert, DELIVER};
use malla_queue::{KindCounts, Lane, UnixMs};
use malla_wiki::{Extraction, ExtractionState};
use maud::{Markup, html};

use crate::caller::Person;
use crate::params::Params;
use crate::pulse::room_of;
use crate::refusal::Refusal;
use crate::tongue::Noun;
use crate::{Console, analyze, cluster, fetch, notify, wiki, words};

/// Something that could have been started this long ago and was not is stuck.
const STUCK_AFTER: Duration = Duration::from_secs(5 * 60);
/// What ended earlier is no news.
const NEWS: Duration = Duration::from_secs(24 * 3600);
/// Alerts that are looked through.
const ALERTS_SEEN: usize = 200;

/// What is known of the house, for whom it concerns.
pub(super) struct Facts<'a> {
    pub(super) now: UnixMs,
    pub(super) kinds: &'a [KindCounts],
    pub(super) lanes: &'a [Lane],
    /// Paused ones, and whether there are more.
    pub(super) paused: (&'a [Lane], bool),
    pub(super) studies: &'a [Study],
    pub(super) extractions: &'a [Extraction],
    pub(super) devices: &'a [Device],
    pub(super) alerts: &'a [Alert],
    /// Admins see the cluster.
    pub(super) cluster: Option<&'a Overview>,
}

pub(super) async fn alerts(console: &Console, person: &Person) -> Result<Vec<Alert>, Refusal> {
    let alerts = console.alerts.alerts(&person.principal.scope(), None, ALERTS_SEEN).await?;
    Ok(alerts.into_iter().filter(Alert::is_firing).collect())
}

pub(super) async fn cluster_of(console: &Console, person: &Person) -> Result<Option<Overview>, Refusal> {
    if !person.may(Permission::Administer) {
        return Ok(None);
    }
    Ok(Some(Overview::of(&*console.cluster, 0, console.now(), console.dead_after).await?))
}

struct Matter {
    /// The state whose colour it has.
    tone: &'static str,
    n: u64,
    more: bool,
    sentence: Noun,
    path: String,
}

fn matter(tone: &'static str, n: usize, sentence: Noun, path: impl Into<String>) -> Matter {
    Matter { tone, n: n as u64, more: false, sentence, path: path.into() }
}

/// The most urgent first.
fn matters(facts: &Facts<'_>) -> Vec<Matter> {
    let Facts { now, kinds, lanes, paused, studies, extractions, devices, alerts, cluster } = facts;
    let mut found = Vec::new();
    if let Some(cluster) = cluster {
        let leaderless = usize::from(cluster.leader().is_none() && !cluster.members.is_empty());
        found.push(matter(
            "failed",
            leaderless,
            Noun {
                one: key!("No process leads: what must be done only once waits."),
                many: key!("No process leads: what must be done only once waits."),
            },
            cluster::CLUSTER,
        ));
        let missing = cluster.roles.iter().filter(|role| role.running < role.assigned).count();
        found.push(matter(
            "failed",
            missing,
            noun!("A role runs less often than it shall.", "Roles run less often than they shall."),
            cluster::CLUSTER,
        ));
    }
    found.push(matter("failed", alerts.len(), noun!("An alert is firing.", "Alerts are firing."), notify::ALERTS));
    let of_notify = |row: &&&KindCounts| row.kind.as_str() == DELIVER;
    let failed: u64 = kinds.iter().filter(|row| of_notify(&row)).map(|row| row.counts.failed).sum();
    let all_failed = Params::from([("state", "failed")]);
    found.push(Matter {
        n: failed,
        ..matter(
            "failed",
            0,
            noun!("A notification was not delivered.", "Notifications were not delivered."),
            all_failed.link(notify::NOTIFICATIONS),
        )
    });
    for row in kinds.iter().filter(|row| !of_notify(&row) && room_of(row.kind.as_str()) != "notify") {
        let own = all_failed.with("kind", row.kind.as_str()).link("/tasks");
        found.push(Matter { n: row.counts.failed, ..matter("failed", 0, failed_of(room_of(row.kind.as_str())), own) });
    }
    let stuck = |lane: &&Lane| {
        let due = lane.ready_at.is_some_and(|at| at.plus(STUCK_AFTER) < *now);
        !lane.paused && due && lane.counts.running == 0
    };
    found.push(matter(
        "paused",
        lanes.iter().filter(stuck).count(),
        noun!("A lane has work, and nobody takes it.", "Lanes have work, and nobody takes it."),
        "/lanes",
    ));
    found.push(Matter {
        more: paused.1,
        ..matter("paused", paused.0.len(), noun!("A lane is paused.", "Lanes are paused."), "/lanes?paused=yes")
    });
    let lately = |at: Option<UnixMs>| at.is_some_and(|at| at.plus(NEWS) > *now);
    let failed = studies.iter().filter(|one| one.state == StudyState::Failed && lately(one.finished_at)).count();
    found.push(matter("failed", failed, noun!("An analysis has failed.", "Analyses have failed."), analyze::ANALYSES));
    let failed =
        extractions.iter().filter(|one| one.state == ExtractionState::Failed && lately(one.finished_at)).count();
    found.push(matter(
        "failed",
        failed,
        noun!("An extraction has failed.", "Extractions have failed."),
        wiki::EXTRACTIONS,
    ));
    // Who said goodbye is missed by nobody.
    let missed = |device: &&Device| !device.left && device.state(*now) == DeviceState::Offline;
    let offline = devices.iter().filter(missed).count();
    found.push(matter(
        "discarded",
        offline,
        noun!("A device is offline.", "Devices are offline."),
        format!("{}?state=offline", fetch::DEVICES),
    ));
    found.retain(|matter| matter.n > 0);
    found
}

fn failed_of(room: &str) -> Noun {
    match room {
        "fetch" => noun!("A task of fetch has failed.", "Tasks of fetch have failed."),
        "wiki" => noun!("A task of wiki has failed.", "Tasks of wiki have failed."),
        "analyze" => noun!("A task of analyses has failed.", "Tasks of analyses have failed."),
        _ => noun!("A task has failed.", "Tasks have failed."),
    }
}

pub(super) fn card(facts: &Facts<'_>) -> Markup {
    let matters = matters(facts);
    html! {
        section.card.attention {
            div.card-head { h2 { (t!("Needs attention")) } }
            @if matters.is_empty() { p.all-well { (t!("Nothing: all is well.")) } }
            @else {
                ul.matters {
                    @for one in &matters {
                        li { a href=(one.path) {
                            span class={ "badge s-" (one.tone) } { (words::count(one.n)) @if one.more { "+" } }
                            span { @if one.n == 1 && !one.more { (one.sentence.one) } @else { (one.sentence.many) } }
                        } }
                    }
                }
            }
        }
    }
}
