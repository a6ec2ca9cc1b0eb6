//! The cluster: who is there, who leads, what runs where, and the rolling restart. For admins.

mod history;
mod members;

use axum::extract::State as Shared;
use axum::response::Response;
use malla_cluster::{Overview, restart as begin};
use malla_queue::{Act, Error, UnixMs};
use maud::{Markup, html};

use crate::caller::{Notice, Person};
use crate::frame::Page;
use crate::refusal::Refusal;
use crate::visitor::{Administer, Posted, Visitor, go};
use crate::{Console, parts, words};

pub(crate) const CLUSTER: &str = "/cluster";
pub(crate) const RESTART: &str = "/cluster/restart";

const RESTARTS_SHOWN: usize = 20;
const TERMS_SHOWN: usize = 10;
const RESTART_WARNING: &str = "Every supervised process is replaced, one after the other, and only while every role runs as \
                               often as it shall. What a process has in hand is finished or goes back first.";
const ALONE: &str = "One process: everything runs here. To run on several machines, start this on each of them, with one \
                     PostgreSQL for all:";
const ALONE_COMMAND: &str = "malla supervise --store postgres://malla@db.example.org/malla";

pub(crate) async fn show(Shared(console): Shared<Console>, visitor: Visitor<Administer>) -> Result<Page, Refusal> {
    page(&console, &visitor).await
}

/// Whoever calls this has seen to it that the person is an admin.
pub(crate) async fn page(console: &Console, person: &Person) -> Result<Page, Refusal> {
    let now = console.now();
    let overview = Overview::of(&*console.cluster, RESTARTS_SHOWN, now, console.dead_after).await?;
    let terms = console.cluster.terms(TERMS_SHOWN).await?;
    let alone = overview.members.len() <= 1 && !overview.is_supervised();
    Ok(Page::new(CLUSTER, "Cluster")
        .lead(html! { "The processes that work together. One of them leads, and does what must be done only once." })
        .live("alone", html! { @if alone { (parts::empty_with_command(ALONE, ALONE_COMMAND)) } })
        .live("leader", facts(now, &overview))
        .live("rolling", rolling(person, &overview))
        .live("members", members::card(now, &overview))
        .live("roles", html! { div.columns { (roles(&overview)) (history::terms(now, &terms)) } })
        .live("restarts", history::restarts(now, &overview.restarts)))
}

fn facts(now: UnixMs, overview: &Overview) -> Markup {
    let living = overview.members.iter().filter(|member| overview.lives(member)).count();
    let lost = overview.members.len() - living;
    html! {
        section.card {
            div.card-head { h2 { "Now" } }
            dl.facts {
                dt { "Leader" }
                dd {
                    @match overview.leader() {
                        Some(leader) => { (leader.name) span.quiet { ", took over " (words::time(now, leader.since)) } },
                        None => span.badge.s-failed { "nobody leads" },
                    }
                }
                dt { "Term" }
                dd { @match &overview.leadership { Some(last) => (last.term), None => span.quiet { "–" } } }
                dt { "Members" }
                dd { (living) " alive" @if lost > 0 { ", " (lost) " lost" } }
                @if let Some(last) = &overview.rolling {
                    dt { "Rolling restart" }
                    dd {
                        @match last.ended_at {
                            Some(at) => { "ended " (words::time(now, at)) },
                            None => { "begun " (words::time(now, last.begun_at)) },
                        }
                        span.quiet { ", asked for by " (last.by) }
                        @if let Some(note) = &last.note { p.note { (words::capital(note)) } }
                    }
                }
            }
        }
    }
}

/// How far a rolling restart is, or the button that begins one.
fn rolling(person: &Person, overview: &Overview) -> Markup {
    html! {
        @if overview.under_way().is_some() {
            p.notice role="status" {
                @match overview.left() {
                    0 => "Processes are being restarted: the last one is on its way.",
                    left => { "Processes are being restarted, one by one: " (left) " to go." },
                }
            }
        } @else if overview.is_supervised() {
            (parts::asking_form(person, "Restart all…", RESTART, html! {
                p { (RESTART_WARNING) }
                button.danger { "Restart all, one by one" }
            }))
        }
    }
}

fn roles(overview: &Overview) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { "Roles" } }
            @if overview.roles.is_empty() { p.quiet.pad { "Nothing runs." } }
            @else {
                table.rows {
                    thead { tr { th { "Role" } th.num { "Running" } th.num { "Assigned" } th {} } }
                    tbody { @for count in &overview.roles { tr {
                        td data-label="Role" { (count.role) }
                        td.num data-label="Running" { (count.running) }
                        td.num data-label="Assigned" {
                            @if count.assigned == 0 { span.quiet { "–" } } @else { (count.assigned) }
                        }
                        td.end {
                            @if count.running < count.assigned {
                                span.badge.s-paused { (count.assigned - count.running) " missing" }
                            }
                        }
                    } } }
                }
            }
        }
    }
}

/// Begins a rolling restart.
pub(crate) async fn restart(Shared(console): Shared<Console>, posted: Posted<Administer>) -> Result<Response, Refusal> {
    let act = Act::new(&posted.visitor.principal.actor, "cluster.restart", "cluster");
    let notice = match begin(&*console.cluster, act, console.now(), console.dead_after).await {
        Ok(_) => Notice::good("The restart has begun: one process after the other."),
        Err(Error::Conflict(why)) => Notice::bad(format!("{}.", words::capital(&why))),
        Err(error) => return Err(error.into()),
    };
    Ok(go(&console, CLUSTER, notice))
}
