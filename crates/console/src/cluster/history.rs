//! What was: who led when, and which processes were started again.

use malla_cluster::{PastTerm, Restarted, Why};
use malla_queue::UnixMs;
use maud::{Markup, html};

use crate::words;

pub(super) fn terms(now: UnixMs, terms: &[PastTerm]) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { (t!("Leaders")) } }
            @if terms.is_empty() { p.quiet.pad { (t!("Nobody has led yet.")) } }
            @else {
                table.rows {
                    thead { tr { th.num { (t!("Term")) } th { (t!("Leader")) } th { (t!("Since")) } th { (t!("Led for")) } } }
                    tbody { @for term in terms { tr {
                        td.num data-label=(t!("Term")) { (term.term) }
                        td data-label=(t!("Leader")) { (term.name) }
                        td data-label=(t!("Since")) { (words::time(now, term.began_at)) }
                        td data-label=(t!("Led for")) { (words::lasted(term.began_at.until(term.held_until.min(now)))) }
                    } } }
                }
            }
        }
    }
}

pub(super) fn restarts(now: UnixMs, restarts: &[Restarted]) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { (t!("Recent restarts")) } }
            @if restarts.is_empty() { p.all-well { (t!("No process had to be started again.")) } }
            @else {
                table.rows {
                    thead { tr { th { (t!("When")) } th { (t!("Role")) } th { (t!("Machine")) } th { (t!("Why")) } th { (t!("What is known")) } th { (t!("Waited")) } } }
                    tbody { @for restarted in restarts { tr {
                        td data-label=(t!("When")) { (words::time(now, restarted.at)) }
                        td data-label=(t!("Role")) { (restarted.role) }
                        td data-label=(t!("Machine")) { (restarted.machine) }
                        td data-label=(t!("Why")) { (why(restarted.why)) }
                        td data-label=(t!("What is known")) { (restarted.note) }
                        td data-label=(t!("Waited")) { (words::lasted(restarted.delay)) }
                    } } }
                }
            }
        }
    }
}

fn why(why: Why) -> Markup {
    let (tone, word) = match why {
        Why::Crashed => ("failed", t!("crashed")),
        Why::Ended => ("paused", t!("ended", "process")),
        Why::Frozen => ("failed", t!("frozen")),
        Why::Asked => ("succeeded", t!("asked for")),
    };
    html! { span class={ "badge s-" (tone) } { (word) } }
}
