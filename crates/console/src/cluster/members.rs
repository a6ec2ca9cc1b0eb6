//! The members of the cluster as a table, machine by machine.

use axum::response::Response;
use malla_cluster::{Load, Member, Overview};
use malla_queue::UnixMs;
use maud::{Markup, html};

use crate::{export, parts, words};

/// A cluster may have a thousand; the page is made anew about once a second.
const ROWS: usize = 200;

pub(super) fn card(now: UnixMs, overview: &Overview) -> Markup {
    if overview.members.is_empty() {
        return parts::empty(t!("No process has announced itself yet: it does so within seconds of its start."), None);
    }
    let mut members: Vec<&Member> = overview.members.iter().collect();
    members.sort_by_key(|member| (&member.machine, member.id));
    let more = members.len().saturating_sub(ROWS);
    members.truncate(ROWS);
    html! {
        section.card {
            div.card-head { h2 { (t!("Members")) } }
            table.rows {
                thead { tr {
                    th { (t!("Member")) } th { (t!("State")) } th { (t!("Machine")) } th { (t!("Roles")) } th { (t!("Version")) } th { (t!("Load")) } th { (t!("Seen")) }
                } }
                tbody { @for member in members { (line(now, overview, member)) } }
            }
            @if more > 0 {
                p.quiet.pad { (rich!("And {} more: {} shows them all.", words::count(more as u64), html! { code { "malla cluster" } })) }
            }
        }
    }
}

/// All of them as a file.
pub(super) fn csv(overview: &Overview) -> Response {
    const COLUMNS: [&str; 12] = [
        "member",
        "state",
        "leads",
        "machine",
        "address",
        "roles",
        "version",
        "tasks",
        "cores",
        "memory_bytes",
        "joined_at",
        "seen_at",
    ];
    let cells = |member: &Member| {
        let (lives, yes) = (overview.lives(member), |yes: bool| if yes { "yes" } else { "no" }.to_owned());
        // What the dead said last says nothing about now.
        let said = |value: String| if lives { value } else { String::new() };
        vec![
            member.name.clone(),
            if lives { "alive" } else { "lost" }.to_owned(),
            yes(overview.leads(member)),
            member.machine.clone(),
            member.address.clone().unwrap_or_default(),
            member.roles.join(" "),
            member.version.clone(),
            said(member.load.tasks.to_string()),
            said(format!("{:.2}", member.load.cpu)),
            said(member.load.memory_bytes.to_string()),
            export::moment(Some(member.joined_at)),
            export::moment(Some(member.seen_at)),
        ]
    };
    export::csv_of("members", &COLUMNS, overview.members.iter().take(export::ROWS_MAX).map(cells).collect())
}

fn line(now: UnixMs, overview: &Overview, member: &Member) -> Markup {
    let medic = member.medic.and_then(|medic| overview.members.iter().find(|other| other.id == medic));
    html! {
        tr {
            td data-label=(t!("Member")) {
                (member.name)
                @if let Some(address) = &member.address { p.note.quiet { (address) } }
                @if let Some(medic) = medic { p.note.quiet { (rich!("supervised by {}", medic.name)) } }
            }
            td data-label=(t!("State")) {
                (badge(overview, member))
                @if overview.leads(member) { " " span.badge.s-running { (t!("leads")) } }
                @if member.to_restart { " " span.badge.s-paused { (t!("restarting")) } }
            }
            td data-label=(t!("Machine")) { (member.machine) }
            td data-label=(t!("Roles")) { (member.roles.join(", ")) }
            td data-label=(t!("Version")) { (member.version) }
            td data-label=(t!("Load")) { (load(overview.lives(member).then_some(member.load))) }
            td data-label=(t!("Seen")) { (words::time(now, member.seen_at)) }
        }
    }
}

fn badge(overview: &Overview, member: &Member) -> Markup {
    html! {
        @if overview.lives(member) { span.badge.s-succeeded { (t!("alive")) } } @else { span.badge.s-failed { (t!("lost")) } }
    }
}

/// What the dead said last says nothing about now.
fn load(load: Option<Load>) -> Markup {
    html! {
        @match load {
            Some(Load { tasks, cpu, memory_bytes }) => {
                (counted!(tasks, "task", "tasks"))
                p.note.quiet {
                    (rich!("{} % of a core,", words::decimal(cpu * 100.0, 0))) " "
                    (words::bytes(usize::try_from(memory_bytes).unwrap_or(usize::MAX)))
                }
            },
            None => span.quiet { "–" },
        }
    }
}
