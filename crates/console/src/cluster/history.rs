//! What was: who led when, and which processes were started again.

use malla_cluster::{PastTerm, Restarted, Why};
use malla_queue::UnixMs;
use maud::{Markup, html};

use crate::words;

pub(super) fn terms(now: UnixMs, terms: &[PastTerm]) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { "Leaders" } }
            @if terms.is_empty() { p.quiet.pad { "Nobody has led yet." } }
            @else {
                table.rows {
                    thead { tr { th.num { "Term" } th { "Leader" } th { "Since" } th { "Led for" } } }
                    tbody { @for term in terms { tr {
                        td.num data-label="Term" { (term.term) }
                        td data-label="Leader" { (term.name) }
                        td data-label="Since" { (words::time(now, term.began_at)) }
                        td data-label="Led for" { (words::lasted(term.began_at.until(term.held_until.min(now)))) }
                    } } }
                }
            }
        }
    }
}

pub(super) fn restarts(now: UnixMs, restarts: &[Restarted]) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { "Recent restarts" } }
            @if restarts.is_empty() { p.all-well { "No process had to be started again." } }
            @else {
                table.rows {
                    thead { tr { th { "When" } th { "Role" } th { "Machine" } th { "Why" } th { "What is known" } th { "Waited" } } }
                    tbody { @for restarted in restarts { tr {
                        td data-label="When" { (words::time(now, restarted.at)) }
                        td data-label="Role" { (restarted.role) }
                        td data-label="Machine" { (restarted.machine) }
                        td data-label="Why" { (why(restarted.why)) }
                        td data-label="What is known" { (restarted.note) }
                        td data-label="Waited" { (words::lasted(restarted.delay)) }
                    } } }
                }
            }
        }
    }
}

fn why(why: Why) -> Markup {
    let (tone, word) = match why {
        Why::Crashed => ("failed", "crashed"),
        Why::Ended => ("paused", "ended"),
        Why::Frozen => ("failed", "frozen"),
        Why::Asked => ("succeeded", "asked for"),
    };
    html! { span class={ "badge s-" (tone) } { (word) } }
}
