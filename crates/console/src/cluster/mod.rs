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
use crate::tongue::Text;
use crate::visitor::{Administer, Posted, Visitor, go};
use crate::{Console, parts, words};

pub(crate) const CLUSTER: &str = "/cluster";
pub(crate) const RESTART: &str = "/cluster/restart";

const RESTARTS_SHOWN: usize = 20;
const TERMS_SHOWN: usize = 10;
const RESTART_WARNING: Text = key!(
    "Every supervised process is replaced, one after the other, and only while every role runs as often as it shall. What a process has in hand is finished or goes back first."
);
const ALONE: Text = key!(
    "One process: everything runs here. To run on several machines, start this on each of them, with one PostgreSQL for all:"
);
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
    Ok(Page::new(CLUSTER, t!("Cluster"))
        .lead(html! { (t!("The processes that work together. One of them leads, and does what must be done only once.")) })
        .csv("/cluster.csv".to_owned())
        .api(person, "/api/v1/cluster")
        .live("alone", html! { @if alone { (parts::empty_with_command(ALONE.get(), ALONE_COMMAND)) } })
        .live("leader", facts(now, &overview))
        .live("rolling", rolling(person, &overview))
        .live("members", members::card(now, &overview))
        .live("roles", html! { div.columns { (roles(&overview)) (history::terms(now, &terms)) } })
        .live("restarts", history::restarts(now, &overview.restarts)))
}

/// The members as a file.
pub(crate) async fn csv(Shared(console): Shared<Console>, _: Visitor<Administer>) -> Result<Response, Refusal> {
    let overview = Overview::of(&*console.cluster, 0, console.now(), console.dead_after).await?;
    Ok(members::csv(&overview))
}

fn facts(now: UnixMs, overview: &Overview) -> Markup {
    let living = overview.members.iter().filter(|member| overview.lives(member)).count();
    let lost = overview.members.len() - living;
    html! {
        section.card {
            div.card-head { h2 { (t!("Now")) } }
            dl.facts {
                dt { (t!("Leader")) }
                dd {
                    @match overview.leader() {
                        Some(leader) => { (leader.name) span.quiet { (rich!(", took over {}", words::time(now, leader.since))) } },
                        None => span.badge.s-failed { (t!("nobody leads")) },
                    }
                }
                dt { (t!("Term")) }
                dd { @match &overview.leadership { Some(last) => (last.term), None => span.quiet { "–" } } }
                dt { (t!("Members")) }
                dd { (rich!("{} alive", living)) @if lost > 0 { (rich!(", {} lost", lost)) } }
                @if let Some(last) = &overview.rolling {
                    dt { (t!("Rolling restart")) }
                    dd {
                        @match last.ended_at {
                            Some(at) => { (rich!("ended {}", words::time(now, at))) },
                            None => { (rich!("begun {}", words::time(now, last.begun_at))) },
                        }
                        span.quiet { (rich!(", asked for by {}", last.by)) }
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
                    0 => (t!("Processes are being restarted: the last one is on its way.")),
                    left => { (rich!("Processes are being restarted, one by one: {} to go.", left)) },
                }
            }
        } @else if overview.is_supervised() {
            (parts::asking_form(person, t!("Restart all…"), RESTART, html! {
                p { (RESTART_WARNING) }
                button.danger { (t!("Restart all, one by one")) }
            }))
        }
    }
}

fn roles(overview: &Overview) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { (t!("Roles")) } }
            @if overview.roles.is_empty() { p.quiet.pad { (t!("Nothing runs.")) } }
            @else {
                table.rows {
                    thead { tr { th { (t!("Role")) } th.num { (t!("Running")) } th.num { (t!("Assigned")) } th {} } }
                    tbody { @for count in &overview.roles { tr {
                        td data-label=(t!("Role")) { (count.role) }
                        td.num data-label=(t!("Running")) { (count.running) }
                        td.num data-label=(t!("Assigned")) {
                            @if count.assigned == 0 { span.quiet { "–" } } @else { (count.assigned) }
                        }
                        td.end {
                            @if count.running < count.assigned {
                                span.badge.s-paused { (rich!("{} missing", count.assigned - count.running)) }
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
        Ok(_) => Notice::good(t!("The restart has begun: one process after the other.")),
        Err(Error::Conflict(why)) => Notice::bad(format!("{}.", words::capital(&why))),
        Err(error) => return Err(error.into()),
    };
    Ok(go(&console, CLUSTER, notice))
}
